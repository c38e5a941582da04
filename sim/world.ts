/**
 * A whole Kinfold over simulated clusters, log, volumes and time: everything that can go wrong
 * between them follows from one seed.
 *
 * What must stay true: all loops are the real ones. The checkers read the servers' own state in the
 * moment of each effect and share nothing with the graph.
 *
 * Not here: its interface for others (model.ts), the actions of users (workload.ts), which faults
 * there are (faults.ts), the course of one run (run.ts).
 */
import { avroCodec } from '../adapters/avro/codec.ts'
import type { Effect } from '../adapters/memory/api-server.ts'
import { MemoryCoordinator } from '../adapters/memory/placement.ts'
import type { Node } from '../core/model/node.ts'
import { admissionOf, nodePhase } from '../core/model/node.ts'
import type { Policy } from '../core/model/policy.ts'
import type { ExchangeRequest } from '../ports/exchange.ts'
import type { Random } from '../ports/random.ts'
import type { Codec } from '../ports/record/codec.ts'
import { GatheringStore } from '../services/graph/fold/bytes/gathering-store.ts'
import type { Task } from '../services/graph/fold/task.ts'
import type { ReaperNote } from '../services/reaper/reaper.ts'
import type { Leftover, OracleObject } from '../testing/model/oracle.ts'
import type { Chance } from '../testing/seeded.ts'
import { seeded } from '../testing/seeded.ts'
import { type Appended, Broker } from './broker.ts'
import { contentWith, statesOf } from './check/states.ts'
import { Timeline } from './clock.ts'
import type { Incarnation } from './incarnation.ts'
import type { Approval, Checker, Content, Folded, World } from './model.ts'
import { Network, type Passage } from './network.ts'
import type { SimOptions } from './options.ts'
import { leftoversOf } from './oracle.ts'
import { startProcess } from './process.ts'
import { noteOthers } from './rule/condition-law.ts'
import { withUids } from './rule/drawn-elsewhere.ts'
import { Marks } from './rule/drawn-rules.ts'
import { noteCalm, noteElsewhere } from './rule/elsewhere-law.ts'
import { notePolicy } from './rule/policy-history.ts'
import { ruleLeftovers } from './rule/rule-leftovers.ts'
import { type Acting, Site } from './site.ts'
import { type Process, type Roles, Slot } from './slot.ts'
import { Trace } from './trace.ts'
import { isAskedFor, Truth } from './truth.ts'

/**
 * It makes code of the schemas, and that code becomes fast with use: once for all worlds of a
 * process.
 */
const CODEC: Codec = avroCodec()

const PAGE = { limit: 10_000, waitMs: 0 } as const

export class WholeWorld implements World {
  readonly options: SimOptions
  readonly time: Timeline = new Timeline()
  readonly codec: Codec = CODEC
  readonly chance: Chance
  readonly marks: Marks | undefined
  readonly jitter: Random
  readonly sites: readonly Site[]
  readonly names: readonly string[]
  readonly network: Network
  readonly broker: Broker
  readonly graphGroup: MemoryCoordinator
  readonly reaperGroup: MemoryCoordinator | undefined
  readonly slots: readonly Slot[]
  readonly trace: Trace
  policy: Policy
  /** Wrong effects, and processes that failed. Empty when all is well. */
  readonly wrongs: string[] = []
  /** Objects that Kinfold removed or asked to remove, by name. */
  readonly reaped: string[] = []
  /** How often each fault happened. */
  readonly fired: Map<string, number> = new Map()
  readonly beforeEffects: Set<(site: Site, request: ExchangeRequest) => void> = new Set()
  readonly afterEffects: Set<(site: Site, effect: Effect) => void> = new Set()
  readonly onAppended: Set<(appended: Appended) => void> = new Set()
  readonly excuses: Set<(error: unknown, slot: Slot) => boolean> = new Set()
  readonly pausedMs: Map<string, number> = new Map()
  readonly protectedMs: Map<string, number> = new Map()
  hasLostWords = false
  hasLostOrders = false
  readonly homes: Map<string, string> = new Map()
  readonly approvals: Approval[] = []
  readonly buried: Process[] = []
  isOver = false
  isLogHurt = false
  begunAnewMs: number = Number.NEGATIVE_INFINITY
  /** The time with faults. */
  isTroubled = false
  requests = 0
  readonly #checkers: readonly Checker[]
  readonly #truths = new WeakMap<object, Truth>()
  readonly #lastTruths = new Map<Site, Truth>()

