/**
 * The bridge beside a watcher over a real log: when it publishes, what cuts the other cluster off,
 * and what it knows after a restart, other rules and failures.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { POSITION_KEY } from '../../core/graph/key.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import { FOLD_VERSION } from '../../core/model/policy.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Produced, TaskLog, TopicBatch } from '../../ports/log.ts'
import { RULE_BOOK_KEY } from '../../ports/record/control-key.ts'
import type { Lineage } from '../../ports/record/lineage.ts'
import { object } from '../../testing/model/notation.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { answered, silence, WatcherRig } from '../../testing/rig/watcher-rig.ts'
import { connectionRecord } from './kind/marks.ts'

const NORTH = 'north'
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const PARTITION = 1
const OWNER = object('rs/web in team', '1')
const NAMES = { 'kinfold.io/owner': `${NORTH}/apps/ReplicaSet/team/web/${OWNER.uid}` }
const WATCHED = {
  evidence: 'deleted',
  isWatched: true,
  isOrphaning: false,
  clusterEpoch: 1,
} as const
const BEAT_MS = 5_000
const ORDER = { digest: null, listed: EMPTY_SET, who: 'ann', isProven: true, why: 'a test' }

let rig: WatcherRig
/** Of north: what its graph does; null while it stands still. */
let task: TaskLog | null
let isBeating: boolean
/** Of north, after each heartbeat. */
let otherEvents: number

beforeEach(async () => {
  rig = new WatcherRig({ partitions: 2 })
  isBeating = true
  otherEvents = 0
  task = await rig.log.openTask(PARTITION)
  await rig.assign(NORTH, PARTITION, 5)
  await connected(true)
  await commit([])
  await rules('team')
  await rig.create(CONFIG_MAPS, 'named', { metadata: { annotations: NAMES } })
  await rig.create(CONFIG_MAPS, 'plain')
})
afterEach(() => rig.stop())

async function rules(...namespaces: readonly string[]): Promise<void> {
  const imports = namespaces.flatMap((each) => [`import:rs/${each}`, `export:rs/${each}/${ID}`])
  const rule = ruleIn(`far cm 0 for:3600 elsewhere:${NORTH} ${imports.join(' ')}`)
  await ruleBook([rule])
}

async function ruleBook(all: readonly Rule[]): Promise<void> {
  const value = rig.codec.encode({ type: 'RuleBook', rules: all, who: 'ann' })
  await rig.log.append('orders', 0, [{ key: RULE_BOOK_KEY, value }])
}

async function connected(isConnected: boolean, clusterEpoch = 1): Promise<void> {
  const control = { cluster: NORTH, number: clusterEpoch, connected: isConnected, why: 'a test' }
  await rig.log.append('control', 0, [connectionRecord(rig.codec, control)])
}

/** North's graph has folded all of its events, and these are its records. */
async function commit(lineage: readonly Produced[]): Promise<void> {
  const position = await rig.log.end('events', PARTITION)
  const of = { partition: PARTITION, partitions: 2, position, foldVersion: FOLD_VERSION }
  const rest = { state: '', outputs: '', last: '', inForce: [] }
  const value = rig.codec.encode({ type: 'Position', ...of, ...rest })
  const outputs: TopicBatch[] =
    lineage.length === 0 ? [] : [{ topic: 'lineage', partition: PARTITION, records: lineage }]
  await task?.commit({ outputs, changelog: [{ key: POSITION_KEY, value }] })
}

function record(departure: Lineage['departure'] = null): Produced {
  const { group, kind, namespace, name, uid, version, resource, scope } = OWNER
  const value = rig.codec.encode({
    ...{ type: 'Lineage', cluster: NORTH, clusterName: NORTH, scope, resource, departure },
    ...{ group, kind, namespace, name, uid, version, owners: [], moreOwners: 0 },
    ...{ phase: departure === null ? 'observed' : 'gone', doubt: null, deletion: null },
    ...{ createdAt: null, deletedAt: null, why: '', verdict: null, admission: null },
    ...{ heldBy: null, held: null, evidence: null, position: 5n, at: 0 },
  })
  return { key: `${NORTH}/${uid}`, value }
}

