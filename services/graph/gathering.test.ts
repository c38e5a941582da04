/** Several graph processes share the partitions: each of them answers every question over all, as one that has all would. */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Command } from '../../core/command.ts'
import type { CommandSettled } from '../../core/event.ts'
import { partitionOfObject } from '../../core/partition.ts'
import type { HttpToken } from '../../runtime/http-token.ts'
import { GraphGroup, type GraphProcess, tell } from '../../testing/graph-group.ts'
import { codec, eventsOf } from '../../testing/task-rig.ts'
import type { RefusedCount } from './held.ts'
import type { Peer } from './peer.ts'
import type { Plan } from './plan.ts'

const PARTITIONS = 8
const NAMESPACES = 'abcdefghijkl'.split('')

/** A cluster-scoped owner with dependents in many namespaces, another that is going, and what stands in the way. */
const STORY = [
  'put node/n',
  'put pv/v <- node/n!',
  ...NAMESPACES.flatMap((ns) => [
    `put cm/${ns} in ${ns} <- node/n!`,
    `put pod/${ns} in ${ns} <- cm/${ns}!, pv/v`,
    `put job/s-${ns} in ${ns} <- node/n!, pv/v [example.com/hold]`,
  ]),
  'put pod/lost in a <- node/n, widget/x',
  'put node/m',
  ...NAMESPACES.map((ns) => `put rs/${ns} in ${ns} <- node/m`),
  ...NAMESPACES.map((ns) => `put job/${ns} in ${ns} <- rs/${ns}!, node/n`),
  'delete node/m',
  'delete rs/a',
  'delete rs/f',
]

const QUESTIONS = [
  '/v1/tree?uid=node-n',
  '/v1/tree?uid=pod-c&owners=true',
  '/v1/tree?kind=node&name=n',
  '/v1/why?uid=node-n',
  '/v1/why?uid=pod-e',
  '/v1/why?uid=rs-f',
  '/v1/why?kind=pod&name=lost&namespace=a',
  '/v1/plan?uid=node-n',
  '/v1/plan?uid=node-n&cascade=foreground',
  '/v1/plan?uid=node-n&cascade=orphan',
  '/v1/plan?uid=pv-v',
  '/v1/cascade?uid=node-m',
  '/debug/graph',
  '/debug/graph?uid=pod-g',
]

async function grouped(
  t: TestContext,
  processes: number,
): Promise<{ group: GraphGroup; all: GraphProcess[] }> {
  const group = new GraphGroup(PARTITIONS)
  t.after(async () => await group.stop())
  const all: GraphProcess[] = []
  for (let number = 0; number < processes; number++) all.push(await group.start())
  await tell(group.log, eventsOf(STORY))
  await group.caughtUp()
  return { group, all }
}

async function answer({ url }: GraphProcess, path: string): Promise<string> {
  const response = await fetch(url + path)
  const text = await response.text()
  equal(response.status, 200, text)
  return text
}

async function answers(process: GraphProcess): Promise<Map<string, string>> {
  const told = new Map<string, string>()
  for (const path of QUESTIONS) told.set(path, await answer(process, path))
  return told
}

async function planOf(process: GraphProcess): Promise<{ answer: Plan; partial: string }> {
  return JSON.parse(await answer(process, '/v1/plan?uid=node-n&limit=1000'))
}

for (const processes of [2, 3]) {
  test(`any of ${processes} processes answers as one that has all partitions`, async (t) => {
    const { group, all } = await grouped(t, processes)
    const told = []
    for (const process of all) {
      ok(process.graph.tasks.length < PARTITIONS)
      told.push(await answers(process))
      ok(process.calls() > 0, 'it asked nobody')
    }
    await group.stop()
    const alone = await group.start()
    await group.caughtUp()
    const expected = await answers(alone)
    equal(alone.calls(), 0)
    for (const each of told) {
      for (const [path, text] of expected) equal(each.get(path), text, path)
    }
    const { answer: plan, partial } = await planOf(alone)
    equal(partial, '')
    notEqual(plan.digest, null)
    ok(plan.total > 3 * NAMESPACES.length, `only ${plan.total}`)
  })
}

/** The process that has the partition of the cluster-scoped objects, or another one, and those that are left. */
function oneOf(
  all: readonly GraphProcess[],
  hasOwners: boolean,
): { one: GraphProcess; left: readonly GraphProcess[] } {
  const home = partitionOfObject('c', '', PARTITIONS)
  const has = ({ graph }: GraphProcess): boolean =>
    graph.tasks.some(({ partition }) => partition === home)
  const one = all.find((process) => has(process) === hasOwners)
  ok(one !== undefined)
  return { one, left: all.filter((process) => process !== one) }
}

