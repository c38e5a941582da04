/**
 * One life of Jobs on two control planes alike, the TTL controller on one and the rule
 * `finished-jobs` on the other: at the end the same objects remain.
 *
 * What must stay true: beside the comparison each side is held against what its own server
 * accepted: a Job that is not due stays, one that is due is deleted. A Job whose outcome
 * was a matter of pace is left out of the comparison, is counted, and is still held against that.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Requests } from '../../process/objects.ts'
import type { Slot } from '../action.ts'
import type { JobAction, JobLife, MakeJob } from './job-life.ts'
import { type Accepted, JobSide } from './job-side.ts'

export interface JobTwinOptions {
  readonly life: JobLife
  /** Unique on both planes. */
  readonly name: string
  /** Upstream first. */
  readonly planes: readonly [Requests, Requests]
  /** Of the second one's clock. */
  readonly skewMs: number
  /** Breaks all connections of both collectors. */
  readonly onBreak: () => void
}

export interface JobTwinResult {
  /** A line an object. */
  readonly differences: readonly string[]
  /** Upstream deleted a Job although its server had accepted a longer TTL before. */
  readonly late: readonly string[]
  /** Upstream's collector has not collected pods of a deleted Job, Kinfold has. */
  readonly left: readonly string[]
  readonly jobs: number
  readonly expired: number
  readonly raced: number
}

type Sides = readonly [JobSide, JobSide]

/**
 * A difference that lasts this long is one. Where connections break again and again, as they do for
 * all lives at once, client-go waits up to a minute before it watches again, and a deletion in the
 * foreground takes two of its watches in turn.
 */
const EQUAL_WITHIN_MS = 150_000
const LOOK_EVERY_MS = 500
/** A deletion by hand so soon after or before the TTL's may come first or not. */
const RACE_AFTER_MS = 5_000
const RACE_BEFORE_MS = 1_500
/** With its CronJob it is deleted when the collector has observed that. */
const CASCADE_BEFORE_MS = 20_000
/** What is due later than this is not awaited. */
const AWAITED_S = 60

export async function runJobTwin(options: JobTwinOptions): Promise<JobTwinResult> {
  const { life, name, planes, skewMs } = options
  const sides: Sides = [new JobSide(planes[0], name), new JobSide(planes[1], name)]
  await both(sides, (side) => side.begin())
  const raced = new Set<Slot>()
  const names = new Map<Slot, Slot>()
  for (const { pauseMs, actions } of life.steps) {
    await delay(pauseMs)
    for (const action of actions) await act(action, { ...options, sides, raced, names })
  }
  const endS = Math.floor(Date.now() / 1_000)
  await pastAllDue(sides, endS, skewMs)
  await both(sides, (side) => side.expireOne())
  let found = await compared(sides, raced, endS)
  const deadline = performance.now() + EQUAL_WITHIN_MS
  while (found.differences.length + found.left.length > 0 && performance.now() < deadline) {
    await delay(LOOK_EVERY_MS)
    found = await compared(sides, raced, endS)
  }
  // What is deleted too much may be deleted last.
  await both(sides, (side) => side.expireOne())
  const last = found.differences.length > 0 ? found : await compared(sides, raced, endS)
  const jobs = [...sides[1].jobs.values()]
  const expired = jobs.filter((job) => !job.isRemoved && isDue(job, endS)).length
  return { ...last, jobs: jobs.length, expired, raced: raced.size }
}

interface Acting extends JobTwinOptions {
  readonly sides: Sides
  readonly raced: Set<Slot>
  /** The slot whose name a slot has. */
  readonly names: Map<Slot, Slot>
}

async function act(action: JobAction, acting: Acting): Promise<void> {
  const { sides, raced, onBreak } = acting
  if (action.type === 'break') return onBreak()
  if (needsSettled(action)) await both(sides, (side) => side.settle())
  if (action.type === 'ttl' && action.dueMs !== null) await untilDue(sides, action)
  const nowS = Math.floor(Date.now() / 1_000)
  const [upstream, kinfold] = await both(sides, (side) => side.apply(action, nowS))
  const slots = action.type === 'remove-cron' ? ofCronJob(sides) : [action.slot]
  const beforeMs = action.type === 'remove' ? RACE_BEFORE_MS : CASCADE_BEFORE_MS
  if (upstream !== kinfold || isByHand(action)) {
    // What is accepted long after the TTL meets a Job whose deletion is under way, or late.
    const afterMs = isAccepted(kinfold) ? Number.POSITIVE_INFINITY : RACE_AFTER_MS
    for (const slot of slots)
      if (upstream !== kinfold || isNear(slot, [beforeMs, afterMs], acting)) raced.add(slot)
  }
  if (action.type === 'make') nameRaced(action, acting)
}

/** Whether a name is free depends on what had it before. */
function nameRaced({ slot, name }: MakeJob, { raced, names }: Acting): void {
  names.set(slot, name)
  const named = [...names].flatMap(([each, has]) => (has === name ? each : []))
  if (named.some((each) => raced.has(each))) for (const each of named) raced.add(each)
}

