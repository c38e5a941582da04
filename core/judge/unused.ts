/**
 * Since when nothing has used an object, by observation: never by what is there at one moment.
 *
 * What must stay true: unknown is never unused. Time counts from where all uses were seen; and
 * while the watch of any kind that may use the object is not reliable nothing is deleted. Whatever
 * moves that time, or ends such a doubt, has the object judged again.
 *
 * Not here: who uses what (graph/rule/use-index.ts), breaks of watches (observe/use-watch.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { isFresh, kindStatus } from '../graph/kind-status.ts'
import { nameKind } from '../graph/rule/name-index.ts'
import { usesOf, useWait } from '../graph/rule/use-index.ts'
import { KIND_FRESH_MS, SILENCE_CLEARED_MS } from '../model/constant.ts'
import type { GroupKind, ObjectMeta } from '../model/object.ts'
import type { Rule } from '../model/rule/rule.ts'
import type { ClusterState, Usage, UseKind, Using } from '../model/state.ts'
import { timeText } from '../model/text.ts'
import { isBinding, NAMED_BY_BINDINGS } from '../model/use/binding-use.ts'
import {
  isAny,
  isSameKind,
  nameOf,
  placesOfUsed,
  type RuleUnused,
  type UsedPlace,
  type UseException,
  usersOf,
} from '../model/use/use.ts'
import { bindingStatus } from './dangling.ts'
import { caughtUpAt } from './keep.ts'
import { isLike } from './like.ts'

/**
 * - `exempt`: never called unused.
 * - `used`: by an object that names it.
 * - `unread`: perhaps, by an object of which the names were not read, or were not yet.
 * - `unused`: since that log time.
 */
export type UseStatus =
  | { readonly type: 'exempt' | 'used' | 'unread'; readonly because: string }
  | { readonly type: 'unused'; readonly since: number; readonly because: string }

/** Null by a rule that does not ask. */
export function useOf(facts: ClusterFacts, { unused }: Rule, object: ObjectMeta): UseStatus | null {
  return unused === null ? null : statusOf(facts, unused, object)
}

function statusOf(facts: ClusterFacts, rule: RuleUnused, object: ObjectMeta): UseStatus {
  const exempt = exemptBecause(rule, object)
  if (exempt !== '') return { type: 'exempt', because: exempt }
  if (isBinding(object)) return bindingStatus(facts, object)
  const usages = placesOfUsed(object).flatMap((place): Known | [] => {
    const usage = facts.usage(place)
    return usage === undefined ? [] : { place, usage }
  })
  const thereAt = Math.max(0, ...usages.map(({ usage }) => usage.thereAt))
  const used = usages.find(({ usage }) => usage.users > 0)
  if (used !== undefined) return usedBy(used)
  const followed = followedSince(facts, rule, object)
  if (followed === null || thereAt === 0) return NOT_FOLLOWED
  const [left] = usages.toSorted((a, b) => b.usage.lastAt - a.usage.lastAt)
  const since = Math.max(followed, thereAt, left?.usage.lastAt ?? 0)
  const by = left?.usage.lastAt === since ? lastText(left) : 'no use was seen'
  return { type: 'unused', since, because: `unused since ${timeText(since)} (${by})` }
}

const NOT_FOLLOWED: UseStatus = { type: 'unread', because: 'its uses are not followed yet' }

interface Known {
  readonly place: UsedPlace
  readonly usage: Usage
}

/** Without the name of a user: who may see the object may not see those that use it. */
function usedBy({ place, usage: { users } }: Known): UseStatus {
  const by = users === 1 ? 'an object' : `${users} objects`
  if (!isAny(place)) return { type: 'used', because: `used by ${by}` }
  return { type: 'unread', because: `what ${by} may use was not read` }
}

function lastText({ place }: Known): string {
  return isAny(place) ? 'until then what an object uses was not read' : 'its last use ended then'
}

/** An owner has the say about its dependents. Empty: it is none of these. */
export function exemptBecause({ except }: RuleUnused, object: ObjectMeta): string {
  if (object.ownerReferences.length > 0) return 'it has an owner, with which it is deleted'
  return except.find((each) => isExcept(each, object))?.because ?? ''
}

function isExcept({ namespace, name, mark, ...kind }: UseException, object: ObjectMeta): boolean {
  if (!isSameKind(kind, object)) return false
  if (!isLike(object.namespace, namespace) || !isLike(object.name, name)) return false
  return mark === '' || [...object.labels, ...object.annotations].some(({ key }) => key === mark)
}

/** Log time since when every use of such an object was seen, as far as is known; null: not yet. */
function followedSince(facts: ClusterFacts, rule: RuleUnused, object: GroupKind): number | null {
  const followed = facts.using?.used.find((each) => isSameKind(each, object))
  if (followed === undefined) return null
  let { since } = followed
  for (const user of usersOf([rule], object)) {
    const known = facts.useKind(user)
    if (known === undefined) return null
    since = Math.max(since, known.since)
  }
  return since
}

