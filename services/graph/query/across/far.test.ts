/**
 * What names an owner in another cluster by `kinfold.io/owner`, over two clusters that two
 * processes have: the same answer whichever is asked, by rule, with consent, at a moment, and
 * nothing of what who asks may not list.
 */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, type ProcessOptions, tell } from '../../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../../testing/rig/task-rig.ts'
import { SettableClock } from '../../../../testing/settable-clock.ts'
import type { Across } from '../../api/answer-schema.ts'

interface Asker {
  across(query: string, who?: string): Promise<Across>
  text(query: string, who: string): Promise<string>
  /** Where it ends now. */
  at(): Promise<string>
  tell(...lines: readonly string[]): Promise<void>
  /** Of log time; questions are answered at that of the log. */
  pass(ms: number): void
  /** The process that has the objects answers no more. */
  lose(): Promise<void>
}

/** Cluster `c` has the owners, `d` the objects that name them. */
async function asker(t: TestContext, options: ProcessOptions = {}): Promise<Asker> {
  const clock = new SettableClock()
  const group = new GraphGroup(2, 0, new MemoryLog({ partitions: 2, clock }))
  t.after(async () => await group.stop())
  const at = { ...options, clock }
  const processes = [await group.start(at), await group.start(at)]
  const urls = processes.map(({ url }) => url)
  const partitionOf = (cluster: string): number => (cluster === 'd' ? 1 : 0)
  const lines: string[] = []
  let told = 0
  const get = async (url: string, who = 'bob'): Promise<Response> => {
    return await checked(url, await fetch(url, { headers: { authorization: `Bearer ${who}` } }))
  }
  const asked: Asker = {
    async across(query, who) {
      const [one, other = one] = await Promise.all(
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
    pass(ms) {
      clock.pass(ms)
    },
    async lose() {
      const away = processes.find(({ graph }) => graph.tasks.some((each) => each.partition === 1))
      ok(away !== undefined)
      urls.splice(urls.indexOf(away.url), 1)
      await away.kill()
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
  equal(
    then.partial,
    'a position is of one partition, and clusters of others are left out: ask with a time',
  )
  deepEqual(rowsOf(then), [`d by c: ConfigMap/a ConfigMap/b (2+1) nothing: ${THERE}`])
  await asked.tell('unfollow c')
  match(rowsOf(await asked.across(query))[0] ?? '', /; held: that is in a cluster which is cut off/)
})

test('what goes with an owner is asked for by uid: what names that is apart from what names it', async (t) => {
  const asked = await asker(t)
  const space = 'kind=namespace&name=team-a&uid=ns-team-a&cluster=c'
  const along = await asked.across(`${space}&along=widget-app,widget-before,none`)
  deepEqual([along.parts, along.managers, along.marked], [[], [], 0])
  deepEqual(rowsOf({ ...along, parts: along.along }), [
    `d by c: ConfigMap/a ConfigMap/b (2+1) nothing: ${THERE}`,
    'd by c: ConfigMap/old (1+0) unknown: by rule far it stays meanwhile: whether that owner is there is not known',
  ])
  deepEqual(
    along.along.map(({ manager, managers }) => [manager.name, manager.namespace, managers]),
    [
      ['app', 'team-a', 1],
      ['app', 'team-a', 0],
    ],
  )
  const own = await asked.across(
    'kind=widget&name=app&cluster=c&uid=widget-app&along=widget-before',
  )
  deepEqual([own.parts.length, own.along.length, own.marked], [1, 1, 2])
  const then = await asked.across(`${space}&along=widget-app&at=${await asked.at()}`)
  deepEqual(
    rowsOf({ ...then, parts: then.along }),
    rowsOf({ ...then, parts: along.along.slice(0, 1) }),
  )
  deepEqual(
    (await asked.across(`${space.replace('cluster=c', 'cluster=d')}&along=widget-app`)).along,
    [],
  )
  match(
    await asked.text(`${space.replace('&cluster=c', '')}&along=u`, 'bob'),
    /^400 .*takes cluster/,
  )
  const many = Array.from({ length: 201 }, (_, number) => `u${number}`).join()
  match(await asked.text(`${space}&along=${many}`, 'bob'), /^400 .*200 uids at most/)
})

const QUERY = 'kind=widget&name=app&namespace=team-a&uid=widget-app&cluster=c'
const GONE = `${QUERY}&goneSince=1970-01-01T00:20:00Z`

/** Its owner is deleted, its rule has `a` deleted, and someone else `other`. */
async function deleted(t: TestContext, options: ProcessOptions = {}): Promise<Asker> {
  const asked = await asker(t, options)
  await asked.tell(
    'enforce-rule far',
    ...[`put cm/other [${NAMES}widget-app]`, 'put pod/stays <- cm/a', 'put pod/more <- pod/of-a'],
    ...['delete cm/b', 'elsewhere deleted c widget/app in team-a'],
    ...['cluster c', 'delete widget/app in team-a', 'cluster d'],
  )
  await asked.tell('delete cm/other')
  for (let minutes = 0; minutes <= 60; minutes += 2) {
    asked.pass(120_000)
    await asked.tell('follow c', 'beat 1')
  }
  await asked.tell('delete cm/a', 'delete pod/of-a', 'delete pod/more')
  return asked
}

/** `OBJECTS of CLUSTER (NUMBERS) because` */
function goneOf({ gone }: Across): readonly string[] {
  return gone.map(({ cluster, by, objects, gone, dependents, left, because }) => {
    const names = objects.map(({ kind, name }) => `${kind}/${name}`).join(' ')
    return `${cluster.id} by ${by.id}: ${names} (${gone}+${dependents}, ${left} left) ${because}`
  })
}

test('what went with its owner is told by rule, with what that owned, and what went otherwise', async (t) => {
  const asked = await deleted(t)
  const told = await asked.across(GONE)
  deepEqual(goneOf(told), [
    'd by c: ConfigMap/a (1+2, 1 left) by rule far, as their owner was deleted',
    'd by c: ConfigMap/other (1+0, 0 left) not by a rule about owners in other clusters',
  ])
  deepEqual([rowsOf(told), told.partial], [[], ''])
  equal(
    told.text,
    '2 objects in 1 cluster that named it as owner by kinfold.io/owner were deleted since, and 2 dependents of them',
  )
  match(told.gone[0]?.objects[0]?.goneAt ?? '', /^\d{4}-/)
  deepEqual(goneOf(await asked.across(QUERY)), [])
  const another = GONE.replace('uid=widget-app', 'uid=widget-before')
  deepEqual(goneOf(await asked.across(another)), [])
})

test('a moment before has none of it gone, and in dry run no rule had it deleted', async (t) => {
  const asked = await asker(t)
  const before = await asked.at()
  await asked.tell('elsewhere deleted c widget/app in team-a', 'delete cm/a')
  deepEqual(goneOf(await asked.across(`${GONE}&at=${before}`)), [])
  deepEqual(goneOf(await asked.across(GONE)), [
    'd by c: ConfigMap/a (1+0, 1 left) not by a rule about owners in other clusters',
  ])
})

test('a cluster that is silent, and a process that does not answer, are named as missing', async (t) => {
  const asked = await deleted(t)
  asked.pass(600_000)
  const silent = await asked.across(GONE)
  equal(silent.gone.length, 2)
  match(silent.partial, /^nothing was heard of cluster test since \d/)
  await asked.lose()
  const told = await asked.across(GONE)
  deepEqual([told.gone, told.parts], [[], []])
  match(told.partial, /^partition 1 of 2: /)
})

test('what is gone is asked with uid and cluster of the owner, and a time', async (t) => {
  const asked = await asker(t)
  match(await asked.text(GONE.replace('&cluster=c', ''), 'bob'), /^400 .*takes uid and cluster/)
  match(await asked.text(GONE.replace('uid=widget-app', ''), 'bob'), /^400 .*takes uid and cluster/)
  match(await asked.text(`${QUERY}&goneSince=pos:0-1`, 'bob'), /^400 .*takes a time/)
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

test('who may list some of what went is shown these, and others nothing', async (t) => {
  const asked = await deleted(t, { authority, isReadingReviewed: true })
  const ann = await asked.across(GONE, 'ann')
  deepEqual(goneOf(ann), [
    'd by c: ConfigMap/a (1+0, 0 left) by rule far, as their owner was deleted',
    'd by c: ConfigMap/other (1+0, 0 left) not by a rule about owners in other clusters',
  ])
  const eve = await asked.across(GONE, 'eve')
  deepEqual([eve.gone, eve.parts], [[], []])
  doesNotMatch(JSON.stringify({ ...eve, asOf: [] }), /"id":|far|widget-app/)
  const none = await asked.across(GONE.replace('uid=widget-app', 'uid=none'), 'eve')
  deepEqual({ ...none, asked: eve.asked }, eve)
})

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
