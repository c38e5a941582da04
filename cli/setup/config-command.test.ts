/**
 * A config file before anything starts: all its faults in the sentences of a start, and what it
 * means, without what must stay secret.
 */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { CONFIG_KEYS, graphOptionsOf, type UpConfig, upConfig } from '../config/config.ts'
import { faultsOf } from '../config/config-check.ts'
import { readConfigMapping } from '../config/config-file.ts'
import { printed } from '../config/config-print.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinfold-config-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

function write(text: string, name = `config-${files++}.yaml`): string {
  const file = join(folder, name)
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

const HEAD = 'apiVersion: kinfold/v1alpha1\nkind: Config\n'

test('all faults are told at once, each as a start would', async () => {
  const text = `${HEAD}mode: fast
preset: strict
holds: { deleted: soon }
approvals: 2
colour: red
partitions: 999
notify: { url: 'http://example.com/hook' }
kafka: { broker: here }
archive: { secrets: true }
`
  const file = write(text)
  const faults = faultsOf(readConfigMapping(file), file)
  const expected = [
    /: mode: "fast" is none of observe, dry-run, enforce$/,
    /: preset: "strict" is none of parity, guarded$/,
    /: holds\.deleted: expected a duration/,
    /: approvals: 2 takes httpAuth/,
    /unknown key colour; known are /,
    /: partitions: expected a whole number from 1 to 256, not 999$/,
    /: notify\.url: without TLS/,
    /: kafka: unknown key broker; known are brokers/,
    /: archive\.secrets: Secrets are archived encrypted only/,
  ]
  equal(faults.length, expected.length, faults.join('\n'))
  for (const sentence of expected)
    ok(
      faults.some((fault) => sentence.test(fault)),
      `${sentence}`,
    )

  const validated = await runKinfold(['config', 'validate', file])
  equal(validated.code, 2)
  deepEqual(validated.stderr.trimEnd().split('\n').length, expected.length)
  match(validated.stderr, /\(9 faults in all\)\n$/)
  // The first one that a start meets is among them.
  const started = await runKinfold(['up', '--config', file])
  equal(started.code, 2)
  ok(validated.stderr.includes(started.stderr.trimEnd()), started.stderr)
})

for (const [name, text, sentence] of [
  ['a file that is no YAML', 'a: [', /--config .*yaml: /],
  ['a file that is no mapping', '- a\n', /expected a YAML mapping/],
  ['another kind', 'apiVersion: v1\nkind: Pod\n', /expected apiVersion: kinfold\/v1alpha1/],
  ['an endpoint for anybody', `${HEAD}http: 0.0.0.0:7070\n`, /anybody could ask there/],
  ['a token file that is absent', `${HEAD}httpTokenFile: /nowhere/token\n`, /\/nowhere\/token/],
  ['brokers without TLS', `${HEAD}kafka: { brokers: ['k.example.com:9092'] }\n`, /insecure/i],
] as const) {
  test(`${name} is bad input`, async () => {
    const { code, stdout, stderr } = await runKinfold(['config', 'validate', write(text)])
    deepEqual([code, stdout], [2, ''])
    match(stderr, sentence)
  })
}

test('a file that is absent is bad input, and a good one is said to be', async () => {
  const absent = await runKinfold(['config', 'print', join(folder, 'absent')])
  equal(absent.code, 2)
  match(absent.stderr, /absent cannot be read/)
  const file = write(
    `${HEAD}mode: enforce\nkafka: { tls: true }\nhttpAuth: token-review:a\nhttp: 0.0.0.0:1\n`,
  )
  const { code, stdout, stderr } = await runKinfold(['config', 'validate', file])
  deepEqual([code, stdout], [0, `${file} is valid.\n`], stderr)
})

test('the file of the documents is valid, but for the files that it names', () => {
  const page = readFileSync(
    join(import.meta.dirname, '..', '..', 'docs', 'operate', 'config.md'),
    'utf8',
  )
  const [, example = ''] = /```yaml\n(apiVersion: kinfold[^`]*)```/.exec(page) ?? []
  const file = write(example)
  const faults = faultsOf(readConfigMapping(file), file)
  for (const fault of faults) match(fault, /\/etc\/kinfold\/\S+ cannot be read/)
})

/** What a start makes of it. */
function meaningOf(config: UpConfig): unknown {
  const { archive, ...rest } = config
  return JSON.parse(
    JSON.stringify([
      rest,
      archive.settings,
      [...(archive.observed?.kinds ?? [])],
      graphOptionsOf(config),
    ]),
  )
}

for (const [name, settings] of [
  ['nothing', ''],
  ['parity', 'preset: parity\n'],
  ['a budget in parity', 'preset: parity\nbudgets: { missing: 7 }\n'],
  ['former names of evidence', 'holds: { e1: 0s, E3: 2h }\nbudgets: { e2: 3 }\n'],
  ['no budgets', 'budgets: none\n'],
  ['protection', 'protection: { kinds: [Widget.example.com], othersMarks: false }\n'],
  [
    'rules',
    'rules:\n- { builtin: finished-jobs, name: jobs }\n- { name: old, match: { kinds: [Pod], labels: a }, after: 3d }\n',
  ],
  [
    'much',
    'mode: enforce\nkeep: 3d\nremember: 25h\ndiskReserve: 1GiB\nkinds: [pods]\ncontexts: [a]\n',
  ],
  ['an archive', 'archive: { enabled: true }\n'],
  ['an archive of observed deletions', 'archive: { enabled: true, kinds: [pods] }\n'],
] as const) {
  test(`${name}, printed with defaults, is a config file that means the same`, () => {
    const file = write(HEAD + settings)
    for (const withDefaults of [false, true]) {
      const again = write(printed(readConfigMapping(file), withDefaults))
      deepEqual(faultsOf(readConfigMapping(again), again), [])
      deepEqual(meaningOf(upConfig({ config: again })), meaningOf(upConfig({ config: file })))
    }
  })
}

test('with defaults every key has a value or a sentence', () => {
  const text = printed(parse(HEAD), true)
  for (const key of CONFIG_KEYS) match(text, new RegExp(`^(# )?${key}:`, 'm'), key)
  match(text, /^mode: dry-run$/m)
  match(text, /^remember: 30d$/m)
})

test('no secret is printed: neither of a file that is named, nor in the address of a webhook', async () => {
  const tokenFile = write('a-token-that-nobody-may-see\n', 'token')
  const file = write(
    `${HEAD}httpTokenFile: ${tokenFile}\nnotify: { url: 'https://hooks.example.com/secret-path/x?y=z' }\n`,
  )
  const { code, stdout, stderr } = await runKinfold(['config', 'print', file, '--with-defaults'])
  equal(code, 0, stderr)
  match(stdout, /url: https:\/\/hooks\.example\.com\/<hidden>/)
  doesNotMatch(stdout + stderr, /nobody-may-see|secret-path|y=z/)
})
