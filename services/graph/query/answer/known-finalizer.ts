/**
 * Finalizers of Kubernetes that its own controllers and the collector remove from what is deleted:
 * at once, or once something holds.
 *
 * What must stay true: `once` is null only where the controller waits for nothing but the deletion
 * itself. A plan foresees that removal alone; whatever else has a finalizer is never assumed to be
 * removed.
 *
 * Not here: when the collector removes its own (core/judge/completion.ts), and those of other
 * projects, of which nothing is known.
 */
import {
  FINALIZER_FOREGROUND,
  FINALIZER_ORPHAN,
  foreignFinalizers,
  type ObjectMeta,
} from '../../../../core/model/object.ts'

interface KnownFinalizer {
  /** Of the core group. */
  readonly kind: string
  readonly by: string
  readonly once: string | null
}

const KNOWN: ReadonlyMap<string, KnownFinalizer> = new Map([
  // pkg/controller/job/job_controller.go: canRemoveFinalizer, syncOrphanPod. It is also the name of
  // an annotation.
  ['batch.kubernetes.io/job-tracking', { kind: 'Pod', by: 'the Job controller', once: null }],
  // k8s.io/cloud-provider, controllers/service: the finalizer is removed after
  // EnsureLoadBalancerDeleted.
  [
    'service.kubernetes.io/load-balancer-cleanup',
    { kind: 'Service', by: 'the cloud', once: 'its load balancer is deleted' },
  ],
  // pkg/controller/volume/pvcprotection: processPVC.
  [
    'kubernetes.io/pvc-protection',
    { kind: 'PersistentVolumeClaim', by: 'its controller', once: 'no Pod uses it' },
  ],
  // pkg/controller/volume/pvprotection: processPV.
  [
    'kubernetes.io/pv-protection',
    { kind: 'PersistentVolume', by: 'its controller', once: 'no claim is bound to it' },
  ],
])

function knownOn({ group, kind }: ObjectMeta, finalizer: string): KnownFinalizer | undefined {
  const known = KNOWN.get(finalizer)
  return group === '' && known?.kind === kind ? known : undefined
}

/** Who removes a finalizer, and once what holds; null where that is not known. */
export interface Remover {
  readonly by: string
  /** Null: as soon as it is being deleted. */
  readonly once: string | null
}

export function removerOf(object: ObjectMeta, finalizer: string): Remover | null {
  if (finalizer === FINALIZER_ORPHAN) return { by: COLLECTOR, once: 'no dependent references it' }
  if (finalizer === FINALIZER_FOREGROUND) return { by: COLLECTOR, once: 'no dependent blocks it' }
  const known = knownOn(object, finalizer)
  return known === undefined ? null : { by: known.by, once: known.once }
}

const COLLECTOR = 'the collector'

/**
 * What is left of the finalizers of others when the object is deleted, as far as it can be
 * foreseen.
 */
export function finalizersLeft(object: ObjectMeta): readonly string[] {
  return foreignFinalizers(object.finalizers).filter((each) => knownOn(object, each)?.once !== null)
}

/** Who removes which of its finalizers at once; empty where it has none of these. */
export function removedText(object: ObjectMeta): string {
  const removed = object.finalizers.flatMap((each) => {
    const known = knownOn(object, each)
    return known?.once === null ? [`${known.by} removes its finalizer ${each}`] : []
  })
  return removed.join('; ')
}

/** What it waits for, a sentence; empty where no finalizer of others is left. */
export function waitsText(object: ObjectMeta): string {
  const unknown: string[] = []
  const known: string[] = []
  for (const each of finalizersLeft(object)) {
    const found = knownOn(object, each)
    if (found === undefined) unknown.push(each)
    else known.push(`it waits until ${found.once}, when ${found.by} removes its finalizer ${each}`)
  }
  const others = unknown.length === 0 ? [] : [`it waits for finalizers ${unknown.join(', ')}`]
  return [...known, ...others].join('; ')
}
