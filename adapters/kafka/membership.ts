/**
 * One process' membership in a group of Kafka's: joins, stays by heartbeats, joins again when the
 * group changes, leaves. (kafkajs' consumer does this too, but fetches with it, closes everything
 * at each change, and may stop silently.)
 *
 * What must stay true: the last share stays valid until the group changes it, whatever fails. A
 * process that does not reach its coordinator for longer than the session has lost its partitions
 * to others and does not know it: it continues with them until their fences stop it, and joins as a
 * new member when it is back.
 *
 * Not here: the contents of claims and shares (assignor.ts), which member is given which partitions
 * (placement.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import { LogError } from '../../ports/log.ts'
import { asking, CODE, codeOf, isPassing, logErrorOf } from './failure.ts'
import type { Broker, Link } from './inside.ts'

/** Of groups that are not consumers': no consumer can join by mistake. */
const PROTOCOL_TYPE = 'kinfold'
/**
 * How long a change waits for members that do not join again; those that live are here within a
 * heartbeat.
 */
const REBALANCE_TIMEOUT_MS = 5_000
/** Between two tries while the coordinator moves, loads, or cannot be reached. */
const RETRY_WAIT_MS = 200
/**
 * A call that is under way at the end, a join at worst, is waited for this long: a member that does
 * not leave is given partitions.
 */
const LEAVE_MS = REBALANCE_TIMEOUT_MS + 1_000

/** Of groups only. */
const GROUP_CODE = {
  illegalGeneration: 22,
  otherProtocol: 23,
  invalidGroup: 24,
  sessionTimeout: 26,
  groupFull: 81,
  fencedInstance: 82,
} as const

export interface MembershipOptions {
  /**
   * Used by the membership alone: a join that waits blocks the requests behind it. Closed at the
   * end.
   */
  readonly link: Link
  readonly groupId: string
  /** Members with another are refused by the coordinator. */
  readonly protocol: string
  /** A member that is silent for this long is evicted. */
  readonly sessionTimeoutMs: number
  readonly heartbeatMs: number
  readonly clock: Clock
  readonly onWarning?: ((text: string) => void) | undefined
}

export interface Voice {
  /** The claim of this member for the leader. */
  claim(): Buffer
  /** Called on the leader: the share of each member, by its id, from the claims of all. */
  lead(claims: ReadonlyMap<string, Buffer>): ReadonlyMap<string, Buffer>
  given(share: Buffer, generation: number): void
}

export class Membership {
  readonly #options: MembershipOptions
  readonly #voice: Voice
  #broker: Broker | undefined
  /** Empty: not known to the coordinator. */
  #memberId = ''
  /** Undefined: has to join. */
  #generation: number | undefined
  #heardMs: number
  #isGiven = false
  #trouble = ''
  #isClosed = false

  constructor(options: MembershipOptions, voice: Voice) {
    this.#options = options
    this.#voice = voice
    this.#heardMs = options.clock.monotonicMs()
  }

  /** It was given a share, be it an empty one. */
  get isGiven(): boolean {
    return this.#isGiven
  }

  /** Why the coordinator has not been reached for longer than the session; empty when it has. */
  get trouble(): string {
    return this.#trouble
  }

  /** Until the signal aborts; then leaves. Throws `LogError` only if no waiting helps. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, link } = this.#options
    const ended = new AbortController()
    const loop = this.#loop(signal).finally(() => ended.abort())
    try {
      await Promise.race([loop, aborted(signal).then(() => clock.sleep(LEAVE_MS, ended.signal))])
    } finally {
      this.#isClosed = true
      loop.catch(() => undefined)
      await link[Symbol.asyncDispose]()
    }
  }

  /**
   * For a member that died: the others need not wait for the end of its session. Whether it
   * succeeds does not matter.
   */
  async evict(memberId: string): Promise<void> {
    const { groupId } = this.#options
    await this.#broker?.leaveGroup({ groupId, memberId }).catch(() => undefined)
  }

