/**
 * What happens to rules and to the objects that they are about: orders are taken back, rules
 * change, objects are needed for longer, and controllers make again what a rule deletes.
 *
 * What must stay true: only worlds with rules have these.
 *
 * Not here: who enforces a rule again (person.ts).
 */
import type { Policy } from '../../core/model/policy.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { seeded } from '../../testing/seeded.ts'
import type { Fault } from '../model.ts'
import type { SimOptions } from '../options.ts'
import { enforce, suspend, wants } from '../rule/person.ts'
import { startAll } from './configured.ts'
import { siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** How many objects a controller makes again. */
const MADE_AGAIN = 12

const hasRules = ({ policy }: Omit<SimOptions, 'faults'>): boolean =>
  policy.rules.length > 0 && policy.mode === 'enforce'

export const ruleFaults: readonly Fault[] = [
  {
    row: 'rule suspended',
    what: 'a person suspends a rule, and enforces it again later',
    lastsMs: [10 * SECOND, 20 * MINUTE],
    most: 3,
    suits: hasRules,
    begin({ world, fault }) {
      const { rules } = world.policy
      const rule = rules[fault.target % rules.length]
      if (rule === undefined || !wants(world, rule.name)) return undefined
      void suspend(world, rule.name)
      world.reached('rule suspended')
      return () => {
        const now = world.policy.rules.find(({ name }) => name === rule.name)
        if (now !== undefined) void enforce(world, now)
      }
    },
  },
  {
    row: 'rule changed',
    what: 'the config changes a rule or leaves it out, and later has it as before',
    lastsMs: [3 * MINUTE, 30 * MINUTE],
    most: 2,
    suits: hasRules,
    begin({ world, fault }) {
      if (world.policy !== world.options.policy) return undefined
      startAll(world, changed(world.policy, fault.target, fault.seed))
      world.reached('rule changed')
      return () => startAll(world, world.options.policy)
    },
  },
  {
    row: 'rule raised',
    what: 'a user changes what a rule reads of an object right before Kinfold deletes it',
    lastsMs: [5 * MINUTE, 40 * MINUTE],
    most: 4,
    suits: hasRules,
    begin(context) {
      const { world, users, fault } = context
      const site = siteOf(context)
      const chance = seeded(fault.seed)
      const those = users.find((each) => each.site === site)
      const raise: Parameters<typeof world.beforeEffects.add>[0] = (at, { method, path }) => {
        if (at !== site || method !== 'DELETE' || chance.next() >= fault.rate) return
        if (those?.markOtherwise(path) === true) world.reached('rule raised')
      }
      world.beforeEffects.add(raise)
      return () => world.beforeEffects.delete(raise)
    },
  },
  {
    row: 'rule fought',
    what: 'a controller makes again what a rule deletes of its objects',
    lastsMs: [20 * MINUTE, 60 * MINUTE],
    most: 2,
    suits: hasRules,
    begin(context) {
      const { world, users, fault } = context
      const site = siteOf(context)
      const chance = seeded(fault.seed)
      const those = users.find((each) => each.site === site)
      const controller = those?.control()
      if (those === undefined || controller === undefined) return undefined
      let left = MADE_AGAIN
      const again: Parameters<typeof world.afterEffects.add>[0] = (at, { before, after }) => {
        if (at !== site || after !== null || before === null) return
        const { ownerReferences = [] } = before.metadata
        if (!ownerReferences.some(({ uid }) => uid === controller.metadata.uid) || left-- <= 0)
          return
        world.reached('rule fought')
        const soonMs = world.time.monotonicMs() + (1 + chance.below(30)) * SECOND
        world.time.at(soonMs, () => those.makeFor(controller))
      }
      world.afterEffects.add(again)
      return () => world.afterEffects.delete(again)
    },
  },
]

/** A rule waits longer, or shorter, or for other objects, or is left out. */
function changed(policy: Policy, target: number, seed: number): Policy {
  const chance = seeded(seed)
  const index = target % policy.rules.length
  const rules = policy.rules.flatMap((rule, each): Rule | Rule[] => {
    if (each !== index) return rule
    if (chance.next() < 0.3) return []
    if (chance.next() < 0.3) return { ...rule, limit: null, forMs: 1_000 }
    const labels = [{ key: 'tier', operator: 'not-in', values: ['other'] } as const]
    if (chance.next() < 0.4) return { ...rule, match: { ...rule.match, labels } }
    const after = { type: 'fixed', ms: (1 + chance.below(20)) * MINUTE } as const
    return { ...rule, cases: [{ fields: [], since: { type: 'created' }, after }] }
  })
  return { ...policy, rules }
}
