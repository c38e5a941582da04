/**
 * The current pauses, protections and enforced rules from `orders`, and from `control` for each
 * cluster: whether it is connected, and its epoch. The reaper itself follows both, so that a pause
 * does not queue behind commands.
 *
 * What must stay true: a directive that cannot be read counts against acting: a pause as pressed, a
 * cluster as not connected, protection as of everything, a rule as suspended. So does one that may
 * have been given since either was last read: no command is based on a state older than
 * `controlFreshMs`. A directive that is lost with the end of `orders` holds until it is revoked
 * (F39).
 *
 * Not here: requests to relist (the watcher reads those), the effect of a pause (gate.ts), what is
 * said of rules (rule-orders.ts).
 */
import type { GuardedSubject, Guarding } from '../../core/graph/guarding.ts'
import { scopeFlag } from '../../core/graph/scope-flag.ts'
import type { CommandRule } from '../../core/model/command.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { Mode, Protection } from '../../core/model/policy.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { readSubject } from '../../core/model/subject.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Entry, type Log, LogError } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import {
  MARK_BOOK_KEY,
  markKeysIn,
  PAUSE_PREFIX,
  POLICY_STATUS_PREFIX,
  PROTECT_POLICY_KEY,
  PROTECT_PREFIX,
  protectingOf,
  RULE_BOOK_KEY,
} from '../../ports/record/control-key.ts'
import { type MarkKeys, NO_MARK_KEYS } from '../../ports/record/manager-mark.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { projectionOf } from '../../ports/record/projection.ts'
import type { Control as ControlRecord, PolicyStatus } from '../../ports/record/service-record.ts'
import type { LogRetry } from '../../runtime/retry.ts'
import { isAboutRules, RuleOrders } from './rule-orders.ts'

interface Connection {
  readonly isConnected: boolean
  readonly clusterEpoch: number | undefined
}

export interface ControlBounds {
  readonly page: number
  readonly controlPollMs: number
  readonly controlFreshMs: number
}

interface Guarded extends GuardedSubject {
  readonly cluster: ClusterId
}
const CLUSTER = 'cluster/'

export interface ControlParts {
  readonly log: Log
  readonly codec: Codec
  readonly retry: LogRetry
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly bounds: ControlBounds
  /** What is protected, or what rules read, may be something else than before. */
  readonly onProtected: () => void
}

/** Loaded once; `follow` continues from there. */
export class Control {
  readonly #parts: ControlParts
  readonly #orders: CompactedTopic
  readonly #control: CompactedTopic
  readonly #paused = new Set<ClusterId>()
  readonly #connections = new Map<ClusterId, Connection>()
  readonly #subjects = new Map<string, Guarded>()
  /** Keys under `protect/` that cannot be understood. */
  readonly #unclear = new Set<string>()
  #policy: Protection | null = null
  #mode: Mode | null = null
  #marks: MarkKeys = NO_MARK_KEYS
  readonly #ruleOrders: RuleOrders
  /** What policies of clusters do, by key. */
  readonly #policyStatuses = new Map<string, PolicyStatus>()

