/**
 * What a bridge publishes: by itself, and between two folds, from an owner's deletion in one
 * cluster to the command in the other.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf } from '../../core/graph/facts.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { Lineage } from '../../ports/record/lineage.ts'
import { object } from '../../testing/model/notation.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { World } from '../../testing/model/story.ts'
import { lineageOf } from '../graph/fold/lineage.ts'
import { type BridgeEvent, OwnerBridge, PULSE_MS } from './owner-bridge.ts'

const NORTH = 'north'
const RULE = `far cm 0 for:3600 elsewhere:${NORTH} import:rs/team export:rs/team/c`
const OWNER = 'rs/web in team'
const NAMES = `annotation:kinfold.io/owner=${NORTH}/apps/ReplicaSet/team/web/rs-web`
const FOLLOWED = { clusterEpoch: 1, cutOffBecause: '', folded: 9n }
const WATCHED = {
  evidence: 'deleted',
  isWatched: true,
  isOrphaning: false,
  clusterEpoch: 1,
} as const

function bridge(): OwnerBridge {
  return new OwnerBridge({ cluster: 'c', epoch: 1, rules: [ruleIn(RULE)] })
}

function dependent(name: string, marks: string = NAMES): ObjectMeta {
  return object(`cm/${name} [${marks}]`, '1')
}

/** The record of an owner: there, or gone with this departure. */
function lineage(departure: Lineage['departure'] = null, more: Partial<Lineage> = {}): Lineage {
  const { group, kind, namespace, name, uid, version, resource, scope } = object(OWNER, '1')
  return {
    ...{ type: 'Lineage', cluster: NORTH, clusterName: NORTH, scope, resource, departure },
    ...{ group, kind, namespace, name, uid, version, owners: [], moreOwners: 0 },
    ...{ phase: departure === null ? 'observed' : 'gone', doubt: null, deletion: null },
    ...{ createdAt: null, deletedAt: null, why: '', verdict: null, admission: null },
    ...{ heldBy: null, held: null, evidence: null, position: 5n, at: 0 },
    ...more,
  }
}

function said(events: readonly BridgeEvent[]): readonly string[] {
  return events.map((event) => {
    const { state, ownerEpoch } = event
    return event.type === 'OwnerElsewhere' ? `${event.uid} ${state} ${ownerEpoch}` : state
  })
}

test('an owner that is named is published before its cluster is said to be followed', () => {
  const made = bridge()
  made.noteLineage(NORTH, 'rs-web', lineage())
  made.noteObject(dependent('a'), false)
  deepEqual(said(made.take(0)), [], 'its epoch is not known')
  made.noteCluster(NORTH, FOLLOWED)
  deepEqual(said(made.take(0)), ['rs-web there 1', 'followed'])
  deepEqual(said(made.take(PULSE_MS - 1)), [])
  deepEqual(said(made.take(PULSE_MS)), ['followed'])
})

test('of owners that no object names, or that are not shared, nothing is published', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteLineage(NORTH, 'rs-web', lineage())
  made.noteLineage(NORTH, 'rs-b', lineage(null, { uid: 'rs-b', namespace: 'other' }))
  const other = `annotation:kinfold.io/owner=${NORTH}/apps/ReplicaSet/other/web/rs-b`
  made.noteObject(dependent('b', other), false)
  made.noteObject(dependent('plain', ''), false)
  deepEqual(said(made.take(0)), ['followed'])
  made.noteObject(dependent('a'), false)
  deepEqual(said(made.take(1)), ['rs-web there 1'])
  made.noteObject(dependent('again'), false)
  made.noteObject(dependent('again-2'), false)
  deepEqual(said(made.take(2)), ['rs-web there 1'], 'the fold may have forgotten it')
  deepEqual(said(made.take(3)), [])
})

test('an object that a list has alone has its owner published, and anew once it is published', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteLineage(NORTH, 'rs-web', lineage())
  made.noteListed(dependent('a'))
  deepEqual(said(made.take(0)), ['rs-web there 1', 'followed'])
  made.noteObject(dependent('a'), false)
  deepEqual(said(made.take(1)), ['rs-web there 1'], 'the fold had no such object before')
  made.noteListed(dependent('a', ''))
  made.noteLineage(NORTH, 'rs-web', lineage(WATCHED))
  deepEqual(said(made.take(2)), ['rs-web deleted 1'], 'what was published is newer than a list')
})

