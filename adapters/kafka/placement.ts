/**
 * Placement by a group of Kafka's: the group only finds out which members are alive and shares out
 * the partitions. A share is no proof that the process owns its partitions: the fence is.
 *
 * What must stay true: a partition is revoked only if a change of the group moved it; at the end
 * all are revoked before the process leaves.
 *
 * Not here: the calls and their failures (membership.ts), which member is given which partitions
 * (assignor.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import { LogError } from '../../ports/log.ts'
import type { Placed, Placement, Role } from '../../ports/placement.ts'
import type { Report, Share } from '../../ports/share-out.ts'
import {
  assignGroup,
  decodeClaim,
  decodeGiven,
  differingPolicies,
  encodeClaim,
  encodeGiven,
} from './assignor.ts'
import { openLink } from './inside.ts'
import { Membership, type Voice } from './membership.ts'
import { OwnClaim } from './own-claim.ts'
import { PeerWatch, peerOf } from './peer.ts'
import type { KafkaSettings } from './settings.ts'
import { refusalOf } from './settings.ts'

/**
 * The least that brokers allow by default: this soon is a process replaced that died with its
 * machine, or hangs; sooner where its port refuses (peer.ts).
 */
const SESSION_TIMEOUT_MS = 6_000
/** Also how soon a process notices that another one joined or left. */
const HEARTBEAT_MS = 250
/** Between two looks at the next process, and at what this one is ready for. */
const LOOK_MS = 200
/** The same, once a connection was refused. */
const DOUBT_MS = 50
/**
 * Of the claims and shares: another form needs another number, and the coordinator keeps the two
 * apart.
 */
const FORM = 1

const NOTHING: Pick<Share, 'active' | 'standby'> = { active: [], standby: [] }

export interface KafkaPlacementOptions {
  readonly settings: KafkaSettings
  /** Named to the brokers, for their logs. */
  readonly clientId: string
  /** Processes of one group share the partitions; of different groups do not know of each other. */
  readonly group: string
  readonly partitions: number
  /** Of each partition, as far as there are processes. */
  readonly standbys: number
  /**
   * The configuration that this process uses, for people: it is sent to the others, and a member
   * that uses another one is named.
   */
  readonly policy?: string
  readonly clock: Clock
  readonly sessionTimeoutMs?: number
  readonly heartbeatMs?: number
  readonly onWarning?: (text: string) => void
}

export interface KafkaPlacement extends Placement {
  /** The state of this process in the group. */
  status(): GroupStatus
}

export interface GroupStatus {
  /** It has joined, and was given a share. */
  readonly isMember: boolean
  /** It joined, and answers for nothing until it is ready for its first partitions. */
  readonly isPreparing: boolean
  /** Why the group has not been reached for a while; empty when it has. */
  readonly trouble: string
  /** Which processes use which policy; empty when all use the same. */
  readonly differing: string
}

export function createKafkaPlacement(options: KafkaPlacementOptions): KafkaPlacement {
  const refusal = refusalOf(options.settings)
  if (refusal !== undefined) throw new LogError('INVALID', refusal)
  return new GroupPlacement(options)
}

interface Watched {
  readonly peers: PeerWatch
  readonly membership: Membership
  readonly own: OwnClaim
}

class GroupPlacement implements KafkaPlacement {
  readonly #options: KafkaPlacementOptions
  readonly #closed = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #owners: ReadonlyMap<number, string> = new Map()
  #differing = ''
  #membership: Membership | undefined
  #own: OwnClaim | undefined

  constructor(options: KafkaPlacementOptions) {
    this.#options = options
  }

  owners(): ReadonlyMap<number, string> {
    return this.#owners
  }

