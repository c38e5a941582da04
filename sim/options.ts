/**
 * What a seed draws: how many clusters, partitions and processes there are, how they are
 * configured, and which faults there will be.
 *
 * What must stay true: everything here is data that follows from the seed, so that a world can be
 * run again with some of its faults left out.
 *
 * Not here: the effect of a fault (faults.ts), the actions of users (workload.ts).
 */
import type { Policy } from '../core/model/policy.ts'
import { policyFor } from '../core/model/policy.ts'
import type { WatcherConfig } from '../services/watcher/config.ts'
import { type Chance, seeded } from '../testing/seeded.ts'
import { asksOthers, CONDITION_KINDS, conditionedRules } from './rule/drawn-condition.ts'
import { elsewhereRules } from './rule/drawn-elsewhere.ts'
import { drawnRules, perhapsAnnotating, withoutStorage } from './rule/drawn-rules.ts'

/** `embedded`: all in one process, as `kinfold up`. `apart`: a process for each service, or two. */
export type Shape = 'embedded' | 'apart'

export interface SimOptions {
  readonly seed: number
  readonly clusters: number
  /** Resources of the built-in kinds that they serve; null: all there are. */
  readonly kinds: readonly string[] | null
  readonly partitions: number
  readonly shape: Shape
  /** Processes of each service, where they are apart. */
  readonly watchers: number
  readonly graphs: number
  readonly reapers: number
  readonly standbys: number
  /** The reapers share partitions; else each carries out everything. */
  readonly isReapingShared: boolean
  readonly policy: Policy
  /** Names of the rules that a person enforces. */
  readonly enforced: readonly string[]
  /** Whether objects are put away before they are deleted; `secrets`: Secrets, too. */
  readonly archive: 'off' | 'on' | 'secrets'
  readonly watcher: Partial<WatcherConfig>
  readonly retention: { readonly keepEvents: number; readonly snapshotEvents: number }
  /** Entries that one read of the log returns. */
  readonly mostRead: number
  /** The time with faults. */
  readonly safetyMs: number
  /** Times at which users become busy, and for how many acts. */
  readonly bursts: readonly Burst[]
  readonly faults: readonly ScheduledFault[]
}

export interface Burst {
  readonly atMs: number
  readonly acts: number
  readonly lastsMs: number
}

/** A fault that is scheduled. */
export interface ScheduledFault {
  readonly row: string
  readonly atMs: number
  readonly lastsMs: number
  /** Which cluster or process, taken modulo how many there are. */
  readonly target: number
  /** How likely each occasion is hit, where a fault has occasions. */
  readonly rate: number
  /** Of its own chance. */
  readonly seed: number
}

