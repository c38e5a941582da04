/**
 * `kinfold evidence` and `kinfold audit checkpoint` as an operator and an auditor use them: on the
 * files of an embedded log, and on another machine that has nothing but the bundle and a public
 * key.
 */
import { equal, match, ok } from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { recordSum } from '../../adapters/sqlite/checksum.ts'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { takeSnapshot } from '../../services/graph/fold/retention.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../testing/rig/task-rig.ts'
import { makeKeys } from '../../testing/signing-keys.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinfold-evidence-'))
const { key, pub } = makeKeys(folder)
const data = join(folder, 'data')
after(() => rmSync(folder, { recursive: true, force: true }))

const STORY: readonly string[] = [
  ...['policy enforce parity', 'put deploy/web', 'put rs/web <- deploy/web'],
  ...['put pod/web <- rs/web', 'delete deploy/web', 'delete rs/web', 'delete pod/web'],
]

/** A data directory whose log has a story, folded. */
async function record(directory: string, story: readonly string[]): Promise<void> {
  mkdirSync(directory)
  const clock = systemClock()
  await using log = await openSqliteLog({ directory: join(directory, 'log'), partitions: 1, clock })
  await appendAll(log, eventsOf(story))
  await using running = runTask(log, emptyStore())
  await running.caughtUp()
}

async function ran(args: readonly string[], expected: number, output: RegExp): Promise<Ran> {
  const done = await runKinfold(args)
  equal(done.code, expected, done.stdout + done.stderr)
  match(done.stdout + done.stderr, output)
  const errors = done.stderr.split('\n').filter((line) => line.startsWith('error: '))
  equal(errors.length, expected === 0 || done.stdout !== '' ? 0 : 1, done.stderr)
  return done
}

const exportTo = (out: string, ...more: readonly string[]): readonly string[] => [
  ...['evidence', 'export', '--data', data, '--sign-key', key, '--out', out],
  ...more,
]
const compare = (of: string, file: string, ...more: readonly string[]): readonly string[] => [
  ...['audit', 'checkpoint', '--data', of, '--verify', file, '--key', pub],
  ...more,
]

before(async () => record(data, STORY))

test('a bundle is verified on a machine without the log and without a network', async () => {
  const out = join(folder, 'bundle')
  await ran(
    exportTo(out, '--cascade', await uid()),
    0,
    /^\S+bundle: 2 decisions and \d+ changes about/,
  )
  const elsewhere = mkdtempSync(join(tmpdir(), 'kinfold-elsewhere-'))
  try {
    cpSync(out, join(elsewhere, 'bundle'), { recursive: true })
    cpSync(pub, join(elsewhere, 'key.pub'))
    const isolated = join(elsewhere, 'isolated.mjs')
    // Whatever connects, looks a name up or writes, ends the process.
    writeFileSync(
      isolated,
      `import net from 'node:net'
import dns from 'node:dns'
const end = () => process.exit(99)
net.Socket.prototype.connect = end
net.Server.prototype.listen = end
dns.lookup = end
`,
    )
    const env = {
      HOME: elsewhere,
      XDG_DATA_HOME: join(elsewhere, 'nothing'),
      NODE_OPTIONS: `--permission --allow-fs-read=* --import ${isolated}`,
    }
    const args = [
      'evidence',
      'verify',
      join(elsewhere, 'bundle'),
      '--key',
      join(elsewhere, 'key.pub'),
    ]
    const { code, stdout, stderr } = await runKinfold(args, env)
    equal(code, 0, stderr)
    match(stdout, /^proven: signed with the key [0-9a-f]{64}, and every file is as it was signed$/m)
    match(
      stdout,
      /^proven: 2 decisions, \d+ changes and \d+ states about .* follow from the records/m,
    )
    match(stdout, /^not proven: that the records are what was observed/m)
    equal(existsSync(join(elsewhere, 'nothing')), false)
    equal(readdirSync(join(elsewhere, 'bundle')).length, 8)
  } finally {
    rmSync(elsewhere, { recursive: true, force: true })
  }
})

async function uid(): Promise<string> {
  await using log = await openSqliteLog({
    ...{ directory: join(data, 'log'), clock: systemClock(), readOnly: true },
  })
  const { entries } = await log.read('events', 0, 0n, { limit: 100, waitMs: 0 })
  for (const { value } of entries) {
    const event = codec.decode(value!)
    if (event.type === 'ObjectAdded' && event.object.kind === 'Deployment') return event.object.uid
  }
  throw new Error('no Deployment on the log')
}

