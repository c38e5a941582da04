/**
 * Answers in the shape of an API server's have the same objects as `/v1/objects`, are as whole as
 * they say, and show no more to any user.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, type GraphProcess, tell } from '../../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../../testing/rig/task-rig.ts'

const GROUP = '/apis/kinfold.dev/v1'
const STORY = [
  'put deploy/web in shop [created:10]',
  'put rs/web in shop <- deploy/web! [created:20]',
  'put pod/web in shop <- rs/web [deleting h.io/x]',
  'put pod/x in other',
  'put node/n',
  'put pod/old in shop',
  'delete pod/old in shop',
]

interface Item {
  readonly kind: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly status: { readonly phase: string }
}

interface Told {
  readonly kind: string
  readonly items: readonly Item[]
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number }
  readonly message: string
  readonly reason: string
  readonly code: number
}

interface Answer {
  readonly told: Told
  readonly headers: Headers
  readonly status: number
}

async function ask(url: string, path: string, who = ''): Promise<Answer> {
  const headers = who === '' ? {} : { authorization: `Bearer ${who}` }
  const response = await checked(url + path, await fetch(url + path, { headers }))
  const told = (await response.json()) as Told
  return { told, headers: response.headers, status: response.status }
}

async function served(t: TestContext, story = STORY, options = {}): Promise<string> {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start(options)
  await tell(group.log, eventsOf(story))
  await group.caughtUp()
  return url
}

function names({ items }: Told): readonly unknown[] {
  return items.map(({ metadata }) => metadata['name']).sort()
}

test('an object has its metadata, its own kind, and how it stands', async (t) => {
  const url = await served(t)
  const { told } = await ask(url, `${GROUP}/namespaces/shop/ownedobjects/replicasets.apps:web`)
  deepEqual(told, {
    apiVersion: 'kinfold.dev/v1',
    kind: 'OwnedObject',
    metadata: {
      ...{ name: 'replicasets.apps:web', namespace: 'shop', uid: 'rs-web', resourceVersion: '2' },
      creationTimestamp: '1970-01-01T00:00:20Z',
      ownerReferences: [
        {
          ...{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'deploy-web' },
          blockOwnerDeletion: true,
        },
      ],
    },
    object: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' },
    status: { phase: 'observed', verdict: (told as unknown as Item).status['verdict' as 'phase'] },
  })
  const pod = (await ask(url, `${GROUP}/namespaces/shop/ownedobjects/pods:web`))
    .told as unknown as Item
  deepEqual(
    [pod.metadata['deletionTimestamp'], pod.metadata['finalizers'], pod.status.phase],
    ['1970-01-01T00:00:00Z', ['h.io/x'], 'deleting'],
  )
  const node = (await ask(url, `${GROUP}/clusterownedobjects/nodes:n`)).told as unknown as Item
  deepEqual([node.kind, 'namespace' in node.metadata], ['ClusterOwnedObject', false])
})

test('objects are listed by namespace, of all namespaces, and those without one', async (t) => {
  const url = await served(t)
  const inShop = ['deployments.apps:web', 'pods:web', 'replicasets.apps:web']
  for (const [path, kind, expected] of [
    [`${GROUP}/namespaces/shop/ownedobjects`, 'OwnedObjectList', inShop],
    [`${GROUP}/ownedobjects`, 'OwnedObjectList', [...inShop, 'pods:x'].sort()],
    [`${GROUP}/ownedobjects?kind=po`, 'OwnedObjectList', []],
    [`${GROUP}/namespaces/shop/ownedobjects?kind=pods`, 'OwnedObjectList', ['pods:web']],
    [`${GROUP}/namespaces/shop/ownedobjects?kind=nodes`, 'OwnedObjectList', []],
    [`${GROUP}/namespaces/nowhere/ownedobjects`, 'OwnedObjectList', []],
    [`${GROUP}/clusterownedobjects`, 'ClusterOwnedObjectList', ['nodes:n']],
    [`/clusters/test${GROUP}/clusterownedobjects`, 'ClusterOwnedObjectList', ['nodes:n']],
  ] as const) {
    const { told, headers } = await ask(url, path)
    deepEqual([told.kind, names(told), told.metadata], [kind, expected, {}], path)
    equal(headers.get('warning'), null)
  }
})

test('a list goes on where it says so, and says how much is left', async (t) => {
  const url = await served(t, ['many 25 pod/p# in shop', 'put node/n', 'put pod/x in other'])
  const seen: unknown[] = []
  const left: unknown[] = []
  let next = ''
  do {
    const path = `${GROUP}/namespaces/shop/ownedobjects?limit=10&continue=${next}`
    const { told } = await ask(url, path)
    seen.push(...names(told))
    left.push(told.metadata.remainingItemCount)
    next = told.metadata.continue ?? ''
  } while (next !== '')
  equal(new Set(seen).size, 25)
  equal(seen.length, 25)
  deepEqual(left, [15, 5, undefined])
  // A client that sets no limit reads no next page.
  equal((await ask(url, `${GROUP}/ownedobjects`)).told.items.length, 26)
  const wrong = await ask(url, `${GROUP}/ownedobjects?limit=2&continue=x`)
  deepEqual([wrong.told.kind, wrong.told.reason, wrong.status], ['Status', 'BadRequest', 400])
})

test('more than 10,000 objects are listed by pages, and a list without a limit warns', async (t) => {
  const url = await served(t, ['many 10050 pod/p# in shop'])
  const { told, headers } = await ask(url, `${GROUP}/ownedobjects`)
  equal(told.items.length, 10_000)
  equal(told.metadata.remainingItemCount, 50)
  match(headers.get('warning') ?? '', /^299 - "only the first 10000 are listed: ask with limit/)
  const rest = await ask(url, `${GROUP}/ownedobjects?continue=${told.metadata.continue}`)
  equal(rest.told.items.length, 50)
})

test('what may be missing is a warning', async (t) => {
  const url = await served(t, [...STORY, 'serve widget'])
  const { headers } = await ask(url, `${GROUP}/namespaces/shop/ownedobjects`)
  equal(headers.get('warning'), '299 - "widgets.example.com is not listed yet"')
})

test('what cannot be answered is a Status', async (t) => {
  const url = await served(t)
  for (const [path, code, reason, message] of [
    ['/namespaces/shop/ownedobjects/pods:old', 404, 'NotFound', /^no object "pods:old" exists in/],
    ['/namespaces/other/ownedobjects/pods:web', 404, 'NotFound', /in namespace other$/],
    ['/namespaces/shop/ownedobjects/web', 404, 'NotFound', /RESOURCE.GROUP:NAME is$/],
    ['/namespaces/shop/ownedobjects/replicasets:web', 404, 'NotFound', /^no object/],
    ['/clusterownedobjects/pods:web', 404, 'NotFound', /^no object "pods:web" exists$/],
    ['/ownedobjects?labelSelector=a', 400, 'BadRequest', /Kinfold keeps no labels/],
    ['/ownedobjects?watch=true', 400, 'BadRequest', /there is no watch here/],
    ['/ownedobjects?limit=x', 400, 'BadRequest', /limit x is no whole number/],
  ] as const) {
    const { told, status } = await ask(url, GROUP + path)
    deepEqual([told.kind, status, told.code, told.reason], ['Status', code, code, reason], path)
    match(told.message, message)
  }
  const nowhere = await ask(url, `/clusters/nowhere${GROUP}/ownedobjects`)
  match(nowhere.told.message, /^there is no cluster nowhere; known clusters: test$/)
  const long = await ask(url, `${GROUP}/namespaces/shop/ownedobjects/pods:${'x'.repeat(253)}`)
  deepEqual([long.told.kind, long.status], ['Status', 404])
  const deleted = await fetch(`${url}${GROUP}/namespaces/shop/ownedobjects/pods:web`, {
    method: 'DELETE',
  })
  equal(deleted.status, 405)
})

test('an object that the index may not have read yet is not said to be missing', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url, graph } = await group.start({ isIndexing: false })
  await tell(group.log, eventsOf(STORY))
  const end = await group.log.end('events', 0)
  const isFolded = (): boolean => graph.tasks.some((task) => task.status().position >= end)
  while (!isFolded()) await setImmediate()
  const { told } = await ask(url, `${GROUP}/namespaces/shop/ownedobjects/replicasets.apps:web`)
  equal(told.code, 503)
  match(told.message, /^whether it exists is unknown: \d+ entries of history are not indexed yet$/)
  for (const path of [
    'why?kind=pod&name=x&namespace=other',
    'why?uid=pod-x',
    'deletions?root=pod/x',
  ]) {
    const response = await fetch(`${url}/v1/${path}`)
    equal(response.status, 503)
    match(await response.text(), /whether .* was ever seen is not known: \d+ entries of history/)
  }
})

test('of several clusters each is asked below its name, in any process', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const all: GraphProcess[] = [await group.start(), await group.start()]
  const story = [...STORY, 'cluster d', 'put pod/north in shop']
  const named = eventsOf(story).map((event) =>
    event.type === 'WatcherStarted' && event.cluster === 'd' ? { ...event, name: 'a/b' } : event,
  )
  await tell(group.log, named, (cluster) => (cluster === 'd' ? 1 : 0))
  await group.caughtUp()
  for (const { url } of all) {
    for (const cluster of ['a%2Fb', 'd']) {
      const path = `/clusters/${cluster}${GROUP}/namespaces/shop/ownedobjects`
      deepEqual(names((await ask(url, path)).told), ['pods:north'])
      equal((await ask(url, `${path}/pods:north`)).status, 200)
      equal((await ask(url, `${path}/pods:web`)).status, 404)
    }
    const { told } = await ask(url, `${GROUP}/ownedobjects`)
    match(told.message, /^several clusters are known \(a\/b, test\): ask below \/clusters\/NAME/)
    for (const dots of ['.', '..', '%2e%2e', '%2E.']) {
      const path = `/clusters/d${GROUP}/namespaces/${dots}/ownedobjects/pods:x`
      const response = await fetch(url + path)
      equal(response.status, 404, dots)
      await response.body?.cancel()
    }
  }
})

const TABLE =
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'

interface Shown {
  readonly kind: string
  readonly metadata: object
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[]
  readonly rows: readonly {
    readonly cells: readonly string[]
    readonly object?: { readonly kind: string; readonly metadata: { readonly uid: string } }
  }[]
}

async function table(url: string, path: string, accept = TABLE): Promise<Shown> {
  const response = await checked(url + path, await fetch(url + path, { headers: { accept } }))
  match(response.headers.get('vary') ?? '', /accept/)
  return (await response.json()) as Shown
}

test('as a table, for kubectl, each has its owner, state and verdict (C18)', async (t) => {
  const url = await served(t)
  const path = `${GROUP}/namespaces/shop/ownedobjects`
  const all = await table(url, path)
  const columns = all.columnDefinitions.map(({ name, priority }) => `${name}${priority || ''}`)
  deepEqual([all.kind, columns.join()], ['Table', 'Name,Owner,State,Verdict,Age,Because1'])
  const rows = all.rows.map(({ cells, object }) => [
    ...cells.slice(0, 4),
    /^\d+d$|^<unknown>$/.test(cells[4] ?? ''),
    ...[object?.kind, object?.metadata.uid],
  ])
  deepEqual(rows.toSorted(), [
    [
      'deployments.apps:web',
      '<none>',
      'exists',
      '<none>',
      true,
      'PartialObjectMetadata',
      'deploy-web',
    ],
    [
      'pods:web',
      'ReplicaSet/web',
      'being deleted',
      'already being deleted',
      true,
      'PartialObjectMetadata',
      'pod-web',
    ],
    [
      'replicasets.apps:web',
      'Deployment/web',
      'exists',
      'keep',
      true,
      'PartialObjectMetadata',
      'rs-web',
    ],
  ])
  equal((await table(url, `${path}/pods:web`)).rows.length, 1)
  const first = await table(url, `${path}?limit=2&includeObject=None`)
  deepEqual([first.rows.length, first.rows[0]?.object], [2, undefined])
  deepEqual(Object.keys(first.metadata), ['continue', 'remainingItemCount'])
  const [whole] = (await table(url, `${path}?includeObject=Object`)).rows
  equal(whole?.object?.kind, 'OwnedObject')
  for (const accept of [
    'application/json',
    '*/*',
    'application/json;as=Table;v=v1beta1;g=meta.k8s.io',
    `application/json,${TABLE}`,
  ]) {
    equal((await table(url, path, accept)).kind, 'OwnedObjectList', accept)
  }
})

