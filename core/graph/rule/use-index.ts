/**
 * Which objects use which, by name, and since when: for rules about what nothing uses, and for
 * questions about it.
 *
 * What must stay true: the rows of a user are those that its `Uses` names, so they leave with it
 * whatever the rules are by then. Nothing is kept, and nothing costs a record anything, while no
 * rule asks (`Using`). A user that is untrusted, or of which the names were not read, counts as one
 * of any object where it may use one. An object whose first user comes, or whose last one leaves,
 * is judged again.
 *
 * Not here: since when the index knows all users (observe/use-watch.ts), what a rule makes of it
 * (judge/unused.ts).
 */
import type { Node } from '../../model/node.ts'
import type { Coordinates, GroupKind, ObjectMeta } from '../../model/object.ts'
import { type Rule, readsWithin, unusedIn } from '../../model/rule/rule.ts'
import type { Usage } from '../../model/state.ts'
import { CLUSTER_ROLE, mayBeAbsent } from '../../model/use/binding-use.ts'
import {
  ANY,
  isAny,
  isSameKind,
  placesIn,
  placesOfUsed,
  type UsedPlace,
} from '../../model/use/use.ts'
import { judgeWaiters } from '../agenda.ts'
import { coordinatesIn, coordinatesPart } from '../key.ts'
import { markDirty, type Step } from '../outcome.ts'
import { nameKind } from './name-index.ts'

/** A node is written, or leaves (null). */
export function noteUses(step: Step, before: Node | null, after: Node | null): void {
  if (step.graph.using === undefined) return
  if (before?.object === after?.object && before?.doubt === after?.doubt) return
  if (before !== null) indexUses(step, before)
  const object = after?.object ?? before?.object
  if (object === undefined) return
  if (after === null) unindex(step, object)
  else indexUses(step, after)
}

/** By the rules as they are now. */
export function indexUses(step: Step, { object, doubt }: Node): void {
  const { rules } = step.graph
  setUses(step, object, usesOf(rules, object, doubt === null).map(coordinatesPart))
  setThere(step, object, isFollowed(rules, object))
}

function unindex(step: Step, object: ObjectMeta): void {
  setUses(step, object, [])
  setThere(step, object, false)
  if (object.kind === 'Namespace' && object.group === '') forgetNamespace(step, object.name)
}

/** When what was used last there, by whom was not read: of objects that left with it. */
function forgetNamespace({ graph }: Step, namespace: string): void {
  for (const { group, kind } of graph.using?.used ?? []) {
    const place = { group, kind, namespace, name: ANY }
    if (graph.usage(place)?.users === 0) graph.setUsage(place, null)
  }
}

/** Of what may be used. */
function isFollowed(rules: readonly Rule[], object: ObjectMeta): boolean {
  return unusedIn(rules).some(({ uses }) => uses.some(({ used }) => isSameKind(used, object)))
}

/** What an object uses, as far as that was read. */
export function usesOf(
  rules: readonly Rule[],
  object: ObjectMeta,
  isTrusted: boolean,
): readonly UsedPlace[] {
  const uses = readsWithin(rules, object)?.uses ?? []
  return uses.flatMap((read) => {
    const found = object.projected?.fields.find(({ key }) => key === read.key)
    return placesIn(read, object.namespace, isTrusted ? found?.value : undefined)
  })
}

function setUses(step: Step, user: ObjectMeta, wanted: readonly string[]): void {
  const { graph } = step
  const had = graph.uses(user.uid)?.places ?? []
  const left = had.filter((each) => !wanted.includes(each))
  const came = wanted.filter((each) => !had.includes(each))
  if (left.length + came.length === 0) return
  const places = [...new Set(wanted)]
  graph.setUses(user.uid, places.length === 0 ? null : { type: 'Uses', places })
  for (const each of new Set(came)) count(step, user, coordinatesIn(each), 1)
  for (const each of left) count(step, user, coordinatesIn(each), -1)
}

function count(step: Step, user: ObjectMeta, place: Coordinates, by: 1 | -1): void {
  const { graph } = step
  const now = timeOf(step)
  const former = graph.usage(place) ?? UNUSED
  const users = former.users + by
  const usage: Usage = {
    ...former,
    users,
    firstAt: former.firstAt || now,
    lastAt: by < 0 ? now : former.lastAt,
    last: `${user.kind}/${user.name}`,
  }
  // Who may use any object is one of very many where nothing was read yet.
  if (!isAny(place)) graph.setUser(place, user.uid, by > 0 ? { type: 'UserRow', since: now } : null)
  graph.setUsage(place, isNeeded(usage, place) ? usage : null)
  if (former.users !== 0 && users !== 0) return
  if (isAny(place)) judgeWaiters(step, useWait(place.namespace))
  for (const uid of former.objects) markDirty(step, uid)
}

/**
 * What objects wait for that are due: in a namespace, or (empty) in all of them, another user, or
 * another time since when uses are known.
 */
export function useWait(namespace: string): GroupKind {
  const within = namespace === ANY ? '' : namespace
  return nameKind({ group: '', kind: 'use', namespace: within, name: '' })
}

/** Where no object has the name, time counts from when one is known. */
function isNeeded({ users, objects }: Usage, place: Coordinates): boolean {
  return users > 0 || objects.length > 0 || isAny(place) || place.namespace === '*'
}

function setThere(step: Step, object: ObjectMeta, isThere: boolean): void {
  const { graph } = step
  for (const place of placesOfUsed(object)) {
    if (isAny(place) || place.namespace !== object.namespace) continue
    const former = graph.usage(place)
    if ((former?.objects.includes(object.uid) ?? false) === isThere) continue
    const { uid } = object
    const others = former?.objects.filter((each) => each !== uid) ?? []
    const objects = isThere ? [...others, uid] : others
    // One that comes while its predecessor is still known has been there for no time.
    const known = others.length === 0 ? leftAt(step, place) : (former?.thereAt ?? 0)
    const thereAt = isThere ? timeOf(step) : known
    const usage = { ...(former ?? UNUSED), objects, thereAt }
    graph.setUsage(place, isNeeded(usage, place) ? usage : null)
    const isOther = (former?.objects.length ?? 0) === 0 || objects.length === 0
    if (isOther && usage.users > 0 && isAskedByName(step, place))
      judgeWaiters(step, nameKind(place))
  }
}

/** Where bindings ask, it is remembered since when no object has the name. */
function leftAt(step: Step, place: UsedPlace): number {
  return isAskedByName(step, place) ? timeOf(step) : 0
}

/** A rule about bindings asks whether one is there. No other rule follows ClusterRoles. */
function isAskedByName({ graph }: Step, place: UsedPlace): boolean {
  if (!mayBeAbsent(place)) return false
  return graph.using?.used.some((each) => isSameKind(each, CLUSTER_ROLE)) === true
}

const UNUSED: Usage = {
  type: 'Usage',
  objects: [],
  thereAt: 0,
  users: 0,
  firstAt: 0,
  lastAt: 0,
  last: '',
}

/** Log time of the record, never before the cluster's. */
export function timeOf({ at, graph }: Step): number {
  return Math.max(at.timestamp, graph.state?.now ?? 0)
}
