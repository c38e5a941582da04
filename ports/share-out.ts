/**
 * Which process of a group has which partitions, and for which it is a standby.
 *
 * What must stay true: the same members give the same answer in every process; every partition has
 * one active member while there is any, shares differ by one at most, no member is a standby of its
 * own active partition, and a partition that may stay where it is stays.
 *
 * Not here: the membership (adapters/*), the use of a share (services/graph/graph.ts).
 */

export interface Share {
  readonly active: readonly number[]
  readonly standby: readonly number[]
}

interface Member {
  readonly name: string
  readonly former: Share
  readonly active: Set<number>
  readonly standby: Set<number>
}

/**
 * `former`: the former share of every member by name; a new one had nothing. `standbys`: how many
 * of each partition, as far as there are members.
 */
export function assign(
  former: ReadonlyMap<string, Share>,
  partitions: number,
  standbys: number,
): Map<string, Share> {
  const members = [...former]
    .map(
      ([name, share]) => ({ name, former: share, active: new Set(), standby: new Set() }) as Member,
    )
    .sort((a, b) => byText(a.name, b.name))
  if (members.length > 0) {
    assignActive(members, partitions)
    assignStandbys(members, partitions, Math.min(standbys, members.length - 1))
  }
  return new Map(
    members.map(({ name, active, standby }) => [
      name,
      { active: [...active].sort(byNumber), standby: [...standby].sort(byNumber) },
    ]),
  )
}

function assignActive(members: readonly Member[], partitions: number): void {
  const least = Math.floor(partitions / members.length)
  let extras = partitions % members.length
  const free = new Set(Array.from({ length: partitions }, (_, partition) => partition))
  const give = (member: Member, partition: number): void => {
    if (member.active.size >= least) extras -= 1
    member.active.add(partition)
    free.delete(partition)
  }
  const hasRoom = ({ active }: Member): boolean =>
    active.size < least || (active.size === least && extras > 0)
  for (const member of members.toSorted(
    (a, b) => b.former.active.length - a.former.active.length,
  )) {
    for (const partition of member.former.active) {
      if (free.has(partition) && hasRoom(member)) give(member, partition)
    }
  }
  for (const partition of [...free]) {
    const [best] = members
      .filter(hasRoom)
      .sort(
        (a, b) => standsBy(b, partition) - standsBy(a, partition) || a.active.size - b.active.size,
      )
    if (best !== undefined) give(best, partition)
  }
}

/** Partitions that were active there are as good as standbys: their stores are at hand. */
function assignStandbys(members: readonly Member[], partitions: number, each: number): void {
  const most = Math.ceil((partitions * each) / members.length)
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const counts = all.map((partition) => {
    const kept = members
      .filter(
        (member) =>
          !member.active.has(partition) &&
          member.standby.size < most &&
          isAtHand(member, partition),
      )
      .slice(0, each)
    for (const { standby } of kept) standby.add(partition)
    return kept.length
  })
  for (const partition of all) {
    const others = members
      .filter(({ active, standby }) => !active.has(partition) && !standby.has(partition))
      .sort((a, b) => a.standby.size - b.standby.size)
    for (const { standby } of others.slice(0, each - (counts[partition] ?? 0)))
      standby.add(partition)
  }
  evenOut(members)
}

/**
 * Moves standbys from the member with more to the one with fewer; first those whose store is not at
 * hand anyway. Each move brings two members closer, so it ends.
 */
function evenOut(members: readonly Member[]): void {
  for (let isMoving = true; isMoving; ) {
    const bySize = members.toSorted((a, b) => b.standby.size - a.standby.size)
    isMoving = bySize.some((most) => bySize.some((least) => moveStandby(most, least)))
  }
}

function moveStandby(from: Member, to: Member): boolean {
  if (from.standby.size - to.standby.size <= 1) return false
  const movable = [...from.standby].filter(
    (partition) => !to.active.has(partition) && !to.standby.has(partition),
  )
  const partition = movable.find((each) => !isAtHand(from, each)) ?? movable.at(-1)
  if (partition === undefined) return false
  from.standby.delete(partition)
  to.standby.add(partition)
  return true
}

function isAtHand({ former }: Member, partition: number): boolean {
  return former.standby.includes(partition) || former.active.includes(partition)
}

function standsBy({ former }: Member, partition: number): number {
  return former.standby.includes(partition) ? 1 : 0
}

function byNumber(a: number, b: number): number {
  return a - b
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