  constructor(parts: ControlParts) {
    this.#parts = parts
    this.#ruleOrders = new RuleOrders(parts.codec)
    this.#orders = new CompactedTopic('orders', parts, {
      current: (entries, isCut) => this.#currentOrders(entries, isCut),
      added: (entries) => this.#addedOrders(entries),
    })
    this.#control = new CompactedTopic('control', parts, {
      current: (entries) => {
        this.#connections.clear()
        this.#connect(entries)
      },
      added: (entries) => this.#connect(entries),
    })
  }

  async load(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#orders.load(signal), this.#control.load(signal)])
  }

  async follow(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#orders.follow(signal), this.#control.follow(signal)])
  }

  /** Why nothing may be done in this cluster now; empty when it may. */
  pausedBecause(cluster: ClusterId): string {
    if (this.#paused.has('') || this.#paused.has(cluster)) return 'paused'
    if (this.#unclear.size > 0) return 'what is protected cannot be read'
    const { clock, bounds } = this.#parts
    const askedAt = Math.min(this.#orders.askedAt, this.#control.askedAt)
    const isFresh = clock.monotonicMs() - askedAt <= bounds.controlFreshMs
    return isFresh ? '' : 'whether it is paused cannot be read'
  }

  /** The rule that a command names; undefined where the policy has another by now, or none. */
  ruleOf(rule: CommandRule): Rule | undefined {
    return this.#ruleOrders.find(rule)
  }

  /** Why no command of this rule may be carried out; empty when it may. */
  ruleBecause(rule: CommandRule): string {
    return this.#ruleOrders.because(rule)
  }

  /**
   * As the policy has it, whatever policy a command was given under; `enforce` where none was
   * published.
   */
  policyMode(): Mode {
    return this.#mode ?? 'enforce'
  }

  /** The protection in that cluster. */
  guarding(cluster: ClusterId): Guarding {
    return {
      policy: this.#policy ?? NOTHING,
      subjects: this.#subjectsOf(cluster),
      // Which deletions were unobserved is known where they are decided.
      namespacesWhereUnseen: [],
    }
  }

  /**
   * What objects have to be read with, so that their protection is seen, and so that rules can
   * decide about what is read here, and with the marks that answers read. `beside`: rules of
   * policies of that cluster.
   */
  projection(cluster: ClusterId, beside: readonly Rule[] = []): Projection {
    const subjects = this.#subjectsOf(cluster).map(({ subject }) => subject)
    return projectionOf(this.#policy, subjects, [...this.rules(), ...beside], this.#marks)
  }

  /** The rules of the policy. */
  rules(): readonly Rule[] {
    return this.#ruleOrders.rules
  }

  policyStatuses(): readonly PolicyStatus[] {
    return [...this.#policyStatuses.values()]
  }

  isConnected(cluster: ClusterId): boolean {
    return this.#connections.get(cluster)?.isConnected === true
  }

  clusterEpoch(cluster: ClusterId): number | undefined {
    return this.#connections.get(cluster)?.clusterEpoch
  }

  #currentOrders(entries: readonly Entry[], isCut: boolean): void {
    if (!isCut) this.#forgetOrders()
    for (const entry of entries) {
      if (isAboutRules(entry.key)) this.#ruleOrders.obey(entry, isCut)
      else if (!isCut || this.#holdsBack(entry)) this.#obey(entry)
    }
    this.#parts.onProtected()
  }

  #addedOrders(entries: readonly Entry[]): void {
    for (const entry of entries) this.#obey(entry)
    const isAboutReading = ({ key }: Entry): boolean =>
      key === RULE_BOOK_KEY || key === MARK_BOOK_KEY || key.startsWith(PROTECT_PREFIX)
    if (entries.some(isAboutReading)) this.#parts.onProtected()
  }

  #connect(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (!entry.key.startsWith(CLUSTER)) continue
      const cluster = entry.key.slice(CLUSTER.length)
      this.#connections.set(cluster, connectionOf(this.#parts.codec, entry))
    }
  }

  #forgetOrders(): void {
    this.#paused.clear()
    this.#subjects.clear()
    this.#unclear.clear()
    this.#policy = null
    this.#mode = null
    this.#marks = NO_MARK_KEYS
    this.#ruleOrders.forget()
    this.#policyStatuses.clear()
  }

  #obey(entry: Entry): void {
    if (isAboutRules(entry.key)) {
      this.#ruleOrders.obey(entry)
    } else if (entry.key === MARK_BOOK_KEY) {
      this.#marks = markKeysIn(this.#parts.codec, entry.value)
    } else if (entry.key.startsWith(POLICY_STATUS_PREFIX)) {
      this.#notePolicyStatus(entry)
    } else if (entry.key.startsWith(PROTECT_PREFIX)) {
      this.#protect(entry)
    } else if (entry.key.startsWith(PAUSE_PREFIX)) {
      const cluster = entry.key.slice(PAUSE_PREFIX.length)
      if (isPause(this.#parts.codec, entry)) this.#paused.add(cluster)
      else this.#paused.delete(cluster)
    }
  }

  #notePolicyStatus({ key, value }: Entry): void {
    const record = value === null ? undefined : policyStatusIn(this.#parts.codec, value)
    if (record === undefined) this.#policyStatuses.delete(key)
    else this.#policyStatuses.set(key, record)
  }

  #protect({ key, value }: Entry): void {
    const record = value === null ? null : controlIn(this.#parts.codec, value)
    const protecting = record === undefined ? undefined : protectingOf(key, record)
    if (protecting === undefined) this.#unclear.add(key)
    else this.#unclear.delete(key)
    if (protecting?.type === 'policy') {
      this.#policy = protecting.protection
      this.#mode = protecting.mode
    }
    if (protecting?.type === 'subject') {
      const { cluster, subject, isLifted } = protecting
      if (isLifted || record == null) this.#subjects.delete(key)
      else if (readSubject(subject) === undefined) this.#unclear.add(key)
      else
        this.#subjects.set(key, {
          ...{ cluster, subject, who: record.who, why: record.why },
          scope: scopeFlag(cluster),
        })
    }
  }

  /**
   * Of what is left after a lost end: an older record releases nothing that a lost one may have
   * held since.
   */
  #holdsBack({ key, value }: Entry): boolean {
    if (key === PROTECT_POLICY_KEY) return this.#policy === null
    const verb = value === null ? 'none' : controlIn(this.#parts.codec, value)?.verb
    return verb === undefined || verb === 'pause' || verb === 'protect'
  }

  #subjectsOf(cluster: ClusterId): readonly Guarded[] {
    return [...this.#subjects.values()].filter(
      (each) => each.cluster === '' || each.cluster === cluster,
    )
  }
}

