/**
 * What must hold of the index of uses, whenever an agenda is empty: who uses an object, and how
 * many do, is counted anew from what each user says.
 */
import { factsOf } from '../../core/graph/facts.ts'
import { clusterIn, coordinatesIn, lastPart, usageKey, userKey } from '../../core/graph/key.ts'
import type { StateValue } from '../../core/model/state.ts'
import { isAny } from '../../core/model/use/use.ts'

type Entries = ReadonlyMap<string, StateValue>

export function checkUses(entries: Entries): string[] {
  const complaints: string[] = []
  const counts = new Map<string, number>()
  const rows = new Set<string>()
  for (const [key, value] of entries) {
    if (value.type !== 'Uses') continue
    const [cluster, uid] = [clusterIn(key), lastPart(key)]
    const facts = factsOf({ get: (each) => entries.get(each) }, cluster)
    if (facts.node(uid) === undefined) complaints.push(`${key}: its node left`)
    if (facts.using === undefined) complaints.push(`${key}: no rule asks`)
    for (const place of value.places.map(coordinatesIn)) {
      const usage = usageKey(cluster, place)
      counts.set(usage, (counts.get(usage) ?? 0) + 1)
      if (!isAny(place)) rows.add(userKey(cluster, place, uid))
    }
  }
  for (const [key, value] of entries) {
    if (value.type === 'UserRow' && !rows.delete(key)) complaints.push(`${key}: it is no user`)
    if (value.type !== 'Usage') continue
    const count = counts.get(key) ?? 0
    if (count !== value.users)
      complaints.push(`${key}: ${value.users} users, and there are ${count}`)
    counts.delete(key)
    const facts = factsOf({ get: (each) => entries.get(each) }, clusterIn(key))
    const left = value.objects.find((uid) => facts.node(uid) === undefined)
    if (left !== undefined) complaints.push(`${key}: ${left} left`)
  }
  for (const key of [...counts.keys(), ...rows]) complaints.push(`${key}: it is missing`)
  return complaints
}
