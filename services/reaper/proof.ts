/**
 * Looks that many commands share: whether the endpoint is the cluster it should be, and how an owner stands.
 *
 * What must stay true: a look is as old as the moment it was asked for, and is never used beyond its time; one that failed proves nothing,
 * but is shared as well, so a backlog does not ask once per command.
 *
 * Not here: what a look proves (gate.ts).
 */
import type { OwnerClaim, Target } from '../../core/command.ts'
import type { ClusterId } from '../../core/object.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Cluster, ClusterError, type GetAnswer } from '../../ports/cluster.ts'
import type { Caller } from './call.ts'

export interface ProofBounds {
  readonly identityProofMs: number
  readonly identityRetryMs: number
  readonly ownerProofMs: number
  readonly ownerProofs: number
}

/** Of one cluster. `onCall` is called once for each request that this command causes; the others share for nothing. */
export interface Proofs {
  /** Why the endpoint is not proven to be the cluster; undefined when it is. */
  identity(onCall: () => void, signal: AbortSignal): Promise<string | undefined>
  /** The connection broke, and the next one may lead elsewhere: nothing seen so far counts any more. */
  voidAll(): void
  owner(claim: OwnerClaim, onCall: () => void, signal: AbortSignal): Promise<GetAnswer>
}

interface Look<A> {
  readonly askedAt: number
  readonly answer: Promise<A>
}

interface IdentityLook extends Look<string | undefined> {
  hasFailed: boolean
}

export function createProofs(
  id: ClusterId,
  cluster: Cluster,
  caller: Caller,
  clock: Clock,
  bounds: ProofBounds,
): Proofs {
  let identityLook: IdentityLook | undefined
  /** In the order they were asked for, so the oldest come first. */
  const owners = new Map<string, Look<GetAnswer>>()

  function isFresh(look: Look<unknown> | undefined, lifeMs: number): boolean {
    return look !== undefined && clock.monotonicMs() - look.askedAt < lifeMs
  }

  function forgetOld(): void {
    for (const [key, look] of owners) {
      if (owners.size < bounds.ownerProofs && isFresh(look, bounds.ownerProofMs)) return
      owners.delete(key)
    }
  }

  return {
    async identity(onCall, signal) {
      const lifeMs =
        identityLook?.hasFailed === true ? bounds.identityRetryMs : bounds.identityProofMs
      if (identityLook !== undefined && isFresh(identityLook, lifeMs)) return identityLook.answer
      onCall()
      const answer = identify(id, cluster, signal)
      const look = { askedAt: clock.monotonicMs(), answer, hasFailed: false }
      identityLook = look
      const reason = await answer
      look.hasFailed = reason !== undefined
      return reason
    },
    voidAll() {
      if (identityLook?.hasFailed === false) identityLook = undefined
      owners.clear()
    },
    owner(claim, onCall, signal) {
      const key = placeOf(claim)
      const known = owners.get(key)
      if (known !== undefined && isFresh(known, bounds.ownerProofMs)) return known.answer
      forgetOld()
      const look = {
        askedAt: clock.monotonicMs(),
        answer: caller.look(targetOf(claim), onCall, signal),
      }
      owners.delete(key)
      owners.set(key, look)
      return look.answer
    },
  }
}

async function identify(
  id: ClusterId,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const seen = await cluster.identify(signal)
    return seen === id ? undefined : `the endpoint is another cluster, ${seen}`
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    return `the cluster's identity could not be proven: ${error.message}`
  }
}

function placeOf({ group, version, resource, namespace, name }: OwnerClaim): string {
  return `${group}/${version}/${resource}/${namespace}/${name}`
}

function targetOf(claim: OwnerClaim): Target {
  const { group, kind, namespace, name, version, resource, uid } = claim
  const rest = { resourceVersion: '', aggregated: false }
  return { group, kind, namespace, name, version, resource, uid, ...rest }
}
