/**
 * The same pods on both control planes, and what upstream's pod collector and the rules leave of
 * them.
 *
 * What must stay true: all pods are there before upstream's first pass. Of statuses it is compared
 * who was Failed before the deletion.
 */
import type { ControlPlane } from '../../cluster/control-plane.ts'
import type { ControllerManager } from '../../cluster/controller-manager.ts'
import { eventually } from '../../eventually.ts'
import { collectionPath, POD } from '../../process/objects.ts'
import { drawnPods, endedPods, makeNodes, makePod, podsFailed, podsLeft, THRESHOLD } from './pod.ts'

export const POD_COLLECTOR = 'pod-garbage-collector-controller'

/** As a config lists them. */
export const POD_RULES: readonly Readonly<Record<string, unknown>>[] = [
  { builtin: 'orphaned-pods' },
  { builtin: 'out-of-service-pods' },
  { builtin: 'unscheduled-pods' },
  { builtin: 'terminated-pods', keep: { newest: THRESHOLD } },
]

export interface PodTwin {
  readonly seeds: readonly number[]
  readonly planes: readonly [ControlPlane, ControlPlane]
  readonly start: (args: readonly string[]) => Promise<ControllerManager>
}

export interface PodTwinResult {
  readonly made: number
  readonly deleted: number
  /** One sentence for each side that ends otherwise. */
  readonly differences: readonly string[]
}

/** Passes are 20 s apart, and a Node is missing in two of them, 40 s apart. */
const WITHIN_MS = 150_000
const A_SECOND_MS = 1_000

export async function runPodTwin({ seeds, planes, start }: PodTwin): Promise<PodTwinResult> {
  const pods = seeds.flatMap(drawnPods)
  const ended = endedPods(seeds[0] ?? 1)
  await Promise.all(planes.map(makeNodes))
  for (const pod of pods) await Promise.all(planes.map((plane) => makePod(plane, pod)))
  for (const pod of ended) {
    const next = Math.ceil((Date.now() + 1) / A_SECOND_MS) * A_SECOND_MS
    await eventually('the next second', async () => Date.now() > next)
    await Promise.all(planes.map((plane) => makePod(plane, pod)))
  }
  await using _manager = await start([`--terminated-pod-gc-threshold=${THRESHOLD}`])
  const all = [...pods, ...ended].map(({ name }) => name)
  const left = podsLeft(pods, ended)
  const failed = podsFailed(pods)
  const running = pods.map(({ name }) => name)
  const differences: string[] = []
  for (const [side, plane] of planes.entries()) {
    const look = async (): Promise<boolean | string> => {
      const there = await podsIn(plane)
      const wrong = all.filter((name) => there.has(name) !== left.has(name))
      const others = running.filter((name) => {
        return there.has(name) && (there.get(name) === 'Failed') !== failed.has(name)
      })
      const texts = [
        ...wrong.map((name) => told(name, left)),
        ...others.map((name) => `${name} has phase ${there.get(name)}`),
      ]
      return texts.length === 0 || texts.join(', ')
    }
    await eventually('pods are collected', look, { withinMs: WITHIN_MS }).catch((error: unknown) =>
      differences.push(`${side === 0 ? 'upstream' : 'Kinfold'}: ${String(error)}`),
    )
  }
  return { made: all.length, deleted: all.length - left.size, differences }
}

function told(name: string, left: ReadonlySet<string>): string {
  return `${name} should be ${left.has(name) ? 'there' : 'gone'}`
}

/** Phases by name. */
async function podsIn(plane: ControlPlane): Promise<ReadonlyMap<string, string>> {
  const path = collectionPath(POD, 'default')
  const { status, body } = await plane.request<{
    readonly items: readonly {
      readonly metadata: { readonly name: string }
      readonly status: { readonly phase: string }
    }[]
  }>('GET', path)
  if (status !== 200) throw new Error(`${path} was answered ${status}`)
  return new Map(body.items.map(({ metadata, status }) => [metadata.name, status.phase]))
}
