/**
 * What every adapter of the port `Log` must do, as tests of node:test. Each adapter's own test
 * calls `logContract`.
 *
 * What must stay true: a test demands only the port's promises, so gaps between offsets are always
 * allowed and time is never measured. A test that needs a hook which the fixture lacks is skipped
 * by name.
 *
 * Not here: damage, locks and full disks (adapters/sqlite), real brokers (adapters/kafka).
 */
import { deepEqual, equal, fail, ok, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  type Entry,
  FENCE_KEY,
  type Log,
  LogError,
  type LogErrorCode,
  type Page,
  type Produced,
  type TaskLog,
  type Topic,
} from './log.ts'

/** A commit whose entries are in the log while its outcome is open. */
export interface HeldCommit {
  /** Resolves once its entries are in the log; absent where they are at once. */
  readonly opened?: Promise<void>
  release(): void
  abort(): void
}

/**
 * An empty log with at least two partitions. The optional hooks are for adapters that can do so.
 */
export interface LogFixture {
  readonly log: Log
  holdNextCommit?(): HeldCommit
  /** The next commit rejects with `UNKNOWN_OUTCOME`, whether it took effect or not. */
  loseNextCommitAnswer?(took: boolean): void
  /** Closes the log and opens it again, as after a restart of the process. */
  reopen?(): Promise<LogFixture>
  /** Removes records that newer values of a compacted topic supersede. */
  compact?(topic: Topic, partition: number): Promise<void>
  /** The clock of append times, if the log gives them by itself. It is right at first. */
  readonly clock?: FixtureClock
  /** API servers' clocks minus the wall clock: they confirm the time since the newest entry. */
  confirm?(skewsMs: readonly number[]): void
}

export interface FixtureClock {
  now(): number
  /** Sets the wall clock so far from the right time. */
  setWall(offMs: number): void
  /** Lets time pass, on the wall clock and the monotonic one. */
  pass(ms: number): void
}

type Open = (t: TestContext) => Promise<LogFixture>

export function logContract(name: string, open: Open): void {
  appending(name, open)
  reading(name, open)
  keeping(name, open)
  committing(name, open)
  holdingBack(name, open)
  closing(name, open)
  tracing(name, open)
}

