/** A rule that is tried on a log: what it would have deleted, and what became of that. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { ruleIn } from '../../../testing/model/rule-notation.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../../testing/rig/task-rig.ts'
import { SettableClock } from '../../../testing/settable-clock.ts'
import { type TrialResult, tryRule } from './rule-trial.ts'

/**
 * A number lets so many seconds pass. `created:+N`: so many seconds after the first event, as all
 * times of the answer.
 */
async function tried(
  rule: string,
  story: readonly (string | number)[],
  fromSeconds = 0,
): Promise<TrialResult> {
  const clock = new SettableClock()
  const start = Math.ceil(clock.now() / 1_000)
  clock.pass(start * 1_000 - clock.now())
  const log = new MemoryLog({ partitions: 1, clock })
  const lines: string[] = []
  let appended = 0
  for (const each of story) {
    if (typeof each === 'number') clock.pass(each * 1_000)
    const line = typeof each === 'number' ? `beat ${each}` : each
    lines.push(line.replace(/created:\+(\d+)/, (_, after) => `created:${start + Number(after)}`))
    const events = eventsOf(lines)
    await appendAll(log, events.slice(appended))
    appended = events.length
  }
  await using running = runTask(log, emptyStore(), undefined, 0, clock)
  await running.caughtUp()
  const fromMs = (start + fromSeconds) * 1_000
  const result = await tryRule(
    { log, codec, store: emptyStore(), partition: 0, fromMs, rule: ruleIn(rule) },
    new AbortController().signal,
  )
  const cases = result.cases.map((each) => ({ ...each, at: Math.floor(each.at / 1_000) - start }))
  return { ...result, cases }
}

const duesOf = ({ cases }: TrialResult): readonly string[] =>
  cases.map(({ name, at }) => `${name} ${at}`)

test('what was old enough would have been deleted when its time came', async () => {
  const result = await tried('old cm 60', [
    'put cm/a [created:+0]',
    30,
    'put cm/b [created:+30]',
    40,
    10,
  ])
  deepEqual(duesOf(result), ['a 70'])
  deepEqual([result.selected, result.due, result.missed], [2, 1, 0])
})

test('what was changed, given dependents or made again later is missed', async () => {
  const result = await tried('old cm 60', [
    'put cm/changed [created:+0]',
    'put cm/owner [created:+0]',
    'put cm/again [created:+0]',
    'put cm/left [created:+0]',
    70,
    'put cm/changed [created:+0 label:x=y]',
    'touch cm/changed',
    'put pod/p <- cm/owner',
    'delete cm/again',
    10,
    'put cm/again@other [created:+80]',
    'delete cm/left',
    10,
  ])
  deepEqual(
    result.cases.map(({ name, changes, dependents, madeAgainAt }) => [
      ...[name, changes, dependents, madeAgainAt !== null],
    ]),
    [
      ['again', 0, 0, true],
      ['changed', 2, 0, false],
      ['left', 0, 0, false],
      ['owner', 0, 1, false],
    ],
  )
  equal(result.missed, 3)
})

test('what its owners decide is no matter of the rule', async () => {
  const result = await tried('old pod 60', [
    'put rs/web',
    'put pod/a <- rs/web [created:+0]',
    'put pod/b <- rs/gone [created:+0]',
    90,
    10,
  ])
  deepEqual(duesOf(result), ['a 90'])
})

test('what was deleted before its time is none of it', async () => {
  const result = await tried('old cm 60', ['put cm/a [created:+0]', 30, 'delete cm/a', 60])
  deepEqual([result.selected, result.due], [1, 0])
})

test('what was not read with what the rule reads is not known', async () => {
  const result = await tried('old cm 60 label:tier=web', ['put cm/a [created:+0]', 90])
  deepEqual([result.selected, result.unread, result.due], [0, 1, 0])
})

test('what existed when the span begins counts, and what was due before is due at once', async () => {
  const story = ['put cm/a [created:+0]', 100, 'put cm/b [created:+100]', 100, 10]
  deepEqual(duesOf(await tried('old cm 60', story, 150)), ['a 100', 'b 200'])
})

test('it has to be due for as long as the rule asks', async () => {
  const story = ['put cm/a [created:+0]', 70, 10, 10, 30]
  deepEqual(duesOf(await tried('old cm 60 for:50', story)), ['a 120'])
})

const FAR = 'far cm 0 for:3600 elsewhere:north import:widget/team-a export:widget/team-a/c'
const NAMES = 'annotation:kinfold.io/owner=north/example.com/Widget/team-a'

test('of owners in another cluster a deletion is followed by it an hour later, and held while that is cut off', async () => {
  const story = [
    `rule ${FAR}`,
    `put cm/a [${NAMES}/app/widget-app]`,
    `put cm/b [${NAMES}/other/widget-other]`,
    'put cm/plain',
    'follow north',
    'elsewhere there north widget/other in team-a',
    'elsewhere deleted north widget/app in team-a',
  ]
  const early = await tried(FAR, [...story, 1_800, 'follow north', 60])
  deepEqual([duesOf(early), early.selected, early.held], [[], 3, 1])
  const due = await tried(FAR, [...story, ...followed(3_700), 10])
  deepEqual([duesOf(due).map((each) => each.split(' ')[0]), due.held], [['a'], 0])
  const cut = await tried(FAR, [...story, 1_800, 'unfollow north', 4_000])
  deepEqual([duesOf(cut), cut.held], [[], 1])
  const again = [...story, 1_800, 'unfollow north', 4_000, 'follow north']
  const anew = await tried(FAR, [...again, ...followed(3_000)])
  deepEqual([duesOf(anew), anew.held], [[], 1])
  equal((await tried(FAR, [...again, ...followed(3_700), 10])).due, 1)
})

/** For so many seconds it is heard each minute. */
function followed(seconds: number): readonly (string | number)[] {
  return Array.from({ length: seconds / 50 }, () => [50, 'follow north']).flat()
}
