/**
 * What the marks of tools name as managed, over two clusters that two processes have: the same
 * answer whichever is asked, what its tool would delete, a moment of the past, and nothing of what
 * who asks may not list.
 */
import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type MarkSettings, TOOLS } from '../../../../ports/record/manager-mark.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { withApplications } from '../../../../testing/rig/applications.ts'
import { GraphGroup, type ProcessOptions, tell } from '../../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../../testing/rig/task-rig.ts'
import type { Across, Why } from '../../api/answer-schema.ts'

const MARKS: MarkSettings = { tools: TOOLS, argoInstanceLabel: 'app' }
const ARGO = 'widget'
const FINALIZER = 'resources-finalizer.argocd.argoproj.io'

interface Asker {
  across(query: string, who?: string): Promise<Across>
  why(query: string): Promise<Why>
  status(query: string): Promise<number>
  text(query: string, who: string): Promise<string>
}

async function asker(
  t: TestContext,
  story: readonly string[],
  options: ProcessOptions = { marks: MARKS },
): Promise<Asker> {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const urls = [(await group.start(options)).url, (await group.start(options)).url]
  const partitionOf = (cluster: string): number => (cluster === 'd' ? 1 : 0)
  await tell(group.log, withApplications(eventsOf(story)), partitionOf)
  await group.caughtUp()
  const get = async (url: string, who = 'bob'): Promise<Response> => {
    const headers = { authorization: `Bearer ${who}` }
    return await checked(url, await fetch(url, { headers }))
  }
  const json = async (path: string, who?: string): Promise<unknown> => {
    const [one, other] = await Promise.all(
      urls.map(async (url) => {
        const response = await get(`${url}/v1/${path}`, who)
        const text = await response.text()
        equal(response.status, 200, text)
        return { ...JSON.parse(text), asOf: [] }
      }),
    )
    deepEqual(one, other)
    return one
  }
  return {
    across: async (query, who) => (await json(`across?${query}`, who)) as Across,
    why: async (query) => (await json(`why?${query}`)) as Why,
    status: async (query) => (await get(`${urls[0]}/v1/across?${query}`)).status,
    text: async (query, who) => {
      const response = await get(`${urls[0]}/v1/across?${query}`, who)
      return `${response.status} ${await response.text()}`
    },
  }
}

/** `NAMES in CLUSTER, by CLUSTER of the manager`. */
function rowsOf({ parts }: Across): readonly string[] {
  return parts.map(({ cluster, by, objects, marked, dependents }) => {
    const names = objects.map(({ kind, name }) => `${kind}/${name}`).join(' ')
    return `${cluster.id} ${by?.id ?? '?'}: ${names} (${marked}+${dependents})`
  })
}

/** Of the cluster that a story is at. */
const SERVED = ['serve widget', 'relist widget']

const STORY = [
  ...SERVED,
  `put ${ARGO}/shop in argocd [${FINALIZER}]`,
  'put deploy/web in shop [label:app=shop]',
  'put rs/web-1 in shop <- deploy/web in shop',
  'put pod/web-1-a in shop <- rs/web-1 in shop',
  'put cm/other in shop [label:app=other]',
  'cluster d',
  ...SERVED,
  'put deploy/api in shop [label:app=shop]',
  'put cm/kept in shop [label:app=shop annotation:argocd.argoproj.io/sync-options=Delete=false]',
  'put pod/of-kept in shop <- cm/kept in shop',
]

test('an application has its objects in all clusters, and their dependents but for what is kept', async (t) => {
  const asked = await asker(t, STORY)
  const told = await asked.across('kind=application&name=shop')
  deepEqual(rowsOf(told), ['c c: Deployment/web (1+2)', 'd c: ConfigMap/kept Deployment/api (2+0)'])
  deepEqual([told.marked, told.kept, told.dependents, told.partial], [3, 1, 2, ''])
  equal(
    told.text,
    '3 objects in 2 clusters bear marks of Argo CD, and 2 dependents of them; 1 of them is kept by a mark',
  )
  const [manager] = told.managers
  deepEqual([manager?.cluster.id, manager?.namespace, manager?.deletes], ['c', 'argocd', 'managed'])
  match(manager?.because ?? '', /^it has the finalizer resources-finalizer\.argocd\.argoproj\.io,/)
  deepEqual(
    told.parts.map(({ deletes }) => deletes),
    ['managed', 'managed'],
  )
  for (const same of [
    'kind=Application.argoproj.io&name=shop&namespace=argocd',
    'kind=applications&name=shop&cluster=c',
  ]) {
    deepEqual((await asked.across(same)).parts, told.parts)
  }
  deepEqual((await asked.across('kind=applications&name=shop&cluster=d')).parts, [])
  deepEqual((await asked.across('kind=deploy&name=shop')).parts, [])
  equal(await asked.status('kind=application'), 400)
})

