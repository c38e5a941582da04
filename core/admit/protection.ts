/**
 * Which objects are never deleted for lack of an owner, and what ends that protection.
 *
 * What must stay true: an object with a mark is spared in every state of its owners; the policy's
 * kinds, and the namespaces of the system, are spared where no deletion was observed.
 *
 * Not here: what is protected (guarding.ts), what was (former-protection.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { guardingOf, PREFIX, protectedNow } from '../graph/guarding.ts'
import type { Node } from '../model/node.ts'
import type { Evidence } from '../model/proof.ts'
import { sparedUntil } from '../observe/former-protection.ts'

/** Why an object is spared, and until when in log time if that ends by itself. */
export interface Spared {
  readonly because: string
  readonly until: number | null
}

/** Null when it is not. */
export function protectedBecause(
  facts: ClusterFacts,
  node: Pick<Node, 'object' | 'protectedUntil'>,
  evidence: Evidence,
): Spared | null {
  const guarding = guardingOf(facts)
  const now = protectedNow(node.object, evidence, guarding)
  if (now !== '') return { because: now, until: null }
  const until = sparedUntil(facts, node, evidence)
  if (until === null) return null
  const because = `${PREFIX}what was taken back in the last ten minutes; it is released when they are over`
  return { because, until }
}
