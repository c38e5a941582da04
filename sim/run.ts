/**
 * One seed's life: a time with faults, then everything heals and it must come to rest.
 *
 * What must stay true: all that happens follows from the options, so the same options give the same
 * digest.
 */

import { seeded } from '../testing/seeded.ts'
import { CHECKERS } from './check/checkers.ts'
import { type Begun, beginFault } from './fault/faults.ts'
import { letGoOfAll } from './fault/life-faults.ts'
import type { ScheduledFault, SimOptions } from './options.ts'
import { asksOthers, Others } from './rule/drawn-condition.ts'
import { AcrossUsers } from './rule/drawn-elsewhere.ts'
import { noteCalm } from './rule/elsewhere-law.ts'
import { beginLooking } from './rule/person.ts'
import { Users } from './workload.ts'
import { WholeWorld } from './world.ts'

const MINUTE = 60_000
/**
 * Of virtual time until everything is in order: two growing waits of ten minutes, and an hour for
 * events that only a relist shows.
 */
const PATIENCE_MS = 90 * MINUTE
/** Objects left after that may be held. */
const HELD_MS = 12 * MINUTE
/** The same with owners in other clusters: what names them waits an hour, or once more. */
const ACROSS_MS = [72 * MINUTE, 150 * MINUTE] as const
/** From then on what is deleted is watched. */
const CALM_MS = 6 * MINUTE
const RELIST_MS = 75 * MINUTE
const LOOK_MS = 10_000
/** After that, persons see the objects that are still held. */
const SAID_AGAIN_MS = 10 * MINUTE
const QUIET_MS = 2 * MINUTE
/**
 * In that time no loop runs hot. The bounds: calls to one cluster, and commands about objects that
 * had a command before, since a hold of any number of objects may end in it.
 */
const QUIET_REQUESTS = 400
const QUIET_COMMANDS = 40

export interface Run {
  readonly seed: number
  /** The failures; empty when all is well. */
  readonly wrongs: readonly string[]
  readonly reaped: number
  /** How often each fault happened. */
  readonly fired: ReadonlyMap<string, number>
  /** Of virtual time. */
  readonly elapsedMs: number
  readonly digest: string
}

export async function run(options: SimOptions, print?: (line: string) => void): Promise<Run> {
  const world = new WholeWorld(options, CHECKERS, print)
  const users = world.sites.map((site) => new Users(world, site))
  const across = acrossOf(world)
  await live(world, users, across)
  const wrongs = world.wrongs.length > 0 ? [] : await heal(world, users, across)
  for (const each of wrongs) world.wrong(each)
  await world.stop()
  return {
    seed: options.seed,
    wrongs: [...world.wrongs],
    reaped: world.reaped.length,
    fired: world.fired,
    elapsedMs: world.time.monotonicMs(),
    digest: world.trace.digest(),
  }
}

/**
 * Faults begin and end, and users act, each at its time; faults that begin with the world begin
 * before any process runs.
 */
async function live(
  world: WholeWorld,
  users: readonly Users[],
  across: readonly AcrossUsers[],
): Promise<void> {
  const { options, time } = world
  const begun = new Set<Begun>()
  world.isTroubled = true
  for (const fault of options.faults) {
    if (fault.atMs === 0) begin(world, users, fault, begun)
    else time.at(fault.atMs, () => begin(world, users, fault, begun))
  }
  world.start()
  beginLooking(world)
  beginOthers(world)
  for (const each of across) beginAcross(world, each)
  for (const { atMs, acts, lastsMs } of options.bursts) {
    const chosen = world.chance.below(users.length)
    for (let act = 0; act < acts; act++)
      time.at(atMs + (act * lastsMs) / acts, () => users[chosen]?.act())
  }
  for (let elapsedMs = 0; elapsedMs < options.safetyMs; elapsedMs += MINUTE) {
    await time.advance(MINUTE)
    world.lookAround()
    if (world.wrongs.length > 0) return
  }
  world.isTroubled = false
  for (const { end } of begun) end()
}

/** Pods and Nodes, about which such rules ask, come and go while there are faults. */
function beginOthers(world: WholeWorld): void {
  const { options, time, marks } = world
  if (!options.policy.rules.some(asksOthers)) return
  for (const [index, site] of world.sites.entries()) {
    const others = new Others(site, seeded(options.seed * 32 + index), marks)
    const act = (): void => {
      if (!world.isTroubled) return
      others.act()
      time.at(time.monotonicMs() + others.nextMs(), act)
    }
    others.begin()
    time.at(others.nextMs(), act)
  }
}

