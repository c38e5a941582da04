/**
 * One partition of a rehearsal: an overlay over what is committed, as if the policy let everything act and a day had passed.
 *
 * What must stay true: what is read of the partition is noted, so that it can be seen whether it is still so; what is not known yet is not remembered
 * as nothing.
 *
 * Not here: folding over it (rehearsal.ts).
 */
import type { Graph, StateReader } from '../../core/graph.ts'
import { clusterOf, directivesOf, graphOver, policyOf } from '../../core/graph.ts'
import { AGENDA_KEY, clusterKey, DIRECTIVES_KEY, POLICY_KEY } from '../../core/key.ts'
import type { ClusterId } from '../../core/object.ts'
import { policyFor } from '../../core/policy.ts'
import type { ClusterState, StateValue } from '../../core/state.ts'
import type { Codec } from '../../ports/codec.ts'
import type { StoreEntry } from '../../ports/store.ts'
import { DecodedValues } from './decoded-values.ts'
import type { View } from './view.ts'
import type { ViewedPartition } from './viewed-partition.ts'

/** Log time goes on by as much: by then no kind is waited for any more. */
const LATER_MS = 24 * 3_600_000
export interface Stage {
  readonly source: ViewedPartition
  readonly graph: Graph
  readonly epoch: number
  /** The store's keys that the overlay does not know. */
  readonly pages: Pick<ViewedPartition, 'page'>
  /** What was read of the store, by key, to see whether it is still so. */
  readonly read: ReadonlyMap<string, string>
  position: bigint
}

/** In a piece. */
export function stageOf(
  source: ViewedPartition,
  view: View,
  cluster: ClusterId,
  codec: Codec,
): Stage {
  const decoded = new DecodedValues({ get: (key) => fetched(view, source, key) }, codec)
  const read = new Map<string, string>()
  const graph = graphOver({ get: (key) => asRead(key, decoded, read) })
  const state = clusterOf(graph, cluster)
  if (state !== undefined) graph.put(clusterKey(cluster), later(state))
  const policy = policyOf(graph)
  graph.put(POLICY_KEY, {
    ...policy,
    // What is protected stays whatever time goes by.
    policy: { ...policyFor('enforce', 'parity'), protection: policy.policy.protection },
  })
  graph.put(DIRECTIVES_KEY, { ...directivesOf(graph), pauses: [] })
  graph.put(AGENDA_KEY, { type: 'Agenda', head: 0, tail: 0 })
  graph.takeRecent()
  const pages = unchangedPages(source, graph)
  const { position } = source.status()
  return { source, graph, epoch: state?.epoch ?? 0, pages, read, position }
}

/** Thrown past what remembers values: what is not known yet is not nothing. */
class NotFetched extends Error {}

function fetched(view: View, source: ViewedPartition, key: string): Uint8Array | undefined {
  const bytes = view.bytesOf(source, key)
  if (bytes === undefined) throw new NotFetched(`${key} is not fetched yet`)
  return bytes ?? undefined
}

/**
 * A key once changed in the overlay is its own for good, so the store's are passed over; how far a range begins with such is remembered. Otherwise each look
 * at an owner's dependents would begin with all that went.
 */
function unchangedPages(
  store: Pick<ViewedPartition, 'page'>,
  { changes }: Graph,
): Pick<ViewedPartition, 'page'> {
  const passed = new Map<string, { readonly from: string; readonly to: string }>()
  return {
    async page({ gte, lt, limit }) {
      const known = passed.get(lt)
      const isKnown = known !== undefined && known.from <= gte && gte <= known.to
      let from = isKnown ? known.to : gte
      const left: StoreEntry[] = []
      while (left.length < limit) {
        const page = await store.page({ gte: from, lt, limit })
        const first = page.findIndex(([key]) => !changes.has(key))
        const isPassed = left.length === 0 && first !== 0 && page.length > 0
        const end = page[(first < 0 ? page.length : first) - 1]?.[0]
        if (isPassed && end !== undefined) {
          passed.set(lt, { from: isKnown ? known.from : gte, to: `${end}\0` })
        }
        left.push(...page.filter(([key]) => !changes.has(key)))
        const last = page.at(-1)?.[0]
        if (last === undefined || page.length < limit) break
        from = `${last}\0`
      }
      return left.slice(0, limit)
    },
  }
}

/** Of the store, without what is under way there. */
function asRead(
  key: string,
  decoded: StateReader,
  read: Map<string, string>,
): StateValue | undefined {
  if (/^(agenda|walk|ring)\//.test(key)) return undefined
  const value = knownOf(decoded, key)
  if (value === null) return undefined
  const text = textOf(key, value)
  if (text !== undefined && !read.has(key)) read.set(key, text)
  if (value?.type === 'Node' || value?.type === 'Owner') {
    return value.attempt === null ? value : { ...value, attempt: null }
  }
  return value
}

function later(state: ClusterState): ClusterState {
  return { ...state, now: state.now + LATER_MS, nextDue: Number.MAX_SAFE_INTEGER }
}

/** Null when it is not known yet. */
function knownOf(decoded: StateReader, key: string): StateValue | undefined | null {
  try {
    return decoded.get(key)
  } catch (error) {
    if (error instanceof NotFetched) return null
    throw error
  }
}

/** What a plan rests on, of the keys that other objects' lives do not change; undefined for others. */
export function textOf(key: string, value: StateValue | undefined): string | undefined {
  if (key.startsWith('node/')) {
    return value?.type === 'Node' ? `${value.position} ${value.phase}` : 'none'
  }
  if (!key.startsWith('count/')) return undefined
  return value?.type === 'Count'
    ? value.places.map((place) => `${place.coordinates} ${place.dependents}`).join(' ')
    : 'none'
}