  constructor(options: SimOptions, checkers: readonly Checker[], print?: (line: string) => void) {
    const { seed, clusters, kinds, partitions, standbys, isReapingShared } = options
    this.#checkers = checkers
    this.trace = new Trace(() => this.time.monotonicMs(), print)
    this.chance = seeded(seed)
    const isRuled = options.policy.rules.length > 0
    this.marks = isRuled ? new Marks(seeded(seed ^ 0x5a1e), () => this.time.now()) : undefined
    const jitter = seeded(seed ^ 0x717)
    this.jitter = { next: () => jitter.next() }
    this.names = Array.from({ length: clusters }, (_, index) => `cluster-${index + 1}`)
    this.sites = this.names.map(
      (name, index) =>
        new Site(name, { seed: seed * 16 + index, kinds }, this.time, (...seen) =>
          this.#see(...seen),
        ),
    )
    const rules = options.policy.rules.map((rule) => withUids(rule, this.sites))
    this.policy = { ...options.policy, rules }
    this.options = { ...options, policy: this.policy }
    this.network = new Network(this.time, seeded(seed ^ 0x3e7), this.sites, {
      onRequest: (passage) => this.#requested(passage),
      beforeEffect: (site, request) => {
        for (const each of this.beforeEffects) each(site, request)
      },
    })
    this.broker = new Broker(options, this.time, (appended) => this.#appended(appended))
    this.graphGroup = new MemoryCoordinator(partitions, standbys)
    this.reaperGroup = isReapingShared ? new MemoryCoordinator(partitions) : undefined
    this.slots = slotsOf(this, options)
  }

  start(): void {
    for (const slot of this.slots) slot.start()
  }

  /** No process starts any longer, and running ones end, as a signal asks for. */
  async stop(): Promise<void> {
    this.isOver = true
    const ending = this.processes()
    for (const { stop } of ending) stop.abort(new Error('the world ends'))
    let left = ending.length
    for (const { ended } of ending) {
      const isOver = (): void => void left--
      ended.then(isOver, isOver)
    }
    for (let waitedMs = 0; left > 0 && waitedMs < 120_000; waitedMs += 100) {
      await this.time.advance(100)
    }
    if (left > 0) this.wrong(`${left} processes did not end within two minutes`)
    // Signals with listeners stay in memory until they are aborted, and with them the world that
    // their process died in.
    for (const { stop } of this.buried) stop.abort()
  }

  processes(): readonly Process[] {
    return this.slots.flatMap(({ process }) => process ?? [])
  }

  tasks(): readonly Task[] {
    const tasks = new Map<number, Task>()
    for (const { graph, incarnation } of this.processes()) {
      if (!incarnation.isAlive) continue
      for (const task of graph?.tasks ?? [])
        if (task.status().state === 'folding') tasks.set(task.partition, task)
    }
    return [...tasks.values()]
  }

  /** Of the store of the process that folds it; while none does, of the disk of any that has it. */
  contentOf(partition: number): Content {
    for (const { process, disk } of this.slots) {
      const task = process?.graph?.tasks.find(
        (task) => task.partition === partition && task.status().state === 'folding',
      )
      if (task === undefined) continue
      const { under } = task.store
      const gathered = under instanceof GatheringStore ? under.gathered : undefined
      return contentWith(disk.content(partition).entries, gathered)
    }
    const slot = this.slots.find(({ roles }) => roles.folds)
    return contentWith(slot!.disk.content(partition).entries, undefined)
  }

  get isCaughtUp(): boolean {
    const tasks = this.tasks()
    return tasks.length === this.broker.partitions && tasks.every(isAtTheEnd)
  }

  /** For people: which processes run, and their positions. */
  standing(): string {
    const tasks = this.tasks().map(
      (task) => `${task.partition}: ${task.status().lagEntries} behind`,
    )
    const running = this.processes().map(({ incarnation }) => incarnation.name)
    return `${running.join(', ')}; ${tasks.join(', ')}`
  }

  get isEnforcing(): boolean {
    return this.policy.mode === 'enforce'
  }

  leftovers(): readonly (Leftover & { readonly site: Site })[] {
    return this.sites.flatMap((site) =>
      [...leftoversOf(site.server, site.all()), ...ruleLeftovers(this, site)].map((left) => ({
        site,
        ...left,
      })),
    )
  }

  async unexplained(): Promise<readonly string[]> {
    const left = this.leftovers()
    if (left.length === 0) return []
    const nodes = new Map<string, Node>()
    for (const [key, value] of (await statesOf(this)).flatMap((entries) => [...entries]))
      if (value.type === 'Node') nodes.set(key, value)
    const nodeOf = ({ site, object }: (typeof left)[number]): Node | undefined =>
      nodes.get(`node/${site.id}/${object.uid}`)
    const isHeld = (each: (typeof left)[number]): boolean => {
      const node = nodeOf(each)
      const { by, because = '' } = (node && admissionOf(node)) ?? {}
      // No mode holds anything while all of them enforce, and no rule that an order enforces is in
      // dry run.
      if (by === 'rule' && because.includes('dry run')) return !('rule' in each)
      if ('isElsewhere' in each && each.isElsewhere && isUnfollowed(by, because)) return false
      return by !== undefined && !(by === 'mode' && this.isEnforcing)
    }
    for (const each of left) if (isHeld(each)) this.trace.note('held', each.text)
    return left
      .filter((each) => !isHeld(each))
      .map((each) => `${each.site.name}: ${each.text}; ${said(each.object, nodeOf(each))}`)
  }

  truthOf(site: Site): Truth {
    const known = this.#truths.get(site.server)
    if (known !== undefined) return known
    const former = this.#lastTruths.get(site)
    const truth = new Truth(site, this.time, () => this.begunAnewMs, former)
    this.#truths.set(site.server, truth)
    this.#lastTruths.set(site, truth)
    return truth
  }

  reached(row: string): void {
    this.fired.set(row, (this.fired.get(row) ?? 0) + 1)
  }

  wrong(text: string): void {
    this.trace.note('WRONG', text)
    if (this.wrongs.length < 20) this.wrongs.push(text)
  }

  startProcess(slot: Slot, incarnation: Incarnation): Process {
    if (!this.isTroubled) noteCalm(this)
    return startProcess(this, slot, incarnation)
  }

  diedOf(slot: Slot, error: unknown): void {
    for (const excuse of this.excuses) if (excuse(error, slot)) return
    this.wrong(`${slot.name} died: ${error instanceof Error ? error.stack : String(error)}`)
  }

  reaperSays(by: Incarnation, note: ReaperNote): void {
    if (note.type !== 'Settled') return
    const { command, result } = note
    const outcome =
      result.type === 'CommandSettled' ? `${result.outcome} ${result.reason}` : result.type
    this.trace.note('settled', `${by.name} ${command.type} ${command.target.name}: ${outcome}`)
  }

  folded(folded: Folded): void {
    for (const checker of this.#checkers) {
      const objection = checker.folded?.(this, folded) ?? ''
      if (objection !== '') this.wrong(objection)
    }
  }

  /** Checks of the present state at times, while everything runs. */
  lookAround(): void {
    for (const { now } of this.#checkers) for (const text of now?.(this) ?? []) this.wrong(text)
  }

  async complaints(): Promise<readonly string[]> {
    const all: string[] = []
    for (const { rest } of this.#checkers) all.push(...((await rest?.(this)) ?? []))
    return all
  }

  /** How many each object had so far, by the key of their records. */
  async commands(): Promise<ReadonlyMap<string, number>> {
    const { log, partitions } = this.broker
    const counts = new Map<string, number>()
    for (let partition = 0; partition < partitions; partition++) {
      const { start, end } = await log.bounds('commands', partition)
      for (let from = start; from < end; ) {
        const { entries, next } = await log.read('commands', partition, from, PAGE)
        for (const { key } of entries) counts.set(key, (counts.get(key) ?? 0) + 1)
        from = next
      }
    }
    return counts
  }

  #requested(passage: Passage): void {
    const { request, site, by } = passage
    this.requests++
    if (request.method !== 'GET' && !request.path.includes('/leases'))
      this.trace.note('request', `${by.name} ${site.name} ${request.method} ${request.path}`)
    for (const checker of this.#checkers) {
      const objection = checker.request?.(this, passage) ?? ''
      if (objection !== '') this.wrong(`${request.method} ${request.path}: ${objection}`)
    }
  }

  #appended(appended: Appended): void {
    for (const checker of this.#checkers) {
      const objection = checker.appended?.(this, appended) ?? ''
      if (objection !== '') this.wrong(objection)
    }
    for (const each of this.onAppended) each(appended)
  }

  #userDid(site: Site, { kind, before, after }: Effect): void {
    if (kind.resource === 'leases') return
    const what = before === null ? 'made' : after === null ? 'removed' : 'changed'
    const { name, namespace = '', finalizers = [], deletionTimestamp } = (after ?? before)!.metadata
    const how = deletionTimestamp === undefined ? '' : ` deleting ${finalizers.join(',')}`
    this.trace.note(what, `${site.name} ${kind.resource} ${namespace}/${name}${how}`)
  }

