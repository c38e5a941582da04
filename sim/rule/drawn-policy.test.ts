/** The drawn policies are what the watcher compiles of them, or are refused by it. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { policyContent } from '../../ports/rule/policy-content.ts'
import { seeded } from '../../testing/seeded.ts'
import { type DrawnPolicy, drawnPolicy, refusedPolicy } from './drawn-policy.ts'

const PLACE = { namespace: 'blue', name: 'tidy' }
const EVERYWHERE = { namespace: '', name: 'tidy' }
const chance = seeded(7)

function compiled({ spec }: DrawnPolicy, place = PLACE): ReturnType<typeof policyContent> {
  const object: unknown = JSON.parse(JSON.stringify({ metadata: place, spec }))
  return policyContent(object, () => ({ type: 'Refused', reason: 'none' }))
}

for (const [what, place] of [
  ['a namespace', PLACE],
  ['the cluster', EVERYWHERE],
] as const) {
  test(`each of ${what} that is to be carried out is compiled to just its rule and account`, () => {
    for (let count = 0; count < 200; count++) {
      const drawn = drawnPolicy(place, chance)
      const { rule, problem, account } = compiled(drawn, place)
      equal(problem, '')
      equal(account, drawn.account)
      deepEqual(JSON.parse(JSON.stringify(rule)), JSON.parse(JSON.stringify(drawn.rule)))
      equal(rule === null ? '' : ruleDigest(rule), ruleDigest(drawn.rule))
    }
  })
}

test('each that is to be refused is', () => {
  deepEqual(problemsOf(PLACE), [
    'spec',
    'spec.match.namespaces',
    'spec.serviceAccountName',
    'spec.serviceAccountNamespace',
  ])
  deepEqual(problemsOf(EVERYWHERE), [
    'spec',
    'spec.match',
    'spec.serviceAccountName',
    'spec.serviceAccountNamespace',
  ])
})

function problemsOf(place: typeof PLACE): readonly string[] {
  const problems = new Set<string>()
  for (let count = 0; count < 200; count++) {
    const { rule, problem } = compiled(refusedPolicy(place, chance), place)
    equal(rule, null)
    notEqual(problem, '')
    problems.add(problem.slice(0, problem.indexOf(':')))
  }
  return [...problems].sort()
}
