/**
 * What the record had decided of an object before others deleted it: beside another collector that
 * is why that one deleted it, though its request does not say so.
 *
 * What must stay true: it is inferred and called so; where a user deleted the object, nothing
 * follows from it. It is read from fields of records; no sentence is read back.
 *
 * Not here: which owner it was (record/life.ts), who asked for that one's deletion (actor.ts).
 */

import type { Evidence } from '../../../core/model/proof.ts'
import type { History } from '../../../core/model/record.ts'

export interface ExpectedEnd {
  readonly evidence: Evidence
  /** Append time of what decided it. */
  readonly at: number
  /** One sentence. */
  readonly text: string
}

/** Two watches may tell of one moment so far apart. */
const SKEW_MS = 2_000

/**
 * Why another collector deleted it, of one life, in order: its owners were gone. `actor`: who asked
 * for it, null where no audit log says. Null: a user did, or nothing says that it was a collector.
 */
export function inferredEnd(
  history: readonly History[],
  actor: { readonly user: string; readonly agent: string } | null,
): ExpectedEnd | null {
  if (actor !== null && !isController(actor)) return null
  const expected = expectedEnd(history)
  if (expected !== null || actor === null || !isGarbageCollector(actor)) return expected
  // It may be faster than the watch by which the record learns of the owner's deletion.
  const gone = history.find(({ change }) => change === 'gone')
  return gone === undefined ? null : { evidence: 'deleted', at: gone.at + SKEW_MS, text: '' }
}

/** Null where the last verdict before its end was not that its owners are gone. */
function expectedEnd(history: readonly History[]): ExpectedEnd | null {
  const end = history.findIndex(({ change }) => change === 'gone')
  const before = end < 0 ? history : history.slice(0, end)
  const last = before.findLast(({ change }) => change === 'verdict')
  if (last === undefined || last.evidence === null || last.evidence === 'orphaning') return null
  const { evidence, at, text } = last
  return { evidence, at, text }
}

interface Client {
  readonly user: string
  readonly agent: string
}

/** Upstream's controllers, its garbage collector among them: what they delete has its cause elsewhere. */
export function isController({ user, agent }: Client): boolean {
  return isGarbageCollector({ user, agent }) || agent.startsWith('kube-controller-manager/')
}

/** With `--use-service-account-credentials` by its account, without by the end of its agent. */
function isGarbageCollector({ user, agent }: Client): boolean {
  return user === ACCOUNT || /[/:]generic-garbage-collector$/.test(agent)
}

const ACCOUNT = 'system:serviceaccount:kube-system:generic-garbage-collector'