/** Log time before which it is not due, however it is judged then; null: nothing says when. */
export function notDueBefore(
  facts: ClusterFacts,
  { unused }: Rule,
  object: GroupKind,
  { type }: UseStatus,
): number | null {
  if (unused === null) return null
  const now = facts.state?.now ?? 0
  // What a binding names does not know of it, so it is asked again.
  if (isBinding(object) && type !== 'unused') return now + Math.min(unused.forMs, DAY_MS)
  return type === 'unread' ? now + unused.forMs : null
}

const DAY_MS = 24 * 3_600_000

/** Why no use can have been missed is not sure now; empty where it is. */
export function unsureOfUse(facts: ClusterFacts, rule: Rule, object: GroupKind): string {
  return doubtOf(facts, rule, object)?.because ?? ''
}

interface Doubt {
  readonly because: string
  /** That ends it, once it is listed or shows a sign of life. */
  readonly kind: GroupKind | null
}

function doubtOf(facts: ClusterFacts, { name, unused }: Rule, object: GroupKind): Doubt | null {
  const { state, using } = facts
  if (unused === null || state === undefined) return null
  const doubt = (because: string, kind: GroupKind | null): Doubt => {
    return { because: `rule ${name} asks what nothing uses, and ${because}`, kind }
  }
  if (using === undefined || !isOfPolicy(facts, using)) return doubt('it has just changed', null)
  if (state.now < caughtUpAt(state)) return doubt('a watcher has just begun', null)
  const how = isBinding(object) ? 'may be named by it' : 'may use it'
  for (const user of decidingKinds(unused, object)) {
    const because = doubtOfKind(facts, { state, using, how }, user)
    if (because !== '') return doubt(`${nameOf(user)} ${because}`, user)
  }
  return null
}

/** That may use it; of a binding, what it may name. */
function decidingKinds(rule: RuleUnused, object: GroupKind): readonly GroupKind[] {
  return isBinding(object) ? NAMED_BY_BINDINGS : usersOf([rule], object)
}

function isOfPolicy({ policy }: ClusterFacts, { table }: Using): boolean {
  return table.endsWith(`@${policy.position}`)
}

interface Following {
  readonly state: ClusterState
  readonly using: Using
  /** What the kind is to the object. */
  readonly how: string
}

function doubtOfKind(facts: ClusterFacts, following: Following, user: GroupKind): string {
  const { state, using, how } = following
  const known = facts.kind(user)
  switch (kindStatus(known, user, state).type) {
    case 'gone':
      // Not served: there are no such objects, or their uses are still known.
      return doubtOfSilence(facts.useKind(user), state)
    case 'unwatched':
      return `${how} and is not watched`
    case 'listing':
    case 'silent':
      return `${how} and is not in sync`
    case 'live':
      if ((known?.syncedAt ?? -1n) <= using.lostAt) return 'is not listed since a record was lost'
      if (!isFresh(state, user)) return `${how}${NOT_FRESH}`
      return doubtOfLive(facts.useKind(user), following)
  }
}

const NOT_FRESH = `, and its watch has shown no life for ${KIND_FRESH_MS / 1_000} s`

function doubtOfLive(known: UseKind | undefined, { state, using }: Following): string {
  return known?.table === using.table ? doubtOfSilence(known, state) : 'is read anew'
}

/** A list that begins because of it may not be reported yet. */
function doubtOfSilence(known: UseKind | undefined, { now }: ClusterState): string {
  return now < clearedAt(known ?? NEVER_SILENT) ? 'was silent until just now' : ''
}

function clearedAt({ silentAt }: UseKind): number {
  return silentAt === 0 ? 0 : silentAt + SILENCE_CLEARED_MS
}

/** Log time until which a silence is a reason not to delete; 0 for none. */
export function silenceClearedAt(facts: ClusterFacts, rule: Rule, object: GroupKind): number {
  const users = rule.unused === null ? [] : decidingKinds(rule.unused, object)
  return Math.max(0, ...users.map((user) => clearedAt(facts.useKind(user) ?? NEVER_SILENT)))
}

const NEVER_SILENT: UseKind = {
  ...{ type: 'UseKind', table: '', since: 0 },
  ...{ silentAt: 0, missingAt: 0 },
}

/** What an object that is due waits for: another time, another user, the end of a doubt. */
export function waitsForUse(
  facts: ClusterFacts,
  rule: Rule,
  object: ObjectMeta,
): readonly GroupKind[] {
  const kind = doubtOf(facts, rule, object)?.kind ?? null
  const named = isBinding(object) ? usesOf(facts.rules, object, true).map(nameKind) : []
  return [useWait(''), useWait(object.namespace), ...named, ...(kind === null ? [] : [kind])]
}
