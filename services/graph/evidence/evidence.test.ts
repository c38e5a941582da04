/**
 * Evidence of what was decided: it is verified with nothing but its own files and a key; every
 * changed byte of it is found, and so is a log that contradicts its own fold.
 */
import { deepEqual, equal, fail, match, ok, rejects } from 'node:assert/strict'
import { hash } from 'node:crypto'
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import fc from 'fast-check'
import { knownSchemas } from '../../../adapters/avro/known-schema.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Entry, Log, Produced, Topic } from '../../../ports/log.ts'
import {
  openSigner,
  openVerifier,
  type Signer,
  type Verifier,
} from '../../../runtime/http/signature.ts'
import { HOSTILE_NAMES } from '../../../testing/hostile.ts'
import {
  appendAll,
  assign,
  codec,
  emptyStore,
  eventsOf,
  runTask,
} from '../../../testing/rig/task-rig.ts'
import { SettableClock } from '../../../testing/settable-clock.ts'
import { makeKeys } from '../../../testing/signing-keys.ts'
import { entriesOf } from '../audit/refold.ts'
import { DIGEST_RECORDS } from '../config.ts'
import { takeSnapshot } from '../fold/retention.ts'
import { ENVELOPE, FILES } from './bundle-file.ts'
import { checkpointOf, checkpointStatement, compareWith, readCheckpoint } from './checkpoint.ts'
import { type Exported, exportEvidence } from './export.ts'
import type { Question } from './question.ts'
import { BeyondReachError, Refusal } from './refusal.ts'
import { type Proven, verifyEvidence } from './verify.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinfold-evidence-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const schemas = knownSchemas()
const signal = new AbortController().signal
const [ours, theirs] = [keys('ours'), keys('theirs')]
let bundles = 0

function keys(name: string): { readonly signer: Signer; readonly verifier: Verifier } {
  const { key, pub } = makeKeys(folder, name)
  return { signer: openSigner(key), verifier: openVerifier(pub) }
}

/** A log with the events of a story, folded. */
class Told {
  readonly clock = new SettableClock()
  readonly log: MemoryLog = new MemoryLog({ partitions: 1, clock: this.clock })
  readonly #lines: string[] = []
  #appended = 0

