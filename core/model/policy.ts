/**
 * The operator's decisions about Kinfold: mode, preset, and the safeguards of an ordinary day.
 *
 * What must stay true: the fold reads these from a folded `PolicyChanged` event and from nowhere
 * else. A preset is a name for numbers: the event carries them, so an audit says which ones
 * decided.
 */
import type { GroupKind } from './object.ts'
import type { Rule } from './rule/rule.ts'

/** `observe` records only; `dry-run` asks the server without doing; `enforce` acts. */
export type Mode = 'observe' | 'dry-run' | 'enforce'

/**
 * `parity` acts immediately on every evidence but `bulk`; `guarded` holds by class, within budgets,
 * and spares protected objects.
 */
export type Preset = 'parity' | 'guarded'

export interface Policy {
  readonly mode: Mode
  readonly preset: Preset
  /** One version of the fold decides per partition; another one refuses to fold. */
  readonly foldVersion: number
  readonly holds: Holds
  /** Null: none. */
  readonly budgets: Budgets | null
  readonly protection: Protection
  /** How many people have to approve a held set: 1, or 2 whose identity the cluster proved. */
  readonly approvals: number
  /**
   * How long a deleted owner is remembered, and then for as long as a reference names it: log time
   * in milliseconds, a day at least.
   */
  readonly rememberMs: number
  /** Objects that are deleted for another reason than their owners; each by its own order. */
  readonly rules: readonly Rule[]
  /** Finalizers of others that an order may remove from an object that is being deleted. */
  readonly mayRemove: readonly string[]
}

/**
 * How long an object must have been without an owner before it is deleted for that: log time in
 * milliseconds, by the class of evidence.
 */
export interface Holds {
  readonly deletedMs: number
  readonly missingMs: number
  readonly notFoundMs: number
}

export type BudgetClass = 'deleted' | 'missing' | 'not-found'

/** How many deletions may begin within any ten minutes of log time, in each cluster. */
export interface Budgets {
  /** Deletions by others whose dependents are deleted: one, however many dependents it has. */
  readonly deleted: number
  /** Objects. */
  readonly missing: number
  readonly notFound: number
}

/** Objects that are never deleted, whatever their owners. */
export interface Protection {
  /**
   * Spared where the evidence is `missing`, `not-found` or `bulk` only: a cascade that was seen to
   * begin takes them along.
   */
  readonly kinds: readonly GroupKind[]
  readonly namespaces: readonly string[]
  /** `key` or `key=value`. */
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
  /** Whether the marks of other tools count: Argo CD, Helm, Karmada, Kruise. */
  readonly othersMarks: boolean
}

/** What each version decides otherwise than the one before: docs/inside/fold-versions.md. */
export const FOLD_VERSION = 17

const MINUTE_MS = 60_000
const REMEMBER_MS = 30 * 24 * 60 * MINUTE_MS

/** As the preset has it; a configuration overrides fields of it. */
export function policyFor(mode: Mode, preset: Preset): Policy {
  return {
    ...{ mode, preset, foldVersion: FOLD_VERSION, approvals: 1, rememberMs: REMEMBER_MS },
    ...{ rules: [], mayRemove: [] },
    ...PRESETS[preset],
  }
}

/** They hold data, or the rights and guards of others. */
const PROTECTED_KINDS: readonly GroupKind[] = [
  ...of('', 'Namespace', 'Node', 'PersistentVolume', 'PersistentVolumeClaim', 'Secret'),
  ...of('apiextensions.k8s.io', 'CustomResourceDefinition'),
  ...of('apiregistration.k8s.io', 'APIService'),
  ...of(
    'admissionregistration.k8s.io',
    ...['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'],
    ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
    ...['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'],
  ),
  ...of(
    'rbac.authorization.k8s.io',
    ...['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'],
  ),
  ...of('storage.k8s.io', 'StorageClass'),
  ...of('snapshot.storage.k8s.io', 'VolumeSnapshot', 'VolumeSnapshotContent'),
  ...of('groupsnapshot.storage.k8s.io', 'VolumeGroupSnapshot', 'VolumeGroupSnapshotContent'),
]

function of(group: string, ...kinds: readonly string[]): readonly GroupKind[] {
  return kinds.map((kind) => ({ group, kind }))
}

const PRESETS: Readonly<Record<Preset, Pick<Policy, 'holds' | 'budgets' | 'protection'>>> = {
  parity: {
    holds: { deletedMs: 0, missingMs: 0, notFoundMs: 0 },
    budgets: null,
    protection: { kinds: [], namespaces: [], labels: [], annotations: [], othersMarks: false },
  },
  guarded: {
    holds: { deletedMs: MINUTE_MS / 2, missingMs: 10 * MINUTE_MS, notFoundMs: 60 * MINUTE_MS },
    budgets: { deleted: 1_000, missing: 200, notFound: 50 },
    protection: {
      kinds: PROTECTED_KINDS,
      namespaces: [],
      labels: [],
      annotations: [],
      othersMarks: true,
    },
  },
}

/** Of a fresh install on a cluster. */
export const DEFAULT_POLICY: Policy = policyFor('dry-run', 'guarded')

/** Within any ten minutes. */
export function limitOf(budgets: Budgets | null, budget: BudgetClass): number {
  if (budgets === null) return Number.MAX_SAFE_INTEGER
  return { deleted: budgets.deleted, missing: budgets.missing, 'not-found': budgets.notFound }[
    budget
  ]
}
