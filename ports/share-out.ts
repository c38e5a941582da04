/**
 * Which process of a group has which partitions, and for which it is a standby.
 *
 * What must stay true: the same claims give the same answer in every process; every partition has
 * one active member while there is any, and no member is a standby of its own active partition. A
 * partition that is answered moves only to a member that can answer at once: until that one is
 * ready it stays, and the other prepares (`next`). One with a standby that is ready keeps one. So
 * once all are ready shares are even by weight, and by number where the partitions weigh the same,
 * and what may stay where it is stays.
 *
 * Not here: the membership (adapters/*), the use of a share, and what a process knows of its
 * partitions (services/graph/graph.ts).
 */

export interface Share {
  readonly active: readonly number[]
  readonly standby: readonly number[]
  /**
   * Of the standbys those that are worth sharing out anew once it is ready: it becomes active, or
   * another one need stand by no longer.
   */
  readonly next: readonly number[]
  /** Of the standbys those that are others' by now, until one of these is ready. */
  readonly leaving?: readonly number[]
}

/** What a process says of its partitions. */
export interface Report {
  /** Active and answered, or a standby's whose store is nearly as the log is. */
  readonly ready: readonly number[]
  /** Of active ones, events a second. */
  readonly loads: readonly (readonly [partition: number, eventsPerSecond: number])[]
}

/** Its former share; a new member had nothing. One that does not report is ready for all. */
export interface Former extends Pick<Share, 'active' | 'standby' | 'leaving'>, Partial<Report> {}

interface Member {
  readonly name: string
  readonly former: Former
  readonly active: Set<number>
  readonly standby: Set<number>
  readonly next: Set<number>
  readonly leaving: Set<number>
}

/** So many events a second weigh as much as a partition in which nothing happens. */
const QUIET_EVENTS = 25

/** `standbys`: how many of each partition, as far as there are members. */
export function assign(
  former: ReadonlyMap<string, Former>,
  partitions: number,
  standbys: number,
): Map<string, Share> {
  const members = [...former]
    .map(([name, share]): Member => {
      const roles = { active: new Set<number>(), standby: new Set<number>() }
      return { name, former: share, ...roles, next: new Set<number>(), leaving: new Set<number>() }
    })
    .sort((a, b) => byText(a.name, b.name))
  if (members.length > 0) {
    const weights = weightsOf(members, partitions)
    keepActive(members, partitions)
    giveFree(members, weights)
    move(members, weights)
    const each = Math.min(standbys, members.length - 1)
    assignStandbys(members, partitions, each)
    if (each > 0) keepReady(members, partitions)
  }
  return new Map(members.map((member) => [member.name, shareOf(member)]))
}

function shareOf({ active, standby, next, leaving }: Member): Share {
  return {
    ...{ active: sorted(active), standby: sorted(standby), next: sorted(next) },
    ...(leaving.size > 0 && { leaving: sorted(leaving) }),
  }
}

/**
 * What a member counts that has the partition: doubles with its events, so that nothing moves for
 * small changes of them.
 */
export function weightOf(eventsPerSecond: number): number {
  return 2 ** Math.floor(Math.log2(1 + eventsPerSecond / QUIET_EVENTS))
}

function weightsOf(members: readonly Member[], partitions: number): readonly number[] {
  const weights = Array<number>(partitions).fill(1)
  for (const { former } of members) {
    for (const [partition, events] of former.loads ?? []) {
      if (former.active.includes(partition) && partition < partitions)
        weights[partition] = weightOf(events)
    }
  }
  return weights
}

/** Of two that claim the same one has it. */
function keepActive(members: readonly Member[], partitions: number): void {
  const free = new Set(Array.from({ length: partitions }, (_, partition) => partition))
  for (const { former, active } of members) {
    for (const partition of former.active) if (free.delete(partition)) active.add(partition)
  }
}

/** Those without a member: at once, to the one that can answer soonest. */
function giveFree(members: readonly Member[], weights: readonly number[]): void {
  const taken = new Set(members.flatMap(({ active }) => [...active]))
  for (const partition of weights.keys()) {
    if (taken.has(partition)) continue
    const soonest = (member: Member): number =>
      Number(hasStore(member, partition)) + Number(isReady(member, partition))
    const [best] = members.toSorted(
      (a, b) =>
        soonest(b) - soonest(a) || weightIn(weights, a.active) - weightIn(weights, b.active),
    )
    best?.active.add(partition)
  }
}