function appending(name: string, open: Open): void {
  test(`${name}: entries come in the order they were appended, at growing offsets`, async (t) => {
    const { log } = await open(t)
    const first = await log.append('events', 0, [record('a'), record('b')])
    const second = await log.append('events', 0, [record('c')])
    const entries = await readAll(log, 'events', 0)
    deepEqual(entries.map(show), ['a=a', 'b=b', 'c=c'])
    deepEqual([entries[0]?.offset, entries[2]?.offset], [first, second])
    assertGrowing(entries)
  })

  test(`${name}: appends made at the same time all land, each one whole and once`, async (t) => {
    const { log } = await open(t)
    const names = Array.from({ length: 50 }, (_, index) => `r${index}`)
    const offsets = await Promise.all(
      names.map((key) => log.append('events', 0, [record(key, '1'), record(key, '2')])),
    )
    const entries = await readAll(log, 'events', 0)
    equal(entries.length, 100)
    for (const [index, key] of names.entries()) {
      const at = entries.findIndex((entry) => entry.offset === offsets[index])
      deepEqual(entries.slice(at, at + 2).map(show), [`${key}=1`, `${key}=2`])
    }
    assertGrowing(entries)
  })

  test(`${name}: what is appended says what it is when it is sent off`, async (t) => {
    const { log } = await open(t)
    let said = 'before'
    const valueNow = (): Uint8Array => new TextEncoder().encode(said)
    const appended = log.append('events', 0, [record('a', '1'), { ...record('b', said), valueNow }])
    await appended
    said = 'later'
    await log.append('events', 0, [{ ...record('b', 'before'), valueNow }])
    deepEqual((await readAll(log, 'events', 0)).map(show), ['a=1', 'b=before', 'b=later'])
  })

  test(`${name}: keys are any text and values any bytes`, async (t) => {
    const { log } = await open(t)
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const keys = ['a\u0000b', '\u0000', 'ключ/🗝', "'; DROP TABLE row; --", '__proto__', ' ']
    await log.append(
      'events',
      0,
      keys.map((key) => ({ key, value: bytes })),
    )
    await log.append('events', 0, [{ key: 'empty', value: new Uint8Array() }])
    const entries = await readAll(log, 'events', 0)
    deepEqual(
      entries.map((entry) => entry.key),
      [...keys, 'empty'],
    )
    for (const entry of entries.slice(0, -1)) deepEqual(new Uint8Array(entry.value!), bytes)
    equal(entries.at(-1)?.value?.length, 0)
  })

  test(`${name}: a record at the limits is taken, one beyond them refused`, async (t) => {
    const { log } = await open(t)
    const largest = {
      key: 'k'.repeat(32 * 1024),
      value: new Uint8Array((7 * 1024 - 32) * 1024).fill(7),
    }
    await log.append('events', 0, [largest])
    deepEqual((await readAll(log, 'events', 0))[0]?.value?.length, (7 * 1024 - 32) * 1024)
    const one = new Uint8Array(1)
    const refused: readonly (readonly [Topic, number, readonly Produced[]])[] = [
      ['events', 0, []],
      ['events', 0, [{ key: '', value: one }]],
      ['events', 0, [{ key: 'k'.repeat(32 * 1024 + 1), value: one }]],
      ['events', 0, [{ key: 'é'.repeat(16 * 1024 + 1), value: one }]],
      ['events', 0, [{ ...largest, value: new Uint8Array((7 * 1024 - 32) * 1024 + 1) }]],
      ['events', 0, [record('fits'), { key: 'gone', value: null }]],
      ['events', -1, [record('a')]],
      ['events', 0.5, [record('a')]],
      ['events', log.partitions('events'), [record('a')]],
      ['control', 1, [record('a')]],
    ]
    for (const [topic, partition, records] of refused) {
      await refuses('INVALID', log.append(topic, partition, records))
    }
    equal((await readAll(log, 'events', 0)).length, 1)
  })

  test(`${name}: topics and partitions are apart`, async (t) => {
    const { log } = await open(t)
    ok(log.partitions('events') >= 2)
    equal(log.partitions('changelog'), log.partitions('events'))
    deepEqual([log.partitions('control'), log.partitions('watermarks')], [1, 1])
    await log.append('events', 0, [record('a')])
    await log.append('events', 1, [record('b')])
    await log.append('commands', 0, [record('c')])
    deepEqual((await readAll(log, 'events', 0)).map(show), ['a=a'])
    deepEqual((await readAll(log, 'events', 1)).map(show), ['b=b'])
    deepEqual((await readAll(log, 'commands', 0)).map(show), ['c=c'])
    deepEqual(await readAll(log, 'commands', 1), [])
  })
}

