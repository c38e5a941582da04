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

/**
 * Of one cluster. `onCall` is called once for each request that this command causes; the others
 * share for nothing.
 */
export class Proofs {
  readonly #parts: ProofParts
  #identityLook: IdentityLook | undefined
  /** In the order of their first requests, so the oldest come first. */
  readonly #owners = new Map<string, SharedLook>()

  constructor(parts: ProofParts) {
    const onTrouble = (): void => {
      this.#owners.clear()
      parts.onTrouble()
    }
    this.#parts = { ...parts, onTrouble }
  }

  /** Why the endpoint is not proven to be the cluster; undefined when it is. */
  async identity(onCall: () => void, signal: AbortSignal): Promise<string | undefined> {
    const { clock, bounds } = this.#parts
    const known = this.#identityLook
    const lifeMs = known?.hasFailed === true ? bounds.identityRetryMs : bounds.identityProofMs
    if (known !== undefined && this.#isFresh(known.since, lifeMs)) return known.answer
    const answer = identify(this.#parts, onCall, signal)
    const look: IdentityLook = { since: clock.monotonicMs(), answer, hasFailed: false }
    this.#identityLook = look
    const reason = await answer
    look.hasFailed = reason !== undefined
    if (look.hasFailed) look.since = clock.monotonicMs()
    return reason
  }

  /**
   * Asks anew which cluster it is, for a proof that takes long: that one was there between
   * `askedAt` and `answeredAt`. A reason, when it is not proven to be.
   */
  async attest(onCall: () => void, signal: AbortSignal): Promise<Attested | string> {
    const { clock } = this.#parts
    const askedAt = clock.monotonicMs()
    const reason = await identify(this.#parts, onCall, signal)
    return reason ?? { askedAt, answeredAt: clock.monotonicMs() }
  }

  /**
   * The connection broke, and the next one may lead elsewhere: nothing seen so far counts any
   * longer.
   */
  voidAll(): void {
    if (this.#identityLook?.hasFailed === false) this.#identityLook = undefined
    this.#owners.clear()
  }

  /** `since`, monotonic: an earlier request is of no use. */
  owner(
    claim: OwnerClaim,
    since: number,
    onCall: () => void,
    signal: AbortSignal,
  ): Promise<OwnerLook> {
    const { clock, caller, bounds } = this.#parts
    const key = placeOf(claim)
    const known = this.#owners.get(key)
    const isOfUse = known !== undefined && known.askedAt() >= since
    if (isOfUse && this.#isFresh(known.askedAt(), bounds.ownerProofMs)) return known.seen
    this.#forgetOld()
    let askedAt = clock.monotonicMs()
    const onTry = (): void => {
      askedAt = clock.monotonicMs()
      onCall()
    }
    const seen = caller.look(targetOf(claim), onTry, signal).then((answer) => ({ answer, askedAt }))
    this.#owners.delete(key)
    this.#owners.set(key, { askedAt: () => askedAt, seen })
    return seen
  }

  #forgetOld(): void {
    const { ownerProofs, ownerProofMs } = this.#parts.bounds
    for (const [key, look] of this.#owners) {
      const hasRoom = this.#owners.size < ownerProofs
      if (hasRoom && this.#isFresh(look.askedAt(), ownerProofMs)) return
      this.#owners.delete(key)
    }
  }

  #isFresh(since: number, lifeMs: number): boolean {
    return this.#parts.clock.monotonicMs() - since < lifeMs
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

/**
 * Proves what a command says of an owner in another cluster, by that cluster's own proofs: that it
 * is not there, and that it did not leave with its namespace, or with the definition of its kind.
 * Each of those is older than it; one that was made again since, by a backup or GitOps, is not, and
 * what is in it has other uids.
 */
export async function lookElsewhere(
  claim: OwnerClaim,
  { proofs, since }: { readonly proofs: Proofs | undefined; readonly since: number },
  onCall: () => void,
  signal: AbortSignal,
): Promise<OwnerLook | string> {
  const where = `cluster ${claim.cluster}, where the owner was`
  if (proofs === undefined) return `this reaper has no connection to ${where}`
  const impostor = await proofs.identity(onCall, signal)
  if (impostor !== undefined) return `${where}: ${impostor}`
  const look = await proofs.owner(claim, since, onCall, signal)
  for (const around of aroundOf(claim)) {
    const { answer } = await proofs.owner(around, since, onCall, signal)
    const reason = wentWith(claim, around, answer)
    if (reason !== '') return `${where}: ${reason}`
  }
  // The answer may have come from another one.
  const later = await proofs.identity(onCall, signal)
  return later === undefined ? look : `${where}: ${later}`
}

/** What an object is deleted with: its namespace, and the definition of its kind. */
function aroundOf(claim: OwnerClaim): readonly OwnerClaim[] {
  const { group, resource, namespace } = claim
  const none = { ...claim, namespace: '', uid: '' }
  const names = { group: '', version: 'v1', kind: 'Namespace', resource: 'namespaces' }
  const definitions = {
    ...{ group: 'apiextensions.k8s.io', version: 'v1' },
    ...{ kind: 'CustomResourceDefinition', resource: 'customresourcedefinitions' },
  }
  return [
    ...(namespace === '' ? [] : [{ ...none, ...names, name: namespace }]),
    ...(isOwn(group) ? [] : [{ ...none, ...definitions, name: `${resource}.${group}` }]),
  ]
}

/** Of the API server itself, which has its kinds without definitions. */
function isOwn(group: string): boolean {
  return !group.includes('.') || OWN_GROUPS.has(group)
}

/** With kinds of namespaces, as of Kubernetes 1.35; an unknown one is taken for a definition's. */
const OWN_GROUPS: ReadonlySet<string> = new Set([
  ...['authorization.k8s.io', 'coordination.k8s.io', 'discovery.k8s.io', 'events.k8s.io'],
  ...['networking.k8s.io', 'rbac.authorization.k8s.io', 'resource.k8s.io', 'storage.k8s.io'],
])

/** Empty: it did not. */
function wentWith(
  { createdAt }: OwnerClaim,
  { kind, name }: OwnerClaim,
  answer: GetAnswer,
): string {
  const what = `${kind} ${name} of the owner`
  if (answer.type === 'Unknown') return `${what} could not be looked up: ${answer.reason}`
  if (answer.type === 'Absent') return `${what} is not there`
  const { object } = answer
  if (object.deletedAt !== null) return `${what} is being deleted`
  const isOlder = createdAt !== null && object.createdAt !== null && object.createdAt <= createdAt
  return isOlder ? '' : `${what} was made after the owner: it may have left with a former one`
}

function targetOf(claim: OwnerClaim): Target {
  const { group, kind, namespace, name, version, resource, uid } = claim
  const rest = { resourceVersion: '', aggregated: false }
  return { group, kind, namespace, name, version, resource, uid, ...rest }
}
