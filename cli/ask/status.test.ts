/** Whether all is well: by what the endpoint says, and nothing unknown is fine. */
import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ServerProcess } from '../../testing/cluster/server-process.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'
import { type Read, render, statusOf } from './status.ts'

const cluster = { name: 'north', id: 'c-1', scope: 'north' }
const none = {
  mode: 0,
  pause: 0,
  protection: 0,
  approval: 0,
  breaker: 0,
  hold: 0,
  budget: 0,
  rule: 0,
}
const well: NonNullable<Read['list']['clusters'][number]['status']> = {
  ...{ mode: 'enforce', preset: 'guarded', heartbeatAgeMs: 4_000, monitored: 52, synced: 52 },
  ...{ lagEntries: 0, isPaused: false, pauses: [], openBreakers: 0, held: none, refused: 0 },
  overdue: { objects: 0, since: null, example: null },
  rules: null,
  cutOff: [],
  forgotten: [],
}
const HEAD = { apiVersion: 'kinfold/v1', kind: 'ClusterList', partial: '' } as const
const METRICS = `kinfold_lock{cluster="north",required="true"} 1
kinfold_cluster_connected{cluster="north"} 1
kinfold_cluster_connected{cluster="other"} 0
`

function readOf(status: typeof well | null, more: Partial<Read> = {}): Read {
  const clusters = [{ cluster, partition: 0, status }]
  const list = { ...HEAD, clusters }
  return { list, isReady: true, checks: ['readyz check passed'], metrics: METRICS, ...more }
}

test('where all is well nothing needs a person', () => {
  const answer = statusOf(readOf(well))
  deepEqual(answer.needs, [])
  equal(
    render(answer, 'table'),
    `CLUSTER   MODE      PRESET    KINDS   SEEN     LAG   HELD   REFUSED   BREAKERS   LOCK       STATE
north     enforce   guarded   52/52   4s ago   0     0      0         0          in force   fine
Nothing needs a person.
`,
  )
})

test('a cluster of owners that is not followed is named, with what ends it for good', () => {
  const hub = { name: 'hub', id: 'u', scope: 'hub' }
  const cutOff = [{ ownerCluster: hub, because: 'which is cut off: its watcher has no contact' }]
  const answer = statusOf(readOf({ ...well, cutOff }))
  deepEqual(answer.needs, [])
  match(
    render(answer, 'table'),
    /^Rules of north wait for owners in cluster hub, which is cut off: its watcher has no contact \(should it be gone for good: kinfold plan forget-cluster hub\)$/m,
  )
})

test('a cluster of owners that an order forgets is named, with what ends it', () => {
  const hub = { name: 'hub', id: 'u', scope: 'hub' }
  const forgotten = [
    { ownerCluster: hub, who: 'ann', why: 'dismantled', since: '2026-05-31T00:00:00.000Z' },
  ]
  const answer = statusOf(readOf({ ...well, forgotten }))
  deepEqual(answer.needs, [])
  match(
    render(answer, 'table'),
    /^Rules of north delete nothing by owners in cluster hub, which ann had forgotten at 2026-05-31T00:00:00\S* \(dismantled; kinfold remember-cluster hub --why … ends it\)$/m,
  )
})

test('of many clusters those that need a person come first, and the rest is counted', () => {
  const [first] = readOf(well).list.clusters
  const clusters = Array.from({ length: 1_000 }, (_, each) => {
    const name = `c${each}`
    const status = each % 100 === 7 ? { ...well, openBreakers: 1 } : well
    return { ...first!, cluster: { name, id: name, scope: name }, status }
  })
  const answer = statusOf({ ...readOf(well), list: { ...HEAD, clusters } })
  const lines = render(answer, 'table').trimEnd().split('\n')
  deepEqual(
    lines.slice(1, 12).map((line) => line.split(' ')[0]),
    [...Array.from({ length: 10 }, (_, each) => `c${100 * each + 7}`), 'c0'],
  )
  equal(lines[41], 'and 960 more clusters: --all lists them')
  equal(lines.length, 1 + 40 + 1 + 1 + 10)
  equal(render(answer, 'table', true).trimEnd().split('\n').length, 1 + 1_000 + 1 + 10)
  const broken = clusters.map((each) => ({ ...each, status: { ...well, openBreakers: 1 } }))
  const printed = render(
    statusOf({ ...readOf(well), list: { ...HEAD, clusters: broken } }),
    'table',
  )
  match(printed, /^and 960 more needs: --all lists them$/m)
})

test('rules are said in a line, where the policy has some', () => {
  const rules = { dryRun: 2, enforced: 1, overLimit: 0, due: 12 }
  const printed = render(statusOf(readOf({ ...well, rules })), 'table')
  match(
    printed,
    /^Rules of north: 2 in dry run, 1 enforced; 12 objects due \(kinfold rules list\)$/m,
  )
  const uncounted = render(statusOf(readOf({ ...well, rules: { ...rules, due: null } })), 'table')
  match(uncounted, /^Rules of north: 2 in dry run, 1 enforced \(kinfold rules list\)$/m)
})