test('a list of so many objects has some of each cluster, and counts all', async (t) => {
  const asked = await asker(t, STORY)
  const told = await asked.across('kind=application&name=shop&limit=2')
  deepEqual(rowsOf(told), ['c c: Deployment/web (1+2)', 'd c: ConfigMap/kept (2+0)'])
  deepEqual(rowsOf(await asked.across('kind=application&name=shop&limit=0')), [
    'c c:  (1+2)',
    'd c:  (2+0)',
  ])
})

test('without its finalizer nothing goes, and of one that is not watched it is not known', async (t) => {
  const asked = await asker(t, [...SERVED, `put ${ARGO}/shop in argocd`, ...STORY.slice(3)])
  const told = await asked.across('kind=application&name=shop')
  deepEqual([told.managers[0]?.deletes, told.parts[0]?.deletes], ['nothing', 'nothing'])
  match(told.parts[0]?.because ?? '', /without its finalizer .* nothing is deleted/)
  const away = await asked.across('kind=application&name=other')
  deepEqual(rowsOf(away), ['c ?: ConfigMap/other (1+0)'])
  deepEqual([away.managers, away.parts[0]?.deletes], [[], 'unknown'])
  match(away.parts[0]?.because ?? '', /^no Application other is seen here/)
})

test('of two applications of that name the one in the cluster itself comes first', async (t) => {
  const second = [...STORY, `put ${ARGO}/shop in argocd`]
  const asked = await asker(t, second)
  const told = await asked.across('kind=application&name=shop&cluster=c')
  deepEqual(rowsOf(told), ['c c: Deployment/web (1+2)'])
  const both = await asked.across('kind=application&name=shop')
  deepEqual(rowsOf(both), ['c c: Deployment/web (1+2)', 'd d: ConfigMap/kept Deployment/api (2+0)'])
  const third = await asker(t, [...STORY, 'cluster c', `put ${ARGO}/shop@other in team`])
  const unclear = await third.across('kind=application&name=shop')
  deepEqual(rowsOf(unclear)[1], 'd ?: ConfigMap/kept Deployment/api (2+0)')
  deepEqual([unclear.parts[1]?.managers, unclear.parts[1]?.deletes], [2, 'unknown'])
})

const RELEASE = [
  'label:app.kubernetes.io/managed-by=Helm',
  'annotation:meta.helm.sh/release-name=web annotation:meta.helm.sh/release-namespace=shop',
].join(' ')

test('a release is a name, and is of its own cluster', async (t) => {
  const asked = await asker(t, [
    `put deploy/web in shop [${RELEASE}]`,
    'cluster d',
    `put deploy/web in shop [${RELEASE}]`,
  ])
  const told = await asked.across('kind=release&name=web')
  deepEqual(rowsOf(told), ['c c: Deployment/web (1+0)', 'd d: Deployment/web (1+0)'])
  deepEqual(told.managers, [])
  match(told.parts[0]?.because ?? '', /^helm uninstall deletes it/)
  const one = await asked.across('kind=release.helm.sh&name=web&namespace=shop&cluster=d')
  deepEqual(rowsOf(one), ['d d: Deployment/web (1+0)'])
  deepEqual((await asked.across('kind=release&name=web&namespace=other')).parts, [])
  const { managers } = await asked.why('kind=deployment&name=web&namespace=shop&cluster=c')
  deepEqual(managers, [
    {
      ...{ tool: 'helm', toolName: 'Helm', group: 'helm.sh', kind: 'Release' },
      ...{ namespace: 'shop', name: 'web', mark: 'annotation meta.helm.sh/release-name' },
    },
  ])
})

test('where no mark is read, it says so, and why names none', async (t) => {
  const asked = await asker(t, STORY, {})
  const told = await asked.across('kind=application&name=shop')
  deepEqual([told.parts, told.partial], [[], ''])
  match(told.text, /^no marks are read: the setting across\.marks names none of argo, flux/)
  deepEqual((await asked.why('kind=deployment&name=web&namespace=shop')).managers, [])
})