suite('evidence that proves nothing', () => {
  const rows: readonly (readonly [string, number, () => readonly string[], RegExp])[] = [
    ['about nothing', 2, () => exportTo(join(folder, 'x')), /name an object \(--uid\), an owner/],
    ['about two', 2, () => exportTo(join(folder, 'x'), '--uid', 'a', '--cascade', 'b'), /name one/],
    [
      'about an empty uid',
      2,
      () => exportTo(join(folder, 'x'), '--uid', ''),
      /a uid has to be named/,
    ],
    ['to where something is', 2, () => exportTo(folder, '--uid', 'a'), /there already/],
    [
      'to below nothing',
      2,
      () => exportTo(join(folder, 'x', 'y'), '--uid', 'a'),
      /there is no directory/,
    ],
    [
      'with a public key',
      2,
      () => exportTo(join(folder, 'x'), '--uid', 'a', '--sign-key', pub),
      /is no Ed25519 key/,
    ],
    [
      'about an unknown uid',
      4,
      () => exportTo(join(folder, 'x'), '--uid', 'a\u001b[1m'),
      /nothing about the uid/,
    ],
    [
      'of a span that ends too early',
      2,
      () => exportTo(join(folder, 'x'), '--from', '1h', '--to', '2h'),
      /is not after/,
    ],
    ['of no time', 2, () => exportTo(join(folder, 'x'), '--from', 'soon'), /--from/],
    [
      'of nothing',
      2,
      () => ['evidence', 'verify', join(folder, 'x'), '--key', pub],
      /there is no directory/,
    ],
    ['without a key', 2, () => ['evidence', 'verify', folder], /--key/],
    [
      'with a private key',
      2,
      () => ['evidence', 'verify', folder, '--key', key],
      /it is a private key/,
    ],
    [
      'of another directory',
      1,
      () => ['evidence', 'verify', folder, '--key', pub],
      /refused: schemas.jsonl is missing/,
    ],
  ]
  for (const [what, code, args, message] of rows) {
    test(`${what}: exit code ${code}`, async () => {
      const { stdout, stderr } = await ran(args(), code, message)
      ok(!(stdout + stderr).includes('\u001b'))
      equal(existsSync(join(folder, 'x')), false)
    })
  }

  test('a file that was changed: exit code 1', async () => {
    const out = join(folder, 'changed')
    await ran(exportTo(out, '--from', '1h'), 0, /about all objects/)
    const file = join(out, 'decisions.jsonl')
    writeFileSync(file, readFileSync(file, 'utf8').replace('"enforce"', '"observe"'))
    await ran(['evidence', 'verify', out, '--key', pub], 1, /refused: decisions.jsonl was changed/)
  })
})