function reading(name: string, open: Open): void {
  test(`${name}: a page holds at most as many entries as asked and says where to read on`, async (t) => {
    const { log } = await open(t)
    await log.append(
      'events',
      0,
      'abcdefghij'.split('').map((key) => record(key)),
    )
    const sizes: number[] = []
    let text = ''
    for (let at = 0n; text.length < 10; ) {
      const page = await read(log, 'events', 0, at, { limit: 3 })
      sizes.push(page.entries.length)
      text += page.entries.map((entry) => entry.key).join('')
      at = page.next
    }
    deepEqual([text, sizes], ['abcdefghij', [3, 3, 3, 1]])
    const middle = (await readAll(log, 'events', 0))[4]!
    equal((await read(log, 'events', 0, middle.offset, { limit: 1 })).entries[0]?.key, 'e')
  })

  test(`${name}: a reader at the end waits and is woken by an append`, async (t) => {
    const { log } = await open(t)
    const { end } = await log.bounds('events', 0)
    const waiting = read(log, 'events', 0, end, { waitMs: 60_000 })
    const elsewhere = read(log, 'events', 1, end, { waitMs: 1 })
    await log.append('events', 0, [record('a')])
    const page = await waiting
    deepEqual(page.entries.map(show), ['a=a'])
    ok(page.next > page.entries[0]!.offset)
    deepEqual((await elsewhere).entries, [])
  })

  test(`${name}: nothing in time gives an empty page that leads on`, async (t) => {
    const { log } = await open(t)
    await log.append('events', 0, [record('a')])
    const { end } = await log.bounds('events', 0)
    for (const waitMs of [0, 5]) {
      const page = await read(log, 'events', 0, end, { waitMs })
      deepEqual([page.entries.length, page.next >= end], [0, true])
    }
  })

  test(`${name}: a reader that is told to stop rejects with the reason`, async (t) => {
    const { log } = await open(t)
    const { end } = await log.bounds('events', 0)
    const reason = new Error('enough')
    const controller = new AbortController()
    const options = { limit: 1, waitMs: 60_000 }
    const waiting = log.read('events', 0, end, options, controller.signal)
    controller.abort(reason)
    await rejects(waiting, reason)
    await rejects(log.read('events', 0, end, options, controller.signal), reason)
  })

  test(`${name}: a position outside the bounds is refused on both sides, never moved`, async (t) => {
    const { log } = await open(t)
    await log.append('events', 0, [record('a'), record('b')])
    const { start, end } = await log.bounds('events', 0)
    await refuses('OUT_OF_RANGE', read(log, 'events', 0, start - 1n))
    await refuses('OUT_OF_RANGE', read(log, 'events', 0, end + 1n))
    await refuses('INVALID', read(log, 'events', 0, start, { limit: 0 }))
    await refuses('INVALID', read(log, 'events', 99, start))
  })

  test(`${name}: append times do not go back`, async (t) => {
    const { log } = await open(t)
    for (const key of ['a', 'b', 'c']) await log.append('events', 0, [record(key), record(key)])
    const times = (await readAll(log, 'events', 0)).map((entry) => entry.timestamp)
    deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    )
    ok(times[0]! > 1_500_000_000_000)
  })

  test(`${name}: append times go on where the clock was ahead and was set right, also after a restart`, async (t) => {
    const { log, clock, reopen } = await open(t)
    if (clock === undefined || reopen === undefined) return t.skip('it gives no times by itself')
    const day = 86_400_000
    await log.append('events', 0, [record('before')])
    clock.setWall(day)
    const started = await reopen()
    started.confirm!([0])
    await started.log.append('events', 0, [record('a')])
    clock.setWall(0)
    await started.log.append('events', 0, [record('b')])
    clock.pass(60_000)
    await started.log.append('events', 1, [record('another partition')])
    await started.log.append('events', 0, [record('c')])
    const { log: later } = await started.reopen!()
    clock.pass(60_000)
    await later.append('events', 0, [record('d')])
    clock.pass(2 * day)
    const before = clock.now()
    await later.append('events', 0, [record('e')])
    const times = (await readAll(later, 'events', 0)).map((entry) => entry.timestamp)
    const [, a, b, c, d, e] = times
    ok(a! >= times[0]! + day, 'the start did not go by clocks that agree')
    ok(a! <= b!)
    ok(b! + 60_000 <= c! + 1, 'it stood')
    ok(c! + 60_000 <= d! + 1, 'it stood after the restart')
    ok(before <= e! && e! <= clock.now(), 'it is not the clock again that has come up with it')
    const [other] = await readAll(later, 'events', 1)
    ok(b! < other!.timestamp && other!.timestamp <= c!, 'partitions go by different times')
  })

  test(`${name}: append times do not follow a clock that is set forward, also after a restart, until another clock agrees (T17)`, async (t) => {
    const { log, clock, reopen } = await open(t)
    if (clock === undefined || reopen === undefined) return t.skip('it gives no times by itself')
    const [hour, heartbeat] = [3_600_000, 5_000]
    await log.append('events', 0, [record('a')])
    clock.setWall(hour)
    await log.append('events', 0, [record('b')])
    clock.setWall(2 * hour)
    clock.pass(60_000)
    const task = await log.openTask(0)
    await commitOne(task, 'committed')
    await log.append('events', 1, [record('another partition')])
    await log.append('events', 0, [record('c')])
    const right = clock.now() - 2 * hour
    const [a, b, c] = (await readAll(log, 'events', 0)).map((entry) => entry.timestamp)
    const [other] = await readAll(log, 'events', 1)
    const [committed] = await readAll(log, 'commands', 0)
    ok(a! <= b! && b! + 60_000 - heartbeat <= c!, 'it stood')
    for (const each of [b!, c!, other!.timestamp, committed!.timestamp]) {
      ok(each <= right + heartbeat, `it is ${each - right} ms ahead`)
    }
    const started = await reopen()
    const given = async (): Promise<number> => {
      await started.log.append('events', 0, [record('d')])
      return (await readAll(started.log, 'events', 0)).at(-1)!.timestamp
    }
    ok((await given()) < right + hour, 'it goes by the clock alone')
    started.confirm!([])
    ok((await given()) < right + hour, 'no answer confirmed it')
    started.confirm!([0, -2 * hour])
    ok((await given()) < right + hour, 'the least of them did not count')
    started.confirm!([3 * hour, 0])
    const [before, last] = [clock.now(), await given()]
    ok(before <= last && last <= clock.now(), 'clocks that agree did not count')
  })
}

