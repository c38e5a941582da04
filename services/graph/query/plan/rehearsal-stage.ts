/**
 * What a rehearsal folds over: an overlay over what is committed, as if the policy let everything
 * act and a day had passed.
 *
 * What must stay true: what is read of the store is noted, so that it can be seen whether it is
 * still so.
 *
 * Not here: folding over it (rehearsal.ts).
 */
import { factsOf } from '../../../../core/graph/facts.ts'
import type { StateReader } from '../../../../core/graph/graph.ts'
import { directivesOf, policyOf } from '../../../../core/graph/graph.ts'
import { clusterKey, DIRECTIVES_KEY, POLICY_KEY } from '../../../../core/graph/key.ts'
import { tableOf } from '../../../../core/graph/table.ts'
import { nodePhase } from '../../../../core/model/node.ts'
import { policyFor } from '../../../../core/model/policy.ts'
import type { ClusterState, StateValue } from '../../../../core/model/state.ts'
import { keysToRead, pageOfRead, type Store, type StoreEntry } from '../../../../ports/store.ts'
import { graphOver, type Overlay } from '../../fold/bytes/overlay.ts'
import { WorkingSet } from '../../fold/bytes/working-set.ts'
import type { View } from '../view/view.ts'

/** Log time advances by as much: by then no kind is waited for. */
const LATER_MS = 24 * 3_600_000

export interface Stage {
  readonly graph: Overlay
  readonly epoch: number
  /** The store's keys that the overlay does not know. */
  readonly pages: Pick<Store, 'page'>
  /** What was read of the store, by key, to see whether it is still so. */
  readonly read: ReadonlyMap<string, string>
}

export function stageOf({ store, cluster, codec }: View): Stage {
  const decoded = new WorkingSet(store, codec)
  const read = new Map<string, string>()
  const graph = graphOver({ get: (key) => asRead(key, decoded, read) })
  const state = factsOf(graph, cluster).state
  if (state !== undefined) graph.put(clusterKey(cluster), later(state))
  const policy = policyOf(graph)
  graph.put(POLICY_KEY, {
    ...policy,
    // A protected object stays, however much time passes.
    policy: { ...policyFor('enforce', 'parity'), protection: policy.policy.protection },
  })
  graph.put(DIRECTIVES_KEY, { ...directivesOf(graph), pauses: [] })
  graph.takeRecent()
  return { graph, epoch: state?.epoch ?? 0, pages: unchangedPages(store, graph), read }
}

/**
 * A key once changed in the overlay stays there, so the store's is skipped; how far a range begins
 * with such keys is remembered. Otherwise each read of an owner's dependents would begin with all
 * deleted ones.
 */
function unchangedPages(store: Pick<Store, 'page'>, { changes }: Overlay): Pick<Store, 'page'> {
  const passed = new Map<string, { readonly from: string; readonly to: string }>()
  return {
    async page(range) {
      const { gte, lt } = range
      const enough = keysToRead(range)
      const known = passed.get(lt)
      const isKnown = known !== undefined && known.from <= gte && gte <= known.to
      let from = isKnown ? known.to : gte
      const left: StoreEntry[] = []
      while (left.length < enough) {
        const { rows, isCut } = await store.page({ gte: from, lt, limit: enough })
        const first = rows.findIndex(([key]) => !changes.has(key))
        const isPassed = left.length === 0 && first !== 0 && rows.length > 0
        const end = rows[(first < 0 ? rows.length : first) - 1]?.[0]
        if (isPassed && end !== undefined) {
          passed.set(lt, { from: isKnown ? known.from : gte, to: `${end}\0` })
        }
        left.push(...rows.filter(([key]) => !changes.has(key)))
        const last = rows.at(-1)?.[0]
        if (last === undefined || !isCut) break
        from = `${last}\0`
      }
      return pageOfRead(range, left.slice(0, enough))
    },
  }
}

/** Of the store, without what is under way there. */
function asRead(
  key: string,
  decoded: StateReader,
  read: Map<string, string>,
): StateValue | undefined {
  if (tableOf(key).isWork) return undefined
  const value = decoded.get(key)
  const text = textOf(key, value)
  if (text !== undefined && !read.has(key)) read.set(key, text)
  if (value?.type === 'Node') return value.attempt === null ? value : { ...value, attempt: null }
  if (value?.type !== 'Owner' || value.known.type === 'absent') return value
  // Where only a GET asks, nothing is known.
  return value.known.type === 'asked'
    ? undefined
    : { ...value, known: { ...value.known, look: null } }
}

function later(state: ClusterState): ClusterState {
  return { ...state, now: state.now + LATER_MS, nextDue: Number.MAX_SAFE_INTEGER }
}

/**
 * What a plan rests on, of the keys that other objects' lives do not change; undefined for others.
 */
export function textOf(key: string, value: StateValue | undefined): string | undefined {
  if (key.startsWith('node/')) {
    return value?.type === 'Node' ? `${value.position} ${nodePhase(value)}` : 'none'
  }
  if (!key.startsWith('count/')) return undefined
  return value?.type === 'Count' ? String(value.dependents) : 'none'
}