  status(): GroupStatus {
    const { isGiven = false, trouble = '' } = this.#membership ?? {}
    const isPreparing = this.#own?.isPreparing ?? false
    return { isMember: isGiven, isPreparing, trouble, differing: this.#differing }
  }

  async *assignments(
    url: string,
    signal: AbortSignal,
    report?: () => Report,
  ): AsyncGenerator<Placed, void> {
    const left = new AbortController()
    const either = AbortSignal.any([signal, left.signal, this.#closed.signal])
    if (either.aborted) return
    const holdings = new Holdings()
    const { policy = '', clock } = this.#options
    const own = new OwnClaim({ url, policy }, clock, report)
    this.#own = own
    const running = this.#join(url, holdings, own, either)
    this.#running.add(running)
    try {
      yield* holdings.given()
    } finally {
      left.abort()
      await running
      this.#running.delete(running)
    }
  }

  /** Never rejects: a failure is reported where the assignments are read. */
  async #join(url: string, holdings: Holdings, own: OwnClaim, signal: AbortSignal): Promise<void> {
    const { settings, clientId, group, partitions, standbys, clock, onWarning } = this.#options
    const { sessionTimeoutMs = SESSION_TIMEOUT_MS, heartbeatMs = HEARTBEAT_MS } = this.#options
    const groupId = `${settings.application}.${group}`
    const peers = new PeerWatch(LOOK_MS)
    const voice: Voice = {
      claim: () => encodeClaim(own.say()),
      lead: (claims) => {
        const told = new Map([...claims].map(([id, bytes]) => [id, decodeClaim(bytes)]))
        const shares = assignGroup(told, partitions, standbys)
        return new Map([...shares].map(([id, share]) => [id, encodeGiven(share)]))
      },
      given: (bytes, generation) => {
        const given = decodeGiven(bytes)
        const { owners, members } = given
        peers.watch(peerOf(url, members))
        own.given(given, generation)
        const former = this.#differing
        this.#differing = differingPolicies(given)
        if (this.#differing !== '' && this.#differing !== former)
          onWarning?.(`the group ${groupId}: ${this.#differing}`)
        this.#owners = new Map(
          owners.flatMap(([owner, all]) => all.map((partition) => [partition, owner] as const)),
        )
        holdings.hold(given)
      },
    }
    const protocol = `kinfold-${FORM}-${partitions}-partitions`
    const link = openLink(settings, clientId)
    const calls = { link, groupId, protocol, sessionTimeoutMs, heartbeatMs, clock, onWarning }
    const revoke = (): void => holdings.hold(NOTHING)
    signal.addEventListener('abort', revoke, { once: true })
    try {
      const membership = new Membership(calls, voice)
      this.#membership = membership
      const watched = this.#watch({ peers, membership, own }, signal)
      await Promise.all([membership.run(signal), watched])
      holdings.end()
    } catch (error) {
      holdings.fail(error)
    } finally {
      signal.removeEventListener('abort', revoke)
      revoke()
      this.#owners = new Map()
      this.#differing = ''
    }
  }

  async #watch({ peers, membership, own }: Watched, signal: AbortSignal): Promise<void> {
    const { clock, onWarning } = this.#options
    let evicted = ''
    while (!signal.aborted) {
      await clock.sleep(peers.isDoubted ? DOUBT_MS : LOOK_MS, signal)
      if (own.isOutdated) membership.joinAgain()
      const gone = signal.aborted ? undefined : await peers.look()
      if (gone === undefined) continue
      if (gone.id !== evicted)
        onWarning?.(`${gone.url} no longer listens: its partitions are given to others`)
      evicted = gone.id
      await membership.evict(gone.id)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort()
    await Promise.all(this.#running)
  }
}

/** The partitions of this process, and assignments that were not read yet. */
class Holdings {
  readonly #held = new Map<number, { readonly role: Role; readonly revoke: AbortController }>()
  #waiting: Placed[] = []
  #ending: { readonly error?: unknown } | undefined
  #wake = (): void => undefined

  /** Publishes only the changes. */
  hold(share: Pick<Share, 'active' | 'standby'>): void {
    const roles = new Map<number, Role>()
    for (const partition of share.standby) roles.set(partition, 'standby')
    for (const partition of share.active) roles.set(partition, 'active')
    for (const [partition, { revoke }] of this.#held) {
      if (roles.has(partition)) continue
      this.#held.delete(partition)
      revoke.abort()
    }
    // Those that are to be answered come first.
    const inOrder = [...roles].sort(
      ([, a], [, b]) => Number(a !== 'active') - Number(b !== 'active'),
    )
    for (const [partition, role] of inOrder) {
      const held = this.#held.get(partition)
      if (held?.role === role) continue
      const revoke = held?.revoke ?? new AbortController()
      this.#held.set(partition, { role, revoke })
      this.#waiting.push({ partition, role, revoked: revoke.signal })
    }
    this.#waiting = this.#waiting.filter(({ revoked }) => !revoked.aborted)
    this.#wake()
  }

  end(): void {
    this.#ending = {}
    this.#wake()
  }

  fail(error: unknown): void {
    this.#ending = { error }
    this.#wake()
  }

  async *given(): AsyncGenerator<Placed, void> {
    for (;;) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        yield next
      }
      if (this.#ending !== undefined) {
        if ('error' in this.#ending) throw this.#ending.error
        return
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }
}
