/**
 * `kinfold history`, `deletions` and `audit horizon` print what a running Kinfold answers, page
 * after page, and follow what comes.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startPlayground } from '../../playground/playground.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold, startKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { codec, eventsOf } from '../../testing/rig/task-rig.ts'
import type { ChangeList, DeletionList, Horizon } from '../answer.ts'
import { moment } from '../config/setting.ts'
import { printerOf as deletionPrinter } from '../print/deletions-text.ts'
import { printerOf } from './history.ts'
import { render } from './horizon.ts'

const STORY = [
  ...['put deployment/web in shop', 'put cm/a in shop', 'put cm/b in other'],
  ...['delete cm/a in shop', 'delete cm/b in other'],
]

async function served(
  t: TestContext,
): Promise<{ readonly group: GraphGroup; readonly url: string }> {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(group.log, eventsOf(STORY.map((line) => line.replace('deployment', 'deploy'))))
  await group.caughtUp()
  return { group, url }
}

/** Words of each row but its time and position. */
function rowsOf(stdout: string): readonly string[] {
  const [, ...rows] = stdout.trim().split('\n')
  return rows.map((row) => row.split(/ {3,}/).slice(2).join(' '))
}

test('the history of a namespace, of an object and of all, the oldest first', async (t) => {
  const { url } = await served(t)
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [
      '-n shop --change created,deleted',
      [
        'test deployment.apps/web created version 1, owners: none',
        'test configmap/a created version 2, owners: none',
        'test configmap/a deleted its deletion was observed',
      ],
    ],
    [
      'configmap/a -n shop --limit 2',
      [
        'test configmap/a created version 2, owners: none',
        'test configmap/a deleted its deletion was observed',
      ],
    ],
    [
      'configmap -A --change gone --limit 1',
      ['test other configmap/b deleted its deletion was observed'],
    ],
    ['uid:cm-b --change gone', ['test configmap/b deleted its deletion was observed']],
  ]
  for (const [line, rows] of cases) {
    const { code, stdout, stderr } = await runKinfold([
      'history',
      ...line.split(' '),
      '--server',
      url,
    ])
    equal(code, 0, stderr)
    match(stdout, /^TIME +POSITION +CLUSTER/)
    match(stdout, /\n\S+Z +pos:0-\d+ /)
    deepEqual(rowsOf(stdout), rows, line)
    equal(stderr.includes('there may be more'), false, line)
  }
  const names = await runKinfold(['history', '-A', '-o', 'name', '--server', url])
  deepEqual(names.stdout.split('\n').toSorted(), [
    ...['', 'configmap/a', 'configmap/b', 'deployment.apps/web'],
  ])
  const phases = await runKinfold(['history', '-A', '--change', 'phase', '--server', url])
  deepEqual([phases.code, phases.stderr], [0, ''])
  const { stdout } = await runKinfold(['history', '-n', 'empty', '--server', url])
  const elsewhere = 'There are some in other namespaces: -A lists all.'
  match(stdout, /^No changes in namespace empty since \S+Z\. (.*)\n$/)
  ok(stdout.endsWith(` ${elsewhere}\n`), stdout)
  // Without -n it is the namespace default that is looked at, and that is said.
  const deletions = await runKinfold(['deletions', '--server', url])
  match(deletions.stdout, /^No deletions in namespace \S+ since \S+Z\. /)
  ok(deletions.stdout.endsWith(` ${elsewhere}\n`), deletions.stdout)
  const json = await runKinfold(['history', '-A', '--limit', '3', '-o', 'json', '--server', url])
  const told = JSON.parse(json.stdout) as ChangeList
  deepEqual([told.kind, told.changes.length, told.asOf.length], ['ChangeList', 3, 1])
})