  /** With the next heartbeat: a claim that is another makes a new generation of the group. */
  joinAgain(): void {
    this.#generation = undefined
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, heartbeatMs } = this.#options
    try {
      while (!signal.aborted) {
        let waitMs = heartbeatMs
        try {
          await this.#step(signal)
          this.#heardMs = clock.monotonicMs()
          this.#trouble = ''
        } catch (error) {
          waitMs = this.#afterFailure(error)
        }
        await clock.sleep(waitMs, signal)
      }
    } finally {
      await this.#leave()
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { groupId } = this.#options
    this.#broker ??= await this.#options.link.coordinator('group', groupId)
    const generation = this.#generation
    if (generation === undefined) return await this.#join(this.#broker, signal)
    const memberId = this.#memberId
    await this.#broker.heartbeat({ groupId, groupGenerationId: generation, memberId })
  }

  async #join(broker: Broker, signal: AbortSignal): Promise<void> {
    const { groupId, protocol, sessionTimeoutMs } = this.#options
    const { generationId, leaderId, memberId, members } = await asking(
      `the group ${groupId}`,
      async () =>
        await broker.joinGroup({
          groupId,
          sessionTimeout: sessionTimeoutMs,
          rebalanceTimeout: REBALANCE_TIMEOUT_MS,
          memberId: this.#memberId,
          protocolType: PROTOCOL_TYPE,
          groupProtocols: [{ name: protocol, metadata: this.#voice.claim() }],
        }),
    )
    this.#memberId = memberId
    if (signal.aborted) return
    const claims = new Map(members.map((each) => [each.memberId, each.memberMetadata]))
    const shares = leaderId === memberId ? [...this.#voice.lead(claims)] : []
    const { memberAssignment } = await broker.syncGroup({
      groupId,
      generationId,
      memberId,
      groupAssignment: shares.map(([id, share]) => ({ memberId: id, memberAssignment: share })),
    })
    if (signal.aborted) return
    this.#generation = generationId
    this.#isGiven = true
    this.#voice.given(memberAssignment, generationId)
  }

  /** Answers how long to wait before the next try. */
  #afterFailure(error: unknown): number {
    switch (codeOf(error)) {
      case CODE.rebalanceInProgress:
        this.#generation = undefined
        return 0
      case GROUP_CODE.illegalGeneration:
        this.#generation = undefined
        return RETRY_WAIT_MS
      case CODE.unknownMember:
      case GROUP_CODE.fencedInstance:
        this.#generation = undefined
        this.#memberId = ''
        return RETRY_WAIT_MS
      default:
        if (!isPassing(error)) throw this.#permanent(error)
        // Perhaps another broker leads the group now, and knows us: the generation stays.
        this.#broker = undefined
        this.#warn(error)
        return RETRY_WAIT_MS
    }
  }

  #warn(error: unknown): void {
    const { clock, groupId, sessionTimeoutMs, onWarning } = this.#options
    if (this.#trouble !== '' || clock.monotonicMs() - this.#heardMs < sessionTimeoutMs) return
    const { message } = logErrorOf(error, `reaching the group ${groupId}`, 'UNAVAILABLE')
    this.#trouble = `${message}; meanwhile other processes may take over what this one has`
    onWarning?.(this.#trouble)
  }

  #permanent(error: unknown): LogError {
    const { groupId, sessionTimeoutMs } = this.#options
    const stop = (what: string): LogError =>
      new LogError('INVALID', `joining the group ${groupId}: ${what}`, { cause: error })
    switch (codeOf(error)) {
      case GROUP_CODE.otherProtocol:
        return stop(
          'its members count another number of partitions, or are of another version of Kinfold; stop them first, or give this process the same topics as theirs',
        )
      case GROUP_CODE.invalidGroup:
        return stop('the brokers refuse the name; give another --application')
      case GROUP_CODE.sessionTimeout:
        return stop(
          `the brokers refuse a session of ${sessionTimeoutMs} ms; see their group.min.session.timeout.ms and group.max.session.timeout.ms`,
        )
      case GROUP_CODE.groupFull:
        return stop("it has as many members as the brokers' group.max.size allows; start fewer")
      default:
        return logErrorOf(error, `joining the group ${groupId}`, 'INVALID')
    }
  }

  /**
   * So that the others need not wait for the end of the session. Whether it succeeds does not
   * matter.
   */
  async #leave(): Promise<void> {
    if (this.#memberId === '' || this.#isClosed) return
    await this.evict(this.#memberId)
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
}
