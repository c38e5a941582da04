/**
 * The current pauses and protections from `orders`, and from `control` for each cluster: whether it is connected, and its epoch. The reaper itself follows both, so that a pause does
 * not queue behind commands.
 *
 * What must stay true: a directive that cannot be read counts against acting: a pause as pressed, a cluster as not connected, protection as of everything. So does one that may have
 * been given since either was last read: no command is based on a state older than `controlFreshMs`. A directive that is lost with the end of `orders` holds until it is revoked (F39).
 *
 * Not here: requests to relist (the watcher reads those), the effect of a pause (gate.ts).
 */
import type { GuardedSubject, Guarding } from '../../core/graph/guarding.ts'
import { scopeFlag } from '../../core/graph/scope-flag.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { Mode, Protection } from '../../core/model/policy.ts'
import { readSubject } from '../../core/model/subject.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Entry, type Log, LogError } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import {
  PAUSE_PREFIX,
  PROTECT_POLICY_KEY,
  PROTECT_PREFIX,
  protectingOf,
} from '../../ports/record/control-key.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { projectionOf } from '../../ports/record/projection.ts'
import type { Control as ControlRecord } from '../../ports/record/service-record.ts'
import type { LogRetry } from '../../runtime/retry.ts'

export interface Control {
  /** Why nothing may be done in this cluster now; empty when it may. */
  pausedBecause(cluster: ClusterId): string
  /** As the policy has it, whatever policy a command was given under; `enforce` where none was published. */
  policyMode(): Mode
  /** The protection in that cluster. */
  guarding(cluster: ClusterId): Guarding
  /** Labels and annotations that objects have to be read with, so that it is seen. */
  projection(cluster: ClusterId): Projection
  isConnected(cluster: ClusterId): boolean
  clusterEpoch(cluster: ClusterId): number | undefined
}

export interface FollowedControl extends Control {
  /** Reads the current state; `follow` continues from there. */
  load(signal: AbortSignal): Promise<void>
  follow(signal: AbortSignal): Promise<void>
}

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

