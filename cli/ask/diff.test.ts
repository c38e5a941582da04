/**
 * `kinfold diff` prints what differs, in order, with an exit code that says whether anything does.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { type MinuteRig, rigged } from '../../testing/rig/minute-rig.ts'
import type { Diff } from '../answer.ts'
import { render } from '../print/diff-text.ts'

interface Told {
  readonly rig: MinuteRig
  readonly from: string
  readonly to: string
  diff(line: string): Promise<Awaited<ReturnType<typeof runKinfold>>>
}

async function told(t: Parameters<typeof rigged>[0]): Promise<Told> {
  const rig = await rigged(t)
  await rig.minute()
  const first = ['put deploy/web', 'put rs/one <- deploy/web', 'put rs/two <- deploy/web']
  const from = await rig.minute(...first, 'put pod/z <- rs/one', 'put cm/old')
  const to = await rig.minute('put pod/z <- rs/two', 'delete cm/old', 'put pod/a <- rs/two')
  const diff = async (line: string): ReturnType<typeof runKinfold> =>
    await runKinfold(['diff', ...line.split(' '), '--server', rig.url])
  return { rig, from, to, diff }
}

test('what differs is a table in order, and exit code 1', async (t) => {
  const { diff, from, to } = await told(t)
  const { code, stdout, stderr } = await diff(`-n ns --from ${from} --to ${to}`)
  deepEqual([code, stderr], [1, ''])
  const at = `${to}   test     `
  equal(
    stdout,
    `CHANGE    TIME                       CLUSTER   OBJECT          DETAILS
added     ${at} pod/a           owned by replicaset/two
deleted   ${at} configmap/old   no audit log says by whom
changed   ${at} pod/z           owners replicaset/one → replicaset/two

1 added, 1 deleted, 1 changed.
`,
  )
  const names = await diff(`pods -A --from ${from} --to ${to} -o name`)
  deepEqual([names.code, names.stdout], [1, 'pod/a\npod/z\n'])
  const lines = (await diff(`-A --from ${from} --to ${to} -o jsonl`)).stdout.trim().split('\n')
  deepEqual(lines.map((line) => JSON.parse(line).name).toSorted(), ['a', 'old', 'z'])
  const document = JSON.parse((await diff(`-A --from ${from} --to ${to} -o json`)).stdout) as Diff
  deepEqual(
    [document.kind, document.continue, document.from?.time, document.to?.time],
    ['Diff', null, from, to],
  )
  deepEqual(
    document.differences.map(({ name }) => name),
    ['a', 'old', 'z'],
  )
  const wide = await diff(`-A --from ${from} --to ${to} -o wide`)
  match(wide.stdout, /NAMESPACE +OBJECT +UID +EVIDENCE +COMMAND +DETAILS/)
})

test('without a difference the exit code is 0, and 4 where that is not known', async (t) => {
  const { rig, diff, from, to } = await told(t)
  const same = await diff(`-A --from ${to} --to ${to}`)
  deepEqual([same.code, same.stdout, same.stderr], [0, 'No differences.\n', ''])
  const other = await diff(`-n other --from ${from} --to ${to}`)
  deepEqual([other.code, other.stdout], [0, 'No differences in namespace other.\n'])
  const unlisted = await diff('deployments -n other --from 2020-01-01T00:00:00Z')
  equal(unlisted.code, 4)
  match(
    unlisted.stderr,
    /^warning: .*nothing of this cluster was recorded by then\n.*whether anything differs is not known/,
  )
  const { entries } = await rig.log.read('events', 0, 0n, { limit: 10_000, waitMs: 0 })
  await rig.forget(entries.find(({ timestamp }) => timestamp > Date.parse(from))?.offset ?? 0n)
  const before = new Date(Date.parse(from) - 1).toISOString()
  const beyond = await diff(`-A --from ${before}`)
  equal(beyond.code, 4)
  match(beyond.stderr, /the earliest moment is \S+, or pos:0-\d+/)
  equal(beyond.stdout, '')
})

test('what is asked in the wrong words is bad input', async (t) => {
  const { diff, from, to } = await told(t)
  const cases: readonly (readonly [string, RegExp])[] = [
    ['-A', /required option '--from <moment>' not specified/],
    ['pod/a --from 2h', /pod\/a: expected KIND; "kinfold history pod\/a" says what happened/],
    ['-A --from yesterday', /--from: expected how long ago/],
    [`-A --from ${from} --to x`, /--to: expected how long ago/],
    [`-A --from ${to} --to ${from}`, /from is later than to in cluster test/],
    [`nothing -A --from ${from} --to ${to}`, /no cluster that is asked serves a kind nothing/],
    [`-A --from ${from} -o dot`, /-o dot is none of table, wide, name, json, yaml, jsonl/],
  ]
  for (const [line, sentence] of cases) {
    const { code, stderr } = await diff(line)
    equal(code, 2, line + stderr)
    match(stderr, sentence)
  }
})

test('who deleted each is one sentence: the user, or the root of a cascade, as inferred (C3)', () => {
  const at = '2026-01-01T00:00:00.000Z'
  const then = { phase: 'observed', deletionTimestamp: null, owners: [] } as const
  const named = (kind: string, name: string) => ({
    group: '',
    kind,
    namespace: 'shop',
    name,
    uid: name,
  })
  const asked = { impersonated: null, verb: 'delete', match: 'uid', auditId: 'x', at } as const
  const alice = { ...asked, user: 'alice', agent: '', isCollector: false, others: 0 }
  const user = 'system:serviceaccount:kube-system:generic-garbage-collector'
  const collector = { ...alice, user, isCollector: true }
  const nobody = {
    root: null,
    isInferred: false,
    isRootKnown: true,
    unseenSince: null,
    rootDeletedBy: null,
  }
  const others = {
    ...nobody,
    by: 'others',
    unproven: null,
    evidence: null,
    command: null,
    text: '',
  } as const
  const followed = { root: named('Deployment', 'web'), isInferred: true, rootDeletedBy: alice }
  const rows = [
    ['a', { ...others, deletedBy: alice }],
    ['b', { ...others, deletedBy: collector, ...followed }],
    ['c', { ...others, deletedBy: collector, isRootKnown: false }],
    ['d', { ...others, deletedBy: null, ...followed, rootDeletedBy: null }],
    ['e', { ...others, deletedBy: null, unproven: { ...alice, at } }],
  ] as const
  const differences: Diff['differences'] = rows.map(([name, deletion]) => ({
    ...{ ...named('Pod', name), cluster: { name: 'north', id: 'c', scope: 'north' } },
    ...{ at, createdAt: at, change: 'deleted', from: then, to: null, deletion },
  }))
  const document = { apiVersion: 'kinfold/v1', kind: 'Diff', partial: '', asOf: [] } as const
  const rest = { from: null, to: null, kinds: [], continue: null, differences }
  const text = render({ ...document, ...rest }, 'table', 'shop')
  const details = text.split('\n').flatMap((line) => /pod\/\w +(.*)$/.exec(line)?.[1] ?? [])
  deepEqual(details, [
    'by alice',
    'by kube-controller-manager, because alice deleted Deployment/web (inferred)',
    'by kube-controller-manager; after which owner was deleted is not known',
    'because Deployment/web was deleted (inferred); no audit log says by whom',
    `no audit log proves by whom: perhaps by alice, who asked to delete that name at ${at.replace('.000Z', 'Z')}`,
  ])
})

test('hostile names are text, in one row each', () => {
  const name = '\u001b[2J\u202egnp\nforged'
  const at = '2026-01-01T00:00:00.000Z'
  const owner = { apiVersion: 'v1', kind: name, name, uid: name }
  const owners = [{ ...owner, controller: null, blockOwnerDeletion: null }]
  const then = { phase: 'observed', deletionTimestamp: null, owners } as const
  const object = { group: '', kind: 'Pod', namespace: name, name, uid: 'u', at, createdAt: at }
  const who = {
    ...{ root: null, isInferred: false, isRootKnown: true, unseenSince: null },
    ...{ deletedBy: null, unproven: null, rootDeletedBy: null },
  }
  const by = { ...who, by: 'kinfold', evidence: 'deleted', command: name, text: name } as const
  const cluster = { name, id: 'c', scope: name }
  const differences: Diff['differences'] = [
    {
      ...object,
      cluster,
      change: 'changed',
      from: { ...then, owners: [] },
      to: then,
      deletion: null,
    },
    { ...object, cluster, change: 'deleted', from: then, to: null, deletion: by },
  ]
  const document = { apiVersion: 'kinfold/v1', kind: 'Diff', partial: '', asOf: [] } as const
  const rest = { from: null, to: null, kinds: [], continue: null, differences }
  for (const output of ['table', 'wide', 'name'] as const) {
    const text = render({ ...document, ...rest }, output, null)
    ok(!/[^\P{C}\n]/u.test(text), JSON.stringify(text))
    equal(text.trim().split('\n').length, output === 'name' ? 2 : 5, text)
  }
})

test('of two of one name the deleted one comes before the one in its place', () => {
  const cluster = { name: 'north', id: 'c', scope: 'north' }
  const row = {
    group: '',
    kind: 'Pod',
    namespace: 'shop',
    name: 'a',
    cluster,
    from: null,
    to: null,
    deletion: null,
    createdAt: null,
  }
  const differences: Diff['differences'] = [
    { ...row, uid: 'u-1', change: 'added', at: '2026-01-31T09:31:00Z' },
    { ...row, uid: 'u-2', change: 'deleted', at: '2026-01-31T09:30:00Z' },
  ]
  const document = { apiVersion: 'kinfold/v1', kind: 'Diff', partial: '', asOf: [] } as const
  const rest = { from: null, to: null, kinds: [], continue: null, differences }
  const lines = render({ ...document, ...rest }, 'table', null).split('\n')
  deepEqual(
    lines.slice(1, 3).map((line) => line.split(' ')[0]),
    ['deleted', 'added'],
  )
})
