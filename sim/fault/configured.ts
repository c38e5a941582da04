/**
 * An operator protects a namespace by a config, and revokes that, each by a restart; the check is
 * that nothing there is deleted meanwhile, nor, in guarded, in the ten minutes after (I9).
 *
 * What must stay true: knowledge of the policy comes from appended records, and of the graph only
 * how far a partition has read.
 *
 * Not here: protection by a directive (life-faults.ts).
 */
import { createHash } from 'node:crypto'
import { POLICY_KEY } from '../../core/graph/key.ts'
import type { Policy } from '../../core/model/policy.ts'
import { ORDER_PREFIX, PROTECT_POLICY_KEY } from '../../ports/record/control-key.ts'
import { seeded } from '../../testing/seeded.ts'
import type { Checker, Fault, World } from '../model.ts'
import { stamp } from '../trace.ts'

const MINUTE = 60_000
/** For how long `guarded` still spares an object after its protection was revoked. */
const AFTER_MS = 10 * MINUTE
/** The time from an order in `orders` until no request is sent against it any longer. */
const TOLD_MS = 2_000

export const configFaults: readonly Fault[] = [
  {
    row: 'F98 config',
    what: 'the config protects a namespace, and later does not',
    lastsMs: [3 * MINUTE, 30 * MINUTE],
    most: 2,
    suits: ({ policy }) => policy.mode === 'enforce',
    begin({ world, fault }) {
      if (world.policy !== world.options.policy) return undefined
      const namespaces = [seeded(fault.seed).pick(['blue', 'green', 'red'])]
      startAll(world, {
        ...world.policy,
        protection: { ...world.policy.protection, namespaces },
      })
      return () => startAll(world, world.options.policy)
    },
  },
]

/** One after the other, in the order of their supervisors. */
export function startAll(world: World, policy: Policy): void {
  world.policy = policy
  for (const slot of world.slots) slot.terminate()
}

/** Of one partition, or of `orders`. */
interface Word {
  /** The last one. */
  namespaces: readonly string[]
  atMs: number
  /** Since when each namespace is no longer in it. */
  readonly liftedMs: Map<string, number>
  /** Those that the partition was seen to have read. */
  readonly read: Set<string>
}

/** By log: a person who begins with another log has begun anew. */
const words = new WeakMap<object, Map<string, Word>>()

export const configCheckers: readonly Checker[] = [
  {
    invariant:
      'I9: no partition commands a delete in a namespace that it has read to be protected by the policy, under guarded for ten minutes more',
    appended(world, { topic, partition, records }) {
      for (const { key, value } of records) {
        if (value === null || (topic !== 'events' && topic !== 'orders')) continue
        if (topic === 'events' ? key !== 'policy' : !isOfPolicy(key)) continue
        const record = world.codec.decode(value)
        if (record.type === 'PolicyChanged') policiesOf(world).set(digestOf(value), record.policy)
        const given =
          record.type === 'OrderGiven' ? policiesOf(world).get(record.digest) : undefined
        if (given !== undefined) hear(world, `${partition}`, given.protection.namespaces)
        if (record.type === 'Control') hear(world, 'orders', record.protection?.namespaces ?? [])
      }
      if (topic !== 'commands' || world.isLogHurt) return ''
      const spared = Array.from({ length: world.broker.partitions }, (_, each) =>
        sparedBy(world, each),
      )
      for (const { value } of spared.some(({ size }) => size > 0) ? records : []) {
        const record = value === null ? undefined : world.codec.decode(value)
        if (record?.type !== 'DeleteObject' || record.mode !== 'enforce') continue
        const { target } = record
        // Of the partition that decided: the command is where its target's uid leads to.
        if (spared[record.partition]?.has(target.namespace) !== true) continue
        return `${target.resource}/${target.name} is to go from ${target.namespace}, which the policy protects or did just now (I9)`
      }
      return ''
    },
    effect({ world, acting, before }) {
      const { namespaces, atMs } = wordOf(world, 'orders')
      if (acting.request.method !== 'DELETE') return ''
      if (!namespaces.includes(before.metadata.namespace ?? '')) return ''
      if (acting.sentMs - atMs <= TOLD_MS) return ''
      return `the policy protects it since ${stamp(atMs)} (I9)`
    },
  },
]

/**
 * `orders` lost its end: a process that starts now knows less than a running one, until the order
 * is given again.
 */
export function forgetWord(world: World): void {
  wordOf(world, 'orders').namespaces = []
}

function isOfPolicy(key: string): boolean {
  return key === PROTECT_POLICY_KEY || key.startsWith(ORDER_PREFIX)
}

/** By digest, as events name them; by log. */
const POLICIES = new WeakMap<object, Map<string, Policy>>()

function policiesOf({ broker }: World): Map<string, Policy> {
  const known = POLICIES.get(broker.log) ?? new Map<string, Policy>()
  POLICIES.set(broker.log, known)
  return known
}

function digestOf(value: Uint8Array): string {
  return createHash('sha256').update(value).digest('hex')
}

function hear(world: World, where: string, namespaces: readonly string[]): void {
  const word = wordOf(world, where)
  const nowMs = world.time.monotonicMs()
  for (const each of word.namespaces) if (!namespaces.includes(each)) word.liftedMs.set(each, nowMs)
  if (namespaces.length > 0 && word.namespaces.join() !== namespaces.join()) word.atMs = nowMs
  word.namespaces = namespaces
}

/** As of the commit before this one: a store is written after it. */
function sparedBy(world: World, partition: number): ReadonlySet<string> {
  const { namespaces, liftedMs, read } = wordOf(world, `${partition}`)
  if (namespaces.length === 0 && liftedMs.size === 0) return new Set()
  const bytes = world.contentOf(partition).get(POLICY_KEY)
  const state = bytes === undefined ? undefined : world.codec.decode(bytes)
  const now = state?.type === 'PolicyState' ? state.policy.protection.namespaces : []
  for (const each of now) {
    if (!read.has(each)) world.reached('F98 config')
    read.add(each)
  }
  const afterMs = world.policy.preset === 'guarded' ? AFTER_MS : 0
  const overMs = world.time.monotonicMs() - afterMs
  const isSpared = (each: string): boolean =>
    namespaces.includes(each) || (liftedMs.get(each) ?? Number.NEGATIVE_INFINITY) > overMs
  for (const each of read) if (!isSpared(each)) read.delete(each)
  return read
}

function wordOf({ broker }: World, where: string): Word {
  const all = words.get(broker.log) ?? new Map<string, Word>()
  words.set(broker.log, all)
  const word = all.get(where) ?? {
    ...{ namespaces: [], atMs: 0, liftedMs: new Map(), read: new Set() },
  }
  all.set(where, word)
  return word
}