/** North's heartbeats go on meanwhile, unless they do not. */
async function pass(seconds: number, ...others: readonly string[]): Promise<void> {
  for (let passedMs = 0; passedMs < seconds * 1_000; passedMs += BEAT_MS) {
    if (isBeating) {
      for (const cluster of [NORTH, ...others]) {
        const value = rig.codec.encode({ type: 'Heartbeat', cluster, epoch: 1, kinds: [] })
        await rig.log.append('events', PARTITION, [{ key: cluster, value }])
      }
    }
    const value = rig.codec.encode({ type: 'Heartbeat', cluster: 'other', epoch: 1, kinds: [] })
    const noise = Array.from({ length: otherEvents }, () => ({ key: 'other', value }))
    if (noise.length > 0) await rig.log.append('events', PARTITION, noise)
    await commit([])
    await rig.clock.advance(BEAT_MS)
  }
}

/** What was published about north, and of which object names it, in order. */
async function said(): Promise<readonly string[]> {
  return (await rig.events()).flatMap((event) => {
    if (event.type === 'OwnerElsewhere') return [`${event.uid} ${event.state}`]
    if (event.type === 'ClusterElsewhere') return [event.because || event.state]
    if (event.type !== 'ObjectAdded' && event.type !== 'ObjectUpdated') return []
    return event.object.name.startsWith('named') ? [event.object.name] : []
  })
}

async function started(): Promise<void> {
  rig.start()
  await rig.synced()
  await pass(30)
}

/** Of the server in this rig, whose uids are the same each time. */
const ID = await new WatcherRig().cluster().identify(new AbortController().signal)

test('an owner is published after an object that names it, and before its cluster is followed', async () => {
  await commit([record()])
  await started()
  const all = await said()
  ok(all.indexOf('named') < all.indexOf(`${OWNER.uid} there`), all.join())
  ok(all.indexOf(`${OWNER.uid} there`) < all.indexOf('followed'), all.join())
  deepEqual(rig.watcher.status().elsewhere, [{ cluster: NORTH, cutOffBecause: '', leftOut: [] }])
  await commit([record(WATCHED)])
  await pass(15)
  equal((await said()).at(-1), `${OWNER.uid} deleted`)
  const before = (await said()).length
  await pass(60)
  deepEqual((await said()).slice(before), ['followed'], 'each minute')
})

const missing: readonly (readonly [string, () => unknown, RegExp])[] = [
  ['its watcher has no contact', () => connected(false), /^its watcher has no contact: a test$/],
  [
    'no heartbeat came for a minute',
    () => {
      isBeating = false
    },
    /^no heartbeat of it was published for a minute$/,
  ],
  [
    'its graph stands still',
    () => {
      task = null
    },
    /^its graph is behind its watcher$/,
  ],
  [
    'a record of its lineage cannot be read',
    async () => await commit([{ key: `${NORTH}/x`, value: new Uint8Array([1, 2, 3]) }]),
    /^its lineage cannot be read: /,
  ],
  [
    'its assignment cannot be read',
    async () =>
      await rig.log.append('control', 0, [{ key: `partition/${NORTH}`, value: new Uint8Array(3) }]),
    /^no watcher publishes it in this log$/,
  ],
]

for (const [what, happens, because] of missing) {
  test(`a cluster is cut off once ${what}`, async () => {
    await started()
    equal((await said()).at(-1), 'followed')
    await happens()
    await pass(80)
    const last = (await said()).at(-1) ?? ''
    ok(because.test(last), last)
  })
}

test('who changes 2,000 objects a second cuts no cluster off', async () => {
  await started()
  otherEvents = 2_000 * (BEAT_MS / 1_000)
  const before = (await said()).length
  await pass(75)
  deepEqual((await said()).slice(before), ['followed'])
})

test('a heartbeat that was there before the first look proves nothing', async () => {
  await pass(10)
  isBeating = false
  rig.start()
  await rig.synced()
  await pass(60)
  ok(!(await said()).includes('followed'))
})

