/** `kinfold get` reads all pages, and prints what they hold in each of its forms. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Watermark } from '../../ports/record/service-record.ts'
import { documentOf } from '../../services/graph/api/document.ts'
import type { ListedObject } from '../../services/graph/query/answer/object-list.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { codec, eventsOf } from '../../testing/rig/task-rig.ts'
import { render } from './get.ts'

const STORY = [
  'put deploy/web in shop',
  'put pod/b in shop [created:10]',
  'put pod/a in shop [created:20]',
  'put pod/c in other [created:5]',
  'put pod/old in shop',
  'delete pod/old in shop',
]

/** As the watcher leaves it. */
function watermark(kind: Pick<Watermark, 'group' | 'kind' | 'resource' | 'shortNames'>) {
  const rest = { resourceVersion: '', sync: 0, projection: '', partition: 0 }
  const mark = { type: 'Watermark', cluster: 'c', epoch: 1, clusterEpoch: 1, ...rest } as const
  return { key: `c/${kind.group}/${kind.kind}`, value: codec.encode({ ...mark, ...kind }) }
}

async function served(t: TestContext): Promise<string> {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(group.log, eventsOf(STORY))
  await group.log.append('watermarks', 0, [
    watermark({ group: '', kind: 'Pod', resource: 'pods', shortNames: ['po'] }),
    watermark({
      group: 'apps',
      kind: 'Deployment',
      resource: 'deployments',
      shortNames: ['deploy'],
    }),
  ])
  await group.caughtUp()
  return url
}

test('objects of a namespace, of all, deleted ones, by name and by age', async (t) => {
  const url = await served(t)
  const cases: readonly (readonly [string, number, string])[] = [
    ['po -n shop', 0, 'pod/a pod/b'],
    ['pods -A', 0, 'pod/c pod/a pod/b'],
    ['pods -A --sort-by age --gone', 0, 'pod/a pod/b pod/c pod/old'],
    ['pods -A --sort-by .metadata.creationTimestamp --gone', 0, 'pod/c pod/b pod/a pod/old'],
    ['pods -A --sort-by {.metadata.name}', 0, 'pod/c pod/a pod/b'],
    ['deploy web -n shop', 0, 'deployment.apps/web'],
    ['pods -n empty', 0, ''],
    ['deploy/web -n shop', 0, 'deployment.apps/web'],
    ['po,deploy -n shop', 0, 'pod/a pod/b deployment.apps/web'],
    ['pods,po -n shop', 0, 'pod/a pod/b'],
    ['pods,deplyments -n shop', 2, ''],
    ['all -n shop', 0, 'pod/a pod/b deployment.apps/web'],
    ['deploy/ -n shop', 2, ''],
    ['deploy,po/a -n shop', 2, ''],
  ]
  for (const [line, code, names] of cases) {
    const ran = await runKinfold(['get', ...line.split(' '), '-o', 'name', '--server', url])
    deepEqual([ran.code, ran.stdout.trim().split('\n').join(' ')], [code, names], ran.stderr)
  }
})

test('a name or a kind that nobody knows is bad input', async (t) => {
  const url = await served(t)
  const cases: readonly (readonly [string, RegExp])[] = [
    ['pod old -n shop', /no pod\/old is known there; --gone lists deleted ones, too/],
    ['nothing', /no cluster that is asked serves a kind nothing/],
    ['pod old -A', /a name takes a namespace, and not -A/],
    ['pods --sort-by size', /--sort-by size is none of name, age, .metadata.name/],
    ['pods -o dot', /-o dot is none of table, wide, name, json, yaml/],
    ['pods --cluster nowhere', /there is no cluster nowhere/],
  ]
  for (const [line, sentence] of cases) {
    const ran = await runKinfold(['get', ...line.split(' '), '--server', url])
    equal(ran.code, 2, ran.stderr)
    match(ran.stderr, sentence)
  }
})

