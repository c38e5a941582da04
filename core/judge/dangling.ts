/**
 * Since when a binding grants no right: the role that it names is not there, or none of its
 * subjects is.
 *
 * What must stay true: unknown is never absent. A role or a ServiceAccount is absent only where its
 * kind is listed and followed, and no object of the name is known; time counts from when it left,
 * or from where all of its kind were seen. A user or a group is never absent, nor is a name that
 * was not read.
 *
 * Not here: what a rule makes of that (unused.ts), which names are read (model/use/binding-use.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { isSynced } from '../graph/kind-status.ts'
import { usesOf } from '../graph/rule/use-index.ts'
import type { ObjectMeta } from '../model/object.ts'
import { timeText } from '../model/text.ts'
import { isRole, mayBeAbsent } from '../model/use/binding-use.ts'
import { ANY, isAny, isSameKind, type UsedPlace } from '../model/use/use.ts'

export type BindingStatus =
  | { readonly type: 'used' | 'unread'; readonly because: string }
  | { readonly type: 'unused'; readonly since: number; readonly because: string }

export function bindingStatus(facts: ClusterFacts, object: ObjectMeta): BindingStatus {
  const places = usesOf(facts.rules, object, true)
  if (places.some(isAny)) return { type: 'unread', because: 'what it names was not read' }
  const roles = places.filter(isRole)
  const subjects = places.filter((each) => !isRole(each))
  const role = absentSince(facts, roles)
  const bound = absentSince(facts, subjects)
  if (role === null && bound === null) return BINDS
  const isRoleFirst = role !== null && (bound === null || role <= bound)
  const since = isRoleFirst ? role : (bound ?? 0)
  const what = isRoleFirst ? `the ${roles[0]?.kind} that it names` : 'each of its subjects'
  return { type: 'unused', since, because: `${what} absent since ${timeText(since)}` }
}

const BINDS: BindingStatus = {
  type: 'used',
  because: 'its role and a subject of it are there, or may be',
}

/** Log time since when none of these is there; null: one is, or may be, or there are none. */
function absentSince(facts: ClusterFacts, places: readonly UsedPlace[]): number | null {
  const times = places.map((place) => goneSince(facts, place))
  if (times.length === 0 || times.includes(null)) return null
  return Math.max(...times.map((each) => each ?? 0))
}

function goneSince(facts: ClusterFacts, place: UsedPlace): number | null {
  const { state, using } = facts
  // A name without its namespace may be of any.
  if (!mayBeAbsent(place) || place.namespace === ANY) return null
  if (state === undefined || using === undefined) return null
  if (!isSynced(facts.kind(place), state)) return null
  const followed = using.used.find((each) => isSameKind(each, place))
  const [kind, usage] = [facts.useKind(place), facts.usage(place)]
  if (followed === undefined || kind === undefined || usage === undefined) return null
  // Until then objects of that kind are still being noted.
  if (kind.table !== using.table || usage.objects.length > 0) return null
  return Math.max(followed.since, kind.since, usage.firstAt, usage.thereAt)
}