test('a watcher that resumes learns which objects name owners from a list of its own', async () => {
  await commit([record()])
  await started()
  await rig.stop()
  const before = (await said()).length
  const synced = (await rig.told('ConfigMap')).filter((each) => each === 'SyncFinished').length
  rig.forget()
  await started()
  const lists = rig.requests.filter((each) => each === 'LIST configmaps')
  equal(lists.length, 1)
  const since = (await said()).slice(before)
  ok(since.indexOf(`${OWNER.uid} there`) >= 0, since.join())
  ok(since.indexOf(`${OWNER.uid} there`) < since.indexOf('followed'), since.join())
  const after = (await rig.told('ConfigMap')).filter((each) => each === 'SyncFinished').length
  equal(after, synced, 'nothing of that list is published')
})

test('a cluster is not followed before that list', async () => {
  await started()
  await rig.stop()
  const before = (await said()).length
  rig.broken = () => (rig.requests.at(-1) === 'LIST configmaps' ? answered(503, {}) : undefined)
  await started()
  const since = (await said()).slice(before)
  ok(!since.includes('followed') && since.some((each) => /cannot be listed/.test(each)), `${since}`)
  rig.broken = () => undefined
  // One look begins the list, and the next one knows of it.
  await pass(25)
  equal((await said()).at(-1), 'followed')
})

test('a kind that cannot be listed keeps only those clusters from being followed whose rules have it', async () => {
  await stoppedWithTwo()
  rig.broken = () => (rig.requests.at(-1) === 'LIST secrets' ? answered(503, {}) : undefined)
  await started()
  equal(cutOff(NORTH), '')
  await rig.assign('west', PARTITION, 6)
  await rig.log.append('control', 0, [
    connectionRecord(rig.codec, { cluster: 'west', number: 1, connected: true, why: '' }),
  ])
  await pass(30, 'west')
  ok(/secrets cannot be listed/.test(cutOff('west') ?? ''), cutOff('west'))
  rig.broken = () => undefined
  await pass(25, 'west')
  equal(cutOff('west'), '')
})

test('a kind whose list hangs keeps no other cluster from being followed', async () => {
  await stoppedWithTwo()
  rig.broken = () =>
    rig.requests.at(-1) === 'LIST secrets' ? { ...answered(200, ''), body: silence() } : undefined
  rig.start()
  await pass(30)
  equal(cutOff(NORTH), '')
  const before = (await said()).length
  await pass(120)
  deepEqual((await said()).slice(before), ['followed', 'followed'], 'each minute')
})

/** It has two rules: of Secrets with owners in west, of ConfigMaps with owners in north. */
async function stoppedWithTwo(): Promise<void> {
  const west = ruleIn(`west secret 0 for:3600 elsewhere:west import:rs/team export:rs/team/${ID}`)
  const north = ruleIn(`far cm 0 for:3600 elsewhere:${NORTH} import:rs/team export:rs/team/${ID}`)
  await ruleBook([west, north])
  await started()
  await rig.stop()
}

function cutOff(cluster: string): string | undefined {
  return rig.watcher.status().elsewhere?.find((each) => each.cluster === cluster)?.cutOffBecause
}

test('what a list misses names nothing any more', async () => {
  await commit([record()])
  await started()
  rig.broken = ({ path }) => {
    const isWatch = path.includes('/configmaps?') && path.includes('watch=true')
    if (isWatch) throw new Error('cut')
    return undefined
  }
  rig.cut()
  await rig.remove(`${CONFIG_MAPS}/named`)
  rig.broken = () => undefined
  await rig.askRelist(ID, { group: '', kind: 'ConfigMap' }, 1)
  await pass(60)
  const before = (await said()).length
  await commit([record(WATCHED)])
  await pass(15)
  deepEqual(
    (await said()).slice(before).filter((each) => each !== 'followed'),
    [],
  )
})

test('an object that is published in full once more has its owner published anew', async () => {
  await commit([record(WATCHED)])
  await started()
  const before = (await said()).length
  // As after a record that cannot be read: the fold has no object that names the owner.
  await rig.askRelist(ID, { group: '', kind: 'ConfigMap' }, 1)
  await pass(15)
  deepEqual((await said()).slice(before), ['named', `${OWNER.uid} deleted`])
})

