/**
 * Publishes in `orders` what each policy of a cluster does, for its status there: reapers write it.
 *
 * What must stay true: it is derived from what is committed, decides nothing and permits nothing,
 * so a record that is old, or lost, does no harm. What did not change is not published again, and
 * counting takes a small share of the time, however many objects there are.
 *
 * Not here: what a reaper knows better: what it deleted, and what it was refused
 * (services/reaper/policy-status.ts).
 */
import { lastPart, seenPrefix } from '../../../core/graph/key.ts'
import type { ClusterId, ObjectMeta } from '../../../core/model/object.ts'
import { CLUSTER_POLICY_KIND, POLICY_KIND } from '../../../core/model/rule/policy-content.ts'
import { digestOf, type Rule } from '../../../core/model/rule/rule.ts'
import type { Clock } from '../../../ports/clock.ts'
import { type Log, LogError, type Produced } from '../../../ports/log.ts'
import { type Codec, CodecError } from '../../../ports/record/codec.ts'
import { POLICY_STATUS_PREFIX, policyStatusKey } from '../../../ports/record/control-key.ts'
import type { PolicyStatus } from '../../../ports/record/service-record.ts'
import { StoreError } from '../../../ports/store.ts'
import { MOST_POLICY_STATUSES, POLICY_STATUS_EVERY_MS, POLICY_STATUS_REST } from '../config.ts'
import { NONE_HELD } from '../fold/tally.ts'
import type { Task } from '../fold/task.ts'
import { type RuleCounts, scanned, unwatchedText } from '../query/rule/rule-scan.ts'
import { WHOLE } from '../query/view/sight.ts'
import { View } from '../query/view/view.ts'

export interface PolicyStatusParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly task: Task
}

/** Of one partition, until the signal aborts. */
export async function publishPolicyStatus(
  parts: PolicyStatusParts,
  signal: AbortSignal,
): Promise<void> {
  const { clock, task } = parts
  const publisher = new Publisher(parts)
  let restMs = POLICY_STATUS_EVERY_MS
  while (!signal.aborted) {
    await clock.sleep(restMs, signal)
    if (signal.aborted) return
    const startedMs = clock.monotonicMs()
    try {
      if (task.status().state === 'folding') await publisher.publish(signal)
    } catch (error) {
      if (signal.aborted) return
      if (!isPassing(error)) throw error
    }
    const tookMs = clock.monotonicMs() - startedMs
    restMs = Math.max(POLICY_STATUS_EVERY_MS, POLICY_STATUS_REST * tookMs)
  }
}

/** The task itself repairs a store that is closed, wiped or damaged. */
function isPassing(error: unknown): boolean {
  if (error instanceof StoreError) return true
  return error instanceof LogError && error.remedy === 'retry'
}

class Publisher {
  readonly #parts: PolicyStatusParts
  /** There are no policies here, and nothing is published of any. */
  #isIdle = false

  constructor(parts: PolicyStatusParts) {
    this.#parts = parts
  }

