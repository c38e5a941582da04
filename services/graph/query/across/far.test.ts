/**
 * What names an owner in another cluster by `kinfold.io/owner`, over two clusters that two
 * processes have: the same answer whichever is asked, by rule, with consent, at a moment, and
 * nothing of what who asks may not list.
 */
import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, type ProcessOptions, tell } from '../../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../../testing/rig/task-rig.ts'
import type { Across } from '../../api/answer-schema.ts'

interface Asker {
  across(query: string, who?: string): Promise<Across>
  text(query: string, who: string): Promise<string>
  /** Where it ends now. */
  at(): Promise<string>
  tell(...lines: readonly string[]): Promise<void>
}

/** Cluster `c` has the owners, `d` the objects that name them. */
async function asker(t: TestContext, options: ProcessOptions = {}): Promise<Asker> {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const urls = [(await group.start(options)).url, (await group.start(options)).url]
  const partitionOf = (cluster: string): number => (cluster === 'd' ? 1 : 0)
  const lines: string[] = []
  let told = 0
  const get = async (url: string, who = 'bob'): Promise<Response> => {
    return await checked(url, await fetch(url, { headers: { authorization: `Bearer ${who}` } }))
  }
  const asked: Asker = {
    async across(query, who) {
      const [one, other] = await Promise.all(
        urls.map(async (url) => {
          const response = await get(`${url}/v1/across?${query}`, who)
          const text = await response.text()
          equal(response.status, 200, text)
          return { ...JSON.parse(text), asOf: [] }
        }),
      )
      deepEqual(one, other)
      return one as Across
    },
    async text(query, who) {
      const response = await get(`${urls[0]}/v1/across?${query}`, who)
      return `${response.status} ${await response.text()}`
    },
    async at() {
      const { entries } = await group.log.read('events', 1, 0n, { limit: 1_000_000, waitMs: 0 })
      return `pos:1-${(entries.at(-1)?.offset ?? 0n) + 1n}`
    },
    async tell(...more) {
      lines.push(...more)
      const events = eventsOf(lines)
      await tell(group.log, events.slice(told), partitionOf)
      told = events.length
      await group.caughtUp()
    },
  }
  await asked.tell(...STORY)
  return asked
}

const RULES = [
  'rule far cm 0 for:3600 elsewhere:c import:widget/team-a import:widget/private export:widget/team-a/d',
]
const NAMES = 'annotation:kinfold.io/owner=c/example.com/Widget/team-a/app/'
const STORY = [
  ...RULES,
  'serve widget',
  'relist widget',
  'put widget/app in team-a',
  'put widget/app in team-b',
  'cluster d',
  ...RULES,
  'follow c',
  `put cm/a [${NAMES}widget-app]`,
  `put cm/b [${NAMES}widget-app]`,
  'put pod/of-a <- cm/a',
  'put cm/plain',
  // Of another uid of that name: one that was made again.
  `put cm/old [${NAMES}widget-before]`,
  'put cm/probe [annotation:kinfold.io/owner=c/example.com/Widget/private/app/widget-p]',
  'elsewhere there c widget/app in team-a',
]

/** `OBJECTS in CLUSTER (NUMBERS) DELETES: because` */
function rowsOf({ parts }: Across): readonly string[] {
  return parts.map(({ cluster, by, objects, marked, dependents, deletes, because }) => {
    const names = objects.map(({ kind, name }) => `${kind}/${name}`).join(' ')
    return `${cluster.id} by ${by?.id}: ${names} (${marked}+${dependents}) ${deletes}: ${because}`
  })
}

const THERE =
  'rule far takes it along 1 h after its owner was deleted; not yet, as the rule is in dry run'

test('an owner has what names it in other clusters, and their dependents, by rule', async (t) => {
  const asked = await asker(t)
  const one = await asked.across('kind=widget&name=app&namespace=team-a&cluster=c&uid=widget-app')
  deepEqual(rowsOf(one), [`d by c: ConfigMap/a ConfigMap/b (2+1) nothing: ${THERE}`])
  equal(
    one.text,
    '2 objects in 1 cluster name it as owner by kinfold.io/owner, and 1 dependent of them',
  )
  deepEqual(
    one.managers.map(({ cluster, uid, phase, tool }) => [cluster.id, uid, phase, tool]),
    [['c', 'widget-app', 'observed', 'kinfold']],
  )
  deepEqual([one.partial, one.parts[0]?.managers], ['', 1])
  deepEqual(rowsOf(await asked.across('kind=widget&name=app&cluster=d')), [])
  deepEqual(rowsOf(await asked.across('kind=deploy&name=app')), [])
})

test('by its name alone all that annotations say is shown, and where it stays and why', async (t) => {
  const asked = await asker(t)
  deepEqual(rowsOf(await asked.across('kind=widget&name=app')), [
    'd by c: ConfigMap/probe (1+0) nothing: by rule far it stays: it names an owner that is not exported to this cluster',
    `d by c: ConfigMap/a ConfigMap/b (2+1) nothing: ${THERE}`,
    'd by c: ConfigMap/old (1+0) unknown: by rule far it stays meanwhile: whether that owner is there is not known',
  ])
})

test('a rule that is enforced takes them along, and a moment has them as then', async (t) => {
  const asked = await asker(t)
  const query = 'kind=widget&name=app&namespace=team-a&uid=widget-app'
  const before = await asked.at()
  await asked.tell('enforce-rule far', 'delete cm/b', 'elsewhere deleted c widget/app in team-a')
  const [row = ''] = rowsOf(await asked.across(query))
  match(
    row,
    /^d by c: ConfigMap\/a \(1\+1\) managed: rule far takes it along 1 h after that owner was deleted \(known since [^)]+\)$/,
  )
  const then = await asked.across(`${query}&at=${before}`)
  deepEqual(rowsOf(then), [`d by c: ConfigMap/a ConfigMap/b (2+1) nothing: ${THERE}`])
  await asked.tell('unfollow c')
  match(rowsOf(await asked.across(query))[0] ?? '', /; held: that is in a cluster which is cut off/)
})

const authority: Authority = {
  identify: async ({ authorization = '' }) => {
    const name = authorization.replace('Bearer ', '')
    return { name, uid: '', groups: [], extra: {} }
  },
  may: async ({ name }, cluster, { resource, namespace, verb }) => {
    if (name === 'bob') return true
    const isMine = cluster === 'd' && resource === 'configmaps' && namespace === 'ns'
    return name === 'ann' && verb === 'list' && isMine
  },
}

test('who may list what names it is shown neither the owner nor other dependents, others nothing', async (t) => {
  const asked = await asker(t, { authority, isReadingReviewed: true })
  const query = 'kind=widget&name=app&namespace=team-a&uid=widget-app'
  const ann = await asked.across(query, 'ann')
  deepEqual(rowsOf(ann), [`d by c: ConfigMap/a ConfigMap/b (2+0) nothing: ${THERE}`])
  deepEqual([ann.managers, ann.parts[0]?.managers], [[], 0])
  equal(ann.partial, 'what you may not list is left out, and not counted')
  const eve = await asked.across(query, 'eve')
  deepEqual(eve.parts, [])
  doesNotMatch(JSON.stringify({ ...eve, asOf: [] }), /"id":|far|widget-app/)
  const none = await asked.across('kind=widget&name=none&namespace=team-a&uid=none', 'eve')
  deepEqual({ ...none, asked: eve.asked }, eve)
})