/** To the lightest member from the heaviest that can give one, while that brings them closer. */
function move(members: readonly Member[], weights: readonly number[]): void {
  const planned = new Map(members.map((member) => [member, new Set(member.active)] as const))
  for (;;) {
    const weightOfPlan = (member: Member): number => weightIn(weights, planned.get(member) ?? [])
    const byWeight = members.toSorted((a, b) => weightOfPlan(b) - weightOfPlan(a))
    const to = byWeight.at(-1)
    if (to === undefined) break
    const moved = byWeight.flatMap((from) => {
      const gap = weightOfPlan(from) - weightOfPlan(to)
      const partition = movable({ from, to }, [...(planned.get(from) ?? [])], { weights, gap })
      return partition === undefined ? [] : [{ from, partition }]
    })
    const [first] = moved
    if (first === undefined) break
    planned.get(first.from)?.delete(first.partition)
    planned.get(to)?.add(first.partition)
  }
  for (const [member, plan] of planned) for (const each of plan) give(members, member, each)
}

/** By which the two come closest; rather one that is at hand there, and none that was here. */
function movable(
  { from, to }: { readonly from: Member; readonly to: Member },
  partitions: readonly number[],
  { weights, gap }: { readonly weights: readonly number[]; readonly gap: number },
): number | undefined {
  const weight = (partition: number): number => weights[partition] ?? 1
  const isOfOld = (partition: number): number => Number(from.former.active.includes(partition))
  const [best] = partitions
    .filter((each) => weight(each) < gap)
    .sort(
      (a, b) =>
        isOfOld(a) - isOfOld(b) ||
        Number(isAtHand(to, b)) - Number(isAtHand(to, a)) ||
        Math.abs(gap - 2 * weight(a)) - Math.abs(gap - 2 * weight(b)) ||
        b - a,
    )
  return best
}

/** One that is answered waits until the other can answer it, too. */
function give(members: readonly Member[], to: Member, partition: number): void {
  if (to.active.has(partition)) return
  const from = members.find(({ active }) => active.has(partition))
  const isAnswered = from !== undefined && isAtHand(from, partition) && isReady(from, partition)
  if (isAnswered && !isReady(to, partition)) {
    to.next.add(partition)
    to.standby.add(partition)
    return
  }
  from?.active.delete(partition)
  to.active.add(partition)
}

/** Partitions that were active there are as good as standbys: their stores are at hand. */
function assignStandbys(members: readonly Member[], partitions: number, each: number): void {
  const most = Math.ceil((partitions * each) / members.length)
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const standing = ({ standby, next }: Member): number => standby.size - next.size
  const counts = all.map((partition) => {
    const kept = members
      .filter(
        (member) =>
          !member.active.has(partition) &&
          !member.next.has(partition) &&
          standing(member) < most &&
          isAtHand(member, partition),
      )
      .slice(0, each)
    for (const { standby } of kept) standby.add(partition)
    return kept.length
  })
  for (const partition of all) {
    const others = members
      .filter(({ active, standby }) => !active.has(partition) && !standby.has(partition))
      .sort((a, b) => standing(a) - standing(b))
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
    (partition) =>
      !from.next.has(partition) && !to.active.has(partition) && !to.standby.has(partition),
  )
  const partition = movable.find((each) => !isAtHand(from, each)) ?? movable.at(-1)
  if (partition === undefined) return false
  from.standby.delete(partition)
  to.standby.add(partition)
  return true
}

/**
 * A standby that is ready stays while none of those that are to stand by is: a process that is
 * killed meanwhile has a successor all the same.
 */
function keepReady(members: readonly Member[], partitions: number): void {
  for (let partition = 0; partition < partitions; partition++) {
    const standing = members.filter(({ standby }) => standby.has(partition))
    const isReadyFor = (member: Member): boolean => isReady(member, partition)
    if (standing.some(isReadyFor)) continue
    const last = members.find(
      (each) => !each.active.has(partition) && hasStore(each, partition) && isReadyFor(each),
    )
    if (last === undefined) continue
    last.standby.add(partition)
    last.leaving.add(partition)
    for (const { next } of standing) next.add(partition)
  }
}

function isAtHand(member: Member, partition: number): boolean {
  return hasStore(member, partition) && member.former.leaving?.includes(partition) !== true
}

function hasStore({ former }: Member, partition: number): boolean {
  return former.standby.includes(partition) || former.active.includes(partition)
}

/** A member that does not report counts as ready. */
function isReady({ former }: Member, partition: number): boolean {
  return former.ready === undefined || former.ready.includes(partition)
}

function weightIn(weights: readonly number[], partitions: Iterable<number>): number {
  let sum = 0
  for (const partition of partitions) sum += weights[partition] ?? 1
  return sum
}

function sorted(partitions: ReadonlySet<number>): number[] {
  return [...partitions].sort((a, b) => a - b)
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