interface TopicReader {
  /** The current state. `isCut`: the topic ends before what was read of it. */
  readonly current: (entries: readonly Entry[], isCut: boolean) => void
  /** The records since. */
  readonly added: (entries: readonly Entry[]) => void
}

type TopicParts = Pick<ControlParts, 'log' | 'retry' | 'clock' | 'bounds'>

class CompactedTopic {
  readonly #topic: 'orders' | 'control'
  readonly #parts: TopicParts
  readonly #reader: TopicReader
  #next = 0n
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(topic: 'orders' | 'control', parts: TopicParts, reader: TopicReader) {
    this.#topic = topic
    this.#parts = parts
    this.#reader = reader
  }

  /** When the current state was last requested, with an answer. Monotonic. */
  get askedAt(): number {
    return this.#askedAt
  }

  async load(signal: AbortSignal): Promise<void> {
    const { log, retry } = this.#parts
    // The end first: records appended in between are applied twice, never left out.
    const end = (await retry(() => log.bounds(this.#topic, 0), signal)).end
    const entries = await this.#asked(() => log.latest(this.#topic, 0), signal)
    this.#reader.current(entries, end < this.#next)
    this.#next = end
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { log, bounds } = this.#parts
    const options = { limit: bounds.page, waitMs: bounds.controlPollMs }
    while (!signal.aborted) {
      try {
        const page = await this.#asked(
          () => log.read(this.#topic, 0, this.#next, options, signal),
          signal,
        )
        this.#reader.added(page.entries)
        this.#next = page.next
      } catch (error) {
        if (!(error instanceof LogError) || error.code !== 'OUT_OF_RANGE') throw error
        // Compacted beyond us, or its end is lost: the current state is all we need.
        await this.load(signal)
      }
    }
  }

  #asked<T>(question: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { retry, clock } = this.#parts
    return retry(async () => {
      const at = clock.monotonicMs()
      const answer = await question()
      this.#askedAt = at
      return answer
    }, signal)
  }
}

/** Before any policy was published: no command is older. */
const NOTHING: Protection = {
  kinds: [],
  namespaces: [],
  labels: [],
  annotations: [],
  othersMarks: false,
}

/** Undefined for anything else. */
function controlIn(codec: Codec, value: Uint8Array): ControlRecord | undefined {
  try {
    const record = codec.decode(value)
    return record.type === 'Control' ? record : undefined
  } catch {
    return undefined
  }
}

function isPause(codec: Codec, entry: Entry): boolean {
  if (entry.value === null) return false
  try {
    const record = codec.decode(entry.value)
    return record.type !== 'Control' || record.verb !== 'resume'
  } catch {
    return true
  }
}

const UNKNOWN: Connection = { isConnected: false, clusterEpoch: undefined }

function connectionOf(codec: Codec, entry: Entry): Connection {
  if (entry.value === null) return UNKNOWN
  try {
    const record = codec.decode(entry.value)
    if (record.type !== 'Control' || record.verb !== 'epoch') return UNKNOWN
    return { isConnected: record.connected, clusterEpoch: record.number }
  } catch {
    return UNKNOWN
  }
}

/** Undefined for anything that is none: then its status stays as it is. */
function policyStatusIn(codec: Codec, value: Uint8Array): PolicyStatus | undefined {
  try {
    const record = codec.decode(value)
    return record.type === 'PolicyStatus' ? record : undefined
  } catch {
    return undefined
  }
}