const SINCE = '2026-11-27T12:00:00.000Z'
const STUCK = {
  ...{ group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'u' },
  ...({ phase: 'waiting', because: 'waits for the finalizer x.dev/y of Pod/a' } as const),
}

const NEEDS: readonly (readonly [string, Read, RegExp])[] = [
  ['a status that is unknown', readOf(null), /^its status is unknown/],
  [
    'a pause',
    readOf({ ...well, isPaused: true, pauses: [{ isOfAll: false, who: 'ann', why: 'a test' }] }),
    /^it is paused by ann \(a test\): kinfold resume --cluster north --why …$/,
  ],
  [
    'a pause of all clusters (C7)',
    readOf({ ...well, isPaused: true, pauses: [{ isOfAll: true, who: 'ann', why: '' }] }),
    /^it is paused by ann: kinfold resume --why …$/,
  ],
  [
    'a rule over its limit',
    readOf({ ...well, rules: { dryRun: 1, enforced: 2, overLimit: 1, due: 900 } }),
    /^1 rule over its limit, so that it deletes nothing: kinfold rules list --cluster north$/,
  ],
  [
    'a breaker',
    readOf({ ...well, openBreakers: 2 }),
    /^2 breakers open: kinfold held --cluster north$/,
  ],
  [
    'an approval',
    readOf({ ...well, held: { ...none, approval: 1, hold: 5 } }),
    /^1 object held until a person .*: kinfold plan held --cluster north$/,
  ],
  [
    'a deletion that does not end',
    readOf({ ...well, overdue: { objects: 1, since: SINCE, example: STUCK } }),
    /^1 deletion waits for over 10 min: Deployment\/web in shop waits for the finalizer x\.dev\/y of Pod\/a: kinfold cascade uid:u --cluster north$/,
  ],
  [
    'several, in mode observe, too',
    readOf({
      ...well,
      mode: 'observe',
      overdue: { objects: 1_200, since: SINCE, example: { ...STUCK, phase: 'deleting' } },
    }),
    /^1,200 deletions wait for over 10 min, first of all Deployment\/web in shop waits .*: kinfold why uid:u --cluster north$/,
  ],
  [
    'several of which none is known by name',
    readOf({ ...well, overdue: { objects: 2, since: SINCE, example: null } }),
    /^2 deletions wait for over 10 min: kinfold history -A --change phase --cluster north$/,
  ],
  ['what is refused', readOf({ ...well, refused: 3 }), /^3 objects that the cluster refuses/],
  [
    'counts that are missing',
    readOf({ ...well, held: null }),
    /^what is held is still being counted/,
  ],
  [
    'silence',
    readOf({ ...well, heartbeatAgeMs: 61_000 }),
    /^no sign of life of its watcher for 61s/,
  ],
  ['a cluster never heard of', readOf({ ...well, heartbeatAgeMs: null }), /its watcher ever/],
  [
    'a watcher without its cluster',
    readOf(well, { metrics: METRICS.replace('{cluster="north"} 1', '{cluster="north"} 0') }),
    /^its watcher is not connected/,
  ],
  [
    'a lock that is required',
    readOf(well, { metrics: METRICS.replace('"true"} 1', '"true"} 0') }),
    /^the lock is required and not in force/,
  ],
  [
    'a check that failed',
    readOf(well, {
      isReady: false,
      checks: ['[-]task/0 failed: restoring', 'readyz check failed'],
    }),
    /^\[-\]task\/0 failed: restoring$/,
  ],
  ['no readiness', readOf(well, { isReady: false, checks: ['?'] }), /^the process is not ready$/],
  [
    'no cluster at all',
    { ...readOf(well), list: { ...HEAD, clusters: [] } },
    /^no cluster was ever watched$/,
  ],
]

for (const [name, read, need] of NEEDS) {
  test(`${name} needs a person`, () => {
    const { needs } = statusOf(read)
    equal(needs.length, 1, JSON.stringify(needs))
    const { what, command } = needs[0]!
    match(command === '' ? what : `${what}: ${command}`, need)
  })
}

test('a cluster of which a check has failed is not fine', () => {
  const checks = ['[-]synced/north/secrets failed: 403 Forbidden']
  const other = {
    cluster: { name: 'north/b', id: 'c-2', scope: 'north/b' },
    partition: 0,
    status: well,
  }
  const read = readOf({ ...well, synced: 51 }, { isReady: false, checks })
  const list = { ...read.list, clusters: [...read.list.clusters, other] }
  const text = render(statusOf({ ...read, list }), 'table')
  match(text, /^north .* needs a person$/m)
  match(text, /^north\/b .* fine$/m)
  match(text, /^- north: \[-\]synced\/north\/secrets failed: 403 Forbidden$/m)
})

test('what the account may not see is said, and needs nobody (C16)', () => {
  const checks = ['[+]denied/north ok: secrets: this account may not list and watch it']
  const answer = statusOf(readOf(well, { checks }))
  deepEqual(answer.needs, [])
  match(
    render(answer, 'table'),
    /\nNot watched in north: secrets: this account may not list and watch it\n$/,
  )
})