  #see(site: Site, effect: Effect, acting: Acting | undefined): void {
    const truth = this.truthOf(site)
    truth.see(effect, acting)
    notePolicy(this, site, effect)
    noteOthers(this, site, effect)
    noteElsewhere(this, site, effect, truth)
    if (effect.before === null) this.homes.set(effect.after?.metadata.uid ?? '', site.name)
    if (acting === undefined && !site.isReplaying) this.#userDid(site, effect)
    if (acting === undefined || site.isReplaying || !isAskedFor(effect, acting)) return
    const { before, after } = effect
    const { request } = acting
    const sent: unknown = JSON.parse(request.body ?? 'null')
    for (const checker of this.#checkers) {
      const seen = { world: this, site, truth, acting, sent, before: before!, after }
      const objection = checker.effect?.(seen) ?? ''
      if (objection === '') continue
      const what = `${site.name} ${request.method} ${request.path} by ${acting.by}`
      this.wrong(`${what}: ${objection}; ${JSON.stringify(before?.metadata)}`)
    }
    if (request.method === 'DELETE') this.reaped.push(`${before?.kind}/${before?.metadata.name}`)
    for (const each of this.afterEffects) each(site, effect)
  }
}

/** Nothing is cut off any more, and all have waited: neither holds what is to be deleted. */
function isUnfollowed(by: string | undefined, because: string): boolean {
  return by === 'hold' || (by === 'rule' && because.includes('asks for owners in cluster'))
}