export function createControl(
  log: Log,
  codec: Codec,
  retry: LogRetry,
  clock: Pick<Clock, 'monotonicMs'>,
  bounds: ControlBounds,
  onProtected: () => void,
): FollowedControl {
  const paused = new Set<ClusterId>()
  const connections = new Map<ClusterId, Connection>()
  const subjects = new Map<string, Guarded>()
  /** Keys under `protect/` that cannot be understood. */
  const unclear = new Set<string>()
  let policy: Protection | null = null
  let mode: Mode | null = null
  const parts = { log, retry, clock, bounds }
  const orders = follower(
    'orders',
    parts,
    (entries, isCut) => {
      if (!isCut) forgetOrders()
      for (const entry of entries) if (!isCut || holdsBack(entry)) obey(entry)
      onProtected()
    },
    (entries) => {
      for (const entry of entries) obey(entry)
      if (entries.some(({ key }) => key.startsWith(PROTECT_PREFIX))) onProtected()
    },
  )
  const words = follower(
    'control',
    parts,
    (entries) => {
      connections.clear()
      for (const entry of entries) hear(entry)
    },
    (entries) => {
      for (const entry of entries) hear(entry)
    },
  )

  function forgetOrders(): void {
    paused.clear()
    subjects.clear()
    unclear.clear()
    policy = null
    mode = null
  }

  function obey(entry: Entry): void {
    if (entry.key.startsWith(PROTECT_PREFIX)) {
      protect(entry)
    } else if (entry.key.startsWith(PAUSE_PREFIX)) {
      const cluster = entry.key.slice(PAUSE_PREFIX.length)
      if (isPause(codec, entry)) paused.add(cluster)
      else paused.delete(cluster)
    }
  }

  function hear(entry: Entry): void {
    if (!entry.key.startsWith(CLUSTER)) return
    connections.set(entry.key.slice(CLUSTER.length), connectionOf(codec, entry))
  }

  function protect({ key, value }: Entry): void {
    const record = value === null ? null : controlIn(codec, value)
    const protecting = record === undefined ? undefined : protectingOf(key, record)
    if (protecting === undefined) unclear.add(key)
    else unclear.delete(key)
    if (protecting?.type === 'policy') {
      policy = protecting.protection
      mode = protecting.mode
    }
    if (protecting?.type === 'subject') {
      const { cluster, subject, isLifted } = protecting
      if (isLifted || record == null) subjects.delete(key)
      else if (readSubject(subject) === undefined) unclear.add(key)
      else
        subjects.set(key, {
          ...{ cluster, subject, who: record.who, why: record.why },
          scope: scopeFlag(cluster),
        })
    }
  }

  /** From the rest after a lost end: an older record releases nothing that a lost one may have held since. */
  function holdsBack({ key, value }: Entry): boolean {
    if (key === PROTECT_POLICY_KEY) return policy === null
    const verb = value === null ? 'none' : controlIn(codec, value)?.verb
    return verb === undefined || verb === 'pause' || verb === 'protect'
  }

  function subjectsOf(cluster: ClusterId): readonly Guarded[] {
    return [...subjects.values()].filter((each) => each.cluster === '' || each.cluster === cluster)
  }

  return {
    async load(signal) {
      await Promise.all([orders.load(signal), words.load(signal)])
    },
    async follow(signal) {
      await Promise.all([orders.follow(signal), words.follow(signal)])
    },
    pausedBecause(cluster) {
      if (paused.has('') || paused.has(cluster)) return 'paused'
      if (unclear.size > 0) return 'what is protected cannot be read'
      const askedAt = Math.min(orders.askedAt(), words.askedAt())
      const isFresh = clock.monotonicMs() - askedAt <= bounds.controlFreshMs
      return isFresh ? '' : 'whether it is paused cannot be read'
    },
    policyMode: () => mode ?? 'enforce',
    guarding: (cluster) => ({
      policy: policy ?? NOTHING,
      subjects: subjectsOf(cluster),
      // Which deletions were unobserved is known where they are decided.
      namespacesWhereUnseen: [],
    }),
    projection: (cluster) =>
      projectionOf(
        policy,
        subjectsOf(cluster).map(({ subject }) => subject),
      ),
    isConnected: (cluster) => connections.get(cluster)?.isConnected === true,
    clusterEpoch: (cluster) => connections.get(cluster)?.clusterEpoch,
  }
}

interface Follower {
  /** When the current state was last requested, with an answer. Monotonic. */
  askedAt(): number
  load(signal: AbortSignal): Promise<void>
  follow(signal: AbortSignal): Promise<void>
}

interface FollowerParts {
  readonly log: Log
  readonly retry: LogRetry
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly bounds: ControlBounds
}

/** For a compacted topic. `loaded`: the current state, and whether the topic ends before what was read of it; `more`: the records since. */
function follower(
  topic: 'orders' | 'control',
  { log, retry, clock, bounds }: FollowerParts,
  loaded: (entries: readonly Entry[], isCut: boolean) => void,
  more: (entries: readonly Entry[]) => void,
): Follower {
  let next = 0n
  let askedAt = Number.NEGATIVE_INFINITY

  function asked<T>(question: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return retry(async () => {
      const at = clock.monotonicMs()
      const answer = await question()
      askedAt = at
      return answer
    }, signal)
  }

  async function load(signal: AbortSignal): Promise<void> {
    // The end first: records appended in between are applied twice, never left out.
    const end = (await retry(() => log.bounds(topic, 0), signal)).end
    const entries = await asked(() => log.latest(topic, 0), signal)
    loaded(entries, end < next)
    next = end
  }

  return {
    askedAt: () => askedAt,
    load,
    async follow(signal) {
      const options = { limit: bounds.page, waitMs: bounds.controlPollMs }
      while (!signal.aborted) {
        try {
          const page = await asked(() => log.read(topic, 0, next, options, signal), signal)
          more(page.entries)
          next = page.next
        } catch (error) {
          if (!(error instanceof LogError) || error.code !== 'OUT_OF_RANGE') throw error
          await load(signal) // Compacted beyond us, or its end is lost: the current state is all we need.
        }
      }
    },
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
