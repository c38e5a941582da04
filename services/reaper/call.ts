/**
 * One call to a cluster: timed for the throttle, and taken as a sign when the connection broke.
 *
 * What must stay true: a broken connection voids the proof of identity, since the next one may lead
 * elsewhere; a call that throws a `ClusterError` is an unknown answer and proves nothing.
 *
 * Not here: the meaning of an answer (settle.ts), the time limit of a call (the cluster's adapter).
 */
import type { Target } from '../../core/model/command.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import {
  type Cluster,
  ClusterError,
  type GetAnswer,
  type ReadAnswer,
  type ReapAnswer,
  type UnknownAnswer,
} from '../../ports/cluster.ts'
import type { Random } from '../../ports/random.ts'
import { mayRetry } from './decide/settle.ts'
import type { Throttle } from './throttle.ts'

export interface CallBounds {
  readonly retries: number
  readonly retryBaseMs: number
  readonly retryAfterCapMs: number
  readonly conflicts: number
}

/** For counting calls. `WARN` posts an Event. */
export type CallVerb = 'GET' | 'DELETE' | 'PATCH' | 'WARN'

/** The connection to one cluster, as commands and proofs use it. */
export interface Caller {
  send<A extends GetAnswer | ReadAnswer | ReapAnswer>(
    verb: CallVerb,
    call: (cluster: Cluster) => Promise<A>,
  ): Promise<A | UnknownAnswer>
  /** GET, with short retries; `onCall` is called for each. */
  look(target: Target, onCall: () => void, signal: AbortSignal): Promise<GetAnswer>
  /** As `look`, with the body. */
  read(target: Target, onCall: () => void, signal: AbortSignal): Promise<ReadAnswer>
  /** Before try number `retries + 1`; as long as the server asked, if it did. */
  wait(retries: number, afterMs: number | null, signal: AbortSignal): Promise<void>
}

export interface CallerParts {
  readonly id: ClusterId
  readonly cluster: Cluster
  readonly throttle: Throttle
  readonly clock: Clock
  readonly random: Random
  readonly bounds: CallBounds
  readonly onAnswer: (verb: CallVerb, code: number | null) => void
  /** The connection broke in a call. */
  readonly onBroken: () => void
}

export function createCaller(parts: CallerParts): Caller {
  const { id, cluster, throttle, clock, random, bounds, onAnswer, onBroken } = parts

  async function send<A extends GetAnswer | ReadAnswer | ReapAnswer>(
    verb: CallVerb,
    call: (cluster: Cluster) => Promise<A>,
  ): Promise<A | UnknownAnswer> {
    const sentAt = clock.monotonicMs()
    const answer = await call(cluster).catch(asUnknown)
    throttle.answered(clock.monotonicMs() - sentAt, isThrottled(answer))
    onAnswer(verb, answer.code)
    if (isBroken(answer)) onBroken()
    return answer
  }

  async function wait(retries: number, afterMs: number | null, signal: AbortSignal): Promise<void> {
    const jittered = bounds.retryBaseMs * 2 ** retries * (0.5 + random.next() / 2)
    await clock.sleep(Math.max(jittered, afterMs ?? 0), signal)
    signal.throwIfAborted()
  }

  async function patiently<A extends GetAnswer | ReadAnswer>(
    call: (cluster: Cluster) => Promise<A>,
    onCall: () => void,
    signal: AbortSignal,
  ): Promise<A | UnknownAnswer> {
    for (let retries = 0; ; retries++) {
      onCall()
      const answer = await send('GET', call)
      if (answer.type !== 'Unknown' || !mayRetry(answer, { retries }, bounds)) return answer
      await wait(retries, answer.retryAfterMs, signal)
    }
  }

  return {
    send,
    wait,
    look: (target, onCall, signal) => patiently((to) => to.get(target, signal, id), onCall, signal),
    read: (target, onCall, signal) =>
      patiently((to) => to.read(target, signal, id), onCall, signal),
  }
}

function asUnknown(error: unknown): UnknownAnswer {
  if (!(error instanceof ClusterError)) throw error
  const transient = error.remedy === 'retry'
  const { message: reason, retryAfterMs } = error
  return { type: 'Unknown', code: null, reason, transient, retryAfterMs }
}

/** No answer, or a success that was cut. */
function isBroken(answer: GetAnswer | ReapAnswer): boolean {
  return answer.type === 'Unknown' && (answer.code === null || answer.code < 300)
}

function isThrottled(answer: GetAnswer | ReapAnswer): boolean {
  return answer.type === 'Unknown' && (answer.code === 429 || answer.retryAfterMs !== null)
}