test('an object that is published as a new one has its owner published anew', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteLineage(NORTH, 'rs-web', lineage())
  made.noteObject(dependent('a'), true)
  made.take(0)
  made.noteObject(dependent('a'), false)
  deepEqual(said(made.take(1)), [])
  made.noteObject(dependent('a'), true)
  deepEqual(said(made.take(2)), ['rs-web there 1'], 'its kind was unmonitored meanwhile')
})

test('an owner without a record is unknown, once all records were read', () => {
  const made = bridge()
  made.noteListed(dependent('a'))
  made.noteCluster(NORTH, { ...FOLLOWED, cutOffBecause: 'its lineage is being read' })
  deepEqual(said(made.take(0)), ['cut-off'])
  made.noteCluster(NORTH, FOLLOWED)
  const events = made.take(1)
  deepEqual(said(events), ['rs-web unknown 1', 'followed'])
  equal('position' in events[0]! && events[0].position, FOLLOWED.folded - 1n)
  made.noteCluster(NORTH, FOLLOWED)
  deepEqual(said(made.take(2)), [])
  made.noteLineage(NORTH, 'rs-web', lineage(null, { position: FOLLOWED.folded }))
  deepEqual(said(made.take(3)), ['rs-web there 1'])
})

test('an owner that was deleted stays so once the log forgets it', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteObject(dependent('a'), false)
  made.noteLineage(NORTH, 'rs-web', lineage(WATCHED))
  deepEqual(said(made.take(0)), ['rs-web deleted 1', 'followed'])
  made.noteLineage(NORTH, 'rs-web', null)
  made.noteObject(dependent('b'), false)
  deepEqual(said(made.take(1)), ['rs-web deleted 1'])
  made.noteGone('cm-a')
  made.noteGone('cm-b')
  made.noteObject(dependent('c'), false)
  deepEqual(said(made.take(2)), [], 'nothing is remembered of it')
})

test('a namespace with too many owners is left out, and no other is', () => {
  const rule = RULE.replaceAll('/team', '/team-*')
  const made = new OwnerBridge({ cluster: 'c', epoch: 1, rules: [ruleIn(rule)] })
  const known = (namespace: string, uid: string, departure?: Lineage['departure']): void =>
    made.noteLineage(NORTH, uid, lineage(departure ?? null, { uid, namespace }))
  const named = (namespace: string, uid: string): void => {
    const owner = `kinfold.io/owner=${NORTH}/apps/ReplicaSet/${namespace}/web/${uid}`
    made.noteObject(dependent(`of-${uid}`, `annotation:${owner}`), false)
  }
  made.noteCluster(NORTH, FOLLOWED)
  known('team-a', 'a')
  for (let index = 0; index < 99_999; index++) known('team-many', `m${index}`)
  named('team-a', 'a')
  named('team-many', 'm1')
  deepEqual(said(made.take(0)), ['a there 1', 'm1 there 1', 'followed'])
  known('team-b', 'b')
  named('team-b', 'b')
  deepEqual(made.leftOut(NORTH), ['team-many'])
  deepEqual(said(made.take(1)), ['m1 unknown 1', 'b there 1'])
  known('team-many', 'm1', WATCHED)
  known('team-b', 'b', WATCHED)
  deepEqual(said(made.take(2)), ['b deleted 1'])
  equal(made.isFull(NORTH), false)
})

test('where no namespace has more than its share, all of the cluster is unknown', () => {
  const rule = RULE.replaceAll('/team', '/team-*')
  const made = new OwnerBridge({ cluster: 'c', epoch: 1, rules: [ruleIn(rule)] })
  for (let index = 0; index < 100_001; index++) {
    equal(made.isFull(NORTH), false)
    const more = { uid: `m${index}`, namespace: `team-${index % 100}` }
    made.noteLineage(NORTH, more.uid, lineage(null, more))
  }
  equal(made.isFull(NORTH), true)
  deepEqual(made.leftOut(NORTH), [])
})