function keeping(name: string, open: Open): void {
  test(`${name}: an empty partition starts where it ends`, async (t) => {
    const { log } = await open(t)
    const { start, end } = await log.bounds('history', 1)
    equal(start, end)
    equal(await log.end('history', 1), end)
    deepEqual(await log.latest('control', 0), [])
  })

  test(`${name}: of a compacted topic the last value of each key remains, in offset order`, async (t) => {
    const { log } = await open(t)
    await log.append('control', 0, [record('a', '1'), record('b', '1'), record('c', '1')])
    await log.append('control', 0, [record('a', '2'), { key: 'b', value: null }, record('d', '1')])
    await log.append('control', 0, [{ key: 'd', value: null }, record('d', '2')])
    const entries = await log.latest('control', 0)
    deepEqual(entries.map(show), ['c=1', 'a=2', 'd=2'])
    assertGrowing(entries)
    await refuses('INVALID', log.latest('events', 0))
  })

  test(`${name}: compaction leaves what a reader from the start folds to`, async (t) => {
    const fixture = await open(t)
    if (fixture.compact === undefined) return t.skip('the adapter cannot be told to compact')
    const { log } = fixture
    for (let round = 0; round < 20; round++) {
      await log.append('control', 0, [record('a', `${round}`), record(`b${round % 3}`, `${round}`)])
    }
    await log.append('control', 0, [{ key: 'b0', value: null }])
    const [before, bounds] = [await log.latest('control', 0), await log.bounds('control', 0)]
    await fixture.compact('control', 0)
    const after = await readAll(log, 'control', 0)
    ok(after.length < 10, `${after.length} entries are left`)
    deepEqual(await log.latest('control', 0), before)
    deepEqual(await log.bounds('control', 0), bounds)
    deepEqual(
      after.filter((entry) => entry.value !== null),
      before,
    )
    ok(after.some((entry) => entry.key === 'b0'))
    await log.append('control', 0, [record('z')])
    equal((await readAll(log, 'control', 0)).at(-1)?.key, 'z')
  })

  test(`${name}: a reader's position is kept apart from others`, async (t) => {
    const { log } = await open(t)
    equal(await log.loadPosition('reaper', 'commands', 0), undefined)
    await log.savePosition('reaper', 'commands', 0, { offset: 5n, detail: '[[7,9]]' })
    await log.savePosition('reaper', 'commands', 1, { offset: 6n, detail: '' })
    await log.savePosition('tail', 'commands', 0, { offset: 7n, detail: 'é' })
    await log.savePosition('reaper', 'commands', 0, { offset: 8n, detail: '[]' })
    deepEqual(await log.loadPosition('reaper', 'commands', 0), { offset: 8n, detail: '[]' })
    deepEqual(await log.loadPosition('reaper', 'commands', 1), { offset: 6n, detail: '' })
    deepEqual(await log.loadPosition('tail', 'commands', 0), { offset: 7n, detail: 'é' })
    equal(await log.loadPosition('reaper', 'events', 0), undefined)
    const large = { offset: 1n, detail: 'x'.repeat(64 * 1024 + 1) }
    await refuses('INVALID', log.savePosition('reaper', 'commands', 0, large))
    for (const offset of [-1n, BigInt(Number.MAX_SAFE_INTEGER) + 1n]) {
      const nowhere = { offset, detail: '' }
      await refuses('INVALID', log.savePosition('reaper', 'commands', 0, nowhere))
    }
  })

  test(`${name}: trimming moves the start, and what is before it is out of range`, async (t) => {
    const { log } = await open(t)
    await log.append(
      'events',
      0,
      'abcd'.split('').map((key) => record(key)),
    )
    const all = await readAll(log, 'events', 0)
    const [oldest, kept] = [all[0]!, all[2]!]
    await log.trim('events', 0, kept.offset)
    equal((await log.bounds('events', 0)).start, kept.offset)
    deepEqual(
      (await readAll(log, 'events', 0)).map((entry) => entry.key),
      ['c', 'd'],
    )
    await refuses('OUT_OF_RANGE', read(log, 'events', 0, oldest.offset))
    await log.trim('events', 0, oldest.offset)
    equal((await log.bounds('events', 0)).start, kept.offset)
    const { end } = await log.bounds('events', 0)
    await refuses('OUT_OF_RANGE', log.trim('events', 0, end + 1n))
    await refuses('INVALID', log.trim('changelog', 0, 0n))
    await log.trim('events', 0, end)
    deepEqual(await log.bounds('events', 0), { start: end, end })
    await log.append('events', 0, [record('e')])
    deepEqual((await readAll(log, 'events', 0)).map(show), ['e=e'])
  })
}