test('with -w it goes on with what comes, and gets nothing twice', async (t) => {
  for (const [asked, before] of [
    [['configmap/a', '-n', 'shop'], 2],
    [['-n', 'shop', '--change', 'gone'], 1],
  ] as const) {
    const { group, url } = await served(t)
    const watching = startKinfold(['history', ...asked, '-w', '-o', 'json', '--server', url])
    t.after(() => watching.child.kill('SIGKILL'))
    let text = ''
    watching.child.stdout?.on('data', (chunk) => {
      text += chunk
    })
    const lines = (): readonly string[] => text.split('\n').filter((line) => line !== '')
    await eventually('what there is is printed', async () => lines().length === before || text)
    const [last] = lines().slice(-1)
    // A change of the same object, and one of another.
    for (const uid of [JSON.parse(last ?? '').uid, 'another']) {
      const place = { group: '', kind: 'ConfigMap', namespace: uid === 'another' ? 'no' : 'shop' }
      const value = codec.encode({
        ...{
          type: 'History',
          cluster: 'c',
          ...place,
          name: 'later',
          uid,
          change: 'gone',
          text: 'x',
        },
        ...{
          phase: null,
          evidence: null,
          admission: null,
          command: null,
          partition: 0,
          position: 9_999n,
        },
        ...{ basis: [], at: 1, object: null },
      })
      await group.log.append('history', 1, [{ key: `c/${uid}`, value }])
    }
    await eventually('it has come', async () => lines().length === before + 1 || text)
    equal(JSON.parse(lines().at(-1) ?? '').name, 'later')
    equal(JSON.parse(lines().at(-1) ?? '').cluster.name, 'test')
    watching.child.kill('SIGKILL')
    await watching.ended
  }
})

test('what is asked in the wrong words is bad input, and what lies before the horizon a failure', async (t) => {
  const { url } = await served(t)
  const cases: readonly (readonly [string, number, RegExp])[] = [
    [
      'history --since yesterday',
      2,
      /--since: expected how long ago, such as 24h, or a time, such as \S+ or \S+, not "yesterday"/,
    ],
    ['history --since 5x', 2, /--since: expected how long ago/],
    ['history --change more', 2, /change more is none of created, references/],
    ['history -w --limit 3', 2, /-w goes on for ever: it takes no --limit/],
    ['history cm/a -A', 2, /a name takes a namespace, and not -A/],
    ['history -n shop -o dot', 2, /-o dot is none of table, wide, name, json, yaml/],
    ['history --limit 0 -A', 2, /--limit: expected a whole number from 1/],
    ['deletions --evidence E9', 2, /evidence E9 is none of deleted, waiting/],
    ['deletions --cascade web', 2, /root web is neither KIND\/NAME nor uid:UID/],
    ['deletions nothing -n shop', 2, /no cluster that is asked serves a kind nothing/],
    [
      'history -A --since 1960-01-01T00:00:00Z',
      4,
      /1960-\S+ lies before 1970-\S+, the earliest moment/,
    ],
    ['deletions -A --since 1960-01-01T00:00:00Z', 4, /the earliest moment that is known/],
  ]
  for (const [line, code, sentence] of cases) {
    const ran = await runKinfold([...line.split(' '), '--server', url])
    equal(ran.code, code, line + ran.stderr)
    match(ran.stderr, sentence)
    equal(ran.stdout, '')
  }
})

test('where no audit log names users, a list of one says so', async (t) => {
  const { url } = await served(t)
  const ran = await runKinfold(['deletions', '-A', '--by', 'alice', '--server', url])
  equal(ran.code, 0, ran.stderr)
  match(ran.stdout, /^No deletions since \S+\.\nOnly an audit log names users/)
})

test('from a deletion in a cluster to its rows: by others, and by Kinfold after it', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-history-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  await using playground = await startPlayground({ directory, clusters: ['a'], workload: false })
  const maps = `${playground.servers[0]?.url}/api/v1/namespaces/default/configmaps`
  const make = async (name: string, owner: string | undefined): Promise<string> => {
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner }
    const ownerReferences = owner === undefined ? [] : [reference]
    const body = JSON.stringify({ metadata: { name, ownerReferences } })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(maps, { method: 'POST', headers, body })
    return ((await response.json()) as { metadata: { uid: string } }).metadata.uid
  }
  const owner = await make('owner', undefined)
  await make('owned', owner)
  await make('alone', undefined)
  const data = join(directory, 'kinfold')
  const args = ['--kubeconfig', playground.kubeconfig, '--data', data, '--http', '127.0.0.1:0']
  const running = startKinfold(['up', ...args, '--mode', 'enforce', '--preset', 'parity'])
  t.after(async () => {
    running.child.kill('SIGKILL')
    await running.ended
  })
  await eventually('all are seen', async () => {
    const { stdout } = await runKinfold(['history', '-A', '-o', 'name', '--data', data])
    return ['owner', 'owned', 'alone'].every((each) => stdout.includes(`/${each}\n`)) || stdout
  })
  for (const name of ['alone', 'owner']) await fetch(`${maps}/${name}`, { method: 'DELETE' })
  await eventually('the deletions are recorded, with who did them', async () => {
    const { stdout, stderr } = await runKinfold(['deletions', '-A', '-o', 'json', '--data', data])
    const { deletions } = JSON.parse(stdout || '{"deletions":[]}') as DeletionList
    const rows = deletions.map(({ name, by, evidence, root }) =>
      [name, by, evidence, root?.name].join(' '),
    )
    const expected = ['alone others  ', 'owned kinfold deleted owner', 'owner others  ']
    return rows.toSorted().join() === expected.join() || stdout + stderr
  })
  const cascade = await runKinfold(['deletions', '--cascade', 'cm/owner', '--data', data])
  deepEqual(
    rowsOf(cascade.stdout).map((row) => row.trim()),
    [
      'configmap/owner no audit log says by whom',
      'configmap/owned by Kinfold, because ConfigMap/owner was deleted; no audit log says by whom',
    ],
    cascade.stdout,
  )
  const horizon = await runKinfold(['audit', 'horizon', '--data', data])
  match(horizon.stdout, /^QUESTIONS +PARTITIONS +EARLIEST +WHY\nhistory -n, deletions +0 +2/)
  running.child.kill('SIGTERM')
  equal((await running.ended).code, 0)
})