/** The properties of a fault for the drawing. */
export interface Drawable {
  readonly row: string
  readonly lastsMs: readonly [least: number, most: number]
  /** At most so many in one run. */
  readonly most: number
  /** How likely a world has it; by default a quarter has. */
  readonly share?: number
  /** It begins with the world: the thing that it breaks happens once. */
  readonly isAtStart?: boolean
  suits?(options: Omit<SimOptions, 'faults'>): boolean
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Each fault is in a run with this chance (swarm): mixes of a few find more than all at once. */
const SWARM = 0.25
/**
 * Worlds of smaller seeds have no rules: those that failed once are kept as they were. From here on
 * a quarter has some.
 */
export const RULED_FROM = 110_000
const RULED = 0.25
/**
 * From here on persons of namespaces write CleanupPolicies in most worlds with rules, and those of
 * the config can all be enforced.
 */
export const POLICED_FROM = 120_000
/** From here on who administers a cluster writes ClusterCleanupPolicies in some of these worlds. */
export const CLUSTER_POLICED_FROM = 130_000
/**
 * From here on more worlds have rules, and all of those some that ask about other objects: what
 * nothing uses, all but the newest, what names no Node.
 */
export const CONDITIONED_FROM = 140_000
const RULED_LATER = 0.4
/** From here on some rules annotate. */
export const ANNOTATED_FROM = 140_000
/**
 * From here on a quarter of the worlds, which is three fifths of those with several clusters, have
 * rules about owners in other clusters, half of them no other rules.
 */
export const ELSEWHERE_FROM = 150_000
const ELSEWHERE = 0.6
/** Of the rules that a world has. */
const ENFORCED = 0.8
const ENFORCED_ELSEWHERE = 0.9
/** Users are busy only now and then: events around a change matter, and quiet time only costs. */
const BURSTS = 30
/**
 * Worlds of smaller seeds serve every kind, most of which are unused; those from here on cost two
 * thirds.
 */
const NARROW_FROM = 100_000
/** Kinds that users create, and kinds that Kinfold itself reads and writes. */
const USED_KINDS = [
  ...['configmaps', 'secrets', 'replicasets', 'persistentvolumes', 'namespaces'],
  ...['customresourcedefinitions', 'apiservices', 'leases'],
]
/** Served in some clusters, and unused. */
const IDLE_KINDS = ['pods', 'deployments', 'nodes', 'services', 'events', 'jobs']
const IDLE_SHARE = 0.25

export function draw(seed: number, drawable: readonly Drawable[]): SimOptions {
  const chance = seeded(seed * 2_654_435_761)
  const clusters = chance.pick([1, 1, 1, 1, 2, 2, 3])
  const partitions = chance.pick([1, 1, 2, 2, 3, 4, 1, 2, 8])
  const shape = chance.pick<Shape>(['embedded', 'apart', 'apart'])
  const two = (): number => chance.pick([1, 2])
  const safetyMs = 2 * HOUR
  const served = isWide(seed) ? null : kinds(ofOwn(seed, 'kinds'))
  const world = {
    ...{ seed, clusters, partitions, shape, safetyMs },
    ...{ watchers: two(), graphs: two(), reapers: two(), standbys: chance.below(2) },
    isReapingShared: chance.next() < 0.6,
    ...withElsewhere(seed, clusters, ruled(seed, budgeted(seed, policy(chance)))),
    kinds: served,
    archive: ofOwn(seed, 'archive').pick(['off', 'off', 'off', 'on', 'secrets'] as const),
    watcher: watcherConfig(chance, clusters * (partitions + 2)),
    retention: chance.pick([KEEP_ALL, KEEP_ALL, { keepEvents: 1_500, snapshotEvents: 500 }]),
    mostRead: Number.MAX_SAFE_INTEGER,
    bursts: bursts(chance, safetyMs),
  }
  const about = { ...world, kinds: withRuled(served, world.policy) }
  return { ...about, faults: faults(chance, about, drawable) }
}

/** They are what rules read fields of, and the others that some ask about. */
function withRuled(served: readonly string[] | null, { rules }: Policy): readonly string[] | null {
  if (served === null || rules.length === 0) return served
  const others = rules.some(asksOthers) ? CONDITION_KINDS : []
  return [...new Set([...served, 'jobs', ...others])]
}

function isWide(seed: number): boolean {
  return seed < NARROW_FROM
}

function kinds(chance: Chance): readonly string[] {
  return [...USED_KINDS, ...IDLE_KINDS.filter(() => chance.next() < IDLE_SHARE)]
}

const KEEP_ALL = { keepEvents: 10_000_000, snapshotEvents: 10_000_000 }

function policy(chance: Chance): Policy {
  const mode = chance.next() < 0.9 ? 'enforce' : chance.pick(['dry-run', 'observe'] as const)
  return policyFor(mode, chance.next() < 0.75 ? 'parity' : 'guarded')
}

/** Half of the worlds with budgets have budgets that a world of this size reaches. */
function budgeted(seed: number, drawn: Policy): Policy {
  const chance = ofOwn(seed, 'budgets')
  const few = {
    deleted: 1 + chance.below(3),
    missing: 1 + chance.below(2),
    notFound: 1 + chance.below(2),
  }
  return drawn.budgets === null || chance.next() < 0.5 ? drawn : { ...drawn, budgets: few }
}

function ruled(seed: number, drawn: Policy): Pick<SimOptions, 'policy' | 'enforced'> {
  const chance = ofOwn(seed, 'rules')
  const isLater = seed > CONDITIONED_FROM
  const share = isLater ? RULED_LATER : RULED
  if (seed < RULED_FROM || chance.next() >= share) return { policy: drawn, enforced: [] }
  const drawnOnes = drawnRules(chance)
  const ofSeed = seed < ANNOTATED_FROM ? drawnOnes : drawnOnes.map(perhapsAnnotating)
  const own = seed > POLICED_FROM ? ofSeed.map(withoutStorage) : ofSeed
  const rules = isLater ? [...own, ...conditionedRules(ofOwn(seed, 'conditions'))] : own
  const enforced = rules.filter(() => chance.next() < ENFORCED).map(({ name }) => name)
  return { policy: { ...drawn, rules }, enforced }
}

function withElsewhere(
  seed: number,
  clusters: number,
  drawn: Pick<SimOptions, 'policy' | 'enforced'>,
): typeof drawn {
  const chance = ofOwn(seed, 'elsewhere')
  if (seed <= ELSEWHERE_FROM || clusters < 2 || chance.next() >= ELSEWHERE) return drawn
  const others = chance.next() < 0.5 ? [] : drawn.policy.rules
  const rules = elsewhereRules(chance, clusters)
  const enforced = rules.filter(() => chance.next() < ENFORCED_ELSEWHERE).map(({ name }) => name)
  return {
    policy: { ...drawn.policy, rules: [...others, ...rules] },
    enforced: [...drawn.enforced, ...enforced],
  }
}

/** Drawing it changes no other draw. */
function ofOwn(seed: number, name: string): Chance {
  return seeded(seed * 31 + hashOf(name))
}

/**
 * Virtual time is cheap, not free: periodic work runs slowly, the more so the more partitions it
 * reaches.
 */
function watcherConfig(chance: Chance, size: number): Partial<WatcherConfig> {
  const heartbeatMs = size > 12 ? 20_000 : size > 5 ? 12_000 : 6_000
  return {
    heartbeatMs,
    contactLostMs: 3 * heartbeatMs,
    controlPollMs: 4_000,
    touchedMs: chance.pick([1_500, 6_000]),
    watermarkMs: 15_000,
    discoveryMs: 60_000,
    listPageSize: chance.pick([5, 20, 500]),
  }
}

function bursts(chance: Chance, safetyMs: number): Burst[] {
  const times = Array.from({ length: BURSTS }, () => chance.below(safetyMs - 4 * MINUTE))
  return times
    .sort((a, b) => a - b)
    .map((atMs) => ({
      atMs: MINUTE + atMs,
      acts: 4 + chance.below(18),
      lastsMs: chance.pick([50, 2_000, 20_000]),
    }))
}

function faults(
  chance: Chance,
  world: Omit<SimOptions, 'faults'>,
  drawable: readonly Drawable[],
): ScheduledFault[] {
  const drawn: ScheduledFault[] = []
  for (const { row, lastsMs, most, share = SWARM, isAtStart = false, suits } of drawable) {
    // Numbers are drawn whether it is on or not, so a new fault changes no world beyond itself.
    const own = ofOwn(world.seed, row)
    const isOn = own.next() < share && (suits?.(world) ?? true)
    const count = 1 + own.below(most)
    if (!isOn) continue
    for (let i = 0; i < count; i++) {
      const [least, longest] = lastsMs
      // Half of them when users are busy: nothing breaks that is at rest.
      const atMs =
        own.next() < 0.5 ? near(own, world.bursts) : own.below(world.safetyMs - 5 * MINUTE)
      drawn.push({
        row,
        atMs: isAtStart ? 0 : atMs,
        lastsMs: least + own.below(longest - least + 1),
        target: own.below(1_000),
        rate: 0.05 + 0.5 * own.next() ** 2,
        seed: own.below(2 ** 31),
      })
    }
  }
  void chance
  return drawn.sort((a, b) => a.atMs - b.atMs)
}

function near(chance: Chance, all: readonly Burst[]): number {
  const burst = all[chance.below(all.length)]
  const lead = chance.below(20_000) - 5_000
  return Math.max(0, (burst?.atMs ?? 0) + lead)
}

function hashOf(text: string): number {
  let hash = 0
  for (const char of text) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) | 0
  return hash >>> 0
}