function committing(name: string, open: Open): void {
  test(`${name}: opening a task marks the changelog`, async (t) => {
    const { log } = await open(t)
    const task = await log.openTask(1)
    equal(task.partition, 1)
    const marker = (await readAll(log, 'changelog', 1)).find((entry) => entry.offset === task.fence)
    equal(marker?.key, FENCE_KEY)
    deepEqual(await readAll(log, 'changelog', 0), [])
    await refuses('INVALID', log.openTask(99))
  })

  test(`${name}: a commit writes to all its topics and resolves with the changelog's end`, async (t) => {
    const { log } = await open(t)
    const task = await log.openTask(0)
    const end = await task.commit({
      outputs: [
        { topic: 'commands', partition: 0, records: [record('c1'), record('c2')] },
        { topic: 'events', partition: 1, records: [record('note')] },
        { topic: 'history', partition: 0, records: [] },
      ],
      changelog: [record('k', '1'), { key: 'l', value: null }],
    })
    deepEqual((await readAll(log, 'commands', 0)).map(show), ['c1=c1', 'c2=c2'])
    deepEqual((await readAll(log, 'events', 1)).map(show), ['note=note'])
    deepEqual((await readAll(log, 'changelog', 0)).map(show).slice(1), ['k=1', 'l=null'])
    equal((await log.bounds('changelog', 0)).end, end)
    equal(await task.commit({ outputs: [], changelog: [] }), end)
  })

  test(`${name}: a commit with a bad record leaves nothing`, async (t) => {
    const { log } = await open(t)
    const task = await log.openTask(0)
    const outputs = [
      { topic: 'commands', partition: 0, records: [record('fits')] },
      { topic: 'commands', partition: 1, records: [{ key: 'gone', value: null }] },
    ] as const
    await refuses('INVALID', task.commit({ outputs, changelog: [record('k')] }))
    deepEqual(await readAll(log, 'commands', 0), [])
    equal((await readAll(log, 'changelog', 0)).length, 1)
  })

  test(`${name}: a second owner fences the first, whose commit then leaves nothing`, async (t) => {
    const { log } = await open(t)
    const first = await log.openTask(0)
    const other = await log.openTask(1)
    await commitOne(first, 'before')
    const second = await log.openTask(0)
    ok(second.fence > first.fence)
    await refuses('FENCED', commitOne(first, 'zombie'))
    await refuses(['FENCED', 'CLOSED'], commitOne(first, 'again'))
    await commitOne(other, 'elsewhere')
    await commitOne(second, 'after')
    deepEqual(await keys(log, 'commands', 0), ['before', 'elsewhere', 'after'])
    deepEqual(await keys(log, 'changelog', 0), [FENCE_KEY, 'before', FENCE_KEY, 'after'])
    await first[Symbol.asyncDispose]()
    await commitOne(second, 'still mine')
  })

  test(`${name}: a fenced commit made in the same turn harms no other write`, async (t) => {
    const { log } = await open(t)
    const first = await log.openTask(0)
    const second = await log.openTask(0)
    const [, zombie] = await Promise.allSettled([
      log.append('events', 0, [record('a')]),
      commitOne(first, 'zombie'),
      commitOne(second, 'mine'),
      log.append('events', 0, [record('b')]),
    ])
    equal(zombie.status, 'rejected')
    deepEqual(await keys(log, 'events', 0), ['a', 'b'])
    deepEqual(await keys(log, 'commands', 0), ['mine'])
  })

  test(`${name}: a closed task commits no more`, async (t) => {
    const { log } = await open(t)
    const task = await log.openTask(0)
    await task[Symbol.asyncDispose]()
    await task[Symbol.asyncDispose]()
    await refuses('CLOSED', commitOne(task, 'late'))
    deepEqual(await readAll(log, 'commands', 0), [])
  })

  for (const took of [true, false]) {
    const what = took ? 'took' : 'did not take'
    test(`${name}: the changelog up to the fence tells that a commit of unknown outcome ${what}`, async (t) => {
      const fixture = await open(t)
      if (fixture.loseNextCommitAnswer === undefined) return t.skip('the adapter loses no answers')
      const { log } = fixture
      const task = await log.openTask(0)
      fixture.loseNextCommitAnswer(took)
      await refuses('UNKNOWN_OUTCOME', commitOne(task, 'x'))
      await rejects(commitOne(task, 'never retried'), LogError)
      const successor = await log.openTask(0)
      const upToFence = await keys(log, 'changelog', 0)
      const expected = took ? ['x'] : []
      deepEqual(upToFence, [FENCE_KEY, ...expected, FENCE_KEY])
      deepEqual(await keys(log, 'commands', 0), expected)
      await commitOne(successor, 'y')
      deepEqual(await keys(log, 'commands', 0), [...expected, 'y'])
    })
  }
}