/** A collector neither orphans nor waits for what it has not observed. */
function needsSettled(action: JobAction): boolean {
  if (action.type === 'remove') return action.policy !== 'Background'
  return action.type === 'finish' && action.settled
}

function isByHand({ type }: JobAction): boolean {
  return type === 'remove' || type === 'remove-cron'
}

function ofCronJob(sides: Sides): Slot[] {
  return sides.flatMap(({ jobs }) =>
    [...jobs].flatMap(([slot, job]) => (job.ofCronJob ? slot : [])),
  )
}

function isAccepted(said: string): boolean {
  return said.startsWith('2')
}

function isNear(
  slot: Slot,
  [beforeMs, afterMs]: readonly [number, number],
  { sides, skewMs }: Acting,
): boolean {
  const now = Date.now()
  return sides.some(({ jobs }) => {
    const dueS = dueOf(jobs.get(slot))
    if (dueS === undefined) return false
    const agoMs = now - dueS * 1_000
    const skew = Math.abs(skewMs)
    return agoMs > -beforeMs - skew && agoMs < afterMs + skew
  })
}

async function untilDue(
  sides: Sides,
  { slot, dueMs }: Extract<JobAction, { type: 'ttl' }>,
): Promise<void> {
  const dueS = dueOf(sides[1].jobs.get(slot))
  const waitMs = dueS === undefined ? 0 : dueS * 1_000 + (dueMs ?? 0) - Date.now()
  if (waitMs > 0 && waitMs < AWAITED_S * 1_000) await delay(waitMs)
}

async function pastAllDue(sides: Sides, endS: number, skewMs: number): Promise<void> {
  const all = sides.flatMap(({ jobs }) => [...jobs.values()].map(dueOf))
  const awaited = all.filter((dueS) => dueS !== undefined && dueS < endS + AWAITED_S)
  const lastMs = Math.max(0, ...awaited.map((dueS) => dueS! * 1_000)) + Math.max(0, -skewMs)
  await delay(Math.max(0, lastMs - Date.now()))
}

function dueOf(job: Accepted | undefined): number | undefined {
  if (job?.finishedS === undefined || job.ttl === null) return undefined
  return job.finishedS + job.ttl
}

function isDue(job: Accepted, endS: number): boolean {
  const dueS = dueOf(job)
  return dueS !== undefined && dueS < endS + AWAITED_S
}

type Compared = Pick<JobTwinResult, 'differences' | 'late' | 'left'>

async function compared(sides: Sides, raced: ReadonlySet<Slot>, endS: number): Promise<Compared> {
  const [upstream, kinfold] = await both(sides, (side) => side.look())
  const late: string[] = []
  const left: string[] = []
  const differences: string[] = []
  const slots = new Set(sides.flatMap(({ jobs }) => [...jobs.keys()]))
  for (const slot of slots) {
    const [one, other] = [sides[0].jobs.get(slot), sides[1].jobs.get(slot)]
    const wrong = wrongOf(one, upstream, endS)
    const isLate = one !== undefined && wrong !== '' && !isDue(one, endS) && one.changedAt > 0
    if (isLate) late.push(`job ${slot}: upstream: ${wrong}`)
    else if (wrong !== '') differences.push(`job ${slot}: upstream: ${wrong}`)
    const ours = wrongOf(other, kinfold, endS)
    if (ours !== '') differences.push(`job ${slot}: Kinfold: ${ours}`)
    if (raced.has(slot) || isLate) continue
    const [theirs, own] = [shownOf(one, upstream), shownOf(other, kinfold)]
    if (theirs === own) continue
    const isLeft = hasLeftPods(one, upstream) && !hasLeftPods(other, kinfold)
    if (isLeft) left.push(`job ${slot}: upstream left ${theirs}`)
    else differences.push(`job ${slot}: ${theirs} | ${own}`)
  }
  return { differences, late, left }
}

/** By what its server accepted; empty where that is what is left. */
function wrongOf(
  job: Accepted | undefined,
  left: ReadonlyMap<string, string>,
  endS: number,
): string {
  if (job === undefined || job.isRemoved) return ''
  const isLive = left.get(job.made.uid)?.startsWith('live') === true
  if (isLive !== isDue(job, endS)) return ''
  const what = `TTL ${job.ttl}, finished at ${job.finishedS}`
  return isLive ? `it is due and live (${what})` : `it is not due and deleted (${what})`
}

function hasLeftPods(job: Accepted | undefined, left: ReadonlyMap<string, string>): boolean {
  if (job === undefined || left.has(job.made.uid)) return false
  const of = `live, of [${job.made.name}]`
  return job.pods.some(({ uid }) => left.get(uid)?.startsWith(of) === true)
}

function shownOf(job: Accepted | undefined, left: ReadonlyMap<string, string>): string {
  if (job === undefined) return 'not made'
  const shown = [job.made, ...job.pods].map(({ name, uid }) => `${name} ${left.get(uid) ?? 'gone'}`)
  return shown.join('; ')
}

async function both<T>(sides: Sides, work: (side: JobSide) => Promise<T>): Promise<[T, T]> {
  return await Promise.all([work(sides[0]), work(sides[1])])
}
