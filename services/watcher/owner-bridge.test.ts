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
const FOLLOWED = { clusterEpoch: 1, cutOffBecause: '' }
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
  made.noteObject(dependent('a'))
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
  made.noteObject(dependent('b', other))
  made.noteObject(dependent('plain', ''))
  deepEqual(said(made.take(0)), ['followed'])
  made.noteObject(dependent('a'))
  deepEqual(said(made.take(1)), ['rs-web there 1'])
  made.noteObject(dependent('again'))
  made.noteObject(dependent('again-2'))
  deepEqual(said(made.take(2)), ['rs-web there 1'], 'the fold may have forgotten it')
  deepEqual(said(made.take(3)), [])
})

test('an object that a list has alone has its owner published, and anew once it is published', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteLineage(NORTH, 'rs-web', lineage())
  made.noteListed(dependent('a'))
  deepEqual(said(made.take(0)), ['rs-web there 1', 'followed'])
  made.noteObject(dependent('a'))
  deepEqual(said(made.take(1)), ['rs-web there 1'], 'the fold had no such object before')
  made.noteListed(dependent('a', ''))
  made.noteLineage(NORTH, 'rs-web', lineage(WATCHED))
  deepEqual(said(made.take(2)), ['rs-web deleted 1'], 'what was published is newer than a list')
})

test('an owner that was deleted stays so once the log forgets it', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteObject(dependent('a'))
  made.noteLineage(NORTH, 'rs-web', lineage(WATCHED))
  deepEqual(said(made.take(0)), ['rs-web deleted 1', 'followed'])
  made.noteLineage(NORTH, 'rs-web', null)
  made.noteObject(dependent('b'))
  deepEqual(said(made.take(1)), ['rs-web deleted 1'])
  made.noteGone('cm-a')
  made.noteGone('cm-b')
  made.noteObject(dependent('c'))
  deepEqual(said(made.take(2)), [], 'nothing is remembered of it')
})

test('an owner is published anew once an object names it again', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteLineage(NORTH, 'rs-web', lineage())
  made.noteObject(dependent('a'))
  made.take(0)
  made.noteObject(dependent('a', ''))
  made.noteObject(dependent('a'))
  deepEqual(said(made.take(1)), ['rs-web there 1'])
  made.noteGone('cm-a')
  made.noteLineage(NORTH, 'rs-web', lineage(WATCHED))
  deepEqual(said(made.take(2)), [])
  made.noteObject(dependent('b'))
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
    made.noteObject(dependent('a'))
    made.take(0)
    made.noteLineage(NORTH, 'rs-web', record)
    deepEqual(said(made.take(1)), expected === '' ? [] : [`rs-web ${expected}`])
  })
}

test('another epoch, and a cluster that is cut off, are published at once', () => {
  const made = bridge()
  made.noteCluster(NORTH, FOLLOWED)
  made.noteLineage(NORTH, 'rs-web', lineage(WATCHED))
  made.noteObject(dependent('a'))
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
  readonly bridge: OwnerBridge = bridge()
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
      else if ('object' in event && event.object !== null) this.bridge.noteObject(event.object)
    }
    return lines
  }

  /** So much time passes, with a bridge that follows. */
  pass(minutes: number, cutOffBecause: string = ''): readonly string[] {
    const lines: string[] = []
    for (let minute = 0; minute < minutes; minute++) {
      lines.push(...this.inSouth('beat 60'))
      this.bridge.noteCluster(NORTH, { clusterEpoch: this.clusterEpoch, cutOffBecause })
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
