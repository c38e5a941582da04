/**
 * Which objects use an object, and which it uses, since when: beside its owners and dependents.
 *
 * What must stay true: it is known only while a rule asks what nothing uses, and the answer says
 * when it is not. An object that who asks may not get is counted, and not named.
 *
 * Not here: what a rule makes of it (core/judge/unused.ts).
 */
import { coordinatesIn, lastPart, usersPrefix } from '../../../../core/graph/key.ts'
import type { Coordinates } from '../../../../core/model/object.ts'
import { isAny, isSameKind, placesOfUsed } from '../../../../core/model/use/use.ts'
import { timeOf, type Unshaped } from '../../api/document.ts'
import type { Uses as AnsweredUses } from '../../api/part-schema.ts'
import type { Named } from '../index/history-index.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'

export type Uses = Unshaped<AnsweredUses>
type Other = Uses['uses'][number]

/** Of users, and as many of what is used. */
const MOST_LISTED = 500

/** Why nothing is known of it. */
export const NOT_FOLLOWED =
  'who uses what is followed only while a rule asks what nothing uses (docs/operate/unused.md)'

export async function usesOf(view: View, object: Named, sight: Sight): Promise<Uses> {
  const { facts } = view
  const places = placesOfUsed(object)
  const users: Other[] = []
  for (const place of places.filter((each) => !isAny(each))) {
    for await (const [key] of view.entries(usersPrefix(view.cluster, place))) {
      if (users.length > MOST_LISTED) break
      const node = view.node(lastPart(key))
      if (node === undefined) continue
      const since = facts.user(place, node.object.uid)?.since ?? 0
      users.push({ ...named(node.object), uid: node.object.uid, since: since || null })
    }
  }
  const used = (facts.uses(object.uid)?.places ?? []).map((text): Other => {
    const place = coordinatesIn(text)
    const since = facts.user(place, object.uid)?.since ?? 0
    const uid = facts.usage(place)?.objects[0] ?? null
    return { ...named(place), uid, since: since || null }
  })
  const usage = facts.usage(places[0] ?? object)
  const isSeen = sight.isWhole && usage !== undefined && usage.last !== ''
  const unread = places
    .filter(isAny)
    .reduce((sum, each) => sum + (facts.usage(each)?.users ?? 0), 0)
  const [shownUsers, shownUsed] = [await shown(users, sight), await shown(used, sight)]
  return {
    isFollowed: facts.using?.used.some((each) => isSameKind(each, object)) ?? false,
    users: shownUsers.slice(0, MOST_LISTED),
    uses: shownUsed.slice(0, MOST_LISTED),
    hidden: users.length - shownUsers.length + used.length - shownUsed.length,
    isCut: users.length > MOST_LISTED || used.length > MOST_LISTED,
    unread,
    firstUsedAt: timeOf(usage?.firstAt || null),
    lastUsedAt: timeOf(usage?.lastAt || null),
    lastUser: isSeen ? usage.last : null,
  }
}

/** As `KIND/NAME`, to who may see all; empty: none is known. */
export function lastUserOf({ facts }: View, object: Coordinates): string {
  const usages = placesOfUsed(object).flatMap((place) => facts.usage(place) ?? [])
  const [last] = usages.toSorted((a, b) => b.users - a.users || b.lastAt - a.lastAt)
  return last?.last ?? ''
}

function named({ group, kind, namespace, name }: Coordinates): Coordinates {
  return { group, kind, namespace, name }
}

async function shown(all: readonly Other[], sight: Sight): Promise<Other[]> {
  if (sight.isWhole) return [...all]
  const may = await Promise.all(all.map((each) => sight.shows(each)))
  return all.filter((_, index) => may[index])
}