  async tell(...story: readonly string[]): Promise<void> {
    this.#lines.push(...story)
    const events = eventsOf(this.#lines)
    await this.tellEvents(events.slice(this.#appended))
    this.#appended = events.length
  }

  async tellEvents(events: readonly Event[]): Promise<void> {
    await appendAll(this.log, events)
    await using running = runTask(this.log, emptyStore(), undefined, 0, this.clock)
    await running.caughtUp()
  }

  async snapshot(): Promise<bigint> {
    await using running = runTask(this.log, emptyStore(), undefined, 0, this.clock)
    await running.caughtUp()
    const { log } = this
    return (await takeSnapshot({ log, codec, task: running.task }, signal))!.position
  }
}

async function told(...story: readonly string[]): Promise<Told> {
  const it = new Told()
  await it.tell(...story)
  return it
}

function place(): string {
  return join(folder, String(bundles++))
}

async function exported(
  log: Log,
  question: Question,
  directory = place(),
  { seal }: Signer = ours.signer,
): Promise<Exported & { readonly directory: string }> {
  const parts = { log, codec, schemas, store: emptyStore(), seal }
  return { ...(await exportEvidence(parts, question, directory, signal)), directory }
}

async function verified(directory: string, { verifier } = ours): Promise<Proven> {
  return await verifyEvidence({ codec, schemas, store: emptyStore(), verifier }, directory, signal)
}

async function refusalOf(judged: Promise<unknown>): Promise<string> {
  try {
    await judged
  } catch (error) {
    ok(error instanceof Refusal, String((error as Error).stack))
    return error.message
  }
  return fail('nothing was refused')
}

function linesOf(directory: string, name: string): readonly Line[] {
  const text = readFileSync(join(directory, name), 'utf8')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

interface Line {
  readonly key: string
  readonly record: Readonly<Record<string, unknown>> | null
}

/** Uids are those that the notation gives: of `pod/web` it is `pod-web`. */
const TREE = ['put deploy/web', 'put rs/web <- deploy/web', 'put pod/web <- rs/web', 'put cm/other']
const DELETED = ['delete deploy/web', 'delete rs/web', 'delete pod/web']

async function uidOf(log: Log, name: string): Promise<string> {
  for await (const { value } of entriesOf(log, 'events', 0)) {
    const event = codec.decode(value!)
    if (event.type === 'ObjectAdded' && `${event.object.kind}/${event.object.name}` === name) {
      return event.object.uid
    }
  }
  throw new Error(`no ${name} on the log`)
}

suite('evidence', () => {
  test('of an object is verified by its files and the key alone, and has what was decided', async () => {
    const it = await told(...TREE, ...DELETED)
    const uid = await uidOf(it.log, 'Pod/web')
    const { directory, decisions, history } = await exported(it.log, { type: 'object', uid })
    ok(decisions > 0 && history > 1, `${decisions} decisions, ${history} changes`)
    const proven = await verified(directory)
    deepEqual([proven.decisions, proven.history], [decisions, history])
    deepEqual(proven.span.about, { type: 'object', cluster: 'c', uid })
    for (const name of ['decisions.jsonl', 'history.jsonl', 'lineage.jsonl']) {
      deepEqual(
        new Set(linesOf(directory, name).map(({ key }) => key)),
        new Set([`c/${uid}`]),
        name,
      )
    }
    equal(
      linesOf(directory, 'decisions.jsonl').some(
        ({ record }) => record?.['type'] === 'DeleteObject',
      ),
      true,
    )
  })

  test('of a cascade has the owner and all its dependents, and nothing else', async () => {
    const it = await told(...TREE, ...DELETED)
    const uids = await Promise.all(
      ['Deployment/web', 'ReplicaSet/web', 'Pod/web'].map((name) => uidOf(it.log, name)),
    )
    const { directory } = await exported(it.log, { type: 'cascade', uid: uids[0]! })
    await verified(directory)
    const about = linesOf(directory, 'history.jsonl').map(({ key }) => key)
    deepEqual(new Set(about), new Set(uids.map((uid) => `c/${uid}`)))
  })

  test('of a cascade has dependents that a snapshot before it has', async () => {
    const it = await told(...TREE)
    const [uid, pod] = [await uidOf(it.log, 'Deployment/web'), await uidOf(it.log, 'Pod/web')]
    const position = await it.snapshot()
    await it.log.trim('events', 0, position)
    await it.tell(...DELETED)
    const { directory, span, isCut } = await exported(it.log, { type: 'cascade', uid })
    deepEqual([span.from, isCut], [position, true])
    ok(linesOf(directory, 'snapshot.jsonl').length > 10)
    equal((await verified(directory)).result.base.position, position)
    ok(linesOf(directory, 'decisions.jsonl').some(({ key }) => key === `c/${pod}`))
  })

  test('of a span has every object, and the same log gives the same bytes', async () => {
    const it = await told(...TREE, ...DELETED)
    const one = await exported(it.log, { type: 'span', fromMs: 0 })
    const two = await exported(it.log, { type: 'span', fromMs: 0 })
    await verified(one.directory)
    ok(linesOf(one.directory, 'history.jsonl').length > 6)
    for (const name of [...FILES, ENVELOPE]) {
      deepEqual(
        readFileSync(join(two.directory, name)),
        readFileSync(join(one.directory, name)),
        name,
      )
    }
  })

  test('has the orders that were in effect, and says a policy of then', async () => {
    const it = await told('policy observe parity', ...TREE)
    await it.snapshot()
    await it.tell('policy enforce parity', ...DELETED)
    const { directory } = await exported(it.log, { type: 'span', fromMs: 0 })
    ok(linesOf(directory, 'orders.jsonl').length > 1)
    await verified(directory)
  })

  test('of what is not kept is beyond reach, and leaves no directory', async () => {
    const it = await told(...TREE)
    const position = await it.snapshot()
    await it.log.trim('events', 0, position)
    it.clock.pass(60_000)
    await it.tell('put cm/late')
    for (const question of [
      { type: 'object', uid: 'of-nothing' },
      { type: 'span', fromMs: 0 },
      { type: 'span', fromMs: Number.MAX_SAFE_INTEGER },
    ] as const) {
      const directory = place()
      await rejects(exported(it.log, question, directory), BeyondReachError)
      equal(readdirSync(folder).includes(directory.slice(folder.length + 1)), false)
    }
  })

  test('has records that cannot be read as what they are', async () => {
    const it = await told(...TREE)
    const value = Uint8Array.from([0xc3, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    await it.log.append('events', 0, [{ key: 'c/ns', value }])
    await it.tell(...DELETED)
    const { directory } = await exported(it.log, { type: 'span', fromMs: 0 })
    equal(linesOf(directory, 'events.jsonl').filter(({ record }) => record === null).length, 1)
    await verified(directory)
  })

  test('of a log whose history has the framing of a registry is of a span only', async () => {
    const it = await told(...TREE, ...DELETED)
    const uid = await uidOf(it.log, 'Pod/web')
    const value = Uint8Array.from([0, 0, 0, 0, 7, 1, 2, 3])
    await it.log.append('history', 0, [{ key: `c/${uid}`, value }])
    await rejects(exported(it.log, { type: 'object', uid }), /ask for a span \(--from\)/)
    await verified((await exported(it.log, { type: 'span', fromMs: 0 })).directory)
  })

  test('takes hostile names, keys and uids', async () => {
    const it = await told(...TREE)
    const [added] = eventsOf(['put cm/x']).filter(({ type }) => type === 'ObjectAdded')
    ok(added?.type === 'ObjectAdded')
    const odd = HOSTILE_NAMES.map(
      (name, index): Event => ({
        ...added,
        object: { ...added.object, name, namespace: name, uid: `${name}${index}` },
      }),
    )
    await it.tellEvents(odd)
    const { directory } = await exported(it.log, { type: 'span', fromMs: 0 })
    await verified(directory)
    for (const each of [odd[3], odd.at(-1)]) {
      ok(each?.type === 'ObjectAdded')
      const { uid } = each.object
      if (!uid.isWellFormed()) continue
      await verified((await exported(it.log, { type: 'object', uid })).directory)
    }
  })
})

suite('a bundle that was changed', () => {
  let directory: string
  const copy = (): string => {
    const to = place()
    cpSync(directory, to, { recursive: true })
    return to
  }
  test('is verified before, and has something in each file', async () => {
    const it = await told(...TREE)
    const uid = await uidOf(it.log, 'Deployment/web')
    await it.log.trim('events', 0, await it.snapshot())
    await it.tell('policy enforce parity', ...DELETED)
    ;({ directory } = await exported(it.log, { type: 'cascade', uid }))
    await verified(directory)
    for (const name of FILES) ok(linesOf(directory, name).length > 0, name)
  })

  for (const name of [...FILES, ENVELOPE]) {
    test(`in any byte of ${name} is refused`, async () => {
      const to = copy()
      const bytes = readFileSync(join(directory, name))
      const flipped = async (at: number, flip: number): Promise<void> => {
        const changed = Buffer.from(bytes)
        changed[at] = changed[at]! ^ flip
        writeFileSync(join(to, name), changed)
        await refusalOf(verified(to))
      }
      if (name === ENVELOPE) for (const at of bytes.keys()) await flipped(at, 1 << (at % 8))
      const drawn = [fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 })] as const
      await fc.assert(fc.asyncProperty(...drawn, flipped), { numRuns: 40 })
    })
  }

  test('with a line, a file or a byte more or less is refused', async () => {
    for (const name of [...FILES, ENVELOPE]) {
      for (const change of [(text: string) => `${text}\n`, (text: string) => text.slice(0, -1)]) {
        const to = copy()
        const text = readFileSync(join(to, name), 'utf8')
        writeFileSync(join(to, name), change(text))
        match(await refusalOf(verified(to)), /statement|envelope|spelled/, name)
      }
      const to = copy()
      rmSync(join(to, name))
      match(await refusalOf(verified(to)), /is missing/)
      symlinkSync(join(directory, name), join(to, name))
      match(await refusalOf(verified(to)), /no ordinary file/)
    }
    const to = copy()
    writeFileSync(join(to, 'more.jsonl'), '')
    match(await refusalOf(verified(to)), /"more.jsonl" is no file of a bundle/)
  })

  test('and signed with another key is refused', async () => {
    match(await refusalOf(verified(directory, theirs)), /another key/)
    const to = copy()
    const payload = statementIn(to)
    // With our key's id, too.
    const sealed = theirs.signer.seal(payload).replace(theirs.signer.keyId, ours.signer.keyId)
    writeFileSync(join(to, ENVELOPE), sealed)
    match(await refusalOf(verified(to)), /signature does not fit/)
  })

  /**
   * An owner of the key can sign any statement; one that does not follow from the records is found
   * all the same.
   */
  for (const [what, name, change, expected] of [
    ['a decision left out', 'decisions.jsonl', withoutLine, /decisions.jsonl is not what follows/],
    ['a change left out', 'history.jsonl', withoutLine, /history.jsonl is not what follows/],
    ['an event left out', 'events.jsonl', withoutLine, /follow|says something else/],
    [
      'a state left out',
      'snapshot.jsonl',
      withoutOwner,
      /snapshot|follow|cannot be folded|says something else/,
    ],
    ['a schema left out', 'schemas.jsonl', withoutLine, /schemas.jsonl is not what follows/],
    ['events in another order', 'events.jsonl', swapped, /out of order/],
    ['a reading that its bytes do not have', 'events.jsonl', misread, /not say what its bytes say/],
    ['a schema that reads otherwise', 'schemas.jsonl', misread, /is another one here/],
  ] as const) {
    test(`by who has the key, with ${what}, is refused`, async () => {
      const to = copy()
      const file = join(to, name)
      const text = readFileSync(file, 'utf8')
      writeFileSync(file, change(text))
      const statement = JSON.parse(statementIn(to))
      for (const subject of statement.subject) {
        subject.digest.sha256 = hash('sha256', readFileSync(join(to, subject.name)), 'hex')
      }
      writeFileSync(join(to, ENVELOPE), ours.signer.seal(JSON.stringify(statement)))
      match(await refusalOf(verified(to)), expected)
    })
  }

  test('by who has the key, with a range that the records do not have, is refused or counted', async () => {
    const to = copy()
    const { predicate, ...rest } = JSON.parse(statementIn(to))
    const judged = async (log: object, events = predicate.events): Promise<Proven> => {
      const stated = { ...predicate, log: { ...predicate.log, ...log }, events }
      const text = JSON.stringify({ ...rest, predicate: stated })
      writeFileSync(join(to, ENVELOPE), ours.signer.seal(text))
      return await verified(to)
    }
    const { from, to: end } = predicate.log
    const beyond = String(BigInt(end) + 100n)
    match(await refusalOf(judged({ from: '0' })), /snapshot is later than the first event/)
    match(await refusalOf(judged({ from: end })), /about no event/)
    ok(BigInt(from) > 0n)
    match(await refusalOf(judged({ to: beyond })), /says something else/)
    const { result } = await judged({ to: beyond }, { ...predicate.events, gaps: '100' })
    equal(result.events.gaps, 100n)
  })
})

function statementIn(directory: string): string {
  const { payload } = JSON.parse(readFileSync(join(directory, ENVELOPE), 'utf8'))
  return Buffer.from(payload, 'base64').toString()
}

function withoutLine(text: string): string {
  const lines = text.split('\n')
  return lines.toSpliced(Math.floor((lines.length - 1) / 2), 1).join('\n')
}

/** Of a snapshot: without the owner that was deleted, which is what the cascade follows from. */
function withoutOwner(text: string): string {
  const lines = text.split('\n')
  const index = lines.findIndex((line) => line.includes('"node/c/deploy-web"'))
  ok(index >= 0)
  return lines.toSpliced(index, 1).join('\n')
}

function swapped(text: string): string {
  const [first, second, ...rest] = text.split('\n')
  return [second, first, ...rest].join('\n')
}

function misread(text: string): string {
  return text.replaceAll('"web"', '"wub"').replaceAll('"type":"string"', '"type":"bytes"')
}

/**
 * Another log with these records; `undefined` leaves one out. Offsets change where one is left out.
 */
async function rewritten(
  from: MemoryLog,
  change: (topic: Topic, record: Produced, index: number) => Produced | undefined,
): Promise<MemoryLog> {
  const to = new MemoryLog({ partitions: 1, clock: new SettableClock() })
  for (const topic of [
    'orders',
    'control',
    'events',
    'commands',
    'history',
    'changelog',
    'digests',
  ] as const) {
    let index = 0
    for await (const { key, value } of entriesOf(from, topic, 0)) {
      const record = change(topic, { key, value }, index++)
      if (record !== undefined) await to.append(topic, 0, [record])
    }
  }
  return to
}

suite('a log that was changed', () => {
  test('with a record missing gives no evidence', async () => {
    const it = await told(...TREE, ...DELETED)
    const uid = await uidOf(it.log, 'Pod/web')
    const cut = await rewritten(it.log, (topic, record, index) =>
      topic === 'events' && index === 9 ? undefined : record,
    )
    match(
      await refusalOf(exported(cut, { type: 'object', uid })),
      /differs from its own fold|end before/,
    )
    // One from which nothing was decided: only the digest shows it.
    const { log } = it
    for await (const entry of entriesOf(log, 'events', 0)) {
      const event = codec.decode(entry.value!)
      if (event.type !== 'ObjectAdded' || event.object.name !== 'other') continue
      const other = codec.encode({ ...event, object: { ...event.object, name: 'othex' } })
      const renamed = altered(log, 'events', entry.offset, () => [{ ...entry, value: other }])
      match(
        await refusalOf(exported(renamed, { type: 'span', fromMs: 0 })),
        /the digest of the state/,
      )
    }
    const silent = await rewritten(it.log, (topic, record) =>
      topic === 'commands' ? undefined : record,
    )
    match(await refusalOf(exported(silent, { type: 'span', fromMs: 0 })), /is not on the log/)
  })

  test('and folded again, so that its digests fit, gives evidence, and is found by a checkpoint', async () => {
    const it = await told(...TREE, ...DELETED)
    const checkpoint = await checkpointOf(it.log, signal)
    const read = readCheckpoint(checkpointStatement(checkpoint))
    deepEqual(read, checkpoint)
    const same = await compareWith(it.log, read, 0, signal)
    // Nothing is archived here, no audit log names a user, no order was given, and it is too short
    // for a digest.
    const empty = new Set(['archive', 'actors', 'orders', 'digests'])
    ok(
      same.every(
        ({ topic, same, different, unknown }) =>
          (same !== null || empty.has(topic)) && different === null && unknown === null,
      ),
    )

    // Who can write the log writes another past, and all that follows from it.
    const forged = new Told()
    await forged.tell(
      ...TREE.map((line) => line.replace('web', 'wub')),
      ...DELETED.map((line) => line.replace('web', 'wub')),
    )
    const { directory } = await exported(forged.log, { type: 'span', fromMs: 0 })
    await verified(directory)
    const found = await compareWith(forged.log, read, 0, signal)
    match(found.find(({ topic }) => topic === 'events')?.different?.what ?? '', /are not the/)
  })

  test('in one byte of any record, in its time or by one record, is found by a checkpoint', async () => {
    // Of so many events there is a digest.
    const others = Array.from({ length: DIGEST_RECORDS }, (_, index) => `put cm/n${index}`)
    const { log } = await told(...TREE, ...DELETED, ...others)
    const read = await checkpointOf(log, signal)
    const changes: readonly ((entry: Entry) => readonly Entry[])[] = [
      (entry) => [{ ...entry, timestamp: entry.timestamp + 1 }],
      (entry) => [{ ...entry, key: `${entry.key}x` }],
      (entry) => [
        { ...entry, value: entry.value!.map((byte, at) => (at === 12 ? byte ^ 1 : byte)) },
      ],
      () => [],
    ]
    for (const about of ['events', 'commands', 'history', 'digests'] as const) {
      const { start } = await log.bounds(about, 0)
      for (const change of changes) {
        const other = altered(log, about, start, change)
        const found = await compareWith(other, read, 0, signal)
        const different = found.filter(({ different }) => different !== null)
        deepEqual(
          different.map(({ topic }) => topic),
          [about],
        )
      }
    }
  })

  test('by its end is found by a checkpoint, and by its beginning cannot be compared', async () => {
    const it = await told(...TREE, ...Array.from({ length: 300 }, (_, index) => `put cm/n${index}`))
    const read = await checkpointOf(it.log, signal)
    const cut = await rewritten(it.log, (topic, record, index) =>
      topic === 'events' && index > 200 ? undefined : record,
    )
    const [events] = await compareWith(cut, read, 0, signal)
    match(events?.different?.what ?? '', /^the log ends at 201, and had records up to \d+$/)

    await it.log.trim('events', 0, 100n)
    const [trimmed] = await compareWith(it.log, read, 0, signal)
    deepEqual([trimmed?.unknown?.from, trimmed?.unknown?.to], [0n, 128n])
    deepEqual([trimmed?.same?.from, trimmed?.different], [128n, null])
    const { end } = await it.log.bounds('events', 0)
    await it.log.trim('events', 0, end)
    const [nothing] = await compareWith(it.log, read, 0, signal)
    deepEqual([nothing?.same, nothing?.different, nothing?.unknown?.to], [null, null, end])
    // What is older than is asked for is not missed.
    const [asked] = await compareWith(it.log, read, it.clock.now() + 1, signal)
    deepEqual([asked?.same, asked?.different, asked?.unknown], [null, null, null])
  })
})

/** That log, with something else in place of one entry. */
function altered(
  log: MemoryLog,
  topic: Topic,
  offset: bigint,
  change: (entry: Entry) => readonly Entry[],
): Log {
  const read: Log['read'] = async (of, ...rest) => {
    const page = await log.read(of, ...rest)
    const isIt = (entry: Entry): boolean => of === topic && entry.offset === offset
    return {
      ...page,
      entries: page.entries.flatMap((entry) => (isIt(entry) ? change(entry) : [entry])),
    }
  }
  return {
    read,
    partitions: (of) => log.partitions(of),
    bounds: async (...asked) => await log.bounds(...asked),
    latest: async (...asked) => await log.latest(...asked),
  } as Log
}

test('a span of one of several partitions needs its cluster', async () => {
  const clock = new SettableClock()
  const log = new MemoryLog({ partitions: 2, clock })
  await assign(log, 'c', 1)
  await appendAll(log, eventsOf(TREE), 1)
  await using running = runTask(log, emptyStore(), undefined, 1, clock)
  await running.caughtUp()
  await rejects(exported(log, { type: 'span', fromMs: 0 }), /name a --cluster by its id, one of c/)
  await rejects(exported(log, { type: 'span', cluster: 'x', fromMs: 0 }), /has no cluster x/)
  const { directory, span } = await exported(log, { type: 'span', cluster: 'c', fromMs: 0 })
  equal(span.partition, 1)
  await verified(directory)
})