  async publish(signal: AbortSignal): Promise<void> {
    const { log, task } = this.#parts
    const clusters = task.counts()
    if (clusters === undefined) return
    const found = new Map<string, Uint8Array>()
    for (const { cluster } of clusters) {
      if (signal.aborted) return
      for (const each of await this.#statusesOf(cluster)) {
        found.set(policyStatusKey(cluster, each.uid), this.#parts.codec.encode(each))
      }
    }
    if (found.size === 0 && this.#isIdle) return
    // Each time: the topic may have lost its end, or another partition may have the cluster.
    const published = await this.#published()
    const changed: Produced[] = [...found]
      .filter(([key, value]) => !isSame(published.get(key), value))
      .map(([key, value]) => ({ key, value }))
    const left = [...published.keys()].filter((key) => !found.has(key))
    const records = [...changed, ...left.map((key) => ({ key, value: null }))]
    if (records.length > 0) await log.append('orders', 0, records)
    this.#isIdle = found.size === 0
  }

  /** Of this partition. */
  async #published(): Promise<ReadonlyMap<string, Uint8Array>> {
    const { log, codec, task } = this.#parts
    const known = new Map<string, Uint8Array>()
    for (const { key, value } of await log.latest('orders', 0)) {
      if (value === null || !key.startsWith(POLICY_STATUS_PREFIX)) continue
      if (recordIn(codec, value)?.partition === task.partition) known.set(key, value)
    }
    return known
  }

  async #statusesOf(cluster: ClusterId): Promise<readonly PolicyStatus[]> {
    const { codec, clock, log, task } = this.#parts
    const partitions = log.partitions('events')
    const view = new View({ cluster, partition: task, partitions, codec, clock })
    const objects = await policiesOf(view)
    if (objects.length === 0) return []
    const own = view.facts.clusterRules?.policies ?? []
    const inForce = new Map(own.map((each) => [each.uid, each]))
    const rules = own.map(({ rule }) => rule)
    const { counts, isCut } = await scanned(view, rules, { namespace: undefined, sight: WHOLE })
    return objects.map((object) => {
      const policy = inForce.get(object.uid)
      const count = policy && counts.get(policy.rule.name)
      return {
        ...baseOf(cluster, task.partition, object),
        digest: policy === undefined ? '' : digestOf(policy.rule),
        problem: policy === undefined ? problemOf(object) : '',
        isEnforced: (policy?.enforcedAt ?? 0) > 0,
        ...numbersOf(count),
        note: policy && count ? noteOf(view, policy.rule, count, isCut) : '',
      }
    })
  }
}

/** Of other rules it says nothing: they may be of others. */
function noteOf(view: View, rule: Rule, { overLimit }: RuleCounts, isCut: boolean): string {
  const unwatched = rule.match.kinds.map((kind) => unwatchedText(view, kind)).find((text) => text)
  return overLimit || unwatched || (isCut ? 'there are too many objects to count all' : '')
}

/** Objects, of both kinds, a bounded number of each. */
async function policiesOf(view: View): Promise<readonly ObjectMeta[]> {
  const found: ObjectMeta[] = []
  for (const kind of [POLICY_KIND, CLUSTER_POLICY_KIND]) {
    let left = MOST_POLICY_STATUSES
    for await (const [key] of view.entries(seenPrefix(view.cluster, kind))) {
      if (left === 0) break
      left -= 1
      const object = view.node(lastPart(key))?.object
      if (object?.group === kind.group && object.kind === kind.kind) found.push(object)
    }
  }
  return found
}

type Base = Pick<
  PolicyStatus,
  | 'type'
  | 'cluster'
  | 'partition'
  | 'kind'
  | 'version'
  | 'namespace'
  | 'name'
  | 'uid'
  | 'generation'
>

function baseOf(cluster: ClusterId, partition: number, object: ObjectMeta): Base {
  const { kind, version, namespace, name, uid, generation } = object
  return {
    ...{ type: 'PolicyStatus', cluster, partition },
    ...{ kind, version, namespace, name, uid, generation },
  }
}

/** Why an object has no rule in force. */
function problemOf({ projected, deletedAt }: ObjectMeta): string {
  const content = projected?.policy ?? null
  if (content === null) return 'its spec was not read yet'
  if (content.rule === null) return content.problem
  if (deletedAt !== null) return 'it is being deleted'
  return 'there are too many policies: the oldest are in force (20 of a namespace, 200 of all namespaces, 100 of the cluster)'
}

function numbersOf(counts: RuleCounts | undefined): Pick<PolicyStatus, 'matched' | 'due' | 'held'> {
  const { matched = 0, due = 0, held = NONE_HELD } = counts ?? {}
  return { matched, due, held: Object.values(held).reduce((sum, each) => sum + each, 0) }
}

function isSame(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && Buffer.compare(a, b) === 0
}

/** Undefined for what cannot be read. */
function recordIn(codec: Codec, value: Uint8Array): PolicyStatus | undefined {
  try {
    const record = codec.decode(value)
    return record.type === 'PolicyStatus' ? record : undefined
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}
