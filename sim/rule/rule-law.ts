/**
 * The law of rules over a simulated server: whether one may delete an object, by the object itself
 * and the orders on the log.
 *
 * What must stay true: when an object is due is computed anew (testing/model/rule-oracle.ts);
 * nothing here is of the graph.
 *
 * Not here: who enforces rules (person.ts), what became of the policies of a cluster
 * (policy-history.ts), when that is checked (../check/rule-checkers.ts).
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { Command, RulePolicy } from '../../core/model/command.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { dueMsOf } from '../../testing/model/rule-oracle.ts'
import type { EffectSeen, World } from '../model.ts'
import { objectionOfOthers } from './condition-law.ts'
import { goneElsewhereMs } from './elsewhere-law.ts'
import { enforcedSinceMs, ruleOf, wasEnforced } from './person.ts'
import { drawnRule, policyObjection } from './policy-history.ts'
import { ruledObject } from './ruled-object.ts'

/** From when it is due until it may be deleted; what is said ahead is said before that. */
export function waitMsOf({ forMs, warnMs, limit }: Rule): number {
  return Math.max(forMs, warnMs, limit === null ? 0 : COUNT_MS) - warnMs
}

/** From an order in `orders` until no request is sent against it. */
const ORDER_MS = 2_000
/** With a limit all that is due together is counted for so long. */
const COUNT_MS = 60_000
/** Objects become due later to the graph than they are, so less than the hour that it counts. */
const WINDOW_MS = 30 * 60_000

interface Ruled {
  readonly digest: string
  /** Null for a rule of the config. */
  readonly policy: RulePolicy | null
  readonly resourceVersion: string
}

/** The commands to delete an object. */
interface Commanded {
  readonly byRule: Ruled[]
  isByOwners: boolean
}

const COMMANDS = new WeakMap<World, Map<string, Commanded>>()

function commandsFor(world: World, cluster: string, uid: string): Commanded {
  const all = COMMANDS.get(world) ?? new Map<string, Commanded>()
  COMMANDS.set(world, all)
  const known = all.get(`${cluster}/${uid}`) ?? { byRule: [], isByOwners: false }
  all.set(`${cluster}/${uid}`, known)
  return known
}

/** A command on the log. */
export function noteCommand(world: World, command: Command): void {
  if (command.type !== 'DeleteObject' || command.mode !== 'enforce') return
  const { cluster, target, rule } = command
  const known = commandsFor(world, cluster, target.uid)
  if (rule === null) known.isByOwners = true
  else known.byRule.push({ ...rule, resourceVersion: target.resourceVersion })
}

type Seen = Pick<EffectSeen, 'world' | 'site' | 'acting' | 'before'>

/** The rule by which it is deleted, as it was judged at this version; undefined for by none. */
export function ruleBehind(seen: Seen): Rule | undefined {
  const found = ruledBehind(seen)
  return found && knownRule(seen.world, found.digest)
}

function ruledBehind(seen: Seen): Ruled | undefined {
  const { world, site, acting, before } = seen
  if (acting.request.method !== 'DELETE') return undefined
  const { uid, resourceVersion } = before.metadata
  const { byRule } = commandsFor(world, site.id, uid)
  const all = byRule.filter((each) => each.resourceVersion === resourceVersion)
  const hasAccount = accountIn(acting) !== undefined
  // Only a policy has an account, and only one of the cluster may have none.
  const those = all.filter(({ policy }) =>
    hasAccount ? policy !== null : policy === null || policy.namespace === '',
  )
  if (!hasAccount && those.every(({ policy }) => policy === null)) {
    return those.at(-1) ?? all.at(-1)
  }
  // One that is edited has several commands: the reaper may know it as it was a moment ago.
  const permitted = those.filter((each) => objectionToRuled(seen, each) === '')
  const { propagationPolicy } = JSON.parse(acting.request.body ?? '{}') as DeleteBody
  const isAsSent = ({ digest }: Ruled): boolean =>
    knownRule(world, digest)?.propagationPolicy === propagationPolicy
  return permitted.findLast(isAsSent) ?? permitted.at(-1) ?? those.at(-1) ?? all.at(-1)
}

/** A policy of the whole cluster has it deleted. */
export function isByClusterPolicy(seen: Seen): boolean {
  const policy = ruledBehind(seen)?.policy
  return policy != null && policy.namespace === ''
}

/** With whose rights it is sent; undefined: with those of the reaper. */
export function accountIn({ request }: EffectSeen['acting']): string | undefined {
  return request.headers['impersonate-user']
}

function knownRule(world: World, digest: string): Rule | undefined {
  return ruleOf(world, digest) ?? drawnRule(world, digest)
}

/** Why no policy has it deleted; empty where one does, or it is not deleted by one. */
export function objectionToPolicy(seen: EffectSeen): string {
  const ruled = ruledBehind(seen)
  const account = accountIn(seen.acting)
  if (account === undefined) {
    if (ruled == null || ruled.policy === null || mayBeByOwners(seen)) return ''
    return ruled.policy.namespace === ''
      ? objectionToRuled(seen, ruled)
      : 'it is sent without the account of its policy (I40)'
  }
  if (ruled == null || ruled.policy === null) return `no policy has it sent as ${account} (I40)`
  return objectionToRuled(seen, ruled)
}

