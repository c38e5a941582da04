/**
 * The verdict on a dependent is the first row of the table that fits, and it has the weakest
 * evidence it rests on, whatever is relisted later.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'

/** The steps of a row before it asks `why pod/a`. */
function verdictAfter(steps: string): string {
  const world = new World()
  world.begin()
  for (const line of steps.split('; ')) world.step(line)
  const [why = ''] = world.step('why pod/a')
  const held = why.includes('; held by ') ? ' held' : ''
  return why.replace(/^= \w+, /, '').replace(/:.*$/, held)
}

// `rs/gone` and `job/gone` were observed deleted; `rs/waits` is deleted in the foreground,
// `rs/keeps` with orphan; `rs/live` exists.
const SCENE =
  'put rs/gone; put job/gone; put rs/live; put rs/waits [deleting foreground]; put rs/keeps [deleting orphan]; ' +
  'beat 1; delete rs/gone; delete job/gone'

const rows = [
  ['no references', 'put pod/a', 'no verdict'],
  ['a solid one', 'put pod/a <- rs/live', 'keep'],
  ['two solid ones', 'put pod/a <- rs/live, pod/a', 'keep'],
  ['a solid and a dangling one', 'put pod/a <- rs/live, rs/gone', 'drop deleted'],
  ['a solid and a waiting one', 'put pod/a <- rs/live, rs/waits', 'drop waiting'],
  [
    'a solid, a dangling and a waiting one',
    'put pod/a <- rs/gone, rs/live, rs/waits',
    'drop waiting',
  ],
  ['a dangling one', 'put pod/a <- rs/gone', 'delete deleted'],
  ['two dangling ones', 'put pod/a <- rs/gone, job/gone', 'delete deleted'],
  ['a waiting one', 'put pod/a <- rs/waits', 'delete waiting'],
  ['a dangling and a waiting one', 'put pod/a <- rs/gone, rs/waits', 'delete waiting'],
  ['an orphaned one', 'put pod/a <- rs/keeps', 'drop orphaning'],
  ['an orphaned and a solid one', 'put pod/a <- rs/keeps, rs/live', 'drop orphaning'],
  [
    'an orphaned one, being deleted',
    'put pod/a <- rs/keeps [deleting hold.io/x]',
    'drop orphaning',
  ],
  ['an orphaned and an unresolvable one', 'put pod/a <- rs/keeps, widget/x', 'drop orphaning'],
  [
    'an orphaned one and one that dangles since',
    'put pod/a <- rs/keeps, rs/gone',
    'drop orphaning',
  ],
  ['a dangling one, being deleted', 'put pod/a <- rs/gone [deleting hold.io/x]', 'deleting'],
  ['an unresolvable one, being deleted', 'put pod/a <- widget/x [deleting h.io/x]', 'deleting'],
  ['an unresolvable one', 'put pod/a <- widget/x', 'blocked'],
  ['an unresolvable and a dangling one', 'put pod/a <- widget/x, rs/gone', 'blocked'],
  ['an unresolvable and a solid one', 'put pod/a <- widget/x, rs/live', 'blocked'],
  ['an unresolvable and an unverified one', 'put pod/a <- widget/x, rs/who', 'blocked'],
  ['an unverified one', 'put pod/a <- rs/who', 'verify'],
  ['an unverified and a dangling one', 'put pod/a <- rs/who, rs/gone', 'verify'],
  ['an unverified and a solid one', 'put pod/a <- rs/who, rs/live', 'verify'],
] as const

for (const [name, step, expected] of rows) {
  test(`is ${expected} with ${name}`, () => equal(verdictAfter(`${SCENE}; ${step}`), expected))
}

