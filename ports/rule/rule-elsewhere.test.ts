/** Owners in other clusters, as users write them: what a rule is then, and what is refused. */
import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { compileExpression } from '../../adapters/cel/compile.ts'
import { type Rule, readsOf, ruleDigest } from '../../core/model/rule/rule.ts'
import { policyContent } from './policy-content.ts'
import { rulesOf } from './rule-config.ts'
import { acrossOf } from './rule-elsewhere.ts'
import type { Mapping } from './rule-term.ts'

const NORTH = 'aaaaaaaa-0000-4000-8000-aaaaaaaaaaaa'
const SOUTH = 'bbbbbbbb-0000-4000-8000-bbbbbbbbbbbb'
const WEST = 'cccccccc-0000-4000-8000-cccccccccccc'
const ALIASES = `aliases: { north: ${NORTH}, south: ${SOUTH} }`
const EXPORT = '{ cluster: north, kinds: [Widget.example.com], namespaces: [team-a], to: [south] }'
const ACROSS = `{ ${ALIASES}, exports: [${EXPORT}] }`
const ELSEWHERE = '{ cluster: north, kinds: [Widget.example.com], namespaces: [team-a] }'
const MATCH = '{ kinds: [ConfigMap], namespaces: [team-a] }'
const RULE = `{ name: r, match: ${MATCH}, elsewhere: ${ELSEWHERE} }`

function ruleIn(yaml: string, across: string = ACROSS): Rule {
  const shares = acrossOf(parse(across) as Mapping, 'f: across')
  const [rule] = rulesOf(parse(`[${yaml}]`), 'f: rules', compileExpression, shares)
  if (rule === undefined) throw new Error('no rule')
  return rule
}

const WIDGETS = { kinds: [{ group: 'example.com', kind: 'Widget' }], namespaces: ['team-a'] }

test('a rule has what it imports, what that cluster exports, and an hour', () => {
  const { elsewhere, forMs, propagationPolicy, cases } = ruleIn(RULE)
  const exports = [{ ...WIDGETS, to: [SOUTH] }]
  deepEqual(elsewhere, { cluster: NORTH, ...WIDGETS, exports })
  deepEqual([forMs, propagationPolicy], [3_600_000, 'Background'])
  deepEqual(cases[0]?.after, { type: 'fixed', ms: 0 })
  equal(ruleIn(RULE.replace('r,', 'r, for: 2h,')).forMs, 7_200_000)
  deepEqual(readsOf([ruleIn(RULE)])[0]?.annotations, ['kinfold.io/owner'])
})

test('a uid is as good as an alias, and exports of other clusters are none of it', () => {
  const written = RULE.replace('north', NORTH)
  const others = EXPORT.replace('cluster: north', `cluster: ${WEST}`)
  equal(ruleDigest(ruleIn(written)), ruleDigest(ruleIn(RULE)))
  deepEqual(
    ruleIn(written, `{ exports: [${others.replace('south', SOUTH)}] }`).elsewhere?.exports,
    [],
  )
})

test('another consent, or another cluster by that name, is another rule', () => {
  const wider = ACROSS.replace('namespaces: [team-a]', 'namespaces: [team-a, team-b]')
  const moved = ACROSS.replace(NORTH, WEST)
  const digests = [ACROSS, wider, moved].map((across) => ruleDigest(ruleIn(RULE, across)))
  equal(new Set(digests).size, 3)
})

const ONE_HOUR = /f: rules\.r\.for: an owner in another cluster takes 1h at least/
const wrongRules: readonly (readonly [string, RegExp])[] = [
  [RULE.replace('north', 'west'), /elsewhere\.cluster: "west" is neither the uid of a namespace/],
  [RULE.replace('north', '5'), /elsewhere\.cluster: 5 is neither/],
  [RULE.replace('cluster: north, ', ''), /elsewhere\.cluster: undefined is neither/],
  [RULE.replace('kinds: [Widget.example.com], ', ''), /elsewhere\.kinds: expected kinds/],
  [RULE.replace(', namespaces: [team-a] } }', ' } }'), /elsewhere\.namespaces: is missing/],
  [RULE.replace('[team-a] } }', "['*'] } }"), /elsewhere\.namespaces: \* would be all/],
  [RULE.replace(', namespaces: [team-a] },', ' },'), /match\.namespaces: is missing, or all/],
  [RULE.replace('[team-a] },', "['*'] },"), /match\.namespaces: is missing, or all/],
  [RULE.replace('r,', 'r, for: 59m,'), ONE_HOUR],
  [RULE.replace('r,', 'r, for: 0s,'), ONE_HOUR],
  [RULE.replace('r,', 'r, propagationPolicy: Foreground,'), /takes Background or Orphan/],
  [RULE.replace('r,', 'r, keep: { newest: 1, by: cluster },'), /elsewhere takes no keep/],
  [RULE.replace('r,', 'r, absent: { kind: Node, name: { field: a } },'), /elsewhere takes no keep/],
  [RULE.replace('cluster: north', 'context: north'), /unknown key context/],
]

for (const [yaml, sentence] of wrongRules) {
  test(`refuses ${yaml}`, () => throws(() => ruleIn(yaml), sentence))
}

const wrongShares: readonly (readonly [string, RegExp])[] = [
  [ACROSS.replace('to: [south]', 'to: []'), /exports\[0\]\.to: is missing/],
  [ACROSS.replace('to: [south]', 'to: [north]'), /a cluster exports nothing to itself/],
  [ACROSS.replace('to: [south]', 'to: [east]'), /exports\[0\]\.to: "east" is neither/],
  [ACROSS.replace('[team-a]', '["*"]'), /exports\[0\]\.namespaces: \* would be all/],
  [ACROSS.replace(', namespaces: [team-a]', ''), /exports\[0\]\.namespaces: is missing/],
  [ACROSS.replace('cluster: north, ', ''), /exports\[0\]\.cluster: undefined is neither/],
  [ACROSS.replace(NORTH, 'north'), /aliases\.north: "north" is not the uid/],
  [ACROSS.replace('north:', `${WEST}:`), /is no name for a cluster/],
  [`{ aliases: [north] }`, /aliases: expected a mapping/],
  [`{ exports: {} }`, /exports: expected a list/],
]

for (const [yaml, sentence] of wrongShares) {
  test(`refuses across ${yaml}`, () => throws(() => ruleIn(RULE, yaml), sentence))
}

test('a policy of a cluster has no such rule', () => {
  const spec = { match: { kinds: ['ConfigMap'], namespaces: ['team-a'] }, elsewhere: {} }
  for (const namespace of [undefined, 'team-a']) {
    const account = namespace === undefined ? {} : { serviceAccountName: 'a' }
    const metadata = { name: 'far', namespace }
    const { rule, problem } = policyContent(
      { metadata, spec: { ...spec, ...account } },
      compileExpression,
    )
    equal(rule, null)
    match(problem, /by rules of the config file only/)
  }
})
