/**
 * A person who wants rules to be enforced: gives the orders, as the endpoint does, and again where
 * a partition has lost them; and takes them back.
 *
 * What must stay true: a rule is enforced as all partitions have it. What reapers may know is
 * remembered from the appended records, and shares nothing with them.
 *
 * Not here: what a rule may delete (rule-checkers.ts).
 */

import { DIRECTIVES_KEY, POLICY_KEY } from '../../core/graph/key.ts'
import type { Directive } from '../../core/model/event.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import type { Directives } from '../../core/model/state.ts'
import { ruleOrderKey } from '../../ports/record/control-key.ts'
import type { RuleOrder } from '../../ports/record/service-record.ts'
import { giveOrder } from '../../services/graph/fold/order.ts'
import type { World } from '../model.ts'

/** How often the person sees what is enforced. */
const LOOK_MS = 3 * 60_000

interface Person {
  /** Names of rules. */
  readonly wanted: Set<string>
  /** Every rule that there was, by digest. */
  readonly rules: Map<string, Rule>
  /** The orders of each rule, the last one last. Elapsed time, and an empty digest for none. */
  readonly orders: Map<string, { readonly digest: string; readonly ms: number }[]>
}

const PERSONS = new WeakMap<World, Person>()

function personOf(world: World): Person {
  const known = PERSONS.get(world) ?? {
    wanted: new Set(world.options.enforced),
    rules: new Map(),
    orders: new Map(),
  }
  PERSONS.set(world, known)
  for (const rule of world.policy.rules) known.rules.set(ruleDigest(rule), rule)
  return known
}

/** Looks for as long as the world lasts; nothing in a world without rules. */
export function beginLooking(world: World): void {
  if (world.options.policy.rules.length === 0) return
  const look = (): void => {
    void giveMissing(world)
    world.time.at(world.time.monotonicMs() + LOOK_MS, look)
  }
  world.time.at(LOOK_MS, look)
}

/** What a partition does not have, and what `orders` has lost (F39). */
async function giveMissing(world: World): Promise<void> {
  const latest = await world.broker.log.latest('orders', 0)
  for (const rule of world.policy.rules) {
    const value = latest.find(({ key }) => key === ruleOrderKey(rule.name))?.value
    const order = value == null ? undefined : world.codec.decode(value)
    const isLost = order?.type !== 'RuleOrder' || order.digest !== ruleDigest(rule)
    if (wants(world, rule.name) && isMissing(world, rule, isLost)) await enforce(world, rule)
  }
}

export function wants(world: World, name: string): boolean {
  return personOf(world).wanted.has(name)
}

export async function enforce(world: World, rule: Rule): Promise<void> {
  const digest = ruleDigest(rule)
  personOf(world).wanted.add(rule.name)
  await give(world, 'enforce-rule', rule.name, digest)
  world.reached('rule enforced')
}

export async function suspend(world: World, name: string): Promise<void> {
  personOf(world).wanted.delete(name)
  await give(world, 'suspend-rule', name, '')
}

/** All partitions have the rule as it is, and one of them, or `orders`, not the order. */
function isMissing(world: World, rule: Rule, isLost: boolean): boolean {
  const digest = ruleDigest(rule)
  let isThere = true
  for (let partition = 0; partition < world.broker.partitions; partition++) {
    const content = world.contentOf(partition)
    const [policy, directives] = [POLICY_KEY, DIRECTIVES_KEY].map((key) => {
      const bytes = content.get(key)
      return bytes === undefined ? undefined : world.codec.decode(bytes)
    })
    if (policy?.type !== 'PolicyState') return false
    if (!policy.policy.rules.some((each) => ruleDigest(each) === digest)) return false
    isThere &&= isIn(directives as Directives | undefined, rule.name, digest)
  }
  return !isThere || isLost
}

function isIn(directives: Directives | undefined, name: string, digest: string): boolean {
  return directives?.rules.some((each) => each.name === name && each.digest === digest) ?? false
}

async function give(
  world: World,
  verb: 'enforce-rule' | 'suspend-rule',
  name: string,
  digest: string,
): Promise<void> {
  const { broker, codec } = world
  const [who, why] = ['anna', 'a fault']
  const record: RuleOrder = { type: 'RuleOrder', name, digest, who, why }
  await broker.endpoint.append('orders', 0, [
    { key: ruleOrderKey(name), value: codec.encode(record) },
  ])
  const order: Directive = {
    ...{ type: 'Directive', verb, cluster: '', subject: name, digest: digest || null },
    ...{ listed: EMPTY_SET, isProven: false, who, why },
  }
  const partitions = Array.from({ length: broker.partitions }, (_, each) => each)
  await giveOrder(broker.endpoint, codec, order, partitions)
  world.trace.note('orders', `${verb} ${name}`)
}

/** A record of `orders`. */
export function noteOrder(world: World, { name, digest }: RuleOrder): void {
  const { orders } = personOf(world)
  const known = orders.get(name) ?? []
  orders.set(name, [...known, { digest, ms: world.time.monotonicMs() }])
}

/** Of those that the world has or had. */
export function ruleOf(world: World, digest: string): Rule | undefined {
  return personOf(world).rules.get(digest)
}

/** Whether an order for just this rule was in force then, or so long before at most. */
export function wasEnforced(
  world: World,
  rule: Rule,
  { atMs, slackMs }: { readonly atMs: number; readonly slackMs: number },
): boolean {
  const digest = ruleDigest(rule)
  const orders = personOf(world).orders.get(rule.name) ?? []
  return orders.some((order, index) => {
    const endMs = orders[index + 1]?.ms ?? Number.POSITIVE_INFINITY
    return order.digest === digest && order.ms <= atMs && endMs >= atMs - slackMs
  })
}

/** When the last order for it was given; 0 for never. Elapsed time. */
export function enforcedSinceMs(world: World, { name }: Rule): number {
  return (
    personOf(world)
      .orders.get(name)
      ?.findLast(({ digest }) => digest !== '')?.ms ?? 0
  )
}