test('a list takes the right to see the whole graph, an object the right to get it', async (t) => {
  const authority: Authority = {
    identify: async ({ authorization = '' }) => {
      const name = authorization.replace('Bearer ', '')
      return name === '' ? undefined : { name, uid: '', groups: [], extra: {} }
    },
    may: async ({ name }, cluster, { resource, namespace }) => {
      return name === 'bob' || (cluster === 'c' && resource === 'pods' && namespace === 'shop')
    },
  }
  const url = await served(t, STORY, { authority, isReadingReviewed: true })
  const lists = ['/ownedobjects', '/namespaces/shop/ownedobjects', '/clusterownedobjects']
  const object = '/namespaces/shop/ownedobjects/pods:web'
  for (const path of [...lists, object]) {
    equal((await ask(url, GROUP + path, 'bob')).status, 200, path)
    const refused = await ask(url, GROUP + path)
    deepEqual([refused.status, refused.told.reason], [401, 'Unauthorized'], path)
  }
  const refusals = new Set<string>()
  for (const path of [
    ...lists.map((list) => GROUP + list),
    `${GROUP}/namespaces/shop/ownedobjects/replicasets.apps:web`,
    `${GROUP}/namespaces/shop/ownedobjects/pods:never`,
    `${GROUP}/namespaces/other/ownedobjects/pods:x`,
    `/clusters/nowhere${GROUP}/ownedobjects`,
    `/clusters/nowhere${GROUP}${object}`,
  ]) {
    const { told, status } = await ask(url, path, 'ann')
    equal(status, 403, path)
    refusals.add(told.message)
  }
  equal(refusals.size, 1)
  equal((await ask(url, GROUP + object, 'ann')).status, 200)
  for (const path of ['/api', '/apis', '/apis/kinfold.dev', GROUP]) {
    ok((await ask(url, path, 'ann')).status === 200, path)
  }
})
