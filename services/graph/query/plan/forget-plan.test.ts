/**
 * A cluster of owners that is gone for good: what forgetting it means, in the clusters of two
 * processes, the same whichever is asked; that the order is of the plan that was shown; and what it
 * and the one that takes it back say.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, tell } from '../../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../../testing/rig/task-rig.ts'
import type {
  ClusterList,
  DirectiveResult,
  ForgetPlan,
  RuleExplanation,
  Why,
} from '../../api/answer-schema.ts'

interface Asker {
  tell(...lines: readonly string[]): Promise<void>
  plan(query?: string): Promise<ForgetPlan>
  order(body: object): Promise<{ readonly status: number; readonly text: string }>
  refusal(path: string): Promise<string>
  explain(query: string): Promise<RuleExplanation>
  why(query: string): Promise<Why>
  /** Of each cluster, the clusters of owners that its status names. */
  cutOff(): Promise<readonly (readonly string[])[]>
  forgotten(): Promise<readonly (readonly string[])[]>
}

async function asker(t: TestContext): Promise<Asker> {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const urls = [(await group.start()).url, (await group.start()).url]
  const partitionOf = (cluster: string): number => (cluster === 'd' ? 1 : 0)
  const lines: string[] = []
  let told = 0
  const get = async (url: string): Promise<Response> => await checked(url, await fetch(url))
  const json = async (path: string): Promise<unknown> => {
    const all = await Promise.all(
      urls.map(async (url) => {
        const response = await get(`${url}/v1/${path}`)
        const text = await response.text()
        equal(response.status, 200, text)
        return { ...JSON.parse(text), asOf: [] }
      }),
    )
    deepEqual(all[0], all[1])
    return all[0]
  }
  const asked: Asker = {
    async tell(...more) {
      lines.push(...more)
      const events = eventsOf(lines)
      await tell(group.log, events.slice(told), partitionOf)
      told = events.length
      await group.caughtUp()
    },
    plan: async (query = '') =>
      (await json(`plan/forget-cluster?ownerCluster=north${query}`)) as ForgetPlan,
    explain: async (query) => (await json(`rules/far?${query}`)) as RuleExplanation,
    why: async (query) => (await json(`why?${query}`)) as Why,
    async cutOff() {
      const response = await get(`${urls[0]}/v1/clusters`)
      const { clusters } = (await response.json()) as ClusterList
      return clusters.map(({ status }) => (status?.cutOff ?? []).map(cutOffText))
    },
    async forgotten() {
      const response = await get(`${urls[0]}/v1/clusters`)
      const { clusters } = (await response.json()) as ClusterList
      return clusters.map(({ status }) => (status?.forgotten ?? []).map(forgottenText))
    },
    async order(body) {
      const url = `${urls[1]}/v1/directives`
      const headers = { 'content-type': 'application/json' }
      const sent = { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await checked(url, await fetch(url, sent), 'POST')
      const answer = (await response.json()) as DirectiveResult & { readonly detail?: string }
      await group.caughtUp()
      return { status: response.status, text: answer.detail ?? answer.effective }
    },
    async refusal(path) {
      const response = await get(`${urls[0]}/v1/${path}`)
      const { detail } = (await response.json()) as { readonly detail: string }
      return `${response.status} ${detail}`
    },
  }
  await asked.tell(...STORY)
  return asked
}

type CutOff = NonNullable<ClusterList['clusters'][number]['status']>['cutOff'][number]

function cutOffText({ ownerCluster, because }: CutOff): string {
  return `${ownerCluster.id}, ${because}`
}

type Forgotten = NonNullable<ClusterList['clusters'][number]['status']>['forgotten'][number]

function forgottenText({ ownerCluster, who, why }: Forgotten): string {
  return `${ownerCluster.id} by ${who}: ${why}`
}

const NAMES = 'annotation:kinfold.io/owner=north/example.com/Widget/team-a'
const BOTH = 'export:widget/team-a/c export:widget/team-a/d'
const STORY = [
  `rule far cm 0 for:3600 elsewhere:north import:widget/team-a ${BOTH}`,
  `put cm/a [${NAMES}/app/widget-app]`,
  `put cm/b [${NAMES}/other/widget-other]`,
  'put cm/plain',
  // Of what no rule asks for, and of what is not shared, the order changes nothing.
  `put rs/x [${NAMES}/app/widget-app]`,
  `put cm/probe [annotation:kinfold.io/owner=north/example.com/Widget/secret/s/widget-s]`,
  'cluster d',
  `rule far cm 0 for:3600 elsewhere:north import:widget/team-a ${BOTH}`,
  `put cm/a [${NAMES}/app/widget-app]`,
  'follow north',
  'elsewhere deleted north widget/app in team-a',
  'cluster c',
  'follow north',
  'elsewhere deleted north widget/app in team-a',
  'elsewhere there north widget/other in team-a',
]
const CUT = ['unfollow north', 'cluster d', 'unfollow north', 'cluster c']

/** `CLUSTER: NAMED; RULE OBJECTS/DUE; objects` */
function rowsOf({ clusters }: ForgetPlan): readonly string[] {
  return clusters.map(({ cluster, named, rules, objects, refused }) => {
    const counts = rules.map(({ rule, objects: all, due }) => `${rule} ${all}/${due}`).join(' ')
    const names = objects.map(({ name, isDue }) => `${name}${isDue ? ' due' : ''}`).join(', ')
    return `${cluster.id}: ${named}; ${counts}; ${names}${refused === '' ? '' : `; ${refused}`}`
  })
}

const OF_D = { verb: 'forget-cluster', cluster: 'd', subject: 'north', why: 'it was dismantled' }

test('the plan names what names owners there, in each cluster, and is refused while it is followed', async (t) => {
  const asked = await asker(t)
  const followed =
    'it is followed, so it is not gone: to end its edges change the rule that imports them'
  deepEqual(rowsOf(await asked.plan()), [
    `c: 4; far 2/1; a due, b; ${followed}`,
    `d: 1; far 1/1; a due; ${followed}`,
  ])
  deepEqual(await asked.cutOff(), [[], []])
  await asked.tell(...CUT)
  const plan = await asked.plan()
  deepEqual(
    plan.clusters.map(({ cluster }) => cluster.id),
    ['c', 'd'],
  )
  const [ofC, ofD] = plan.clusters
  equal(ofC?.followed, 'which is cut off: nothing is heard')
  deepEqual(ofC?.objects[1]?.owner, {
    ...{ group: 'example.com', kind: 'Widget', namespace: 'team-a' },
    ...{ name: 'other', uid: 'widget-other' },
  })
  match(ofC?.objects[0]?.because ?? '', /^that owner was deleted/)
  match(ofD?.digest ?? '', /^sha256:[0-9a-f]{64}$/)
  deepEqual(rowsOf(await asked.plan('&cluster=d&limit=0')), ['d: 1; far 1/1; '])
  deepEqual((await asked.plan('&cluster=d')).clusters[0]?.digest, ofD?.digest)
  match(await asked.refusal('plan/forget-cluster'), /^400 ownerCluster: say which/)
  match(
    await asked.refusal('plan/forget-cluster?ownerCluster=test'),
    /^400 several clusters are called test: c, d$/,
  )
})

test('an order is of the plan that was shown, of one cluster, and is taken back by another', async (t) => {
  const asked = await asker(t)
  await asked.tell(...CUT)
  const digest = (await asked.plan()).clusters[1]?.digest ?? ''
  const isDue = async (): Promise<boolean> => (await asked.plan()).clusters[1]?.rules[0]?.due === 1
  const refusals = [
    [{ ...OF_D, digest: '' }, 400, /^forget-cluster takes a digest, the one that its plan shows$/],
    [{ ...OF_D, digest, why: '' }, 400, /^say why: forget-cluster keeps objects/],
    [{ ...OF_D, digest, subject: '' }, 400, /takes a subject, the id of a cluster of owners$/],
    [{ ...OF_D, digest, cluster: '' }, 400, /^forget-cluster is about one cluster: name it$/],
    [{ ...OF_D, digest, cluster: 'c' }, 409, /^other objects name owners in cluster north by now/],
    [{ ...OF_D, digest, subject: 'west' }, 409, /^cluster west: no object names an owner there$/],
  ] as const
  for (const [body, status, text] of refusals) {
    const refused = await asked.order(body)
    equal(refused.status, status, refused.text)
    match(refused.text, text)
  }
  // What names an owner there now was not in the plan.
  await asked.tell('cluster d', `put cm/new [${NAMES}/app/widget-app]`)
  equal((await asked.order({ ...OF_D, digest })).status, 409)
  await asked.tell('delete cm/new', 'cluster c')
  equal(await isDue(), true)

  const given = await asked.order({ ...OF_D, digest })
  match(given.text, /^No object there is due by an owner in it any more: all of them stay\./)
  deepEqual(await asked.cutOff(), [['north, which is cut off: nothing is heard'], []])
  deepEqual(await asked.forgotten(), [[], ['north by local:somebody: it was dismantled']])
  const { clusters } = await asked.plan()
  deepEqual(
    clusters.map(({ forgottenBy }) => forgottenBy?.why ?? null),
    [null, 'it was dismantled'],
  )
  equal(clusters[1]?.refused, 'it is forgotten already')
  const ofA = 'kind=ConfigMap&name=a&namespace=ns&cluster=d'
  const { object } = await asked.explain(ofA)
  const term = object?.terms.find(({ what }) => what.includes('cluster north'))
  equal(term?.isTrue, false)
  match(
    term?.value ?? '',
    /^it names an owner in cluster north, which local:somebody had forgotten/,
  )
  const { elsewhere, verdict } = await asked.why(ofA)
  deepEqual(
    elsewhere.map(({ owner, ...each }) => [owner.cluster.id, owner.uid, each]),
    [['north', 'widget-app', { rule: 'far', state: 'forgotten', because: term?.value }]],
  )
  equal(verdict, null)
  deepEqual((await asked.why(ofA.replace('name=a', 'name=new'))).elsewhere, [])
  equal((await asked.order({ ...OF_D, digest })).status, 409)

  const back = { verb: 'remember-cluster', cluster: 'd', subject: 'north' }
  match((await asked.order(back)).text, /^say why: remember-cluster permits deletes/)
  const remembered = await asked.order({ ...back, why: 'it is back' })
  match(remembered.text, /^What is due by an owner in it waits anew, for an hour at least\./)
  equal(await isDue(), true)
  deepEqual(await asked.forgotten(), [[], []])
  match((await asked.order({ ...back, why: 'again' })).text, / It was not forgotten\.$/)
})