/** What permits it beside its dueness: the policy, or an order for a rule of the config. */
function objectionToRuled(seen: Seen, { policy, digest }: Ruled): string {
  const { world, site, acting, before } = seen
  const account = accountIn(acting) ?? ''
  if (policy === null) return objectionToOrder(seen, digest)
  const { namespace = '' } = before.metadata
  const { sentMs } = acting
  return policyObjection({ ...{ world, site, policy, digest, namespace, account }, sentMs })
}

function objectionToOrder({ world, acting }: Seen, digest: string): string {
  const rule = knownRule(world, digest)
  // What was suspended then may be lost.
  if (rule === undefined || world.hasLostOrders) return ''
  return wasEnforced(world, rule, { atMs: acting.sentMs, slackMs: ORDER_MS })
    ? ''
    : `no order enforces rule ${rule.name} as it decided (I39)`
}

/** Since when the rule may have had it deleted. */
export function ruledSinceMs(world: World, cluster: string, before: ApiObject): number {
  const { byRule } = commandsFor(world, cluster, before.metadata.uid)
  const times = byRule.flatMap(({ digest }) => {
    const rule = knownRule(world, digest)
    return rule === undefined ? [] : (dueMsOf(rule, ruledObject(before)) ?? [])
  })
  return times.length === 0 ? world.time.now() : Math.min(...times)
}

/** Whether owners have it deleted, too: then either reason is enough. */
export function mayBeByOwners({ world, site, before }: Seen): boolean {
  return commandsFor(world, site.id, before.metadata.uid).isByOwners
}

/** Why the rule may not delete it; empty when it may. */
export function objectionTo(seen: EffectSeen, rule: Rule): string {
  const { world, site, before, sent } = seen
  const { uid, resourceVersion } = before.metadata
  const { preconditions, propagationPolicy } = sent as DeleteBody
  if (preconditions?.uid !== uid) return `uid ${preconditions?.uid} was commanded (I3)`
  if (preconditions.resourceVersion !== resourceVersion) return 'no such version (I4)'
  const isAsAsked = propagationPolicy === rule.propagationPolicy
  const isBare = propagationPolicy === 'Background' && rule.propagationPolicy === 'Foreground'
  if (!isAsAsked && !isBare) return `propagation policy ${propagationPolicy} (I39)`
  const dueMs = dueMsOf(rule, ruledObject(before))
  if (dueMs === undefined) return `rule ${rule.name} is not about it (I39)`
  const leftMs = dueMs + waitMsOf(rule) - world.time.now()
  if (leftMs > 0) return `rule ${rule.name} has it deleted in ${leftMs} ms (I39)`
  const ofOthers = objectionOfOthers(world, site, before, rule)
  if (ofOthers !== '') return ofOthers
  // A policy is enforced by an annotation (I40).
  const ruled = ruledBehind(seen)
  return ruled === undefined || ruled.policy !== null ? '' : objectionToOrder(seen, ruled.digest)
}

interface DeleteBody {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly propagationPolicy?: string
}

interface Deleted {
  readonly dueMs: number
  readonly namespace: string
}

/** By rule and cluster: what it deleted. */
const DELETED = new WeakMap<World, Map<string, readonly Deleted[]>>()

/**
 * Of what became due since the last order: more was seen by who gave that. A namespace has half of
 * the limit, unless the rule is about that one alone.
 */
export function overLimit({ world, site, before }: EffectSeen, rule: Rule): string {
  const { limit } = rule
  const ownMs = dueMsOf(rule, ruledObject(before))
  const dueMs = ownMs && Math.max(ownMs, goneElsewhereMs(world, before, rule))
  const orderedMs = world.time.now() - world.time.monotonicMs() + enforcedSinceMs(world, rule)
  if (limit === null || dueMs === undefined || dueMs <= orderedMs) return ''
  const all = DELETED.get(world) ?? new Map<string, readonly Deleted[]>()
  DELETED.set(world, all)
  const key = `${site.id} ${rule.name} ${orderedMs}`
  const { namespace = '' } = before.metadata
  const deleted = [...(all.get(key) ?? []), { dueMs, namespace }]
  all.set(key, deleted)
  const together = deleted.filter((each) => Math.abs(each.dueMs - dueMs) < WINDOW_MS / 2)
  const { kinds, namespaces } = rule.match
  const size = kinds.reduce((sum, { group, kind }) => sum + site.sizeOf(group, kind), 0)
  const most = Math.max(limit.perHour, Math.floor((size * limit.percent) / 100))
  const what = `by rule ${rule.name}, whose limit is ${most}`
  if (together.length > most) return `${together.length} ${what} (I39)`
  const isOfOne = namespaces.length === 1 && namespaces[0]?.includes('*') === false
  const there = together.filter((each) => each.namespace === namespace).length
  const isOverHalf = !isOfOne && namespace !== '' && there > Math.ceil(most / 2)
  return isOverHalf ? `${there} in namespace ${namespace} ${what} (I39)` : ''
}