suite('a checkpoint', () => {
  const file = join(folder, 'checkpoint.json')
  before(async () => {
    const args = ['audit', 'checkpoint', '--data', data, '--sign-key', key, '--out', file]
    await ran(args, 0, /^events of partition 0: 0 to \d+$/m)
  })

  test('shows that the log is as it was, also after more was appended', async () => {
    await ran(
      compare(data, file),
      0,
      /^events of partition 0: as in the checkpoint from 0 to \d+$/m,
    )
    const more = join(folder, 'more')
    cpSync(data, more, { recursive: true })
    {
      await using log = await openSqliteLog({ directory: join(more, 'log'), clock: systemClock() })
      await appendAll(log, eventsOf([...STORY, 'put cm/later']).slice(eventsOf(STORY).length))
      await using running = runTask(log, emptyStore())
      await running.caughtUp()
    }
    await ran(compare(more, file), 0, /as in the checkpoint/)
  })

  test('finds a log that was folded anew from other events, which its own digests do not', async () => {
    const forged = join(folder, 'forged')
    await record(
      forged,
      STORY.map((line) => line.replaceAll('web', 'wub')),
    )
    await ran(['audit', 'verify', '--data', forged], 0, /identical/)
    await ran(
      compare(forged, file),
      1,
      /^events of partition 0: different from 0 to \d+: \d+ records there/m,
    )
  })

  test('finds a log whose end was cut, and folded anew', async () => {
    const cut = join(folder, 'cut')
    await record(cut, STORY.slice(0, -2))
    await ran(['audit', 'verify', '--data', cut], 0, /identical/)
    await ran(compare(cut, file), 1, /the log ends at \d+, and had records up to \d+/)
  })

  test('finds a name that was changed in the file, with the sums that it is read by', async () => {
    const changed = join(folder, 'rewritten')
    cpSync(data, changed, { recursive: true })
    rewriteEvent(join(changed, 'log', 'log.sqlite'), 'web', 'wub')
    await ran(['audit', 'verify', '--data', changed], 1, /different at event/)
    await ran(compare(changed, file), 1, /^events of partition 0: different/m)
    const out = join(folder, 'of-rewritten')
    const args = [
      'evidence',
      'export',
      '--data',
      changed,
      '--sign-key',
      key,
      '--out',
      out,
      '--from',
      '1h',
    ]
    await ran(args, 1, /refused: the log differs from its own fold at event \d+/)
    equal(existsSync(out), false)
  })

  test('can say nothing of what retention removed', async () => {
    const trimmed = join(folder, 'trimmed')
    cpSync(data, trimmed, { recursive: true })
    {
      await using log = await openSqliteLog({
        directory: join(trimmed, 'log'),
        clock: systemClock(),
      })
      await using running = runTask(log, emptyStore())
      await running.caughtUp()
      const taken = await takeSnapshot(
        { log, codec, task: running.task },
        new AbortController().signal,
      )
      await log.trim('events', 0, taken!.position)
    }
    const all =
      /events of partition 0: 0 to \d+ cannot be compared: removed since, the newest from \d{4}/
    await ran(compare(trimmed, file), 4, all)
    // Commands and history are there; of the events nothing is asked for.
    await ran(compare(trimmed, file, '--from', '1s'), 4, /nothing to compare/)
  })

  test('is a manifest, whose checkpoint is the same', async () => {
    const args = [
      'audit',
      'checkpoint',
      '--data',
      data,
      '--sign-key',
      key,
      '--configmap',
      'audit/one',
    ]
    const { stdout } = await ran(args, 0, /"kind": "ConfigMap"/)
    const { metadata, immutable, data: content } = JSON.parse(stdout)
    equal(JSON.stringify([metadata, immutable]), '[{"namespace":"audit","name":"one"},true]')
    equal(content['checkpoint.json'], readFileSync(file, 'utf8'))
  })

  for (const [what, code, args, message] of [
    ['without a key', 2, ['--out', 'x'], /name a key to sign with/],
    ['over another file', 2, ['--sign-key', key, '--out', pub], /there already/],
    ['as no name', 2, ['--sign-key', key, '--configmap', 'a/../b'], /expected NAMESPACE\/NAME/],
    ['verified without a key', 2, ['--verify', file], /--verify: name the public key/],
    ['of a file that is none', 1, ['--verify', pub, '--key', pub], /no DSSE envelope/],
    ['of no file', 2, ['--verify', join(folder, 'x'), '--key', pub], /cannot be read/],
    ['made and verified', 2, ['--verify', file, '--key', pub, '--out', 'x'], /not with --verify/],
  ] as const) {
    test(`${what}: exit code ${code}`, async () => {
      await ran(['audit', 'checkpoint', '--data', data, ...args], code, message)
    })
  }

  test('in whose place there is evidence, or one by another key, is refused', async () => {
    const out = join(folder, 'instead')
    await ran(exportTo(out, '--from', '1h'), 0, /./)
    await ran(
      compare(data, join(out, 'statement.dsse.json')),
      1,
      /it is no https:\/\/kinfold.dev\/checkpoint/,
    )
    const { pub: other } = makeKeys(folder, 'other')
    const args = ['audit', 'checkpoint', '--data', data, '--verify', file, '--key', other]
    await ran(args, 1, /signed with another key/)
  })
})

/** Of the first event that has it: lane 0 of the file (adapters/sqlite/schema.ts). */
function rewriteEvent(path: string, from: string, to: string): void {
  const db = new DatabaseSync(path)
  const rows = db
    .prepare('SELECT id, timestamp, key, value FROM record WHERE id < (1 << 44) ORDER BY id')
    .all()
  const row = rows.find(({ value }) => Buffer.from(value as Uint8Array).includes(from))
  ok(row !== undefined && typeof row['id'] === 'number')
  const value = Buffer.from(row['value'] as Uint8Array)
  for (let at = value.indexOf(from); at >= 0; at = value.indexOf(from)) value.write(to, at)
  const sum = recordSum(0, row['id'], Number(row['timestamp']), String(row['key']), value)
  db.prepare('UPDATE record SET value = ?, sum = ? WHERE id = ?').run(value, sum, row['id'])
  db.prepare('UPDATE record SET prev = ? WHERE id = ?').run(sum, row['id'] + 1)
  db.close()
}
