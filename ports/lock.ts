/**
 * The names of the second lock: `kinfold rbac` prints them, and a reaper checks for them.
 *
 * What must stay true: the printed policy and the probe use the same words; a refusal counts as the
 * lock's only by them.
 *
 * Not here: the policy itself (cli/setup/lock-policy.ts), the probe
 * (adapters/kubernetes/lock-probe.ts).
 */

/**
 * Of the policy, of its binding, and of the ConfigMap that it is tried on: it is used by nothing
 * else, nothing needs it, and it has our own mark (mark.ts).
 */
export const LOCK = {
  name: 'kinfold-lock',
  /** Of the ConfigMap: a namespace that every cluster has. */
  namespace: 'kube-system',
} as const

/** How the policy refuses. */
export const LOCK_REFUSALS = {
  unguarded: 'kinfold lock: a DELETE must name uid and resourceVersion as preconditions',
  collection: 'kinfold lock: collections are never deleted',
  marked: 'kinfold lock: the object is marked as protected',
  kind: 'kinfold lock: objects of this kind are protected',
  namespace: 'kinfold lock: objects of this namespace are protected',
  elsewhere: 'kinfold lock: nothing may be changed outside of the namespaces that were listed',
  finalizer:
    'kinfold lock: finalizers of others stay, but for those of finalizers.mayRemove on what is being deleted',
  content: 'kinfold lock: nothing may be changed but owner references and finalizers taken off',
} as const