test('direct dependents of an object, of every kind', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(
    group.log,
    eventsOf([
      ...['put rs/web in shop [created:10]', 'put pod/b in shop <- rs/web [created:20]'],
      ...['put cm/a in shop <- rs/web', 'many 600 job/j# in shop <- rs/web'],
      ...[
        'put pod/below in shop <- cm/a',
        'put pod/old in shop <- rs/web',
        'delete pod/old in shop',
      ],
    ]),
  )
  await group.caughtUp()
  const get = async (line: string): Promise<Awaited<ReturnType<typeof runKinfold>>> =>
    await runKinfold(['get', ...line.split(' '), '--server', url])
  const { code, stdout } = await get('--owned-by replicaset/web -n shop -o name')
  equal(code, 0)
  const names = stdout.trim().split('\n')
  deepEqual([names.length, names[0], names[1]], [602, 'configmap/a', 'pod/b'])
  const table = (await get('--owned-by uid:rs-web -o wide')).stdout
  match(table, /^CLUSTER +NAMESPACE +NAME +STATE +AGE +UID +VERDICT\n/)
  match(table, /\ntest +shop +pod\/b +exists +\S+ +pod-b +keep: /)
  const document = JSON.parse((await get('--owned-by uid:rs-web -o json --sort-by age')).stdout)
  deepEqual(
    [document.kind, document.owner.uid, document.objects.length, document.objects[0].name],
    ['DependentList', 'rs-web', 602, 'b'],
  )
  equal((await get('--owned-by uid:pod-b')).stdout, 'No dependents.\n')
  for (const [line, sentence] of [
    ['pods --owned-by uid:rs-web', /--owned-by takes no KIND, and none of -A, --gone, --at and -l/],
    ['--owned-by rs', /rs: expected KIND\/NAME/],
    ['--owned-by uid:nothing', /no object with uid nothing was ever seen/],
    ['-n shop', /expected KIND, KIND NAME, KIND\/NAME, KIND,KIND, all or --owned-by/],
  ] as const) {
    const ran = await get(line)
    equal(ran.code, 2, ran.stderr)
    match(ran.stderr, sentence)
  }
})

const cluster = { name: 'north', id: 'c-1', scope: 'north' }
const pod: ListedObject = {
  ...{ cluster, group: '', kind: 'Pod', namespace: 'shop', name: 'a', uid: 'u-1' },
  phase: 'observed',
  createdAt: '2026-01-01T00:00:00.000Z',
  deletionTimestamp: null,
  goneAt: null,
  verdict: { type: 'keep', because: 'its owner exists' },
  ...{ admission: null, doubt: null, deletion: null },
  owners: ['u-0'],
  moreOwners: 0,
}
const gone: ListedObject = {
  ...{ ...pod, name: 'b\u001b[2J', uid: 'u-2', phase: 'gone', createdAt: null, verdict: null },
  goneAt: '2026-01-01T00:01:00.000Z',
}
const answer = { objects: [pod, gone], count: 2, continue: null, kinds: [] }
const told = documentOf('ObjectList', { answer, partial: '', asOf: [] })
const NOW = Date.parse('2026-01-01T03:00:00.000Z')

test('as a table, wide, and as names, with no control characters', () => {
  equal(
    render(told, 'table', true, NOW),
    `CLUSTER   NAMESPACE   NAME             STATE                          AGE
north     shop        pod/a            exists                         3h
north     shop        pod/b\\u001b[2J   deleted 2026-01-01T00:01:00Z   -
`,
  )
  match(render(told, 'wide', false, NOW), /pod\/a .* 3h +u-1 +1 +\w+: its owner exists\n/)
  const long = {
    ...told,
    objects: told.objects.slice(0, 1).map((each) => ({ ...each, moreOwners: 54 })),
  }
  match(render(long, 'wide', false, NOW), /pod\/a .* 3h +u-1 +55 /)
  equal(render(told, 'name', false, NOW), 'pod/a\npod/b\\u001b[2J\n')
  equal(
    render({ ...told, objects: [] }, 'table', false, NOW),
    'No objects found in any namespace.\n',
  )
})

test('as JSON, in the shape of every answer', () => {
  const document = JSON.parse(render(told, 'json', false, NOW))
  deepEqual(
    [document.apiVersion, document.kind, document.partial],
    ['kinfold/v1', 'ObjectList', ''],
  )
  deepEqual(document.objects[0].cluster, { name: 'north', id: 'c-1', scope: 'north' })
  equal(document.objects[1].goneAt, '2026-01-01T00:01:00.000Z')
})
