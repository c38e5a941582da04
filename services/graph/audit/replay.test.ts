/** A log that was folded under one policy, folded again under another: what would have been deleted, held and kept. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { type Policy, policyFor } from '../../../core/model/policy.ts'
import { SettableClock } from '../../../testing/settable-clock.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../../testing/task-rig.ts'
import { type ReplayResult, replayPartition } from './replay.ts'

interface Told {
  readonly log: MemoryLog
  readonly clock: SettableClock
  /** After so many milliseconds of log time. */
  tell(story: readonly string[], afterMs?: number): Promise<void>
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
  const tell: Told['tell'] = async (more, afterMs = 0) => {
    clock.pass(afterMs)
    lines.push(...more)
    const events = eventsOf(lines)
    await appendAll(log, events.slice(appended))
    appended = events.length
    await using running = runTask(log, emptyStore(), undefined, 0, clock)
    await running.caughtUp()
  }
  await tell(story)
  return {
    ...{ log, clock, tell },
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

test('what nobody looked up is unclear', async () => {
  const it = await told(['policy observe parity', 'put pod/web <- rs/never'])
  deepEqual(summary(await it.replay(policyFor('enforce', 'parity'))), ['1 exists, unclear'])
})

test('what a log no longer has cannot be folded', async () => {
  const it = await told(TREE)
  await it.log.trim('events', 0, 2n)
  await rejects(it.replay(policyFor('enforce', 'parity')), /no snapshot is left to begin from/)
})
