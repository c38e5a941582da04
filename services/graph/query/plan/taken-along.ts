/**
 * What an API server deletes along with an object by itself, whatever its owners: all objects in a
 * namespace, all objects of a kind that is defined.
 *
 * What must stay true: what is not known here is named as lacking, or as left out where the
 * settings say so, and never counted as nothing.
 *
 * Not here: what follows from their deletion (plan-run.ts).
 */
import {
  groupKindIn,
  kindsPrefix,
  lastPart,
  nodesPrefix,
  seenPrefix,
} from '../../../../core/graph/key.ts'
import { isLeftOut, NEVER_COLLECTED } from '../../../../core/model/kind-reason.ts'
import type { Coordinates, GroupKind, Uid } from '../../../../core/model/object.ts'
import type { Kind } from '../../../../core/model/state.ts'
import { isDefinition } from '../../../../core/observe/cause.ts'
import { headOf } from '../../fold/bytes/long-node.ts'
import type { View } from '../view/view.ts'

export interface TakenAlong {
  /** Known objects; at most one more than was asked for. */
  readonly uids: readonly Uid[]
  /** Why that may not be all; empty when it is. */
  readonly lacking: string
  /**
   * Kinds that the settings leave out, whose objects are no part of any answer; empty where none
   * was.
   */
  readonly leftOut: string
}

/** Kinds that are named where their objects are not known. */
const MOST_NAMED = 5

/** Undefined where an API server takes nothing along. */
export async function takenAlong(
  view: View,
  object: GroupKind & { readonly name: string },
  limit: number,
): Promise<TakenAlong | undefined> {
  if (object.kind === 'Namespace' && object.group === '') {
    const { unknown, leftOut } = await unseenKinds(view)
    const of = 'of kinds that are'
    const where = `objects in namespace ${object.name}`
    return {
      uids: await first(inNamespace(view, object.name), limit),
      lacking: named(unknown, `${where} ${of} not watched or not listed yet are not counted`),
      leftOut: named(leftOut, `${where} ${of} left out are not counted`),
    }
  }
  return isDefinition(object) ? await ofDefinition(view, object.name, limit) : undefined
}

/**
 * Unwatched kinds of which an object may have dependents, for a note; empty where there are none.
 * Those that are never collected are none of them.
 */
export async function unwatchedText(view: View, { namespace }: ObjectPlace): Promise<string> {
  const names: string[] = []
  for await (const [key] of view.entries(kindsPrefix(view.cluster))) {
    const { group, kind } = groupKindIn(key)
    const state = view.facts.kind({ group, kind })
    if (state?.phase !== 'unmonitored' || !mayHide(kind, state)) continue
    if (state.reason === NEVER_COLLECTED) continue
    // What is in no namespace is never owned by what is in one.
    if (namespace !== '' && state.scope !== 'Namespaced') continue
    names.push(group === '' ? state.resource : `${state.resource}.${group}`)
  }
  return named(names, 'dependents of kinds that are not watched are not counted')
}

type ObjectPlace = Pick<Coordinates, 'namespace'>

async function first(uids: AsyncIterable<Uid>, limit: number): Promise<Uid[]> {
  const found: Uid[] = []
  for await (const uid of uids) {
    found.push(uid)
    if (found.length > limit) break
  }
  return found
}

/** Nothing is sorted by namespace, so all objects of the cluster are read, a page at a time. */
async function* inNamespace(view: View, namespace: string): AsyncIterable<Uid> {
  for await (const [, value] of view.entries(nodesPrefix(view.cluster))) {
    const { object } = headOf(view.codec, value)
    if (object.namespace === namespace) yield object.uid
  }
}

async function ofDefinition(view: View, name: string, limit: number): Promise<TakenAlong> {
  for await (const [key] of view.entries(kindsPrefix(view.cluster))) {
    const kind = groupKindIn(key)
    const state = view.facts.kind(kind)
    if (state === undefined || `${state.resource}.${kind.group}` !== name) continue
    const uids = await first(ofKind(view, kind), limit)
    const isListed = state.phase === 'synced'
    return { uids, lacking: isListed ? '' : `not all objects of ${name} are known`, leftOut: '' }
  }
  return { uids: [], lacking: `the objects of ${name} are not known`, leftOut: '' }
}

async function* ofKind(view: View, kind: GroupKind): AsyncIterable<Uid> {
  for await (const [key] of view.entries(seenPrefix(view.cluster, kind))) yield lastPart(key)
}

interface UnseenKinds {
  /** Their objects cannot be seen, or not yet. */
  readonly unknown: readonly string[]
  /** By the settings. */
  readonly leftOut: readonly string[]
}

/** Unwatched namespaced kinds that may have objects. */
async function unseenKinds(view: View): Promise<UnseenKinds> {
  const [unknown, leftOut]: [string[], string[]] = [[], []]
  for await (const [key] of view.entries(kindsPrefix(view.cluster))) {
    const { group, kind } = groupKindIn(key)
    const state = view.facts.kind({ group, kind })
    if (state === undefined || state.scope !== 'Namespaced' || !mayHide(kind, state)) continue
    const isChosen = state.phase === 'unmonitored' && isLeftOut(state.reason)
    const names = isChosen ? leftOut : unknown
    names.push(group === '' ? state.resource : `${state.resource}.${group}`)
  }
  return { unknown, leftOut }
}

/**
 * Events are no part of any graph. What cannot be listed or deleted has no objects that go with a
 * namespace.
 */
function mayHide(kind: string, { phase, reason }: Kind): boolean {
  if (phase === 'unsynced') return true
  return phase === 'unmonitored' && kind !== 'Event' && !NO_OBJECTS.test(reason)
}

const NO_OBJECTS = /does not offer (.*, )?(list|delete)\b/

function named(kinds: readonly string[], what: string): string {
  if (kinds.length === 0) return ''
  const more = kinds.length > MOST_NAMED ? ` and ${kinds.length - MOST_NAMED} more` : ''
  return `${what}: ${kinds.slice(0, MOST_NAMED).join(', ')}${more}`
}