test('other rules begin a new bridge, and none end it', async () => {
  await rules('other')
  await commit([record()])
  await started()
  ok(!(await said()).includes(`${OWNER.uid} there`))
  await rules('team', 'other')
  await pass(30)
  const all = await said()
  ok(all.includes(`${OWNER.uid} there`), all.join())
  equal(all.at(-1), 'followed')
  await ruleBook([])
  await pass(30)
  const before = (await said()).length
  await pass(120)
  equal((await said()).length, before)
  deepEqual(rig.watcher.status().elsewhere, [])
})

test('a cluster that an order forgets is neither read nor reported until an order takes it back', async () => {
  await commit([record()])
  await started()
  await connected(false)
  await pass(15)
  const order = async (verb: string, cluster: string = ID): Promise<void> => {
    const value = rig.codec.encode({ type: 'Directive', ...ORDER, verb, cluster, subject: NORTH })
    const { end } = await rig.log.bounds('orders', 0)
    await rig.log.append('orders', 0, [{ key: `order/0/${end}/test`, value }])
  }
  await order('forget-cluster', 'another')
  await pass(15)
  equal(cutOff(NORTH), 'its watcher has no contact: a test')
  await order('forget-cluster')
  await pass(15)
  const before = (await said()).length
  await connected(true)
  await commit([record(WATCHED)])
  await pass(180)
  deepEqual((await said()).slice(before), [], 'whatever is heard of it')
  deepEqual(rig.watcher.status().elsewhere, [])
  const noted = (): number =>
    rig.notes.filter(({ message }) => message === 'a cluster of owners is forgotten, as ordered')
      .length
  equal(noted(), 1)
  await order('remember-cluster')
  await pass(30)
  await followedAnew(before)
  await order('forget-cluster')
  await rig.stop()
  rig.forget()
  const told = (await said()).length
  await started()
  await pass(60)
  deepEqual((await said()).slice(told), [], 'a later watcher')
  deepEqual(rig.watcher.status().elsewhere, [])
  await order('remember-cluster')
  await pass(30)
  await followedAnew(told)
  equal(cutOff(NORTH), '')
})

/** What was deleted meanwhile is said before that its cluster is followed, which is said last. */
async function followedAnew(from: number): Promise<void> {
  const since = (await said()).slice(from)
  const at = since.indexOf(`${OWNER.uid} deleted`)
  ok(at >= 0 && at < since.indexOf('followed'), since.join())
  equal(since.at(-1), 'followed')
}

test('a log that cannot be read cuts off, and the watcher goes on', async () => {
  await started()
  rig.unread = 'lineage'
  await pass(15)
  ok(/^the log cannot be read/.test((await said()).at(-1) ?? ''), (await said()).at(-1))
  await rig.create(CONFIG_MAPS, 'named-2', { metadata: { annotations: NAMES } })
  await rig.clock.advance(0)
  equal(rig.failure, undefined)
  rig.unread = null
  await pass(30)
  equal((await said()).at(-1), 'followed')
})

test('what cuts a cluster off is logged once it was followed', async () => {
  await connected(false)
  await started()
  const logged = (): readonly unknown[] =>
    rig.notes.flatMap(({ message, fields }) => {
      return message.startsWith('a cluster of owners') ? [[message, fields['reason']]] : []
    })
  deepEqual(logged(), [])
  await connected(true)
  await pass(15)
  deepEqual(logged(), [['a cluster of owners is followed', '']])
  await connected(false)
  await pass(15)
  const reason = 'its watcher has no contact: a test'
  deepEqual(logged().at(-1), ['a cluster of owners is cut off', reason])
})

test('a cluster that is is not followed for long is logged', async () => {
  isBeating = false
  await started()
  ok(/^its next heartbeat is awaited$/.test((await said()).at(-1) ?? ''), (await said()).at(-1))
  await pass(90)
  const [first] = rig.notes.filter(({ message }) => message === 'a cluster of owners is cut off')
  equal(first?.fields['reason'], 'no heartbeat of it was published for a minute')
})
