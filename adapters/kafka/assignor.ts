/**
 * The claims that the members of a group send to its leader, and the share that the leader sends to
 * each of them.
 *
 * What must stay true: the claim that was given last wins: a process that was away, stopped or cut
 * off, takes nothing back from the members that were given its partitions meanwhile. Partitions
 * that it lost count as its standbys: their stores are at hand.
 *
 * Not here: how shares are chosen (ports/share-out.ts), how the records travel (membership.ts).
 * Another form of them is another protocol, and so has another name there; a field that a member of
 * an older version leaves out reads as empty.
 */
import { assign, type Former, type Report, type Share } from '../../ports/share-out.ts'
import type { Peer } from './peer.ts'

/**
 * Of a member: what it was given last, and in which generation of the group; a new one has nothing.
 */
export interface Claim extends Pick<Share, 'active' | 'standby' | 'leaving'>, Partial<Report> {
  readonly url: string
  readonly generation: number
  /**
   * The configuration that it uses, for people: members that share partitions should use the same.
   * Empty when it does not say.
   */
  readonly policy: string
}

export interface Given extends Share {
  /** The partitions of all members by their URL; its own too. */
  readonly owners: readonly (readonly [url: string, partitions: readonly number[]])[]
  /** Of all members by their URL, its own too. */
  readonly policies: readonly (readonly [url: string, policy: string])[]
  /** Of all partitions, as their members said last: who is given one may not know it yet. */
  readonly loads: Report['loads']
  /** All members, its own too; empty where a leader of an older version shares out. */
  readonly members: readonly Peer[]
}

/** By the members' ids. */
export function assignGroup(
  claims: ReadonlyMap<string, Claim>,
  partitions: number,
  standbys: number,
): Map<string, Given> {
  const shares = assign(formerShares(claims), partitions, standbys)
  const owners = [...shares].map(([id, { active }]) => [claims.get(id)?.url ?? '', active] as const)
  const policies = [...claims.values()].map(({ url, policy }) => [url, policy] as const)
  const members = [...claims].map(([id, { url }]) => ({ id, url }))
  const loads = [...claims.values()].flatMap((claim) => claim.loads ?? [])
  const same = { owners, policies, members, loads }
  return new Map([...shares].map(([id, share]) => [id, { ...share, ...same }]))
}

/** Which members use which policy; empty when all that report one use the same. */
export function differingPolicies({ policies }: Pick<Given, 'policies'>): string {
  const byPolicy = Map.groupBy(
    policies.filter(([, policy]) => policy !== ''),
    ([, policy]) => policy,
  )
  if (byPolicy.size < 2) return ''
  const each = [...byPolicy].map(([policy, all]) => {
    return `${policy} at ${all.map(([url]) => url).join(', ')}`
  })
  return `its processes go by different policies: ${each.sort().join('; ')}`
}

function formerShares(claims: ReadonlyMap<string, Claim>): Map<string, Former> {
  const newest = new Map<number, number>()
  for (const { active, generation } of claims.values()) {
    for (const partition of active) {
      newest.set(partition, Math.max(newest.get(partition) ?? generation, generation))
    }
  }
  return new Map(
    [...claims].map(([id, { active, standby, leaving, generation, ready, loads }]) => {
      const isNewest = (partition: number): boolean => newest.get(partition) === generation
      const lost = active.filter((partition) => !isNewest(partition))
      const share = { active: active.filter(isNewest), standby: [...standby, ...lost] }
      const report = { ...(ready && { ready }), ...(loads && { loads }) }
      return [id, { ...share, ...(leaving && { leaving }), ...report }]
    }),
  )
}

export function encodeClaim(claim: Claim): Buffer {
  return Buffer.from(JSON.stringify(claim))
}

export function decodeClaim(bytes: Buffer): Claim {
  const { policy = '', ...claim } = JSON.parse(bytes.toString()) as Claim
  return { ...claim, policy }
}

export function encodeGiven(given: Given): Buffer {
  return Buffer.from(JSON.stringify(given))
}

export function decodeGiven(bytes: Buffer): Given {
  const read = JSON.parse(bytes.toString()) as Given
  const { policies = [], members = [], next = [], loads = [] } = read
  return { ...read, next, policies, members, loads }
}
