/**
 * What users ask before, during and after a deletion: plan, cascade, what is held, and the graph in
 * DOT.
 */

import { deepEqual, doesNotMatch, equal, match, notEqual, ok, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { indexOver } from '../../../../testing/rig/index-rig.ts'
import {
  appendAll,
  assign,
  BREAKER_STORY,
  codec,
  contentOf,
  emptyStore,
  eventsOf,
  runTask,
  viewOf,
} from '../../../../testing/rig/task-rig.ts'
import { labelOf } from '../../api/word.ts'
import { createQuestions } from '../../questions.ts'
import type { Cascade, CascadeAnswer } from '../answer/cascade.ts'
import {
  type ApprovalSet,
  approvalSetOf,
  type HeldAnswer,
  type HeldPlan,
  heldIn,
  heldOfAll,
  heldPlanOf,
} from '../answer/held.ts'
import type { Answer, Why } from '../answer/query.ts'
import { type OwnershipTree, treeOf } from '../answer/tree.ts'
import type { HistoryIndex, Named } from '../index/history-index.ts'
import { createPlanner, type Plan } from '../plan/plan.ts'
import { usesOf } from '../rule/use-list.ts'
import { WHOLE } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { quote } from './graph-dump.ts'
import { namedClusters } from './not-found.ts'

interface Asked {
  readonly index: HistoryIndex
  readonly view: View
  named(uid: string): Named
  plan(uid: string, cascade: Plan['cascade'], limit?: number): Promise<Plan>
  cascade(uid: string): Promise<CascadeAnswer | undefined>
  follow(uid: string): AsyncIterable<CascadeAnswer>
  dot(...uids: string[]): Promise<string>
  held(cluster?: string): Promise<Answer<HeldAnswer>>
  heldPlan(limit: number): Promise<Answer<HeldPlan>>
  why(uid: string): Promise<Why>
  tree(uid: string): Promise<Answer<OwnershipTree>>
  sets(): ApprovalSet
  tell(lines: readonly string[], afterMs?: number): Promise<void>
  contents(): Promise<unknown>
}

/** Folds a story; `tell` continues it. */
async function ask(t: TestContext, story: readonly string[]): Promise<Asked> {
  const clock = systemClock()
  // Each record at a time of its own.
  let now = 1_000_000
  const log = new MemoryLog({
    partitions: 1,
    clock: { ...clock, now: () => ++now, monotonicMs: () => now },
  })
  const running = runTask(log, emptyStore())
  const { task } = running
  let told = 0
  const lines: string[] = []
  const index = indexOver(log, clock)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  async function tell(more: readonly string[], afterMs = 0): Promise<void> {
    now += afterMs
    lines.push(...more)
    const events = eventsOf(lines)
    for (const event of events) if ('cluster' in event) clusters.add(event.cluster)
    clusters.delete('')
    for (const cluster of clusters) await assign(log, cluster)
    await index.clusters.read()
    await appendAll(log, events.slice(told))
    told = events.length
    await running.caughtUp()
    while ((await index.lagEntries()) > 0n) await new Promise(setImmediate)
  }
  const clusters = new Set<string>()
  await tell(story)
  const graph = { tasks: [task], owners: () => new Map<number, string>() }
  const asked = createQuestions({ log, codec, clock, graph, index })
  t.after(async () => {
    stop.abort()
    await indexing
    await running[Symbol.asyncDispose]()
  })
  const named = (uid: string) => {
    const found = index.namesIn(0).lastOf('c', uid)
    if (found === undefined) throw new Error(`${uid} was never seen`)
    return found
  }
  const viewsOf = async (): Promise<readonly View[]> =>
    (await asked.clusters.all()).map(({ id }) => viewOf(task, id))
  const view = viewOf(task)
  return {
    index,
    view,
    named,
    tell,
    plan: async (uid, cascade, limit = 100) => {
      const made = await asked.planner.plan(view, uid, cascade, limit)
      equal(made?.partial, '')
      return made?.answer as Plan
    },
    why: async (uid) => (await asked.query.why(view, named(uid))).answer,
    tree: async (uid) => await treeOf(view, index, named(uid), { isUp: false, sight: WHOLE }),
    cascade: async (uid) => await asked.cascades.cascade(view, named(uid)),
    follow: (uid) => asked.cascades.follow(view, named(uid), stop.signal),
    dot: async (...uids) => (await Array.fromAsync(asked.dump.dot(await viewsOf(), uids))).join(''),
    held: async (cluster) => {
      const known = namedClusters(await asked.clusters.all(), cluster)
      const views = known.map(({ id }) => viewOf(task, id))
      return heldOfAll([await heldIn(views, asked.clusters.readers(), asked.query)], known)
    },
    heldPlan: async (limit) => await heldPlanOf(view, limit, asked.query),
    sets: () => approvalSetOf(view),
    contents: async () => await contentOf(task.store),
  }
}

function effects({ objects }: Plan): string[] {
  return objects.map(({ uid, effect }) => `${uid} ${effect}`)
}

const FAMILY = [
  'put deploy/web',
  'put rs/a <- deploy/web!',
  'put pod/p <- rs/a!',
  'put pod/shared <- rs/a, job/other',
  'put job/other',
  'put pod/held <- rs/a! [example.com/hold]',
  'put pod/lost <- rs/a, widget/x',
  'put pod/free',
]

test('a plan says what goes, stays, is stuck and is blocked, and writes nothing', async (t) => {
  const asked = await ask(t, FAMILY)
  const before = await asked.contents()
  const plan = await asked.plan('deploy-web', 'Background')
  deepEqual(effects(plan), [
    'pod-lost blocked',
    'pod-held stuck',
    'pod-shared kept',
    'deploy-web deleted',
    'pod-p deleted',
    'rs-a deleted',
  ])
  deepEqual(plan.objects[2]?.owners, ['Job/other'])
  match(plan.objects[1]?.because ?? '', /waits for finalizers example.com\/hold/)
  match(plan.objects[0]?.because ?? '', /the kind of Widget "x" is not served/)
  deepEqual(await asked.contents(), before)
})

test('who uses an object is known where a rule asks about its kind', async (t) => {
  const asked = await ask(t, ['put cm/a', 'put job/j', 'put pod/p [uses:cm=a]'])
  const of = async (uid: string): Promise<readonly [boolean, readonly string[]]> => {
    const { isFollowed, users } = await usesOf(asked.view, asked.named(uid), WHOLE)
    return [isFollowed, users.map(({ name }) => name)]
  }
  deepEqual(await of('cm-a'), [false, []])
  await asked.tell(['rule free cm 0 unused:1000', 'beat 5', 'put pod/p [uses:cm=a]', 'beat 5'])
  deepEqual(await of('cm-a'), [true, ['p']])
  deepEqual(await of('job-j'), [false, []])
})

test('what names its owner by the kind in lower case is planned, and counted in the cascade', async (t) => {
  const asked = await ask(t, [
    'put rs/a',
    'put pod/low <- _rs/a',
    'put pod/both <- _rs/a, job/other',
  ])
  await asked.tell(['put job/other'])
  const plan = await asked.plan('rs-a', 'Background')
  deepEqual(effects(plan), ['pod-both kept', 'pod-low deleted', 'rs-a deleted'])
  await asked.tell(['delete rs/a'])
  const { answer } = (await asked.cascade('rs-a')) ?? {}
  equal(answer?.remaining, 2)
})

test('a plan in the foreground is stuck at what blocks it', async (t) => {
  const asked = await ask(t, FAMILY)
  const plan = await asked.plan('deploy-web', 'Foreground')
  const stuck = plan.objects.filter(({ effect }) => effect === 'stuck').map(({ uid }) => uid)
  deepEqual(stuck, ['deploy-web', 'pod-held', 'rs-a'])
})

test('a plan foresees what the Job controller removes, and says what other finalizers of Kubernetes wait for', async (t) => {
  const jobs = [
    'put deploy/report',
    'put job/report-1 <- deploy/report!',
    'put pod/report-1-a <- job/report-1! [batch.kubernetes.io/job-tracking]',
    'put cm/odd <- job/report-1! [batch.kubernetes.io/job-tracking]',
  ]
  const asked = await ask(t, jobs.slice(0, 3))
  for (const cascade of ['Foreground', 'Background'] as const) {
    const plan = await asked.plan('deploy-report', cascade)
    deepEqual(effects(plan), [
      'deploy-report deleted',
      'job-report-1 deleted',
      'pod-report-1-a deleted',
    ])
    equal(
      plan.objects[2]?.because,
      'owned by Job/report-1; the Job controller removes its finalizer batch.kubernetes.io/job-tracking',
    )
  }
  const other = await ask(t, jobs)
  const plan = await other.plan('deploy-report', 'Foreground')
  deepEqual(
    plan.objects.slice(0, 3).map(({ uid, effect, because }) => [uid, effect, because]),
    [
      [
        'cm-odd',
        'stuck',
        'owned by Job/report-1; it waits for finalizers batch.kubernetes.io/job-tracking',
      ],
      ['deploy-report', 'stuck', 'it is deleted; it waits for its dependents'],
      ['job-report-1', 'stuck', 'owned by Deployment/report; dependents block it'],
    ],
  )
  const volume = await ask(t, ['put pv/data [kubernetes.io/pv-protection]'])
  const [data] = (await volume.plan('pv-data', 'Background')).objects
  deepEqual(
    [data?.effect, data?.because],
    [
      'stuck',
      'it is deleted; it waits until no claim is bound to it, when its controller removes its finalizer kubernetes.io/pv-protection',
    ],
  )
})

test('a plan that orphans goes no deeper', async (t) => {
  const asked = await ask(t, FAMILY)
  const plan = await asked.plan('deploy-web', 'Orphan')
  deepEqual(effects(plan), ['rs-a orphaned', 'deploy-web deleted'])
})

test('equal plans have equal digests, and others do not', async (t) => {
  const asked = await ask(t, FAMILY)
  const first = await asked.plan('deploy-web', 'Background')
  equal((await asked.plan('deploy-web', 'Background', 1)).digest, first.digest)
  notEqual((await asked.plan('deploy-web', 'Orphan')).digest, first.digest)
  await asked.tell(['put pod/new <- rs/a'])
  notEqual((await asked.plan('deploy-web', 'Background')).digest, first.digest)
})

test('a plan that is cut says so and has no digest', async (t) => {
  const asked = await ask(t, ['put rs/a', 'many 50 pod/p# <- rs/a'])
  const listed = await asked.plan('rs-a', 'Background', 10)
  deepEqual([listed.total, listed.objects.length], [51, 10])
  const cut = await createPlanner(20).plan(asked.view, 'rs-a', 'Background', 10)
  equal(cut?.partial, 'cut after 20 objects: there are more')
  deepEqual([cut?.answer.digest, cut?.answer.total], [null, null])
})

const SHOP = [
  'serve namespace',
  'put namespace/shop',
  'put deploy/web in shop',
  'put rs/a in shop <- deploy/web',
  'put pod/p in shop <- rs/a',
  'put cm/c in shop',
  'put cm/elsewhere',
  'put node/n <- namespace/shop',
]

/** What is not watched, or not listed yet, may be in it. */
const ALL_KINDS = ['pod', 'cm', 'rs', 'deploy', 'job', 'namespace', 'node'] as const
const LISTED = ALL_KINDS.map((kind) => `relist ${kind}`)

test('a plan of a namespace counts all objects in it, and their dependents elsewhere', async (t) => {
  const asked = await ask(t, [...SHOP, ...LISTED])
  const plan = await asked.plan('namespace-shop', 'Background')
  deepEqual(effects(plan), [
    'cm-c deleted',
    'deploy-web deleted',
    'namespace-shop deleted',
    'node-n deleted',
    'pod-p deleted',
    'rs-a deleted',
  ])
  deepEqual([plan.total, plan.objects[0]?.because], [6, 'deleted with Namespace/shop'])
  notEqual(plan.digest, null)
})

test('a plan of a namespace counts as held only what the API server does not delete with it', async (t) => {
  const asked = await ask(t, [...SHOP, ...LISTED, 'policy enforce guarded'])
  const plan = await asked.plan('namespace-shop', 'Background')
  deepEqual(plan.holds, ['1 object would be held for 30s (evidence deleted)'])
})

test('a plan of a namespace is stuck at an object that has a finalizer', async (t) => {
  const asked = await ask(t, [...SHOP, 'put cm/c in shop [example.com/hold]', ...LISTED])
  const plan = await asked.plan('namespace-shop', 'Background')
  const stuck = plan.objects.filter(({ effect }) => effect === 'stuck')
  deepEqual(
    stuck.map(({ uid }) => uid),
    ['cm-c', 'namespace-shop'],
  )
  equal(stuck[1]?.because, 'it is deleted; it waits for 1 object deleted with it')
})

test('a plan has nothing that bears the uid of a deleted object and names a kind that cannot be resolved', async (t) => {
  const asked = await ask(t, [
    'put rs/a',
    'put pod/solid <- rs/a',
    'put job/odd <- widget/a@rs-a',
    'put job/former <- widget/a@rs-a',
    'delete job/former',
    'put rs/b',
    'put job/kept <- widget/a@rs-a, rs/b',
  ])
  const plan = await asked.plan('rs-a', 'Background')
  deepEqual(effects(plan), ['pod-solid deleted', 'rs-a deleted'])
  equal(plan.total, 2)
  deepEqual(effects(await asked.plan('rs-a', 'Orphan')), ['pod-solid orphaned', 'rs-a deleted'])
})

test('a plan of a namespace has no total where kinds are not listed yet, or it is cut', async (t) => {
  const asked = await ask(t, ['serve widget', ...SHOP, ...LISTED])
  const made = await createPlanner().plan(asked.view, 'namespace-shop', 'Background', 10)
  deepEqual([made?.answer.total, made?.answer.digest], [null, null])
  match(
    made?.partial ?? '',
    /objects in namespace shop of kinds .* not counted: widgets.example.com/,
  )
  const unwatched = await ask(t, [...SHOP, ...LISTED, 'serve widget unmonitored'])
  const other = await createPlanner().plan(unwatched.view, 'namespace-shop', 'Background', 10)
  deepEqual([other?.answer.total, other?.answer.digest], [null, null])
  const cut = await createPlanner(3).plan(asked.view, 'namespace-shop', 'Background', 10)
  equal(cut?.answer.total, null)
  match(cut?.partial ?? '', /cut after 3 objects: there are more/)
})

test('kinds left out by choice are a note of a plan, which is whole without them (C9)', async (t) => {
  const asked = await ask(t, [...SHOP, ...LISTED, 'serve widget ignored'])
  const made = await createPlanner().plan(asked.view, 'namespace-shop', 'Background', 10)
  equal(made?.partial, '')
  equal(
    made?.answer.notes,
    'objects in namespace shop of kinds that are left out are not counted: widgets.example.com',
  )
  ok(made?.answer.total !== null && made?.answer.digest !== null)
})

test('a plan of an object names the kinds that nobody watches, and is whole without them', async (t) => {
  const asked = await ask(t, [...SHOP, ...LISTED, 'put deploy/cart', 'serve secret ignored'])
  const { uid } = asked.named('deploy-cart')
  const made = await createPlanner().plan(asked.view, uid, 'Background', 10)
  equal(made?.answer.notes, 'dependents of kinds that are not watched are not counted: secrets')
  deepEqual([made?.partial, made?.answer.total], ['', 1])
})

test('a plan of a definition counts all objects of its kind', async (t) => {
  const cleanup = 'customresourcecleanup.apiextensions.k8s.io'
  const story = [
    ...['serve crd', 'serve widget', `put crd/widgets.example.com [${cleanup}]`],
    ...['put widget/w', 'put pod/p <- widget/w', 'put pod/other'],
  ]
  const asked = await ask(t, [...story, 'relist crd', 'relist widget', 'relist pod'])
  const { uid } = asked.named('crd-widgets.example.com')
  const plan = await asked.plan(uid, 'Background')
  deepEqual(effects(plan), ['crd-widgets.example.com deleted', 'pod-p deleted', 'widget-w deleted'])
  equal(plan.objects[1]?.because, 'owned by Widget/w')
})

test('a plan is the same under every policy, and says what the present one would hold', async (t) => {
  const asked = await ask(t, FAMILY)
  const acting = await asked.plan('deploy-web', 'Background')
  deepEqual(acting.holds, [])
  for (const [mode, says] of [
    ['dry-run', /^Kinfold is in mode dry-run and will not delete/],
    [
      'observe',
      /^the cluster’s own collector decides .* in mode observe Kinfold deletes none of them$/,
    ],
  ] as const) {
    await asked.tell([`policy ${mode} guarded`])
    const plan = await asked.plan('deploy-web', 'Background')
    equal(plan.digest, acting.digest)
    match(plan.holds.join(), says)
  }
  await asked.tell(['pause'])
  const paused = await asked.plan('deploy-web', 'Background')
  equal(paused.holds.length, 1, 'in mode observe a pause holds nothing (C1)')
})

test('a plan says that its cluster is paused', async (t) => {
  const asked = await ask(t, [...FAMILY, 'pause'])
  const plan = await asked.plan('deploy-web', 'Background')
  match(plan.holds.join(), /^paused by ann .*; "kinfold resume --cluster c --why …" releases it$/)
})

test('a plan says that the breaker of its cluster is open, until a person closes it', async (t) => {
  const story = [...FAMILY, ...BREAKER_STORY]
  const asked = await ask(t, story)
  const [broken, ...others] = (await asked.plan('deploy-web', 'Background')).holds
  match(
    broken ?? '',
    /^the breaker of namespace ns is open since .*; "kinfold close-breaker --cluster c --why …"/,
  )
  await asked.tell(['close-breaker'])
  deepEqual((await asked.plan('deploy-web', 'Background')).holds, others)
})

test('a plan counts what would have to wait', async (t) => {
  const story = [
    'put rs/a',
    'put pod/p <- rs/a, job/gone',
    'absent job/gone',
    'policy enforce guarded',
  ]
  const asked = await ask(t, story)
  const plan = await asked.plan('rs-a', 'Background')
  deepEqual(effects(plan), ['pod-p deleted', 'rs-a deleted'])
  deepEqual(plan.holds, ['1 object would be held for 1h (evidence not-found)'])
})

function standing({ done, remaining, progress, isOver }: Cascade): unknown {
  const some = Object.entries(progress).filter(([, count]) => count > 0)
  return { done, remaining, isOver, ...Object.fromEntries(some) }
}

test('a cascade tells what is done, under way, blocked and queued', async (t) => {
  const asked = await ask(t, FAMILY)
  equal(await asked.cascade('deploy-web'), undefined)
  await asked.tell(['delete deploy/web'])
  const begun = await asked.cascade('deploy-web')
  deepEqual(begun && standing(begun.answer), {
    done: 0,
    remaining: 5,
    isOver: false,
    reaping: 1,
    queued: 3,
    blocked: 1,
  })
  await asked.tell(['delete rs/a', 'delete pod/p', 'settle pod/held blocked'])
  const later = await asked.cascade('deploy-web')
  deepEqual(later && standing(later.answer), {
    done: 2,
    remaining: 3,
    isOver: false,
    reaping: 1,
    blocked: 2,
  })
  const refused = later?.answer.blocked.find(({ name }) => name === 'held')
  equal(refused?.by, 'refused')
  equal(refused?.count, 1)
  notEqual(refused?.until, null)
  const unknown = later?.answer.blocked.find(({ name }) => name === 'lost')
  equal(unknown?.by, 'unresolvable')
  notEqual(unknown?.since, null)
})

test('what is protected is in no plan to go, and keeps an owner waiting that says by whom', async (t) => {
  const asked = await ask(t, [
    'put deploy/web',
    'put rs/a <- deploy/web!',
    'put pod/kept <- deploy/web! [annotation:kinfold.dev/protected=yes]',
  ])
  const plan = await asked.plan('deploy-web', 'Foreground')
  deepEqual(effects(plan), ['pod-kept blocked', 'deploy-web stuck', 'rs-a deleted'])
  match(plan.objects[0]?.because ?? '', /protected by annotation kinfold.dev\/protected/)

  await asked.tell(['put deploy/web [deleting foreground]', 'settle rs/a absent', 'delete rs/a'])
  const { answer } = (await asked.cascade('deploy-web')) as CascadeAnswer
  deepEqual(
    answer.blocked.map(({ name, by }) => [name, by]),
    [['kept', 'held']],
  )
  match(
    answer.blocked[0]?.reason ?? '',
    /protected by annotation kinfold.dev\/protected; it is released once/,
  )
  deepEqual(
    answer.waiting.map(({ name, blocking }) => [name, blocking]),
    [['web', 1]],
  )
})

test('a cascade in the foreground names the owners that wait, and for how many', async (t) => {
  const asked = await ask(t, ['put rs/a', 'put pod/p <- rs/a!', 'put rs/a [deleting foreground]'])
  const told = await asked.cascade('rs-a')
  deepEqual(
    told?.answer.waiting.map(({ name, phase, blocking }) => [name, phase, blocking]),
    [['a', 'waiting', 1]],
  )
})

test('following a cascade ends when nothing is left', async (t) => {
  const asked = await ask(t, ['put rs/a', 'put pod/p <- rs/a', 'put pod/q <- rs/a', 'delete rs/a'])
  const seen: unknown[] = []
  for await (const { answer } of asked.follow('rs-a')) {
    seen.push([answer.done, answer.remaining])
    if (answer.remaining === 2) await asked.tell(['delete pod/p', 'delete pod/q'])
  }
  deepEqual(seen.at(0), [0, 2])
  deepEqual(seen.at(-1), [2, 0])
})

test('a cascade tells the dependents that it orphaned from those that are deleted', async (t) => {
  const asked = await ask(t, [
    ...['put deploy/web', 'put rs/a <- deploy/web', 'put rs/b <- deploy/web'],
    'put deploy/web [deleting orphan]',
  ])
  await asked.tell(['put rs/a', 'delete rs/b'])
  const { answer } = (await asked.cascade('deploy-web')) as CascadeAnswer
  const { done, kept, remaining } = answer
  deepEqual({ done, kept, remaining }, { done: 2, kept: 1, remaining: 0 })
})

test('what went before its owner was deleted is no part of the cascade', async (t) => {
  const asked = await ask(t, [
    'put rs/a',
    'put pod/old <- rs/a',
    'delete pod/old',
    'put pod/p <- rs/a',
  ])
  await asked.tell(['delete rs/a'])
  const told = await asked.cascade('rs-a')
  deepEqual(told && standing(told.answer), { done: 0, remaining: 1, isOver: false, reaping: 1 })
})

test('the cascade of a namespace is over all that was in it, and of no later one of its name', async (t) => {
  const asked = await ask(t, [
    ...['policy observe parity', 'serve namespace', 'put namespace/shop', 'put cm/old in shop'],
    ...['put cm/a in shop', 'put rs/r in shop', 'put pod/p in shop <- rs/r', 'put cm/x in other'],
    'delete cm/old in shop',
  ])
  await asked.tell(['put namespace/shop [deleting]', 'delete rs/r in shop'], 60_000)
  const begun = await asked.cascade('namespace-shop')
  deepEqual(begun && [begun.answer.done, begun.answer.remaining, begun.answer.isOver], [
    1,
    2,
    false,
  ])
  await asked.tell(['delete pod/p in shop', 'delete cm/a in shop', 'delete namespace/shop'])
  await asked.tell(['put namespace/shop@again', 'put cm/b in shop [created:9000000]'], 60_000)
  await asked.tell(['delete cm/b in shop', 'put cm/d in shop [created:9000000]'], 60_000)
  const over = await asked.cascade('namespace-shop')
  deepEqual(over && [over.answer.done, over.answer.remaining, over.answer.isOver], [3, 0, true])
  deepEqual(
    over?.answer.kinds.map(({ kind, done }) => `${kind} ${done}`),
    ['ConfigMap 1', 'Pod 1', 'ReplicaSet 1'],
  )
})

test('the graph of a component has its vertices, then its edges, both ways', async (t) => {
  const asked = await ask(t, [...FAMILY, 'put pod/x <- job/gone'])
  const dot = await asked.dot('rs-a')
  const lines = dot.split('\n')
  equal(lines[0], 'strict digraph full {')
  deepEqual(
    lines.filter((line) => line.includes(' -> ')).map((line) => line.trim()),
    [
      '"pod-held" -> "rs-a";',
      '"pod-lost" -> "rs-a";',
      '"pod-lost" -> "widget-x";',
      '"pod-p" -> "rs-a";',
      '"pod-shared" -> "job-other";',
      '"pod-shared" -> "rs-a";',
      '"rs-a" -> "deploy-web";',
    ],
  )
  equal(dot.includes('"pod-free"'), false)
  equal(dot.includes('job-gone'), false)
  match(dot, / {2}"rs-a" \[\n {4}label="uid=rs-a\\nnamespace=ns\\nReplicaSet\.v1\.apps\/a\\n"\n/)
  equal(lines.indexOf('  // Edge definitions.') > lines.lastIndexOf('  ];'), true)
})

test('a missing owner is one vertex under its own uid, however many name it', async (t) => {
  const asked = await ask(t, ['put pod/a <- job/gone', 'put pod/b <- job/gone'])
  const dot = await asked.dot()
  equal(dot.split('  "job-gone" [').length, 2)
  match(dot, /"job-gone" \[[^\]]*missing="true"/)
  equal(dot.split('-> "job-gone";').length, 3)
})

test('an unknown uid, or one that nothing hangs on, gives an empty graph', async (t) => {
  const asked = await ask(t, FAMILY)
  const empty = 'strict digraph full {\n  // Node definitions.\n  // Edge definitions.\n}\n'
  equal(await asked.dot('nobody'), empty)
  equal(await asked.dot('pod-free'), empty)
})

for (const [text, quoted] of [
  ['plain-1', '"plain-1"'],
  ['a"b', '"a\\"b"'],
  ['ends in \\', '"ends in \\\\"'],
  ['"];\n}', '"\\"];\\n}"'],
  ['a\u0000b\r', '"a\ufffdb\ufffd"'],
] as const) {
  test(`${JSON.stringify(text)} stays one string in DOT`, () => {
    equal(quote(text), quoted)
  })
}

const RESTORED = [
  'put rs/web in a',
  'put rs/api in b',
  'many 3 pod/a# in a <- rs/web',
  'put pod/b in b <- rs/api',
  'put pod/c in b <- rs/api',
  'lose rs/web in a',
  'lose rs/api in b',
  'rollback',
  'relist rs',
  'relist pod',
]

test('what is held is told by what holds it, and has a digest where it waits for approval', async (t) => {
  const asked = await ask(t, RESTORED)
  const { answer, partial } = await asked.held('test')
  equal(partial, '')
  equal(answer.total, 5)
  deepEqual(
    answer.counts.map(({ by, evidence, kind, namespace, count }) => {
      return [by, evidence, kind, namespace, count]
    }),
    [
      ['approval', 'bulk', 'Pod', 'a', 3],
      ['approval', 'bulk', 'Pod', 'b', 2],
    ],
  )
  const plan = await asked.heldPlan(2)
  deepEqual([plan.answer.total, plan.answer.objects.length], [5, 2])
  const { digest, set } = asked.sets()
  deepEqual([digest, set.count], [plan.answer.digest, 5])
  await asked.tell(['put pod/b in b <- rs/api [h.io/x]'])
  notEqual(asked.sets().digest, digest)
  await rejects(asked.held('nowhere'), /there is no cluster nowhere; known clusters: test$/)
})

test('of two clusters with one name each is told with its id, also where it says what ends an order', async (t) => {
  const other = [
    ...['cluster d', ...BREAKER_STORY],
    ...['put rs/b', 'put pod/q <- rs/b', 'pause', 'delete rs/b'],
  ]
  const asked = await ask(t, ['put rs/a', 'put pod/p <- rs/a', ...other])
  const { answer } = await asked.held('test')
  const called = { name: 'test', id: 'd', scope: 'd' }
  deepEqual(
    [...answer.pauses, ...answer.breakers].map(({ cluster }) => cluster),
    [called, called],
  )
  deepEqual(
    answer.counts.map(({ cluster, by }) => [labelOf(cluster), by]),
    [
      ['test (d)', 'breaker'],
      ['test (d)', 'pause'],
    ],
  )
  deepEqual(
    answer.breakers.map(({ namespace }) => namespace),
    ['ns'],
  )
  await rejects(asked.held('x'), /known clusters: test \(c\), test \(d\)/)
})

test('what waits for its time says which, and for its budget too', async (t) => {
  const story = ['budgets 0 0 0', 'put rs/a', 'put pod/p <- rs/a', 'delete rs/a']
  const asked = await ask(t, story)
  const [waits] = (await asked.held()).answer.counts
  deepEqual([waits?.by, (waits?.until ?? 0) - (waits?.since ?? 0)], ['hold', 30_000])
})

const EXISTS = 'an object of that name exists, with another uid (rs-2)'

test('an owner that was created again is told of, in why, held and the plan', async (t) => {
  const family = ['policy enforce guarded', 'put rs/web', 'put pod/p <- rs/web']
  const asked = await ask(t, [...family, 'delete rs/web', 'put rs/web@rs-1', 'delete rs/web@rs-1'])
  const gone = 'ReplicaSet "web" no longer exists'
  const told = async (): Promise<readonly (string | undefined)[]> => [
    (await asked.why('pod-p')).references[0]?.reason,
    (await asked.held()).answer.counts[0]?.because,
  ]
  const [before, heldBefore] = await told()
  equal(before, gone)
  doesNotMatch(heldBefore ?? '', /another uid/)
  await asked.tell(['put rs/web@rs-2', 'put rs/web in b', 'put job/web'])
  const [after, heldAfter] = await told()
  equal(after, `${gone}; ${EXISTS}`)
  match(heldAfter ?? '', /^ReplicaSet "web" no longer exists; held until .*; an object/)
  ok(heldAfter?.endsWith(EXISTS))
  await asked.tell(['rollback', 'relist rs', 'relist pod', 'relist job'])
  const [planned] = (await asked.heldPlan(10)).answer.objects
  equal(planned?.because, `${gone}; a bulk deletion needs approval; ${EXISTS}`)
})

test('a tree has what bears the uid of its root and names another kind apart, and none that is deleted', async (t) => {
  const asked = await ask(t, [
    'put rs/a',
    'put pod/solid <- rs/a',
    'put job/odd <- widget/a@rs-a',
    'put pod/below <- job/odd',
    'put pod/former <- widget/a@rs-a',
    'delete pod/former',
    'put pod/moved <- widget/a@rs-a',
    'put pod/moved',
  ])
  const { answer, partial } = await asked.tree('rs-a')
  equal(partial, '')
  deepEqual(
    answer.root.children.map(({ uid, edge, verdict }) => [uid, edge?.standing, verdict?.type]),
    [['pod-solid', 'solid', 'keep']],
  )
  const reference = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'a' }
  deepEqual(
    answer.misnamed.references.map((each) => [each.uid, each.reference]),
    [['job-odd', reference]],
  )
})

test('the reason of a group that is held is that of the object whose time comes first', async (t) => {
  const asked = await ask(t, [
    'policy enforce guarded',
    'put rs/late',
    'put rs/soon',
    'put pod/a <- rs/late',
    'put pod/z <- rs/soon',
    'delete rs/soon',
  ])
  const [soon] = (await asked.held()).answer.counts
  await asked.tell(['delete rs/late'], 10_000)
  const { counts } = (await asked.held()).answer
  deepEqual(
    counts.map(({ count, until, because }) => [count, until, because]),
    [[2, soon?.until, soon?.because]],
  )
  match(soon?.because ?? '', /"soon"/)
})

test('what a dry run was accepted of is held by the mode, until that is another', async (t) => {
  const story = ['policy dry-run parity', 'put rs/web', 'many 2 pod/a# <- rs/web', 'delete rs/web']
  const asked = await ask(t, [...story, 'settle pod/a0 would-go', 'settle pod/a1 blocked'])
  const { answer } = await asked.held()
  deepEqual(
    answer.counts.map(({ by, evidence, count, because }) => [by, evidence, count, because]),
    [
      [
        ...['mode', 'deleted', 1],
        'ReplicaSet "web" no longer exists; mode dry-run only has the server check it',
      ],
    ],
  )
  await asked.tell(['policy enforce parity'])
  equal((await asked.held()).answer.total, 0)
})

test('orders that stand are told with who gave them', async (t) => {
  const orders = ['pause all', 'pause', 'protect kind/Pod all', 'protect namespace/a']
  const asked = await ask(t, [...RESTORED, ...orders])
  const ann = { who: 'ann', why: 'test' }
  const everywhere = { cluster: null, subject: 'kind/Pod', ...ann }
  const here = { cluster: { name: 'test', id: 'c', scope: 'test' } }
  const { answer } = await asked.held('test')
  deepEqual(answer.pauses, [
    { cluster: null, ...ann },
    { ...here, ...ann },
  ])
  deepEqual(answer.protections, [everywhere, { ...here, subject: 'namespace/a', ...ann }])
  await asked.tell(['resume all', 'unprotect namespace/a'])
  const later = (await asked.held()).answer
  deepEqual([later.pauses, later.protections], [[{ ...here, ...ann }], [everywhere]])
})

test('a cascade and why of its owner say which watch keeps it waiting, and what became of the live GET', async (t) => {
  const asked = await ask(t, ['put rs/web', 'put pod/a <- rs/web!', 'beat 10'])
  const deleting = ['put rs/web [deleting foreground]', 'beat 0 pod 1']
  await asked.tell(deleting, 20_000)
  const obstacle = async () => (await asked.why('rs-web')).obstacle
  await asked.tell(['settle pod/a done'])
  // In a moment its deletion may be delivered.
  deepEqual([await obstacle(), (await asked.cascade('rs-web'))?.answer.progress.reaping], [null, 1])

  await asked.tell(['beat 5 pod 16'], 15_000)
  const text =
    'the server removed it, but the watch of pods delivers nothing since 1970-01-01T00:17:00Z'
  equal((await obstacle())?.reason, `it waits for Pod "a": ${text}`)
  const { answer } = (await asked.cascade('rs-web')) ?? {}
  deepEqual(
    answer?.blocked.map(({ name, by, reason }) => [name, by, reason]),
    [['a', 'unconfirmed', text]],
  )

  await asked.tell(['settle pod/a blocked'])
  equal(
    (await obstacle())?.reason,
    `it waits for Pod "a": ${text}, and a live GET proved nothing: `,
  )
})
