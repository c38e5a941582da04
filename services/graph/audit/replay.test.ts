/**
 * A log that was folded under one policy, folded again under another: what would have been deleted,
 * held and kept.
 */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { type Policy, policyFor } from '../../../core/model/policy.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../../testing/rig/task-rig.ts'
import { SettableClock } from '../../../testing/settable-clock.ts'
import { takeSnapshot } from '../fold/retention.ts'
import { TooEarlyError } from './reach.ts'
import { type ReplayResult, replayPartition } from './replay.ts'

interface Told {
  readonly log: MemoryLog
  readonly clock: SettableClock
  /** After so many milliseconds of log time. */
  tell(story: readonly string[], afterMs?: number): Promise<void>
  append(story: readonly string[]): Promise<void>
  /** Takes a snapshot of all, and removes the events. */
  trimToSnapshot(): Promise<void>
  replay(
    policy: Policy,
    span?: { readonly fromMs?: number; readonly toMs?: number },
  ): Promise<ReplayResult>
}

/** What a story begins with, too. */
const BEGIN = eventsOf([]).length

async function told(story: readonly string[]): Promise<Told> {
  const clock = new SettableClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const lines: string[] = []
  let appended = 0
  const append: Told['append'] = async (more) => {
    lines.push(...more)
    const events = eventsOf(lines)
    await appendAll(log, events.slice(appended))
    appended = events.length
  }
  const tell: Told['tell'] = async (more, afterMs = 0) => {
    clock.pass(afterMs)
    await append(more)
    await using running = runTask(log, emptyStore(), undefined, 0, clock)
    await running.caughtUp()
  }
  await tell(story)
  return {
    ...{ log, clock, tell, append },
    async trimToSnapshot() {
      await using running = runTask(log, emptyStore(), undefined, 0, clock)
      await running.caughtUp()
      await takeSnapshot({ log, codec, task: running.task }, new AbortController().signal)
      await log.trim('events', 0, (await log.bounds('events', 0)).end)
    },
    replay: async (policy, { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = {}) =>
      await replayPartition(
        { log, codec, store: emptyStore(), partition: 0, fromMs, toMs, policyFrom: () => policy },
        new AbortController().signal,
      ),
  }
}

const summary = ({ counts }: ReplayResult): readonly string[] =>
  counts
    .map(
      ({ was, would, heldBy, count }) =>
        `${count} ${was}, ${would}${heldBy ? ` by ${heldBy}` : ''}`,
    )
    .sort()

const TREE = ['put deploy/web', 'put rs/web <- deploy/web', 'put pod/web <- rs/web']

test('under the same policy nothing differs', async () => {
  const it = await told([...TREE, 'delete deploy/web', 'delete rs/web', 'delete pod/web'])
  const result = await it.replay(policyFor('enforce', 'parity'))
  deepEqual(summary(result), ['2 deleted, deleted'])
  deepEqual([result.differences, result.cases.length], [0, 0])
  equal(result.events > BEGIN, true)
})

test('what was deleted at once would be held, and what rests on that says so', async () => {
  const it = await told([...TREE, 'delete deploy/web', 'delete rs/web', 'delete pod/web'])
  const result = await it.replay(policyFor('enforce', 'guarded'))
  deepEqual(summary(result), ['2 deleted, held by hold'])
  deepEqual(
    result.cases.map(({ kind, was, would, dependsOn }) => [kind, was, would, dependsOn !== null]),
    [
      ['ReplicaSet', 'deleted', 'held', false],
      ['Pod', 'deleted', 'held', true],
    ],
  )
  match(result.cases[0]?.because ?? '', /Deployment "web"/)
})

test('what was being deleted for a while before it was gone is judged as it was before that', async () => {
  const it = await told([
    'put rs/web',
    'put pod/web <- rs/web',
    'delete rs/web',
    'put pod/web <- rs/web [deleting]',
    'delete pod/web',
  ])
  const result = await it.replay(policyFor('enforce', 'guarded'))
  deepEqual(summary(result), ['1 deleted, held by hold'])
})

test('what the fold had not come to at the end of the span is no difference', async () => {
  const pods = Array.from({ length: 1_000 }, (_, each) => `put pod/web-${each} <- rs/web`)
  const it = await told(['put rs/web', ...pods])
  await it.append(['delete rs/web'])
  const toMs = it.clock.now() + 1_000
  await it.tell([], 2_000)
  const result = await it.replay(policyFor('enforce', 'parity'), { toMs })
  deepEqual(summary(result), ['512 deleted, deleted'])
  equal(result.differences, 0)
})

test('in mode observe, what would have been deleted; what somebody else deleted is no difference', async () => {
  const it = await told(['policy observe parity', ...TREE, 'delete deploy/web', 'delete rs/web'])
  const result = await it.replay(policyFor('enforce', 'parity'))
  deepEqual(summary(result), ['1 exists, deleted', '1 left, deleted'])
  deepEqual(
    result.cases.map(({ kind, was, would }) => [kind, was, would]),
    [['Pod', 'exists', 'deleted']],
  )
  const held = await it.replay(policyFor('enforce', 'guarded'))
  deepEqual(summary(held), ['1 exists, held by hold', '1 left, held by hold'])
  deepEqual(summary(await it.replay(policyFor('observe', 'parity'))), [
    '1 exists, held by mode',
    '1 left, held by mode',
  ])
})

test('the policy counts from the beginning of the span on, and what comes later does not', async () => {
  const it = await told([
    ...TREE,
    'put deploy/api',
    'put rs/api <- deploy/api',
    'delete deploy/api',
    'delete rs/api',
  ])
  await it.tell([], 5_000)
  const fromMs = it.clock.now()
  await it.tell(['policy enforce parity', 'delete deploy/web', 'delete rs/web'], 5_000)
  await it.tell(['delete pod/web'], 5_000)
  const guarded = policyFor('enforce', 'guarded')
  deepEqual(summary(await it.replay(guarded, { fromMs })), ['2 deleted, held by hold'])
  deepEqual(summary(await it.replay(guarded, { toMs: fromMs })), ['1 deleted, held by hold'])
})

const PARITY = policyFor('enforce', 'parity')
const GUARDED = policyFor('enforce', 'guarded')
const PAIR = ['put rs/web', 'put pod/web <- rs/web']

test('a cascade that takes more than a record is the same under the same policy, from wherever the span begins', async () => {
  const it = await told(['put rs/web', 'many 3000 pod/p# <- rs/web'])
  await it.tell([], 5_000)
  const fromMs = it.clock.now()
  await it.tell(['beat 5', 'delete rs/web'], 1_000)
  await it.tell(['delete-many 3000 pod/p#'], 1_000)
  const result = await it.replay(PARITY, { fromMs })
  deepEqual([summary(result), result.differences], [['3000 deleted, deleted'], 0])
})

test('what the server refused to delete was not deleted', async () => {
  const it = await told([...PAIR, 'delete rs/web', 'settle pod/web blocked forbidden'])
  deepEqual(summary(await it.replay(PARITY)), ['1 exists, unclear'])
  deepEqual(summary(await it.replay(GUARDED)), ['1 exists, held by hold'])
})

test('what is not folded yet is not compared', async () => {
  const it = await told(PAIR)
  await it.append(['delete rs/web'])
  deepEqual(summary(await it.replay(PARITY)), [])
})

test('the policy decides from the first event on, without a heartbeat', async () => {
  const it = await told(PAIR)
  await it.tell([], 5_000)
  const fromMs = it.clock.now()
  await it.tell(['delete rs/web', 'delete pod/web'], 1_000)
  deepEqual(summary(await it.replay(GUARDED, { fromMs })), ['1 deleted, held by hold'])
})

test('what Kinfold was deleting when the span begins is no result of it', async () => {
  const it = await told([...PAIR, 'delete rs/web'])
  await it.tell([], 5_000)
  const fromMs = it.clock.now()
  await it.tell(['beat 5', 'put pod/web <- rs/web [deleting]', 'delete pod/web'], 1_000)
  deepEqual(summary(await it.replay(GUARDED, { fromMs })), [])
})

test('in mode dry-run nothing would be deleted', async () => {
  const it = await told([...PAIR, 'delete rs/web', 'delete pod/web'])
  deepEqual(summary(await it.replay(policyFor('dry-run', 'parity'))), ['1 deleted, held by mode'])
})

test('a user who deletes what was held is no difference where Kinfold enforced', async () => {
  const it = await told(['policy enforce guarded', ...PAIR, 'delete rs/web', 'delete pod/web'])
  const result = await it.replay(GUARDED)
  deepEqual([summary(result), result.differences], [['1 left, held by hold'], 0])
})

test('a reference that would be removed is no deletion', async () => {
  const owners = ['put rs/a', 'put rs/b', 'put pod/web <- rs/a, rs/b']
  const it = await told([
    'policy observe guarded',
    ...owners,
    'beat 5',
    'lose rs/b',
    'relist rs',
    'delete pod/web',
  ])
  deepEqual(summary(await it.replay(GUARDED)), [])
})

test('what is deleted in the foreground is judged as it was before', async () => {
  const story = [
    'put deploy/web',
    'put rs/web <- deploy/web',
    'put pod/web <- rs/web!',
    'delete deploy/web',
    'put rs/web <- deploy/web [deleting foreground]',
    'delete pod/web',
    'delete rs/web',
  ]
  const result = await (await told(['policy observe guarded', ...story])).replay(GUARDED)
  equal(summary(result).includes('1 left, held by hold'), true, summary(result).join())
})

test('what rests on a breaker that Kinfold’s own deletions opened says so', async () => {
  const below = Array.from({ length: 150 }, (_, i) => [
    `put rs/r${i} <- deploy/web`,
    `put pod/p${i} <- rs/r${i}`,
  ]).flat()
  const it = await told(['put deploy/web', ...below, 'put rs/other', 'put pod/other <- rs/other'])
  await it.tell(['delete deploy/web', 'delete-many 150 rs/r#', 'delete-many 150 pod/p#'])
  await it.tell(['delete rs/other', 'beat 60', 'beat 60', 'delete pod/other'])
  const { cases } = await it.replay(GUARDED)
  const other = cases.find(({ name }) => name === 'other')
  deepEqual([other?.heldBy, other?.dependsOn !== null], ['breaker', true])
})

test('of a log that ends with a snapshot, a span from before it is refused, and one from now on is empty', async () => {
  const it = await told([...TREE, 'delete deploy/web', 'delete rs/web', 'delete pod/web'])
  await it.trimToSnapshot()
  await rejects(it.replay(GUARDED, { fromMs: 1 }), TooEarlyError)
  deepEqual(summary(await it.replay(GUARDED, { fromMs: it.clock.now() + 1 })), [])
})

test('what nobody looked up is unclear', async () => {
  const it = await told(['policy observe parity', 'put pod/web <- rs/never'])
  deepEqual(summary(await it.replay(policyFor('enforce', 'parity'))), ['1 exists, unclear'])
})

test('what a log no longer has cannot be folded', async () => {
  const it = await told(TREE)
  await it.log.trim('events', 0, 2n)
  await rejects(it.replay(policyFor('enforce', 'parity')), /no snapshot is left to begin from/)
})