const evidence = [
  ['its owner was seen deleted', 'put rs/x; put pod/a <- rs/x; delete rs/x', 'delete deleted'],
  ['it came after its owner went', 'put rs/x; delete rs/x; put pod/a <- rs/x', 'delete deleted'],
  [
    'its kind was relisted before its owner went',
    'put rs/x; put pod/a <- rs/x; relist pod; delete rs/x',
    'delete deleted',
  ],
  [
    'its kind was relisted since, and it is judged again',
    'put rs/x; put pod/a <- rs/x; delete rs/x; relist pod; policy enforce parity',
    'delete deleted',
  ],
  [
    'its kind is being relisted',
    'put rs/x; delete rs/x; open pod; put pod/a <- rs/x',
    'delete deleted',
  ],
  [
    'its watcher was restarted, and resumed',
    'put rs/x; put pod/a <- rs/x; delete rs/x; restart; put pod/a <- rs/x [h.io/x]',
    'delete deleted',
  ],
  [
    'the kind of its owner was relisted since',
    'put rs/x; put pod/a <- rs/x; delete rs/x; relist rs; policy enforce parity',
    'delete deleted',
  ],
  [
    'enforce was entered since',
    'policy dry-run parity; put rs/x; put pod/a <- rs/x; delete rs/x; policy enforce parity',
    'delete deleted',
  ],
  [
    'only the preset changed since',
    'put rs/x; put pod/a <- rs/x; delete rs/x; policy enforce guarded',
    'delete deleted held',
  ],
  [
    'its owner was missing from a relist',
    'put rs/x; put pod/a <- rs/x; lose rs/x; relist rs',
    'delete missing',
  ],
  ['its owner was never seen', 'put pod/a <- rs/x; absent rs/x', 'delete not-found'],
  [
    'its owner was never seen, and is then seen to go',
    'put pod/a <- rs/x; absent rs/x; hide rs/x; delete rs/x',
    'delete deleted',
  ],
  [
    'one owner was seen deleted, one never seen',
    'put rs/x; put pod/a <- rs/x, rs/y; absent rs/y; delete rs/x',
    'delete not-found',
  ],
  [
    'one owner waits, one was missing',
    'put rs/w [deleting foreground]; put rs/x; put pod/a <- rs/w, rs/x; lose rs/x; relist rs',
    'delete missing',
  ],
  [
    'the cluster went back in time since',
    'put rs/x; put pod/a <- rs/x; delete rs/x; rollback; relist pod; relist rs',
    'delete bulk held',
  ],
  [
    'its owner is missing since the cluster went back',
    'put rs/x; put pod/a <- rs/x; lose rs/x; rollback; relist pod; relist rs',
    'delete bulk held',
  ],
  [
    'its owner went with its kind',
    'put rs/x; put pod/a <- rs/x; unserve rs; lose rs/x; serve rs; relist rs',
    'delete bulk held',
  ],
  [
    'its owner is one of many that are missing',
    'many 150 rs/r#; put pod/a <- rs/r0; lose-many 101 rs/r#; relist rs',
    'delete bulk held',
  ],
  [
    'its owner is one of a hundred that are missing',
    'many 150 rs/r#; put pod/a <- rs/r0; lose-many 100 rs/r#; relist rs',
    'delete missing',
  ],
  [
    'its owner is one of under a third that are missing',
    'many 400 rs/r#; put pod/a <- rs/r0; lose-many 120 rs/r#; relist rs',
    'delete missing',
  ],
] as const

for (const [name, steps, expected] of evidence) {
  test(`is ${expected} when ${name}`, () => equal(verdictAfter(steps), expected))
}

// Which classes of evidence act, by mode and preset.
const acts = [
  [
    'enforce parity',
    'delete deleted, delete waiting, delete missing, delete not-found, drop orphaning',
  ],
  [
    'dry-run parity',
    'delete deleted, delete waiting, delete missing, delete not-found, drop orphaning',
  ],
  [
    'enforce guarded',
    'delete deleted held, delete waiting, delete missing held, delete not-found held, drop orphaning',
  ],
  [
    'dry-run guarded',
    'delete deleted held, delete waiting, delete missing held, delete not-found held, drop orphaning',
  ],
  [
    'observe parity',
    'delete deleted held, delete waiting held, delete missing held, verify, drop orphaning held',
  ],
] as const

const learnt = [
  'put rs/x; put pod/a <- rs/x; delete rs/x',
  'put rs/x [deleting foreground]; put pod/a <- rs/x',
  'put rs/x; put pod/a <- rs/x; lose rs/x; relist rs',
  'put pod/a <- rs/x; answer rs/x',
  'put rs/x [deleting orphan]; put pod/a <- rs/x',
]

for (const [policy, expected] of acts) {
  test(`lets act in ${policy}: ${expected}`, () => {
    const answer = policy.startsWith('observe') ? 'beat 60' : 'absent rs/x'
    const verdicts = learnt.map((steps) =>
      verdictAfter(`policy ${policy}; ${steps.replace('answer rs/x', answer)}`),
    )
    equal(verdicts.join(', '), expected)
  })
}

test('is blocked as soon as the kind of one of its many owners goes, though others are not verified yet', () => {
  const unknown = Array.from({ length: 9 }, (_, index) => `cm/${index}`).join(', ')
  const steps = `put job/x; put pod/a <- job/x, ${unknown}; unserve job`
  equal(verdictAfter(steps), 'blocked')
})

test('is blocked, and held no longer, as soon as several resources share the kind of its deleted owner', () => {
  const world = new World()
  world.begin()
  const steps = 'policy enforce guarded; put job/x; put pod/a <- job/x; delete job/x'
  for (const line of steps.split('; ')) world.step(line)
  world.tell({ ...world.served('job', true), ambiguous: true })
  match(world.step('why pod/a').join(), /blocked: several resources share the kind/)
})

const grounds = [
  ['an owner before it', 'put rs/a; put pod/a <- rs/a', ['rs-a', 'pod-a']],
  ['an owner after it', 'put pod/a <- rs/a; put rs/a', ['pod-a', 'rs-a']],
  ['two owners', 'put job/a; put pod/a <- rs/a, job/a; put rs/a', ['job-a', 'pod-a', 'rs-a']],
  ['one owner twice', 'put rs/a; put pod/a <- rs/a, rs/a', ['rs-a', 'pod-a']],
  ['an owner that nothing is known of', 'put pod/a <- rs/a', ['pod-a']],
] as const

for (const [what, steps, uids] of grounds) {
  test(`a verdict rests on each event once, in their order, and on the policy: ${what}`, () => {
    const world = new World()
    world.begin()
    for (const line of steps.split('; ')) world.step(line)
    const facts = factsOf(world.folder.graph, 'c')
    const events = uids.map((uid) => facts.node(uid)?.position)
    deepEqual(facts.node('pod-a')?.verdict?.basis, [...events, facts.policy.position])
  })
}