test('an owner is published anew once an object names it again', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteLineage(NORTH, 'rs-web', lineage())
  made.noteObject(dependent('a'), false)
  made.take(0)
  made.noteObject(dependent('a', ''), false)
  made.noteObject(dependent('a'), false)
  deepEqual(said(made.take(1)), ['rs-web there 1'])
  made.noteGone('cm-a')
  made.noteLineage(NORTH, 'rs-web', lineage(WATCHED))
  deepEqual(said(made.take(2)), [])
  made.noteObject(dependent('b'), false)
  deepEqual(said(made.take(3)), ['rs-web deleted 1'])
})

const departures: readonly (readonly [string, Lineage | null, string])[] = [
  ['watched', lineage(WATCHED), 'deleted 1'],
  ['that orphans', lineage({ ...WATCHED, isOrphaning: true }), 'orphaned 1'],
  [
    'missing in a list',
    lineage({ ...WATCHED, evidence: 'missing', isWatched: false }),
    'unknown 1',
  ],
  ['that a live GET confirmed', lineage({ ...WATCHED, isWatched: false }), 'unknown 1'],
  ['of an epoch before', lineage({ ...WATCHED, clusterEpoch: 0 }), 'unknown 1'],
  ['of an epoch that is not known yet', lineage({ ...WATCHED, clusterEpoch: 2 }), 'deleted 2'],
  ['of which nothing is said', lineage(null, { phase: 'gone' }), 'unknown 1'],
  ['whose kind is unwatched', lineage(null, { phase: 'suspect', doubt: 'unwatched' }), 'unknown 1'],
  ['that is doubted', lineage(null, { doubt: 'content' }), 'unknown 1'],
  ['that waits for its dependents', lineage(null, { phase: 'waiting' }), ''],
  ['whose record was removed', null, 'unknown 1'],
]

for (const [what, record, expected] of departures) {
  test(`an owner ${what}: ${expected === '' ? 'is there still' : expected}`, () => {
    const made = bridge()
    made.noteCluster(NORTH, FOLLOWED)
    made.noteLineage(NORTH, 'rs-web', lineage())
    made.noteObject(dependent('a'), false)
    made.take(0)
    made.noteLineage(NORTH, 'rs-web', record)
    deepEqual(said(made.take(1)), expected === '' ? [] : [`rs-web ${expected}`])
  })
}

test('another epoch, and a cluster that is cut off, are published at once', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteLineage(NORTH, 'rs-web', lineage(WATCHED))
  made.noteObject(dependent('a'), false)
  deepEqual(said(made.take(0)), ['rs-web deleted 1', 'followed'])
  made.noteCluster(NORTH, { ...FOLLOWED, cutOffBecause: 'no heartbeat' })
  deepEqual(said(made.take(1)), ['cut-off'])
  made.noteCluster(NORTH, { ...FOLLOWED, clusterEpoch: 2 })
  deepEqual(said(made.take(2)), ['rs-web unknown 2', 'followed'])
})

/** A fold of a cluster whose lineage a bridge reads, and one whose objects name owners there. */
class TwoFolds {
  readonly north = new World()
  readonly south = new World()
  bridge: OwnerBridge = bridge()
  clusterEpoch = 1

  constructor() {
    this.north.begin()
    this.south.begin()
    for (const step of [`rule ${RULE}`, 'enforce-rule far']) this.south.step(step)
  }

  inNorth(step: string): void {
    for (const event of this.north.events(step)) {
      if (event.type === 'WatcherStarted') this.clusterEpoch = event.clusterEpoch
      const outcomes = this.north.folder.fold(event, this.north.now)
      const facts = factsOf(this.north.folder.graph, 'c')
      const at = { partition: 0, partitions: 1, position: this.north.folder.position, timestamp: 0 }
      for (const touch of outcomes.flatMap(({ touched }) => [...touched.values()])) {
        const record = lineageOf(facts, touch, at)
        if (record !== null)
          this.bridge.noteLineage(NORTH, touch.uid, { ...record, cluster: NORTH })
      }
    }
  }

