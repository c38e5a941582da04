/**
 * Live GETs that many commands share: whether the endpoint is the cluster it should be, and the
 * state of an owner.
 *
 * What must stay true: a GET is as old as the moment of its request, however late it is answered,
 * and has that time for its users; one that failed proves nothing, but is shared as well, so a
 * backlog does not ask once per command. While a proof of identity failed, the cluster may have
 * been restored: everything seen before it no longer counts.
 *
 * Not here: what a live GET proves (gate.ts).
 */
import type { OwnerClaim, Target } from '../../core/model/command.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Cluster, ClusterError, type GetAnswer } from '../../ports/cluster.ts'
import type { Caller } from './call.ts'

export interface ProofBounds {
  /** As for any GET: further tries, and the longest wait that a server may ask for. */
  readonly retries: number
  readonly retryAfterCapMs: number
  readonly identityProofMs: number
  readonly identityRetryMs: number
  readonly ownerProofMs: number
  readonly ownerProofs: number
}

export interface OwnerLook {
  readonly answer: GetAnswer
  /** Monotonic: when the GET that was answered so was sent. */
  readonly askedAt: number
}

/** Both monotonic. */
export interface Attested {
  readonly askedAt: number
  readonly answeredAt: number
}

/**
 * Of one cluster. `onCall` is called once for each request that this command causes; the others
 * share for nothing.
 */
export interface Proofs {
  /** Why the endpoint is not proven to be the cluster; undefined when it is. */
  identity(onCall: () => void, signal: AbortSignal): Promise<string | undefined>
  /**
   * Asks anew which cluster it is, for a proof that takes long: that one was there between
   * `askedAt` and `answeredAt`. A reason, when it is not proven to be.
   */
  attest(onCall: () => void, signal: AbortSignal): Promise<Attested | string>
  /**
   * The connection broke, and the next one may lead elsewhere: nothing seen so far counts any
   * longer.
   */
  voidAll(): void
  /** `since`, monotonic: an earlier request is of no use. */
  owner(
    claim: OwnerClaim,
    since: number,
    onCall: () => void,
    signal: AbortSignal,
  ): Promise<OwnerLook>
}

export interface ProofParts {
  readonly id: ClusterId
  readonly cluster: Cluster
  readonly caller: Caller
  readonly clock: Clock
  readonly bounds: ProofBounds
  /** A question for the identity was not answered as it should be. */
  readonly onTrouble: () => void
}

interface SharedLook {
  /** Its last try. */
  askedAt(): number
  readonly seen: Promise<OwnerLook>
}

interface IdentityLook {
  /** When it was requested; of one that failed, when it did. */
  since: number
  hasFailed: boolean
  readonly answer: Promise<string | undefined>
}

export function createProofs(parts: ProofParts): Proofs {
  const { clock, caller, bounds } = parts
  let identityLook: IdentityLook | undefined
  /** In the order of their first requests, so the oldest come first. */
  const owners = new Map<string, SharedLook>()

  function isFresh(since: number, lifeMs: number): boolean {
    return clock.monotonicMs() - since < lifeMs
  }

  function forgetOld(): void {
    for (const [key, look] of owners) {
      if (owners.size < bounds.ownerProofs && isFresh(look.askedAt(), bounds.ownerProofMs)) return
      owners.delete(key)
    }
  }

  function onTrouble(): void {
    owners.clear()
    parts.onTrouble()
  }

  return {
    async identity(onCall, signal) {
      const lifeMs =
        identityLook?.hasFailed === true ? bounds.identityRetryMs : bounds.identityProofMs
      if (identityLook !== undefined && isFresh(identityLook.since, lifeMs)) {
        return identityLook.answer
      }
      const answer = identify({ ...parts, onTrouble }, onCall, signal)
      const look: IdentityLook = { since: clock.monotonicMs(), answer, hasFailed: false }
      identityLook = look
      const reason = await answer
      look.hasFailed = reason !== undefined
      if (look.hasFailed) look.since = clock.monotonicMs()
      return reason
    },
    async attest(onCall, signal) {
      const askedAt = clock.monotonicMs()
      const reason = await identify({ ...parts, onTrouble }, onCall, signal)
      return reason ?? { askedAt, answeredAt: clock.monotonicMs() }
    },
    voidAll() {
      if (identityLook?.hasFailed === false) identityLook = undefined
      owners.clear()
    },
    owner(claim, since, onCall, signal) {
      const key = placeOf(claim)
      const known = owners.get(key)
      const isOfUse = known !== undefined && known.askedAt() >= since
      if (isOfUse && isFresh(known.askedAt(), bounds.ownerProofMs)) return known.seen
      forgetOld()
      let askedAt = clock.monotonicMs()
      const onTry = (): void => {
        askedAt = clock.monotonicMs()
        onCall()
      }
      const seen = caller
        .look(targetOf(claim), onTry, signal)
        .then((answer) => ({ answer, askedAt }))
      owners.delete(key)
      owners.set(key, { askedAt: () => askedAt, seen })
      return seen
    },
  }
}

/**
 * Retries shortly: a whole backlog waits for it. Not for longer than a failed proof is valid, so
 * that a hanging server costs one wait.
 */
async function identify(
  { id, cluster, caller, clock, bounds, onTrouble }: ProofParts,
  onCall: () => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const until = clock.monotonicMs() + bounds.identityRetryMs
  for (let retries = 0; ; retries++) {
    onCall()
    try {
      const seen = await cluster.identify(signal)
      return seen === id ? undefined : `the endpoint is another cluster, ${seen}`
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error
      onTrouble()
      const isOver = retries >= bounds.retries || clock.monotonicMs() >= until
      if (isOver || !mayPass(error, bounds)) {
        return `the cluster's identity could not be proven: ${error.message}`
      }
      await caller.wait(retries, error.retryAfterMs, signal)
    }
  }
}

const PASSING: readonly string[] = [
  'THROTTLED',
  'UNAVAILABLE',
  'UNREACHABLE',
  'BAD_REQUEST',
  'UNREADABLE',
]

function mayPass({ code, retryAfterMs }: ClusterError, bounds: ProofBounds): boolean {
  return PASSING.includes(code) && (retryAfterMs ?? 0) <= bounds.retryAfterCapMs
}

function placeOf({ group, version, resource, namespace, name }: OwnerClaim): string {
  return `${group}/${version}/${resource}/${namespace}/${name}`
}

function targetOf(claim: OwnerClaim): Target {
  const { group, kind, namespace, name, version, resource, uid } = claim
  const rest = { resourceVersion: '', aggregated: false }
  return { group, kind, namespace, name, version, resource, uid, ...rest }
}
