/**
 * A random life of Jobs from a seed, for twin runs of the rule `finished-jobs`: as data, with a
 * text for people.
 *
 * What must stay true: it is a pure function of the seed, and names objects by slot alone. Where an
 * outcome depends on the pace of garbage collection, and not on a TTL, it is left out, each with
 * its reason in RULES.
 */
import { type Chance, seeded } from '../../seeded.ts'
import type { Slot } from '../action.ts'
import { FOREGROUND, HOLD, ORPHAN, type Propagation } from '../world.ts'

export const RULES = {
  fights:
    'no controller but a CronJob owns a Job: Kinfold holds the rule for one that makes its Jobs again (docs/operate/rules.md), upstream goes on for ever',
  late: 'pods are made before their Job finishes, and both sides know them where a finalizer shows whether they did: what is made, or becomes known, while a deletion in the foreground waits is a matter of pace (B35)',
  ownPolicy:
    "a CronJob's Jobs have no finalizers of a policy: the policy that its deletion passes on would be a race with the TTL's",
} as const

/** What the status says; `almost` is a Job that is about to finish, `timeless` has no time. */
export type Finish = 'Complete' | 'Failed' | 'Suspended' | 'almost' | 'timeless'

export interface MakeJob {
  readonly type: 'make'
  readonly slot: Slot
  /** The slot whose name it has. */
  readonly name: Slot
  readonly ttl: number | null
  readonly finalizers: readonly string[]
  /** Of each pod. */
  readonly pods: readonly (readonly string[])[]
  readonly ofCronJob: boolean
}

/** What is done to a server. */
export type JobRequest =
  | MakeJob
  /** `agoS`: below zero for a writer whose clock is ahead. `settled`: both sides know its pods. */
  | {
      readonly type: 'finish'
      readonly slot: Slot
      readonly as: Finish
      readonly agoS: number
      readonly settled: boolean
    }
  /** `dueMs`: so long after it is due, by the wall clock; null: now. */
  | {
      readonly type: 'ttl'
      readonly slot: Slot
      readonly ttl: number | null
      readonly dueMs: number | null
    }
  | { readonly type: 'touch'; readonly slot: Slot }
  | { readonly type: 'remove'; readonly slot: Slot; readonly policy: Propagation | undefined }
  | { readonly type: 'release'; readonly slot: Slot }
  | { readonly type: 'remove-cron' }

/** `break`: all connections of both collectors. */
export type JobAction = JobRequest | { readonly type: 'break' }

export interface JobStep {
  /** Before it. */
  readonly pauseMs: number
  readonly actions: readonly JobAction[]
}

export interface JobLife {
  readonly seed: number
  readonly steps: readonly JobStep[]
}

const HOUR_S = 3_600
/** `none` is no TTL: `pick` takes a null for nothing. */
const TTLS = [0, 0, 1, 2, 3, 5, HOUR_S, 'none', 'none'] as const
const RAISED = [HOUR_S, HOUR_S, 'none'] as const
const CHANGED = [...RAISED, 0, 2] as const
const AGES_S = [0, 0, 0, 1, 2, 60, HOUR_S, -2, -3, -HOUR_S] as const
const FINISHES: readonly [Finish, ...Finish[]] = [
  ...(['Complete', 'Complete', 'Complete', 'Failed', 'Failed'] as const),
  ...(['Suspended', 'almost', 'timeless'] as const),
]
const POLICIES = ['Background', 'Background', 'Foreground', 'Orphan', 'default'] as const
const FIRST_JOBS = 6
const MORE_JOBS = 6
const STEPS = 8
const MORE_STEPS = 7
const LONGEST_PAUSE_MS = 900
/** A deletion by hand that is nearer to the TTL's is a race. */
const NEAR_MS = 3_000

interface Job {
  readonly name: Slot
  readonly ofCronJob: boolean
  /** A finalizer of the Job or of a pod stays: it shows whether its pods were known. */
  readonly isShown: boolean
  ttl: number | null
  /** In the life's own time; undefined: it runs. */
  finishedMs: number | undefined
  isRemoved: boolean
}

interface State {
  readonly chance: Chance
  readonly jobs: Job[]
  nowMs: number
  hasCron: boolean
}

export function jobLife(seed: number): JobLife {
  const chance = seeded(seed)
  const state: State = { chance, jobs: [], nowMs: 0, hasCron: true }
  const first = Array.from({ length: FIRST_JOBS + chance.below(MORE_JOBS) }, () => made(state))
  const steps: JobStep[] = [{ pauseMs: 0, actions: first }]
  const count = STEPS + chance.below(MORE_STEPS)
  for (let step = 0; step < count; step++) {
    const pauseMs = chance.below(LONGEST_PAUSE_MS)
    state.nowMs += pauseMs
    steps.push({ pauseMs, actions: nextActions(state) })
  }
  return { seed, steps }
}

