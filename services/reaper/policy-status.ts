/**
 * Writes the status of policies of a cluster, where they are: what the graph published of each, and
 * what this reaper knows better: what it deleted by it, and what its account was refused.
 *
 * What must stay true: a status is written only where it differs, by the reaper that has the
 * commands of its cluster. It decides nothing. What this process does not know stays as it is in
 * the object: a restart forgets no right that was missing, and no number.
 *
 * Not here: what is counted (services/graph/orders/policy-status.ts), whether a command may be
 * carried out (policy-proof.ts).
 */
import type { Target } from '../../core/model/command.ts'
import { annotateCommand, policyResource } from '../../core/model/rule/annotate.ts'
import type { PolicyStatus } from '../../ports/record/service-record.ts'
import { POLICY_GROUP } from '../../ports/rule/policy-kind.ts'
import type { Caller } from './call.ts'

/** Objects that it changed by the policy. */
export interface PolicyCounts {
  readonly deleted: number
  readonly annotated: number
}

/** What a reaper has seen of a policy since its status was written last. */
export interface PolicyOutcomes extends PolicyCounts {
  /** Of the last DELETE; empty: it lacked none. Undefined: there was none. */
  readonly lacking: string | undefined
  /** Of the last DELETE that the server refused; empty: it took it. Undefined: there was none. */
  readonly lastError: string | undefined
}

export const NO_OUTCOMES: PolicyOutcomes = {
  ...{ deleted: 0, annotated: 0, lacking: undefined, lastError: undefined },
}

/** As an object has it, whatever another client wrote there. */
type Json = Readonly<Record<string, unknown>>

interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

/** `former`: the status that the object has. `time`: now, as RFC 3339. */
export function statusOf(
  said: PolicyStatus,
  { deleted, annotated, lacking, lastError }: PolicyOutcomes,
  former: Json,
  time: string,
): Json {
  const before = listIn(former['conditions'])
  const formerError = typeof former['lastError'] === 'string' ? former['lastError'] : ''
  const countOf = (key: keyof PolicyCounts): number => {
    return typeof former[key] === 'number' ? former[key] : 0
  }
  const marked = countOf('annotated') + annotated
  const { generation, digest, matched, due, held } = said
  const conditions = [
    conditionOf(ready(said), before, generation, time),
    conditionOf(enforced(said), before, generation, time),
    conditionOf(permitted(lacking, before), before, generation, time),
  ]
  return {
    ...(generation !== null && { observedGeneration: generation }),
    digest,
    ...{ matched, due, held, deleted: countOf('deleted') + deleted },
    ...(marked > 0 && { annotated: marked }),
    lastError: lastError ?? formerError,
    conditions,
  }
}

function ready({ problem, note }: PolicyStatus): Condition {
  if (problem === '') return { type: 'Ready', status: 'True', reason: 'Compiled', message: note }
  return { type: 'Ready', status: 'False', reason: 'Refused', message: problem }
}

function enforced(said: PolicyStatus): Condition {
  const { isEnforced, digest, namespace, name } = said
  if (isEnforced) {
    return { type: 'Enforced', status: 'True', reason: 'Annotated', message: '' }
  }
  const message =
    digest === ''
      ? ''
      : `to have it carried out: ${annotateCommand(`${namespace || '*'}/${name}`, digest)}`
  return { type: 'Enforced', status: 'False', reason: 'DryRun', message }
}

function permitted(lacking: string | undefined, before: readonly Json[]): Condition {
  const type = 'Permitted'
  if (lacking === undefined) {
    const known = before.find((each) => each['type'] === type)
    const status =
      known?.['status'] === 'True' || known?.['status'] === 'False' ? known['status'] : 'Unknown'
    if (status === 'Unknown') return { type, status, reason: 'NotTried', message: '' }
    return { type, status, reason: textOf(known?.['reason']), message: textOf(known?.['message']) }
  }
  if (lacking === '') return { type, status: 'True', reason: 'Allowed', message: '' }
  return { type, status: 'False', reason: 'Forbidden', message: lacking }
}

/** Since when it is so is kept while its status is the same. */
function conditionOf(
  condition: Condition,
  before: readonly Json[],
  generation: number | null,
  time: string,
): Json {
  const known = before.find((each) => each['type'] === condition.type)
  const since = known?.['status'] === condition.status ? textOf(known['lastTransitionTime']) : ''
  return {
    ...condition,
    ...(generation !== null && { observedGeneration: generation }),
    lastTransitionTime: since === '' ? time : since,
  }
}

function listIn(value: unknown): readonly Json[] {
  if (!Array.isArray(value)) return []
  return value.filter((each): each is Json => typeof each === 'object' && each !== null)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Alike in all that a status says, in whatever order. */
export function isSameStatus(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => [key, sorted(each)] as const)
  return entries.sort(([x], [y]) => (x < y ? -1 : 1))
}

/** What has to be known of the cluster to write a status. */
export interface StatusParts {
  readonly caller: Pick<Caller, 'read' | 'send'>
  readonly outcomes: PolicyOutcomes
  /** Now, as RFC 3339. */
  readonly time: string
}

/** How many more of each are in the status now; null: it could not be written. */
export async function writeStatus(
  said: PolicyStatus,
  { caller, outcomes, time }: StatusParts,
  signal: AbortSignal,
): Promise<PolicyCounts | null> {
  const target = statusTarget(said)
  const read = await caller.read(target, () => undefined, signal)
  if (read.type === 'Unknown') return null
  // It is deleted, or another one by now: nothing is to be said of it.
  if (read.type === 'Absent' || read.object.uid !== said.uid) return outcomes
  const body = JSON.parse(read.text) as { readonly status?: unknown }
  const former = typeof body.status === 'object' && body.status !== null ? body.status : {}
  const status = statusOf(said, outcomes, former as Json, time)
  if (isSameStatus(former, status)) return outcomes
  const answer = await caller.send('PATCH', (to) => to.writeStatus(target, status, signal))
  return answer.type === 'Changed' ? outcomes : null
}

function statusTarget({ kind, version, namespace, name, uid }: PolicyStatus): Target {
  return {
    ...{ group: POLICY_GROUP, kind, version, namespace, name, uid },
    ...{ resource: policyResource(kind), resourceVersion: '', aggregated: false },
  }
}