function holdingBack(name: string, open: Open): void {
  test(`${name}: no reader sees an open commit, nor what others append behind it`, async (t) => {
    const fixture = await open(t)
    if (fixture.holdNextCommit === undefined) return t.skip('the adapter holds no commits open')
    const { log } = fixture
    const task = await log.openTask(0)
    await log.append('commands', 0, [record('early')])
    const held = fixture.holdNextCommit()
    const commit = commitOne(task, 'held')
    await held.opened
    await log.append('commands', 0, [record('behind')])
    const { end } = await log.bounds('commands', 0)
    equal(await log.end('commands', 0), end)
    deepEqual(await keys(log, 'commands', 0), ['early'])
    deepEqual(await keys(log, 'changelog', 0), [FENCE_KEY])
    deepEqual((await read(log, 'commands', 0, end, { waitMs: 1 })).entries, [])
    const waiting = read(log, 'commands', 0, end, { waitMs: 60_000 })
    held.release()
    await commit
    deepEqual((await waiting).entries[0]?.key, 'held')
    deepEqual(await keys(log, 'commands', 0), ['early', 'held', 'behind'])
  })

  test(`${name}: an aborted commit leaves a gap and frees what is behind it`, async (t) => {
    const fixture = await open(t)
    if (fixture.holdNextCommit === undefined) return t.skip('the adapter holds no commits open')
    const { log } = fixture
    const task = await log.openTask(0)
    const held = fixture.holdNextCommit()
    const commit = commitOne(task, 'x')
    await held.opened
    const behind = await log.append('commands', 0, [record('behind')])
    const { end } = await log.bounds('commands', 0)
    const waiting = read(log, 'commands', 0, end, { waitMs: 60_000 })
    held.abort()
    await refuses('UNKNOWN_OUTCOME', commit)
    deepEqual((await waiting).entries.map(show), ['behind=behind'])
    ok(behind > end)
    deepEqual(await keys(log, 'commands', 0), ['behind'])
    deepEqual(await keys(log, 'changelog', 0), [FENCE_KEY])
  })

  test(`${name}: opening a task aborts what its predecessor left open`, async (t) => {
    const fixture = await open(t)
    if (fixture.holdNextCommit === undefined) return t.skip('the adapter holds no commits open')
    const { log } = fixture
    const first = await log.openTask(0)
    const held = fixture.holdNextCommit()
    const commit = commitOne(first, 'x')
    const fenced = refuses('FENCED', commit)
    await held.opened
    const second = await log.openTask(0)
    held.release()
    await fenced
    await commitOne(second, 'y')
    deepEqual(await keys(log, 'changelog', 0), [FENCE_KEY, FENCE_KEY, 'y'])
    deepEqual(await keys(log, 'commands', 0), ['y'])
  })
}

