/**
 * The shared types of a simulation: the world as checkers and faults see it, a checker and a fault.
 *
 * What must stay true: only types are here, so that no checker, fault or process imports the world
 * or the lists that it is run with. The lists (checkers.ts, faults.ts) are handed in by run.ts.
 *
 * Not here: how a world works (world.ts).
 */

import type { ApiObject, Effect } from '../adapters/memory/api-server.ts'
import type { MemoryCoordinator } from '../adapters/memory/placement.ts'
import type { SortedMap } from '../adapters/memory/sorted-map.ts'

import type { At, Outcome } from '../core/graph/outcome.ts'
import type { Event } from '../core/model/event.ts'
import type { Policy } from '../core/model/policy.ts'
import type { ExchangeRequest } from '../ports/exchange.ts'
import type { Random } from '../ports/random.ts'
import type { Codec } from '../ports/record/codec.ts'
import type { Task } from '../services/graph/fold/task.ts'
import type { ReaperNote } from '../services/reaper/reaper.ts'
import type { Appended, Broker } from './broker.ts'
import type { Incarnation } from './incarnation.ts'
import type { Network, Passage } from './network.ts'
import type { Drawable, ScheduledFault, SimOptions } from './options.ts'
import type { Acting, Site } from './site.ts'
import type { Host, Process, Slot } from './slot.ts'
import type { Truth } from './truth.ts'
import type { Users, UserWorld } from './workload.ts'

/** What a world offers to the parts that act in it or judge it. */
/** The content of a store: by key, and in pages. */
export type Content = Pick<SortedMap, 'get' | 'page'>

export interface World extends Host, UserWorld {
  readonly options: SimOptions
  readonly codec: Codec
  /** The chance of processes. */
  readonly jitter: Random
  readonly sites: readonly Site[]
  readonly names: readonly string[]
  readonly network: Network
  readonly broker: Broker
  readonly graphGroup: MemoryCoordinator
  readonly reaperGroup: MemoryCoordinator | undefined
  readonly slots: readonly Slot[]
  /** The policy that processes are given at their start. */
  policy: Policy
  /** Called right before a DELETE or PATCH of Kinfold's takes effect. */
  readonly beforeEffects: Set<(site: Site, request: ExchangeRequest) => void>
  /** Called right after an effect of Kinfold's. */
  readonly afterEffects: Set<(site: Site, effect: Effect) => void>
  readonly onAppended: Set<(appended: Appended) => void>
  /** Deaths that a fault explains, and the reaction of a person. */
  readonly excuses: Set<(error: unknown, slot: Slot) => boolean>
  /** Since when each cluster, by id, is paused. */
  readonly pausedMs: Map<string, number>
  /** Since when each `cluster/namespace` is protected. */
  readonly protectedMs: Map<string, number>
  /**
   * `control` lost its end: a record that released something may be lost, and a process that could
   * not read it in time still holds.
   */
  hasLostWords: boolean
  hasLostOrders: boolean
  /** On which cluster each uid was made. */
  readonly homes: Map<string, string>
  /** The approvals of persons. */
  readonly approvals: Approval[]
  /**
   * Acknowledged records were lost, and no person has begun anew: the records need not be
   * consistent.
   */
  isLogHurt: boolean
  /** Wall time at which a person last began with an empty log. */
  begunAnewMs: number
  readonly isEnforcing: boolean
  processes(): readonly Process[]
  /** Those that fold, one for each partition at most. */
  tasks(): readonly Task[]
  /** The store of the process that folds it; while none does, of any that has it. */
  contentOf(partition: number): Content
  truthOf(site: Site): Truth
  /** The work that is left, except objects that wait for a person's approval (bulk). */
  unexplained(): Promise<readonly string[]>
  /** Something was seen that must never be. */
  wrong(text: string): void
  reaperSays(by: Incarnation, note: ReaperNote): void
  folded(folded: Folded): void
}

/**
 * A record was folded, and is to be committed; folded again by the task that takes over before the
 * commit.
 */
export interface Folded {
  readonly event: Event
  readonly at: At
  readonly outcome: Outcome
}

/** The content of a shown plan, and when it was approved. */
export interface Approval {
  readonly cluster: string
  /** The owners that each object named, by uid. */
  readonly shown: ReadonlyMap<string, string>
  /** Wall time. */
  readonly saidMs: number
}

/** An effect of Kinfold's, in the moment in which it took place. */
export interface EffectSeen {
  readonly world: World
  readonly site: Site
  readonly truth: Truth
  readonly acting: Acting
  /** The request's body. */
  readonly sent: unknown
  readonly before: ApiObject
  readonly after: ApiObject | null
}

/** It shares no code with the graph and never waits; it answers with one sentence, or nothing. */
export interface Checker {
  /** I1 and so on, and what the checker looks at. */
  readonly invariant: string
  effect?(seen: EffectSeen): string
  request?(world: World, passage: Passage): string
  appended?(world: World, appended: Appended): string
  folded?(world: World, folded: Folded): string
  /** Every few minutes. */
  now?(world: World): readonly string[]
  /** At rest. */
  rest?(world: World): Promise<readonly string[]>
}

export interface FaultContext {
  readonly world: World
  readonly users: readonly Users[]
  readonly fault: ScheduledFault
}

/** It counts only when it happened: `begin` says so with `world.reached`. */
export interface Fault extends Drawable {
  readonly what: string
  begin(context: FaultContext): (() => void) | undefined
}
