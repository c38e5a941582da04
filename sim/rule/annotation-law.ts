/**
 * The law of annotations over a simulated server: whether a rule may set one on an object, by the
 * object itself and the orders on the log.
 *
 * What must stay true: when an object is due is computed anew (testing/model/rule-oracle.ts);
 * nothing here is of the graph.
 *
 * Not here: what rules delete (rule-law.ts).
 */
import { isDeepStrictEqual } from 'node:util'
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { AnnotateObject } from '../../core/model/command.ts'
import { dueMsOf } from '../../testing/model/rule-oracle.ts'
import type { EffectSeen, World } from '../model.ts'
import { ruleOf, wasEnforced } from './person.ts'
import { waitMsOf } from './rule-law.ts'
import { ruledObject } from './ruled-object.ts'

/** From an order in `orders` until no request is sent against it. */
const ORDER_MS = 2_000

/** By cluster and uid. */
const COMMANDS = new WeakMap<World, Map<string, readonly AnnotateObject[]>>()

/** A command on the log. */
export function noteAnnotation(world: World, command: AnnotateObject): void {
  if (command.mode !== 'enforce') return
  const all = COMMANDS.get(world) ?? new Map<string, readonly AnnotateObject[]>()
  COMMANDS.set(world, all)
  const key = `${command.cluster}/${command.target.uid}`
  all.set(key, [...(all.get(key) ?? []), command])
}

/** A merge is an annotation: a status is written to a path of its own. */
export function isAnnotation({ acting: { request } }: EffectSeen): boolean {
  const type = request.headers['content-type'] ?? ''
  return request.method === 'PATCH' && type.startsWith('application/merge-patch+json')
}

/** Why it may not be set; empty when it may. */
export function objectionToAnnotation(seen: EffectSeen): string {
  const { world, site, before } = seen
  const { uid, resourceVersion } = before.metadata
  const known = COMMANDS.get(world)?.get(`${site.id}/${uid}`) ?? []
  // Rules that say the same may both have it annotated: one of the commands has to be right.
  const commands = known.filter(({ target, annotation: { key, value } }) => {
    const metadata = { uid, resourceVersion, annotations: { [key]: value } }
    return target.resourceVersion === resourceVersion && isDeepStrictEqual(seen.sent, { metadata })
  })
  const [first = 'no command sets that on this version of it (I41)', ...others] = commands.map(
    (command) => objectionTo(seen, command),
  )
  return others.includes('') ? '' : first
}

function objectionTo(
  { world, acting, before, after }: EffectSeen,
  command: AnnotateObject,
): string {
  if (!isAlike(before, after, command)) return 'more than an annotation is another (I41)'
  const rule = ruleOf(world, command.rule.digest)
  if (!isDeepStrictEqual(rule?.annotate, command.annotation)) return 'its rule sets another (I41)'
  const dueMs = rule && dueMsOf(rule, ruledObject(before))
  if (rule === undefined || dueMs === undefined) return 'its rule is not about it (I41)'
  const leftMs = dueMs + waitMsOf(rule) - world.time.now()
  if (leftMs > 0) return `rule ${rule.name} has it annotated in ${leftMs} ms (I41)`
  const isOrdered = wasEnforced(world, rule, { atMs: acting.sentMs, slackMs: ORDER_MS })
  if (isOrdered || world.hasLostOrders) return ''
  return `no order enforces rule ${rule.name} as it decided (I41)`
}

function isAlike(
  before: ApiObject,
  after: ApiObject | null,
  { annotation: { key, value } }: AnnotateObject,
): boolean {
  if (after === null) return false
  const annotations = { ...before.metadata.annotations, [key]: value }
  const moved = { resourceVersion: '', managedFields: [], annotations }
  const bare = ({ metadata, ...rest }: ApiObject, own: object): object => {
    return { ...rest, metadata: { ...metadata, ...own } }
  }
  const { annotations: set } = after.metadata
  return (
    isDeepStrictEqual(set, annotations) &&
    isDeepStrictEqual(bare(after, moved), bare(before, moved))
  )
}
