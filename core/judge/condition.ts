/**
 * What a rule says of an object that takes other objects: how many are newer, whether one is there
 * that it names, and as the rule says, and whether its owner in another cluster is gone.
 *
 * What must stay true: all that is said about an object by a rule is said with this; only the
 * reaper knows no other objects, and asks the cluster.
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { ObjectMeta } from '../model/object.ts'
import type { Rule } from '../model/rule/rule.ts'
import { isBeside, isGone, unsureOfBeside } from './beside.ts'
import { isGoneElsewhere } from './elsewhere.ts'
import { isBeyond, unsureOfCount } from './keep.ts'
import { unsureOfUse } from './unused.ts'

export function isMet(facts: ClusterFacts, rule: Rule, object: ObjectMeta): boolean {
  return (
    isBeyond(facts, rule, object) &&
    isGone(facts, rule, object) &&
    isBeside(facts, rule, object) &&
    isGoneElsewhere(facts, rule, object)
  )
}

/**
 * Why that cannot be said for sure; empty where it can. Of an owner in another cluster that is
 * asked before (admit/rule-hold.ts).
 */
export function unsureBecause(facts: ClusterFacts, rule: Rule, object: ObjectMeta): string {
  return (
    unsureOfCount(facts, rule, object) ||
    unsureOfBeside(facts, rule) ||
    unsureOfUse(facts, rule, object)
  )
}