  inSouth(step: string): readonly string[] {
    const events = this.south.events(step)
    const lines = events.flatMap((event) => this.south.tell(event))
    for (const event of events) {
      if (event.type === 'ObjectDeleted') this.bridge.noteGone(event.object.uid)
      else if ('object' in event && event.object !== null)
        this.bridge.noteObject(event.object, event.type === 'ObjectAdded')
    }
    return lines
  }

  /** So much time passes, with a bridge that follows. */
  pass(minutes: number, cutOffBecause: string = ''): readonly string[] {
    const lines: string[] = []
    for (let minute = 0; minute < minutes; minute++) {
      lines.push(...this.inSouth('beat 60'))
      const folded = this.north.folder.position + 1n
      this.bridge.noteCluster(NORTH, { clusterEpoch: this.clusterEpoch, cutOffBecause, folded })
      const events = this.bridge.take(this.south.now)
      lines.push(...events.flatMap((event) => this.south.tell(event)))
    }
    return lines
  }
}

test('from a deletion in one cluster to the command in the other', () => {
  const folds = new TwoFolds()
  folds.inNorth(`put ${OWNER}`)
  folds.inSouth(`put cm/a [${NAMES}]`)
  deepEqual(folds.pass(120), [])
  folds.inNorth(`delete ${OWNER}`)
  deepEqual(folds.pass(60), [])
  const lines = folds.pass(1)
  equal(lines.length, 1)
  ok(lines[0]?.includes('DeleteObject cm/a Background'), lines[0])
})

test('no command where the owner was there before the watcher was away, and has no record since', () => {
  const folds = new TwoFolds()
  folds.inNorth(`put ${OWNER}`)
  folds.inSouth(`put cm/a [${NAMES}]`)
  folds.pass(1)
  const facts = factsOf(folds.south.folder.graph, 'c')
  equal(facts.elsewhere(NORTH, 'rs-web')?.fact?.state, 'there')
  folds.bridge = bridge()
  folds.bridge.noteListed(dependent('a'))
  deepEqual(folds.pass(180), [])
  equal(facts.elsewhere(NORTH, 'rs-web')?.fact?.state, 'unknown')
})

test('what was deleted before the watcher was away stays so without a record', () => {
  const folds = new TwoFolds()
  folds.inNorth(`put ${OWNER}`)
  folds.inSouth(`put cm/a [${NAMES}]`)
  folds.pass(1)
  folds.inNorth(`delete ${OWNER}`)
  folds.pass(10)
  folds.bridge = bridge()
  folds.bridge.noteListed(dependent('a'))
  const lines = folds.pass(60)
  ok(lines.at(-1)?.includes('DeleteObject cm/a Background'), lines.join('; '))
})

const nothing: readonly (readonly [string, (folds: TwoFolds) => void])[] = [
  ['it was missing in a list', ({ north }) => north.events(`lose ${OWNER}`)],
  ['it is there', () => {}],
]

for (const [what, happens] of nothing) {
  test(`no command where ${what}`, () => {
    const folds = new TwoFolds()
    folds.inNorth(`put ${OWNER}`)
    folds.inSouth(`put cm/a [${NAMES}]`)
    folds.pass(1)
    happens(folds)
    folds.inNorth('relist rs')
    deepEqual(folds.pass(180), [])
  })
}

test('no command after the cluster was restored, or while it is cut off', () => {
  const folds = new TwoFolds()
  folds.inNorth(`put ${OWNER}`)
  folds.inSouth(`put cm/a [${NAMES}]`)
  folds.pass(1)
  folds.inNorth(`delete ${OWNER}`)
  folds.pass(30)
  deepEqual(folds.pass(120, 'no heartbeat'), [])
  folds.inNorth('rollback')
  deepEqual(folds.pass(120), [])
  folds.inNorth(`put ${OWNER}`)
  folds.inNorth(`delete ${OWNER}`)
  deepEqual(folds.pass(60), [])
  equal(folds.pass(1).length, 1)
})