function said({ references }: OracleObject, node: Node | undefined): string {
  const { verdict, hold, attempt } = node ?? {}
  const phase = node && nodePhase(node)
  const judged = `${verdict?.type} ${verdict?.evidence}: ${verdict?.because}`
  const because = `${phase} ${judged}; held by ${hold?.by}: ${hold?.because}`
  const tried = `${attempt?.verb} ${attempt?.state} ${attempt?.count} ${attempt?.reason}`
  return `the graph says ${because}; ${tried}; ${JSON.stringify(references)}`
}

function isAtTheEnd(task: Task): boolean {
  return task.status().lagEntries === 0n
}

function slotsOf(world: World, options: SimOptions): readonly Slot[] {
  const slot = (name: string, index: number, roles: Partial<Roles>): Slot => {
    const none = { watches: false, folds: false, reaps: false }
    const chance = seeded(options.seed * 64 + index * 7 + name.length)
    return new Slot(world, `${name}-${index + 1}`, { ...none, ...roles }, chance)
  }
  if (options.shape === 'embedded')
    return [slot('kinfold', 0, { watches: true, folds: true, reaps: true })]
  const several = (count: number, name: string, roles: Partial<Roles>): Slot[] =>
    Array.from({ length: count }, (_, index) => slot(name, index, roles))
  return [
    ...several(options.watchers, 'watcher', { watches: true }),
    ...several(options.graphs, 'graph', { folds: true }),
    ...several(options.reapers, 'reaper', { reaps: true }),
  ]
}