test('an optional lock that is absent, holds that end, and warnings need nobody', () => {
  const metrics = 'kinfold_lock{cluster="north",required="false"} 0\n'
  const checks = ['[!]lock/north warning: absent', 'readyz check passed']
  const answer = statusOf(readOf({ ...well, held: { ...none, hold: 9 } }, { metrics, checks }))
  deepEqual([answer.needs, answer.warnings], [[], ['[!]lock/north warning: absent']])
  match(render(answer, 'table'), / 9 .* not in force +fine\n/)
})

test('what this endpoint does not know is not told of it: a lock elsewhere, one of two clusters of a name', () => {
  equal(statusOf(readOf(well, { metrics: '' })).clusters[0]?.lock, null)
  const twice = [cluster, { ...cluster, id: 'c-2' }].map((each) => {
    return { cluster: each, partition: 0, status: well }
  })
  const list = { ...HEAD, clusters: twice }
  deepEqual(
    statusOf(readOf(well, { list })).clusters.map(({ lock }) => lock),
    [null, null],
  )
})

test('each process tells of its own clusters, and of what cannot be asked that it is unknown', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const first = await group.start()
  const second = await group.start()
  const events = ['c', 'd'].flatMap((id) =>
    eventsOf(['put pod/a', 'put pod/b']).map((event) => {
      return 'cluster' in event ? { ...event, cluster: id } : event
    }),
  )
  await tell(group.log, events, (id) => (id === 'd' ? 1 : 0))
  await group.caughtUp()
  const asked = async () =>
    JSON.parse((await runKinfold(['status', '-o', 'json', '--server', first.url])).stdout) as {
      partial: string
      clusters: { cluster: { id: string }; status: unknown }[]
    }
  const whole = await asked()
  deepEqual(
    whole.clusters.map(({ cluster: { id }, status }) => [id, status !== null]),
    [
      ['c', true],
      ['d', true],
    ],
  )
  equal(whole.partial, '')
  await second.kill()
  const half = await asked()
  equal(half.clusters.filter(({ status }) => status === null).length, 1)
  match(half.partial, /partition \d of 2/)
})

test('a running playground is well, and not once it is paused', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-status-'))
  const logFile = `${data}.log`
  t.after(() => [data, logFile].map((path) => rmSync(path, { recursive: true, force: true })))
  const args = [join(import.meta.dirname, '..', 'main.ts'), 'playground', '--no-workload']
  args.push('--http', '127.0.0.1:0', '--data', data)
  const command = { name: 'playground', binary: process.execPath, args, logFile }
  await using _ = await ServerProcess.start(command, async () => true)
  await eventually('all is well', async () => {
    const { code, stdout, stderr } = await runKinfold(['status', '--data', data])
    return code === 0 || stdout + stderr
  })
  equal((await runKinfold(['pause', '--why', 'a test', '--data', data])).code, 0)
  await eventually('it is paused', async () => {
    const { code, stdout } = await runKinfold(['status', '--data', data])
    return (
      (code === 1 && /north: it is paused by \S+ \(a test\): kinfold resume/.test(stdout)) || stdout
    )
  })
  // The hint as it is printed, with a reason in place of the placeholder (C7).
  const { stdout } = await runKinfold(['status', '--data', data])
  const [, hint = ''] = /north: it is paused .*: kinfold (.*)$/m.exec(stdout) ?? []
  const words = hint.replace('…', 'over').split(' ')
  equal((await runKinfold([...words, '--data', data])).code, 0)
  await eventually('all is well again', async () => {
    const { code, stdout: said } = await runKinfold(['status', '--data', data])
    return code === 0 || said
  })
  // Each order, of one cluster and of all, is ended by the command that `held` prints for it, and
  // by that alone.
  const orders = ['pause --why x', 'protect namespace/shop --why x'].flatMap((each) => {
    return [each, `${each} --cluster north`]
  })
  for (const order of orders) {
    const run = async (line: string) => await runKinfold([...line.split(' '), '--data', data])
    equal((await run(order)).code, 0, order)
    const hintIn = (text: string): string =>
      / To (?:resume|end it): kinfold (.*)$/m.exec(text)?.[1] ?? ''
    await eventually('held names what ends it', async () => {
      const { stdout: said } = await run('held')
      return hintIn(said) !== '' || said
    })
    const ended = await run(hintIn((await run('held')).stdout).replace('…', 'over'))
    equal(ended.code, 0, ended.stderr)
    doesNotMatch(ended.stdout, /No such|Still paused|Still protected/, order)
    await eventually('it is over', async () => {
      const { stdout: said } = await run('held')
      return hintIn(said) === '' || said
    })
  }
})

test('in mode observe no order and no lock needs a person (C1, C14)', () => {
  const pauses = [{ isOfAll: true, who: 'ann', why: '' }]
  const observing = { ...well, mode: 'observe', isPaused: true, pauses, openBreakers: 1 } as const
  const metrics = METRICS.replaceAll(/^kinfold_lock.*\n/gm, '')
  const answer = statusOf(readOf(observing, { metrics }))
  deepEqual(answer.needs, [])
  match(render(answer, 'table'), /observe +guarded .* - +fine/)
})
