/**
 * Random pods from a seed, for upstream's pod collector and the rules `orphaned-pods`,
 * `out-of-service-pods`, `unscheduled-pods` and `terminated-pods`: on a Node that is there, on one
 * that is not, on one that is out of service, or on none; that run, are being deleted, or have
 * ended.
 *
 * What must stay true: which of them are left is said by how they were made alone. Those that have
 * ended are made in seconds of their own, since upstream tells pods of one second apart by name.
 */
import {
  type Kind,
  kind,
  type Made,
  make,
  mergePatch,
  POD,
  pathOf,
  type Requests,
  remove,
} from '../../process/objects.ts'
import { seeded } from '../../seeded.ts'
import { HOLD } from '../world.ts'

/** So many of those that have ended stay. */
export const THRESHOLD = 4

export interface DrawnPod {
  readonly name: string
  /** Empty: it is on none. */
  readonly node: '' | 'here' | 'gone' | 'out'
  readonly phase: 'Running' | 'Succeeded' | 'Failed'
  readonly isEvicted: boolean
  readonly isDeleted: boolean
  readonly isHeld: boolean
}

const OF_A_SEED = 6
const ENDED = 9

export function drawnPods(seed: number): readonly DrawnPod[] {
  const chance = seeded(seed)
  return Array.from({ length: OF_A_SEED }, (_, index) => ({
    name: `pod-${seed}-${index}`,
    node: chance.pick(['', 'here', 'gone', 'gone', 'out'] as const),
    phase: 'Running',
    isEvicted: false,
    isDeleted: chance.next() < 0.5,
    isHeld: chance.next() < 0.3,
  }))
}

/** Those that have ended, the oldest first. */
export function endedPods(seed: number): readonly DrawnPod[] {
  const chance = seeded(seed)
  return Array.from({ length: ENDED }, (_, index) => {
    const isEvicted = chance.next() < 0.3
    const phase = isEvicted ? 'Failed' : chance.pick(['Succeeded', 'Failed'] as const)
    const rest = { isDeleted: false, isHeld: false }
    return { name: `ended-${index}`, node: 'here', phase, isEvicted, ...rest }
  })
}

/** Names of those that are there in the end, as upstream's source has it. */
export function podsLeft(
  pods: readonly DrawnPod[],
  ended: readonly DrawnPod[],
): ReadonlySet<string> {
  const left = pods.filter(({ node, isDeleted, isHeld }) => {
    if (node === 'gone') return isHeld
    if (node === 'out') return isHeld || !isDeleted
    // On no node it has no grace period: it is gone at once where no finalizer holds it.
    return node === 'here' || !isDeleted || isHeld
  })
  const oldest = [
    ...ended.filter(({ isEvicted }) => isEvicted),
    ...ended.filter(({ isEvicted }) => !isEvicted),
  ]
  const kept = oldest.slice(Math.max(0, oldest.length - THRESHOLD))
  return new Set([...left, ...kept].map(({ name }) => name))
}

/** Names of those that their finalizer alone keeps: they were Failed before they were deleted. */
export function podsFailed(pods: readonly DrawnPod[]): ReadonlySet<string> {
  const failed = pods.filter(({ node, isDeleted, isHeld }) => {
    return isHeld && (node === 'gone' || (isDeleted && node !== 'here'))
  })
  return new Set(failed.map(({ name }) => name))
}

const NODE: Kind = { ...kind('v1', 'Node', 'nodes'), namespaced: false }

const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }

/** Neither says that it is ready. */
export async function makeNodes(plane: Requests): Promise<void> {
  await make(plane, { kind: NODE, name: 'here' })
  await make(plane, {
    kind: { ...NODE, body: { spec: { taints: [OUT_OF_SERVICE] } } },
    name: 'out',
  })
}

export async function makePod(plane: Requests, pod: DrawnPod): Promise<Made> {
  const { name, node, phase, isEvicted, isDeleted, isHeld } = pod
  const { spec } = POD.body as { readonly spec: object }
  const of: Kind = { ...POD, body: { spec: { ...spec, ...(node !== '' && { nodeName: node }) } } }
  const made = await make(plane, { kind: of, name, ...(isHeld && { finalizers: [HOLD] }) })
  const reason = isEvicted ? { reason: 'Evicted' } : {}
  await mergePatch(plane, `${pathOf(made)}/status`, { status: { phase, ...reason } })
  if (isDeleted) await remove(plane, made)
  return made
}
