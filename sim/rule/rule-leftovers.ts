/**
 * What rules have left to do: objects that are due by a rule that a person enforces, by an order or
 * by the annotation of a policy.
 *
 * What must stay true: where an owner is not alive, owners decide first, and what they leave is in
 * ../oracle.ts.
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Leftover } from '../../testing/model/oracle.ts'
import { dueMsOf } from '../../testing/model/rule-oracle.ts'
import type { World } from '../model.ts'
import { isOfLivingOwners, objectOf } from '../oracle.ts'
import type { Site } from '../site.ts'
import { TENANT } from '../workload.ts'
import { isLeftByOthers } from './condition-law.ts'
import { isLeftElsewhere } from './elsewhere-law.ts'
import { wants } from './person.ts'
import { enforcedRules, hasLostPolicies, powerlessRules } from './policy-history.ts'
import { waitMsOf } from './rule-law.ts'
import { ruledObject } from './ruled-object.ts'

/** From when it may be deleted until it is, where nothing is amiss. */
const SOON_MS = 3 * 60_000

export interface RuleLeftover extends Leftover {
  readonly rule: string
  /** It is due by an owner in another cluster. */
  readonly isElsewhere: boolean
}

export function ruleLeftovers(world: World, site: Site): readonly RuleLeftover[] {
  const ordered = world.policy.rules.filter(({ name }) => wants(world, name))
  const rules = [...ordered, ...enforcedRules(world, site)]
  if (rules.length === 0 || hasLostPolicies(site)) return []
  const powerless = powerlessRules(world, site)
  return site.all().flatMap((object) => {
    const { metadata } = object
    if (metadata.deletionTimestamp !== undefined || metadata.namespace === TENANT) return []
    if (!isOfLivingOwners(site.server, object)) return []
    const rule = rules.find((each) => isOver(world, site, object, each))
    if (rule === undefined) return []
    // Rules of the config come first.
    const isOfPolicy = !ordered.includes(rule)
    if (isOfPolicy && powerless.some((each) => isDueBy(each, object))) return []
    const text = `${object.kind}/${metadata.name} is due by rule ${rule.name}`
    const isElsewhere = rule.elsewhere !== null
    return [{ object: objectOf(object), isStuck: false, text, rule: rule.name, isElsewhere }]
  })
}

function isDueBy(rule: Rule, object: ApiObject): boolean {
  return dueMsOf(rule, ruledObject(object)) !== undefined
}

function isOver(world: World, site: Site, object: ApiObject, rule: Rule): boolean {
  const dueMs = dueMsOf(rule, ruledObject(object))
  const waitMs = waitMsOf(rule) + SOON_MS
  if (dueMs === undefined || dueMs + waitMs >= world.time.now()) return false
  if (!isLeftElsewhere(world, site, object, { rule, soonMs: waitMs })) return false
  return isLeftByOthers(world, site, object, { rule, soonMs: waitMs })
}