test('a moment has the marks of then', async (t) => {
  const asked = await asker(t, [
    ...STORY,
    'cluster c',
    'put deploy/web in shop [label:app=moved]',
    'cluster d',
    'delete deploy/api in shop',
    ...['beat 1', 'cluster c', 'beat 1'],
  ])
  deepEqual(rowsOf(await asked.across('kind=application&name=shop')), ['d c: ConfigMap/kept (1+0)'])
  const { asOf: _, ...then } = await asked.across(
    `kind=application&name=shop&at=${new Date(await before(asked)).toISOString()}`,
  )
  deepEqual(rowsOf({ ...then, asOf: [] }), [
    'c c: Deployment/web (1+2)',
    'd c: ConfigMap/kept Deployment/api (2+0)',
  ])
})

/** Append time of the last change before the label of web in c was another. */
async function before(asked: Asker): Promise<number> {
  const { object } = await asked.why('kind=deployment&name=web&namespace=shop&cluster=c')
  return Date.parse(object.at ?? '') - 1
}

/** Ann lists Deployments in `shop` of cluster d, and Applications nowhere; bob all. */
const authority: Authority = {
  identify: async ({ authorization = '' }) => {
    const name = authorization.replace('Bearer ', '')
    return { name, uid: '', groups: [], extra: {} }
  },
  may: async ({ name }, cluster, { resource, namespace, verb }) => {
    if (name === 'bob') return true
    const isMine = cluster === 'd' && resource === 'deployments' && namespace === 'shop'
    return name === 'ann' && verb === 'list' && isMine
  },
}

test('who may not list an object learns nothing of it, nor of its cluster, nor of the manager', async (t) => {
  const options = { marks: MARKS, authority, isReadingReviewed: true }
  const asked = await asker(t, STORY, options)
  const [bob, ann, eve] = [
    await asked.across('kind=application&name=shop', 'bob'),
    await asked.across('kind=application&name=shop', 'ann'),
    await asked.across('kind=application&name=shop', 'eve'),
  ]
  deepEqual([bob.marked, bob.partial], [3, ''])
  deepEqual(rowsOf(ann), ['d ?: Deployment/api (1+0)'])
  deepEqual([ann.managers, ann.marked, ann.kept, ann.dependents], [[], 1, 0, 0])
  equal(ann.partial, 'what you may not list is left out, and not counted')
  doesNotMatch(
    JSON.stringify({ ...ann, asOf: [] }),
    /web-|"name":"(web|kept)|argocd|ConfigMap|"id":"c"/,
  )
  deepEqual(eve.parts, [])
  // There or not, it is one answer.
  const none = await asked.across('kind=application&name=none', 'eve')
  deepEqual({ ...none, asked: eve.asked }, eve)
})

const THEN_LEFT_OUT = 'clusters of which that moment is not known are left out'
const OF_ONE =
  'a position is of one partition, and clusters of others are left out: ask with a time'

test('who may list nothing learns neither which clusters there are nor their partitions', async (t) => {
  const options = { marks: MARKS, authority, isReadingReviewed: true }
  const asked = await asker(t, STORY, options)
  const none = await asked.text('kind=application&name=shop', 'eve')
  match(none, /^200 .*"parts":\[\].*"asOf":\[\]/)
  // Of a moment, and of a position, it says this, too, whatever there is.
  const then = none.replace('and not counted', `and not counted; ${THEN_LEFT_OUT}`)
  const ofOne = then.replace(THEN_LEFT_OUT, `${THEN_LEFT_OUT}; ${OF_ONE}`)
  for (const more of [
    ...['cluster=c', 'cluster=d', 'cluster=nowhere', 'cluster=nowhere&at=pos:7-1'],
    // Of a cluster, of none, and one that is not folded yet.
    ...['at=pos:0-1', 'at=pos:1-1', 'at=pos:7-1', 'at=pos:0-99999', 'at=1999-01-01T00:00:00Z'],
  ]) {
    const expected = more.includes('pos:') ? ofOne : more.includes('at=') ? then : none
    equal(await asked.text(`kind=application&name=shop&${more}`, 'eve'), expected, more)
  }
  // Who may see all learns what is wrong.
  match(
    await asked.text('kind=application&name=shop&cluster=nowhere', 'bob'),
    /^404 .*known clusters/,
  )
  match(await asked.text('kind=application&name=shop&at=pos:7-1', 'bob'), /^400 .* in partition 0/)
  match(await asked.text('kind=application&name=shop', 'ann'), /"asOf":\[\{"partition":1,/)
})