function closing(name: string, open: Open): void {
  test(`${name}: everything acknowledged is there after opening it again`, async (t) => {
    const fixture = await open(t)
    if (fixture.reopen === undefined) return t.skip('the adapter does not open again')
    const { log } = fixture
    await log.append(
      'events',
      0,
      'abcd'.split('').map((key) => record(key)),
    )
    await log.trim('events', 0, (await readAll(log, 'events', 0))[1]!.offset)
    await log.savePosition('reaper', 'commands', 0, { offset: 8n, detail: '[]' })
    const task = await log.openTask(0)
    await commitOne(task, 'x')
    const content = async (of: Log): Promise<unknown> => [
      await readAll(of, 'events', 0),
      await readAll(of, 'commands', 0),
      await readAll(of, 'changelog', 0),
      await of.bounds('events', 0),
      await of.loadPosition('reaper', 'commands', 0),
    ]
    const before = await content(log)
    const reopened = (await fixture.reopen()).log
    deepEqual(await content(reopened), before)
    await rejects(commitOne(task, 'of before'), LogError)
    const last = (await readAll(reopened, 'events', 0)).at(-1)!
    ok((await reopened.append('events', 0, [record('e')])) > last.offset)
    ok((await reopened.openTask(0)).fence > task.fence)
    deepEqual(await keys(reopened, 'events', 0), ['b', 'c', 'd', 'e'])
    deepEqual(await keys(reopened, 'commands', 0), ['x'])
  })

  test(`${name}: a closed log refuses, and a reader that waits is told`, async (t) => {
    const { log } = await open(t)
    const task = await log.openTask(0)
    const waiting = refuses('CLOSED', read(log, 'events', 0, 0n, { waitMs: 60_000 }))
    await log[Symbol.asyncDispose]()
    await log[Symbol.asyncDispose]()
    await waiting
    await refuses('CLOSED', log.append('events', 0, [record('a')]))
    await refuses('CLOSED', log.bounds('events', 0))
    await refuses('CLOSED', log.end('events', 0))
    await refuses('CLOSED', log.openTask(0))
    await rejects(commitOne(task, 'late'), LogError)
  })
}

function record(key: string, value: string = key): Produced {
  return { key, value: new TextEncoder().encode(value) }
}

const TRACES = [1, 2, 3, 4].map((each) => `00-${'a'.repeat(32)}-000000000000000${each}-01`)

