/**
 * Verifies the owners that a command claims, some at a time, so that an object with thousands of
 * them can be proven as well.
 *
 * What must stay true: a GET that found an owner deleted stays valid for as long as the cluster is
 * reachable without a break. No restore leaves that: it takes longer than `goneProofAfterMs`, and
 * breaks calls. So the cluster's identity, which comes from its own store, is asked for between the
 * GETs, and two answers further apart than that, or any failure, make everything seen before them
 * outdated. A GET of an owner that waits or orphans is never valid for longer: users change that.
 *
 * Not here: what a live GET proves (gate.ts).
 */
import type { OwnerClaim } from '../../core/model/command.ts'
import { type GateBounds, isOutdated } from './decide/gate.ts'
import type { Attested, OwnerLook } from './proof.ts'

/**
 * Of one command, between two questions for the identity: so few that they are answered well within
 * `goneProofAfterMs`, also where commands take turns (look-turns.ts).
 */
export const LOOKS_AT_ONCE = 16

export interface Looking {
  readonly bounds: GateBounds
  now(): number
  /** When a call last failed. Monotonic. */
  troubledMs(): number
  look(claim: OwnerClaim, since: number): Promise<OwnerLook>
  attest(): Promise<Attested | string>
}

export interface ClaimLook extends OwnerLook {
  readonly claim: OwnerClaim
}

export interface Looks {
  readonly looks: readonly ClaimLook[]
  /** Since when the cluster was there without a break; undefined where that was not asked. */
  readonly steady: Steady | undefined
}

interface Steady {
  readonly since: number
  /** It was there then. */
  readonly last: number
}

/**
 * A reason, when the cluster is not proven to be the one. Stops at the first look that `isEnough`.
 */
export async function lookAtAll(
  claims: readonly OwnerClaim[],
  since: number,
  looking: Looking,
  isEnough: (look: ClaimLook) => boolean,
): Promise<Looks | string> {
  const lookAt = async (claim: OwnerClaim, from: number): Promise<ClaimLook> => {
    return { claim, ...(await looking.look(claim, from)) }
  }
  if (claims.length <= LOOKS_AT_ONCE) {
    const looks = await Promise.all(claims.map((claim) => lookAt(claim, since)))
    return { looks, steady: undefined }
  }
  const first = await looking.attest()
  if (typeof first === 'string') return first
  let steady: Steady = { since: first.askedAt, last: first.askedAt }
  const looks: ClaimLook[] = []
  const all = lastingFirst(claims)
  for (let at = 0; at < all.length; at += LOOKS_AT_ONCE) {
    const some = all.slice(at, at + LOOKS_AT_ONCE)
    const seen = await Promise.all(some.map((claim) => lookAt(claim, first.askedAt)))
    looks.push(...seen)
    if (seen.some(isEnough)) break
    const attested = await looking.attest()
    if (typeof attested === 'string') return attested
    steady = after(steady, attested, looking.bounds)
  }
  return { looks, steady }
}

/** Those that users may change are verified last, just before the call. */
function lastingFirst(claims: readonly OwnerClaim[]): readonly OwnerClaim[] {
  const isLasting = ({ claim }: OwnerClaim): boolean => claim === 'absent'
  return [...claims.filter(isLasting), ...claims.filter((each) => !isLasting(each))]
}

function after({ since, last }: Steady, next: Attested, bounds: GateBounds): Steady {
  const isBreak = next.answeredAt - last > bounds.goneProofAfterMs
  return { since: isBreak ? next.askedAt : since, last: next.askedAt }
}

/** Some of them are old by now. */
export function areOutdated({ looks, steady }: Looks, looking: Looking): boolean {
  const nowMs = looking.now()
  const { bounds } = looking
  return looks.some((look) => {
    if (!isOutdated(look.claim, nowMs - look.askedAt, bounds)) return false
    return !isLasting(look, steady, nowMs, looking)
  })
}

function isLasting(
  { claim, askedAt }: ClaimLook,
  steady: Steady | undefined,
  nowMs: number,
  { bounds, troubledMs }: Looking,
): boolean {
  if (claim.claim !== 'absent' || steady === undefined) return false
  if (askedAt < steady.since || troubledMs() >= askedAt) return false
  return nowMs - steady.last <= bounds.goneProofAfterMs
}