test('while a process is dead, answers say what they lack; once others have taken over, they are whole', async (t) => {
  const { all } = await grouped(t, 3)
  const { one: dead, left } = oneOf(all, false)
  const [first] = left
  ok(first !== undefined)
  const whole = await answers(first)
  const lost = dead.graph.tasks.map(({ partition }) => partition).join(', ')
  await dead.kill()
  const lacking = new RegExp(`^partitions ${lost} of 8: http://\\S+ cannot be asked: `)
  for (const process of left) {
    const plan = await planOf(process)
    equal(plan.answer.digest, null)
    match(plan.partial, lacking)
    for (const path of ['/v1/tree?uid=node-n', '/v1/why?uid=pod-e', '/v1/cascade?uid=node-m']) {
      match(JSON.parse(await answer(process, path)).partial, lacking)
    }
    match(await answer(process, '/debug/graph'), /This may be incomplete: partitions/)
  }
  await dead.expire()
  const owned = (): number => left.flatMap(({ graph }) => graph.tasks).length
  while (owned() < PARTITIONS || left.some(isBehind)) await new Promise(setImmediate)
  for (const process of left) {
    const now = await answers(process)
    for (const [path, text] of whole) equal(now.get(path), text, path)
  }
})

test('what is in a partition that nobody answers for is not told as gone', async (t) => {
  const { all } = await grouped(t, 2)
  const { one: dead, left } = oneOf(all, true)
  const [first] = left
  ok(first !== undefined)
  await dead.kill()
  const tree = JSON.parse(await answer(first, '/v1/tree?uid=node-n'))
  equal(tree.answer.phase, 'unknown')
  const why = JSON.parse(await answer(first, '/v1/why?uid=node-n'))
  equal(why.answer.phase, 'unknown')
  const { answer: cascade, isFinal } = JSON.parse(await answer(first, '/v1/cascade?uid=node-m'))
  deepEqual([cascade.root.phase, cascade.isOver, isFinal], ['unknown', false, false])
  ok(cascade.progress.unknown > 0)
  const plan = await fetch(`${first.url}/v1/plan?uid=node-n`)
  equal(plan.status, 503)
  match(
    ((await plan.json()) as { detail: string }).detail,
    /nobody can say whether it is there; ask again later: partitions/,
  )
})

/** A reaper that makes dry runs only answers so. Answers with how many objects there were. */
async function refuseDeletes({ log }: GraphGroup): Promise<number> {
  let count = 0
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { entries } = await log.read('commands', partition, 0n, { limit: 1_000, waitMs: 0 })
    const commands = entries.map(({ value }) => codec.decode(value!) as Command)
    for (const { type: verb, id: command, target, ...of } of commands) {
      if (verb !== 'DeleteObject') continue
      const { cluster, clusterEpoch } = of
      const settled: CommandSettled = {
        ...{ type: 'CommandSettled', cluster, clusterEpoch, command, verb },
        ...{ uid: target.uid, place: target, outcome: 'blocked', reason: 'only dry runs' },
        ...{ code: 200, object: null, calls: 1 },
      }
      const home = partitionOfObject(cluster, target.namespace, PARTITIONS)
      await log.append('events', home, [{ key: 'k', value: codec.encode(settled) }])
      count += 1
    }
  }
  return count
}

test('what nothing holds and is not carried out is told with a reason, by any process', async (t) => {
  const { group, all } = await grouped(t, 2)
  const refusedIn = async (process: GraphProcess): Promise<readonly RefusedCount[]> => {
    const { answer: held, partial } = JSON.parse(await answer(process, '/v1/held'))
    deepEqual([held.total, partial], [0, ''])
    return held.refused
  }
  for (const process of all) deepEqual(await refusedIn(process), [])
  const deletes = await refuseDeletes(group)
  ok(deletes > PARTITIONS, `only ${deletes}`)
  await group.caughtUp()
  for (const process of all) {
    const [{ cluster, objects, tries, example } = {}, ...others] = await refusedIn(process)
    deepEqual([cluster, objects, tries, others.length], ['test', deletes, 1, 0])
    match(example ?? '', /^\w+\/\w+: only dry runs$/)
  }
})