/** By rule, who makes owners and dependents for it. */
function acrossOf(world: WholeWorld): readonly AcrossUsers[] {
  const { sites, options } = world
  return options.policy.rules.flatMap((rule, index) => {
    const { elsewhere } = rule
    if (elsewhere === null) return []
    return new AcrossUsers(sites, rule, elsewhere, seeded(options.seed * 32 + 16 + index))
  })
}

/** They act while there are faults. */
function beginAcross(world: WholeWorld, users: AcrossUsers): void {
  const { time } = world
  const act = (): void => {
    if (!world.isTroubled) return
    users.act()
    time.at(time.monotonicMs() + users.nextMs(time.monotonicMs()), act)
  }
  time.at(MINUTE, () => users.begin())
  time.at(2 * MINUTE, act)
}

function begin(
  world: WholeWorld,
  users: readonly Users[],
  fault: ScheduledFault,
  begun: Set<Begun>,
): void {
  if (!world.isTroubled) return
  world.trace.note('fault', `${fault.row} for ${fault.lastsMs} ms`)
  const it = beginFault(world, users, fault)
  begun.add(it)
  world.time.at(world.time.monotonicMs() + fault.lastsMs, () => {
    if (!begun.delete(it)) return
    world.trace.note('heals', fault.row)
    it.end()
  })
}

/** An event lost on a watch shows in the next relist of its kind, which is an hour away at most. */
async function complaintsLeft(world: WholeWorld): Promise<readonly string[]> {
  let complaints = await world.complaints()
  for (let waitedMs = 0; complaints.length > 0 && waitedMs < RELIST_MS; waitedMs += HELD_MS) {
    await world.time.advance(HELD_MS)
    complaints = await world.complaints()
  }
  return complaints
}

/** Held objects are searched for after everything else had its time. */
async function leftAfter(world: WholeWorld, waitedMs: number): Promise<readonly string[]> {
  if (!world.isCaughtUp) return [`not caught up: ${world.standing()}`]
  if (world.leftovers().length === 0) return []
  return waitedMs < HELD_MS ? ['not looked at yet'] : await world.unexplained()
}

/**
 * A cluster may be restored, and its watches still be connected to what was there before: here all
 * begin anew, and what is deleted from then on is watched.
 */
function beginCalm(world: WholeWorld, across: readonly AcrossUsers[]): void {
  const { time, network, names } = world
  for (const name of names) network.cut(name)
  noteCalm(world)
  const now = time.monotonicMs()
  for (const users of across) {
    time.at(now + MINUTE, () => users.begin())
    time.at(now + CALM_MS, () => users.deleteOwners())
  }
}

async function heal(
  world: WholeWorld,
  users: readonly Users[],
  across: readonly AcrossUsers[],
): Promise<readonly string[]> {
  const { time } = world
  world.trace.note('heal', 'everything heals')
  const isAcross = across.length > 0 && world.isEnforcing
  if (isAcross) beginCalm(world, across)
  const [leastMs, mostMs] = isAcross ? ACROSS_MS : [0, PATIENCE_MS]
  let left: readonly string[] = ['nothing was looked at']
  for (let waitedMs = 0; waitedMs < mostMs && left.length > 0; waitedMs += LOOK_MS) {
    for (const each of users) each.releaseAll()
    if (waitedMs === SAID_AGAIN_MS && world.hasLostWords) await letGoOfAll(world)
    await time.advance(LOOK_MS)
    if (world.wrongs.length > 0) return []
    if (waitedMs < leastMs) {
      left = ['owners elsewhere were not deleted long enough ago']
      continue
    }
    left = await leftAfter(world, waitedMs)
    if (!world.isEnforcing && waitedMs > 5 * MINUTE) left = []
  }
  if (left.length > 0) return left
  await time.advance(QUIET_MS)
  const [commands, requests] = [await world.commands(), world.requests]
  await time.advance(QUIET_MS)
  const again = repeated(commands, await world.commands())
  const calls = world.requests - requests
  const count = world.sites.length
  const wrongs = [...(await complaintsLeft(world))]
  if (again >= QUIET_COMMANDS * count)
    wrongs.push(`${again} commands again in two quiet minutes (I18)`)
  if (calls >= QUIET_REQUESTS * count) wrongs.push(`${calls} requests in two quiet minutes (I18)`)
  return wrongs
}

/** Commands after the first one about each object. */
function repeated(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  let again = 0
  for (const [key, count] of after) again += Math.max(0, count - (before.get(key) ?? 0) - 1)
  return again
}