const NAME = '\u001b[2J\u202egnp\nforged'
const AT = '2026-01-01T00:00:00.000Z'
const CLUSTER = { name: NAME, id: 'c', scope: NAME }
const OBJECT = { group: '', kind: 'Pod', namespace: NAME, name: NAME, uid: 'u' }
const RAW = /[^\P{C}\n]/u

test('hostile names are text, in one row each', () => {
  const change: ChangeList['changes'][number] = {
    ...({ ...OBJECT, type: 'History', change: 'gone', text: NAME, phase: null } as const),
    ...{ evidence: null, command: NAME, partition: 0, position: 7, basis: [], at: AT },
    admission: { by: 'pause', because: NAME, since: AT, until: null },
    cluster: CLUSTER,
  }
  const deleter = {
    ...({ user: NAME, impersonated: NAME, agent: NAME, verb: 'delete', auditId: NAME } as const),
    ...({ isCollector: false, match: 'name-and-time', others: 1, at: AT } as const),
  }
  const deletion: DeletionList['deletions'][number] = {
    ...({ ...OBJECT, at: AT, partition: 0, position: 7, observed: 'deleted' } as const),
    cluster: CLUSTER,
    ...({ by: 'kinfold', evidence: 'deleted', command: NAME, root: OBJECT, text: NAME } as const),
    ...{
      isInferred: true,
      isRootKnown: true,
      unseenSince: null,
      deletedBy: deleter,
      unproven: { user: NAME, impersonated: NAME, agent: NAME, others: 1, at: AT },
      rootDeletedBy: deleter,
    },
  }
  for (const output of ['table', 'wide', 'name'] as const) {
    for (const text of [
      printerOf(output, { allNamespaces: true }).text([change]),
      deletionPrinter(output, { allNamespaces: true })([deletion]),
    ]) {
      ok(!RAW.test(text), JSON.stringify(text))
      equal(text.trim().split('\n').length, output === 'name' ? 1 : 2, text)
    }
  }
  const printer = printerOf('table', {})
  const [head, first] = printer.text([change]).split('\n')
  // The head comes once, and columns do not get narrower.
  const [second, rest] = printer.text([{ ...change, name: 'b', text: 'x' }]).split('\n')
  equal(rest, '')
  equal(second?.indexOf('deleted'), first?.indexOf('deleted'))
  ok(head?.startsWith('TIME'))
})

test('partitions of one bound are one row', () => {
  const bound = { earliest: AT, because: 'trimmed' }
  const told = {
    ...{ apiVersion: 'kinfold/v1', kind: 'Horizon', partial: '', asOf: [] },
    bounds: [
      {
        ...{ source: 'history', questions: ['history'], ...bound },
        partitions: [
          ...[0, 1, 2, 4].map((partition) => ({ partition, first: 3, ...bound })),
          { partition: 3, first: 0, earliest: null, because: 'nothing is recorded yet' },
        ],
      },
    ],
  } as const satisfies Horizon
  equal(
    render(told),
    `QUESTIONS   PARTITIONS   EARLIEST                   WHY
history     0-2,4        2026-01-01T00:00:00.000Z   trimmed
history     3            -                          nothing is recorded yet
`,
  )
})

test('a moment is how long ago, or a time with its zone', () => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  for (const value of ['24h', '2026-01-01T01:00:00+01:00', '2026-01-01T00:00Z']) {
    equal(moment({ key: 'since', value, from: '--since' }, now), '2026-01-01T00:00:00.000Z')
  }
})