function isBehind({ graph }: GraphProcess): boolean {
  return graph.tasks.some((task) => task.status().state !== 'folding')
}

test('a partition that moves while a question is answered is read where it is then', async (t) => {
  const group = new GraphGroup(PARTITIONS)
  t.after(async () => await group.stop())
  let isMoved = false
  const move = async (): Promise<void> => {
    if (isMoved) return
    isMoved = true
    await group.start()
    await group.caughtUp()
  }
  const moving = (peer: Peer): Peer => ({
    get: async (...asked) => await peer.get(...asked),
    page: async (...asked) => {
      await move()
      return await peer.page(...asked)
    },
    counts: async (...asked) => await peer.counts(...asked),
  })
  const first = await group.start(moving)
  await group.start()
  await tell(group.log, eventsOf(STORY))
  await group.caughtUp()
  const before = first.graph.tasks.length
  const tree = await answer(first, '/v1/tree?uid=node-n')
  ok(isMoved && first.graph.tasks.length < before, 'nothing moved')
  equal(JSON.parse(tree).partial, '')
  equal(await answer(first, '/v1/tree?uid=node-n'), tree)
})

test('processes show each other their token, and one with another is told so', async (t) => {
  const group = new GraphGroup(PARTITIONS)
  t.after(async () => await group.stop())
  const token = (own: string): HttpToken => ({
    isShown: (authorization) => authorization === 'Bearer right',
    own: () => own,
  })
  const right = await group.start(undefined, token('right'))
  const wrong = await group.start(undefined, token('wrong'))
  await tell(group.log, eventsOf(STORY))
  await group.caughtUp()
  const partialOf = async ({ url }: GraphProcess): Promise<string> => {
    const headers = { authorization: 'Bearer right' }
    const response = await fetch(`${url}/v1/tree?uid=node-n`, { headers })
    return ((await response.json()) as { partial: string }).partial
  }
  equal(await partialOf(right), '')
  match(await partialOf(wrong), /answered 401: all graph processes need the same token/)
})

test('keys are fetched in batches, not one by one', async (t) => {
  const group = new GraphGroup(PARTITIONS)
  t.after(async () => await group.stop())
  const [first] = [await group.start(), await group.start()]
  const many = [...NAMESPACES.map((ns) => `many 60 pod/${ns}# in ${ns} <- node/n`)]
  await tell(group.log, eventsOf(['put node/n', ...many]))
  await group.caughtUp()
  const tree = JSON.parse(await answer(first, '/v1/tree?uid=node-n'))
  equal(tree.answer.children.length, 60 * NAMESPACES.length)
  ok(first.calls() < 80, `${first.calls()} calls`)
})

for (const [what, path, body, status, detail] of [
  [
    'a partition of another process',
    '/internal/partition/%/get',
    { keys: [] },
    409,
    /not this process'/,
  ],
  ['no partition', '/internal/partition/x/get', { keys: [] }, 409, /not this process'/],
  ['keys that are none', '/internal/partition/0/get', { keys: ['é'] }, 400, /a list of 500 keys/],
  ["the store's own keys", '/internal/partition/0/get', { keys: ['~batch/1'] }, 400, /a list of/],
  [
    'too many keys',
    '/internal/partition/0/get',
    { keys: Array(501).fill('k') },
    400,
    /a list of 500/,
  ],
  ['no keys', '/internal/partition/0/get', {}, 400, /expected keys/],
  [
    'an endless page',
    '/internal/partition/0/page',
    { gte: 'a', lt: 'b', limit: 1e9 },
    400,
    /500 at most/,
  ],
  ['a page of nothing', '/internal/partition/0/page', null, 400, /expected gte and lt/],
  [
    'too large a body',
    '/internal/partition/0/get',
    { keys: ['k'.repeat(300_000)] },
    413,
    /too large/,
  ],
] as const) {
  test(`${what} is refused with a sentence`, async (t) => {
    const group = new GraphGroup(2)
    t.after(async () => await group.stop())
    const [first] = [await group.start(), await group.start()]
    await group.caughtUp()
    const foreign = first.graph.tasks[0]?.partition === 0 ? '1' : '0'
    const own = foreign === '1' ? '0' : '1'
    const response = await fetch(
      first.url + path.replace('%', foreign).replace('/0/', `/${own}/`),
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      },
    )
    const told = (await response.json()) as { detail: string }
    deepEqual([response.status, detail.test(told.detail)], [status, true], told.detail)
  })
}
