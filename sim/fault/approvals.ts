/**
 * A person who approves a set that was shown a while ago (F93), and who notices when another object
 * is deleted by that approval.
 *
 * What must stay true: the person sees what the graph holds and acts on nothing else. A command is
 * checked against the set that was shown and the time at which the approval was given, both
 * remembered here.
 */

import type { ApiObject } from '../../adapters/memory/api-server.ts'
import { heldPrefix, lastPart, nodeKey, planKey } from '../../core/graph/key.ts'
import type { DeleteObject, OrphanDependent } from '../../core/model/command.ts'
import { LONG_LIST } from '../../core/model/constant.ts'
import type { Directive } from '../../core/model/event.ts'
import { EMPTY_SET, isSameSet, type SetHash } from '../../core/model/hash.ts'
import type { CommandId } from '../../core/model/id.ts'
import type { OwnerReference } from '../../core/model/object.ts'
import type { StateValue } from '../../core/model/state.ts'
import type { Entry, Log, Topic } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { prefixRange } from '../../ports/store.ts'
import { listDigest } from '../../runtime/list-digest.ts'
import { stateValueOf } from '../../services/graph/fold/bytes/long-node.ts'
import { giveOrder } from '../../services/graph/fold/order.ts'
import { seeded } from '../../testing/seeded.ts'
import type { Approval, Checker, Fault, World } from '../model.ts'
import { siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** For how long an approval is valid. */
const LASTS_MS = 60 * MINUTE
const LOOK_MS = 10 * SECOND
/** Until a CustomResourceDefinition is served. */
const SERVED_MS = 10 * SECOND
/** Until watchers have seen the objects that are about to be deleted. */
const SEEN_MS = 3 * MINUTE
const MOST_HELD = 10_000
const WHO = 'anna'

export const approvalFaults: readonly Fault[] = [
  {
    row: 'F93',
    what: 'a person approves a plan that was shown a while ago',
    lastsMs: [20 * MINUTE, 100 * MINUTE],
    most: 3,
    suits: ({ policy }) => policy.mode === 'enforce',
    begin(context) {
      const { world, users, fault } = context
      const site = siteOf(context)
      const those = users[fault.target % users.length]!
      const chance = seeded(fault.seed)
      // Some have it before their eyes, some were at lunch.
      const thinksMs = chance.below(chance.pick([SECOND, MINUTE, 30 * MINUTE]))
      const change = chance.pick(['none', 'kept', 'other'] as const)
      let isOver = false
      const after = (ms: number, act: () => void): void =>
        world.time.at(world.time.monotonicMs() + ms, () => {
          if (!isOver) act()
        })
      const look = (): void => {
        const plan = planOf(world, site.id)
        if (plan.shown.size === 0) return after(LOOK_MS, look)
        if (change === 'kept') after(thinksMs / 2, () => those.adoptOneOf(plan.shown))
        if (change === 'other') after(thinksMs / 2, () => those.nameGoneToo(plan.shown))
        after(thinksMs, () => void approve(world, site.id, plan))
      }
      those.haveWidgets()
      after(SERVED_MS, () => those.dependOnWidget())
      after(SEEN_MS, () => those.undefine())
      look()
      return () => {
        isOver = true
      }
    },
  },
]

export const approvalCheckers: readonly Checker[] = [
  {
    invariant:
      'I10 I11: of a bulk deletion only what a person was shown and approved is commanded (F93)',
    appended: (world, { topic, records }) => {
      for (const { value } of topic === 'commands' ? records : []) {
        const command = approvedIn(world.codec, value)
        if (command === undefined) continue
        const { name } = command.target
        if (command.approvedBy !== WHO) return `${name}: nobody approved a bulk deletion`
        if (!world.approvals.some((each) => isOf(each, command)))
          return `${name} is approved, and was not shown like that (F93)`
      }
      return ''
    },
  },
  {
    invariant: 'I11: an approval ends after an hour of log time',
    rest: async (world) => (world.approvals.length === 0 ? [] : await lateOnes(world)),
  },
]

interface Plan {
  readonly set: SetHash
  readonly shown: ReadonlyMap<string, string>
}

function planOf(world: World, cluster: string): Plan {
  for (let partition = 0; partition < world.broker.partitions; partition++) {
    const plan = planIn(world, cluster, partition)
    if (plan !== undefined) return plan
  }
  return { set: EMPTY_SET, shown: new Map() }
}

/** Undefined where the cluster has nothing to approve. */
function planIn(world: World, cluster: string, partition: number): Plan | undefined {
  const entries = world.contentOf(partition)
  const stateOf = (key: string): StateValue | undefined => {
    const bytes = entries.get(key)
    return bytes === undefined ? undefined : stateValueOf(world.codec, key, bytes, entries.get)
  }
  const plan = stateOf(planKey(cluster))
  if (plan?.type !== 'HeldPlan') return undefined
  const shown = new Map<string, string>()
  const { gte, lt } = prefixRange(heldPrefix(cluster), MOST_HELD)
  for (const [key] of entries.page(gte, lt, MOST_HELD)) {
    const node = stateOf(nodeKey(cluster, lastPart(key)))
    if (node?.type === 'Node' && node.hold?.by === 'approval')
      shown.set(node.object.uid, namesOf(node.object.ownerReferences))
  }
  return { set: plan.set, shown }
}

/**
 * As the endpoint does it once the digest was found to be right, which may be long ago when the
 * fold lags.
 */
async function approve(world: World, cluster: string, { set, shown }: Plan): Promise<void> {
  const { broker, codec } = world
  const { log } = broker
  if (!isSameSet(set, planOf(world, cluster).set)) world.reached('F93')
  world.trace.note('approves', `${shown.size} objects of ${cluster}`)
  world.approvals.push({ cluster, shown, saidMs: world.time.now() })
  const order: Directive = {
    ...{ type: 'Directive', verb: 'approve', cluster, subject: '' },
    ...{ digest: null, listed: set, who: WHO, isProven: false, why: 'a fault' },
  }
  const partitions = Array.from({ length: broker.partitions }, (_, each) => each)
  await giveOrder(log, codec, order, partitions)
}

/** Commands on the log that was there at the end, by the time of the event that decided them. */
async function lateOnes({ broker, codec, approvals }: World): Promise<readonly string[]> {
  const late: string[] = []
  for (let partition = 0; partition < broker.partitions; partition++) {
    for (const { value } of await allOf(broker.log, 'commands', partition)) {
      const command = approvedIn(codec, value)
      if (command === undefined) continue
      const decidedMs = await timeOf(broker.log, command.id)
      const isInTime = ({ saidMs }: Approval): boolean =>
        decidedMs === undefined || decidedMs <= saidMs + LASTS_MS
      if (!approvals.some((each) => isOf(each, command) && isInTime(each)))
        late.push(`${command.target.name} goes by an approval of more than an hour ago (I11)`)
    }
  }
  return late
}

/** Undefined when its event is trimmed. */
async function timeOf(log: Log, id: CommandId): Promise<number | undefined> {
  const [partition = 0, offset = 0] = id.split('-').map(Number)
  const { start } = await log.bounds('events', partition)
  if (BigInt(offset) < start) return undefined
  const { entries } = await log.read('events', partition, BigInt(offset), { limit: 1, waitMs: 0 })
  return entries[0]?.timestamp
}

async function allOf(log: Log, topic: Topic, partition: number): Promise<readonly Entry[]> {
  const { start, end } = await log.bounds(topic, partition)
  if (start === end) return []
  return (await log.read(topic, partition, start, { limit: Number(end - start), waitMs: 0 }))
    .entries
}

/** A command about a bulk deletion that is to be carried out; undefined for any other record. */
function approvedIn(codec: Codec, value: Uint8Array | null): Approved | undefined {
  const record = value === null ? undefined : codec.decode(value)
  if (record?.type !== 'DeleteObject' && record?.type !== 'OrphanDependent') return undefined
  return record.mode === 'enforce' && record.evidence === 'bulk' ? record : undefined
}

type Approved = DeleteObject | OrphanDependent

/** A bulk deletion waits for an approval and for nothing else. */
export function isApproved(
  { approvals }: World,
  cluster: string,
  { metadata }: ApiObject,
): boolean {
  const names = namesOf(metadata.ownerReferences ?? [])
  return approvals.some(
    (each) => each.cluster === cluster && each.shown.get(metadata.uid) === names,
  )
}

function isOf({ cluster, shown }: Approval, command: Approved): boolean {
  const { references, listDigest: digest } = command
  return (
    cluster === command.cluster && shown.get(command.target.uid) === (digest ?? namesOf(references))
  )
}

type Named = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'> & {
  readonly controller?: boolean | null
  readonly blockOwnerDeletion?: boolean | null
}

/** Of many what a command on the log has of them. */
function namesOf(references: readonly Named[]): string {
  if (references.length > LONG_LIST) return listDigest(references.map(storedOf))
  return JSON.stringify(
    references.map(({ apiVersion, kind, name, uid }) => [apiVersion, kind, name, uid]),
  )
}

function storedOf({ controller, blockOwnerDeletion, ...named }: Named): OwnerReference {
  const { apiVersion, kind, name, uid } = named
  const flags = { controller: controller ?? null, blockOwnerDeletion: blockOwnerDeletion ?? null }
  return { apiVersion, kind, name, uid, ...flags }
}