function nextActions(state: State): readonly JobAction[] {
  const { chance } = state
  const dice = chance.next()
  if (dice < 0.4) return finishes(state)
  if (dice < 0.58) return otherTtl(state)
  if (dice < 0.72) return removal(state)
  if (dice < 0.8) return [made(state)]
  if (dice < 0.86) return oneOf(state, (slot) => ({ type: 'touch', slot }))
  if (dice < 0.92) return oneOf(state, (slot) => ({ type: 'release', slot }))
  if (dice < 0.97 || !state.hasCron) return [{ type: 'break' }]
  state.hasCron = false
  for (const job of state.jobs) if (job.ofCronJob) job.isRemoved = true
  return [{ type: 'remove-cron' }]
}

function made(state: State, name?: Slot): MakeJob {
  const { chance, jobs } = state
  const slot = jobs.length
  const ofCronJob = state.hasCron && chance.next() < 0.2
  const dice = chance.next()
  const own = dice < 0.1 ? [HOLD] : dice < 0.16 ? [ORPHAN] : dice < 0.22 ? [FOREGROUND] : []
  const finalizers = ofCronJob && own[0] !== HOLD ? [] : own
  const pods = Array.from({ length: chance.pick([0, 0, 1, 2]) }, () =>
    chance.next() < 0.15 ? [HOLD] : [],
  )
  const ttl = ttlOf(chance.pick(TTLS))
  const isShown = pods.some((each) => each.length > 0 || finalizers.includes(HOLD))
  const rest = { ofCronJob, isShown, isRemoved: false }
  jobs.push({ name: name ?? slot, ...rest, ttl, finishedMs: undefined })
  return { type: 'make', slot, name: name ?? slot, ttl, finalizers, pods, ofCronJob }
}

/** Most of them in a life finish, several at once. */
function finishes(state: State): readonly JobAction[] {
  const { chance, jobs } = state
  const running = slotsOf(
    state,
    ({ finishedMs, isRemoved }) => !isRemoved && finishedMs === undefined,
  )
  const chosen = running.filter(() => chance.next() < 0.5)
  return chosen.flatMap((slot): readonly JobAction[] => {
    const job = jobs[slot]!
    const as = chance.pick(FINISHES)
    const agoS = chance.pick(AGES_S)
    if (as !== 'Complete' && as !== 'Failed') {
      return [{ type: 'finish', slot, as, agoS, settled: false }]
    }
    job.finishedMs = state.nowMs - agoS * 1_000
    const finish = { type: 'finish', slot, as, agoS, settled: job.isShown } as const
    if (job.ttl === null || job.ttl === HOUR_S || chance.next() < 0.7) return [finish]
    // Raised just when it is due.
    const raised = ttlOf(chance.pick(RAISED))
    job.ttl = raised
    return [finish, { type: 'ttl', slot, ttl: raised, dueMs: chance.below(160) - 120 }]
  })
}

function ttlOf(picked: number | 'none'): number | null {
  return picked === 'none' ? null : picked
}

function otherTtl(state: State): readonly JobAction[] {
  return oneOf(state, (slot) => {
    const ttl = ttlOf(state.chance.pick(CHANGED))
    state.jobs[slot]!.ttl = ttl
    return { type: 'ttl', slot, ttl, dueMs: null }
  })
}

/** By hand, and often made again under its name. */
function removal(state: State): readonly JobAction[] {
  const { chance, jobs } = state
  const isFar = ({ ttl, finishedMs, isRemoved }: Job): boolean => {
    if (isRemoved) return false
    if (ttl === null || finishedMs === undefined) return true
    return finishedMs + ttl * 1_000 > state.nowMs + NEAR_MS
  }
  const slot = pickOf(chance, slotsOf(state, isFar))
  if (slot === undefined) return []
  const job = jobs[slot]!
  job.isRemoved = true
  const picked = chance.pick(POLICIES)
  const policy = picked === 'default' ? undefined : picked
  const remove = { type: 'remove', slot, policy } as const
  return chance.next() < 0.6 ? [remove, made(state, job.name)] : [remove]
}

function oneOf(state: State, act: (slot: Slot) => JobAction): readonly JobAction[] {
  const slot = pickOf(
    state.chance,
    slotsOf(state, ({ isRemoved }) => !isRemoved),
  )
  return slot === undefined ? [] : [act(slot)]
}

function slotsOf({ jobs }: State, isMeant: (job: Job) => boolean): Slot[] {
  return jobs.flatMap((job, slot) => (isMeant(job) ? [slot] : []))
}

function pickOf(chance: Chance, [first, ...others]: readonly Slot[]): Slot | undefined {
  return first === undefined ? undefined : chance.pick([first, ...others])
}

/** A line an action. */
export function shownLife({ steps }: JobLife): string {
  return steps
    .flatMap(({ pauseMs, actions }, index) => [
      `step ${index}, after ${pauseMs} ms:`,
      ...actions.map((action) => `  ${JSON.stringify(action)}`),
    ])
    .join('\n')
}