function tracing(name: string, open: Open): void {
  test(`${name}: the trace of a record comes with it, and its value is as without`, async (t) => {
    const fixture = await open(t)
    const [first, second, third, fourth] = TRACES as [string, string, string, string]
    const { log } = fixture
    const valueNow = (): Uint8Array => new TextEncoder().encode('now')
    await log.append('events', 0, [
      { ...record('a'), trace: first },
      record('b'),
      { ...record('c'), trace: second, valueNow, seenMs: 7 },
    ])
    await using task = await log.openTask(0)
    const records = [{ ...record('d'), trace: third }, record('e')]
    const changelog = [{ key: 'f', value: null, trace: fourth }]
    await task.commit({ outputs: [{ topic: 'commands', partition: 1, records }], changelog })
    const all = async (on: Log): Promise<readonly (string | undefined)[]> => {
      const events = await readAll(on, 'events', 0)
      const commands = await readAll(on, 'commands', 1)
      const changes = (await readAll(on, 'changelog', 0)).filter(({ key }) => key !== FENCE_KEY)
      const entries = [...events, ...commands, ...changes]
      deepEqual(entries.map(show), ['a=a', 'b=b', 'c=now', 'd=d', 'e=e', 'f=null'])
      return entries.map(({ trace }) => trace)
    }
    const expected = [first, undefined, second, third, undefined, fourth]
    deepEqual(await all(log), expected)
    const [without] = (await readAll(log, 'events', 0)).filter(({ key }) => key === 'b')
    equal('trace' in without!, false)
    const reopened = await fixture.reopen?.()
    if (reopened !== undefined) deepEqual(await all(reopened.log), expected)
  })

  test(`${name}: headers for other programs reach no reader, and too many are refused`, async (t) => {
    const { log } = await open(t)
    const headers = [['ce_id', '1']] as const
    await log.append('events', 0, [{ ...record('a'), headers }])
    await using task = await log.openTask(0)
    const records = [{ ...record('b'), headers, trace: TRACES[0]! }]
    await task.commit({ outputs: [{ topic: 'lineage', partition: 0, records }], changelog: [] })
    const entries = [...(await readAll(log, 'events', 0)), ...(await readAll(log, 'lineage', 0))]
    deepEqual(
      entries.map(({ key, trace, headers: read }) => [key, trace, read]),
      [
        ['a', undefined, undefined],
        ['b', TRACES[0], undefined],
      ],
    )
    const many = { ...record('c'), headers: [['ce_id', 'x'.repeat(256 * 1024)]] as const }
    await refuses('INVALID', log.append('events', 0, [many]))
  })

  test(`${name}: a trace that could not be one is refused, and nothing is written`, async (t) => {
    const { log } = await open(t)
    for (const trace of ['', 'x'.repeat(65), 'a b', 'a\u0000', 'é']) {
      await refuses('INVALID', log.append('events', 0, [{ ...record('a'), trace }]))
    }
    deepEqual(await readAll(log, 'events', 0), [])
    await log.append('events', 0, [{ ...record('a'), trace: 'x'.repeat(64) }])
    deepEqual(
      (await readAll(log, 'events', 0)).map(({ trace }) => trace),
      ['x'.repeat(64)],
    )
  })
}

function show(entry: Entry): string {
  return `${entry.key}=${entry.value === null ? null : new TextDecoder().decode(entry.value)}`
}

function commitOne(task: TaskLog, key: string): Promise<bigint> {
  const outputs = [{ topic: 'commands', partition: 0, records: [record(key)] }] as const
  return task.commit({ outputs, changelog: [record(key)] })
}

function read(
  log: Log,
  topic: Topic,
  partition: number,
  from: bigint,
  options: { readonly limit?: number; readonly waitMs?: number } = {},
): Promise<Page> {
  return log.read(topic, partition, from, { limit: 100, waitMs: 0, ...options })
}

/**
 * From the start to the end as it is now. Waits briefly, since a remote log may need that to
 * answer.
 */
async function readAll(log: Log, topic: Topic, partition: number): Promise<Entry[]> {
  const { start, end } = await log.bounds(topic, partition)
  const entries: Entry[] = []
  for (let at = start; at < end; ) {
    const page = await read(log, topic, partition, at, { waitMs: 100 })
    entries.push(...page.entries)
    if (page.next <= at) fail(`the page at ${at} leads nowhere`)
    at = page.next
  }
  return entries
}

async function keys(log: Log, topic: Topic, partition: number): Promise<string[]> {
  return (await readAll(log, topic, partition)).map((entry) => entry.key)
}

function assertGrowing(entries: readonly Entry[]): void {
  for (const [index, entry] of entries.entries()) {
    if (index > 0) ok(entry.offset > entries[index - 1]!.offset)
  }
}

async function refuses(
  code: LogErrorCode | readonly LogErrorCode[],
  promise: Promise<unknown>,
): Promise<void> {
  const codes: readonly string[] = typeof code === 'string' ? [code] : code
  await rejects(promise, (error) => {
    ok(error instanceof LogError, String(error))
    ok(codes.includes(error.code), `${error.code}: ${error.message}`)
    return true
  })
}
