/** Changes in slices of time: each counted once, by kind and by who deleted. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Deletion } from '../deletion-text.ts'
import { type Density, deletedIn, densityOf, partOf, SLICES } from './density.ts'
import type { Change } from './steps.ts'

const HOUR = 3_600_000
const END = Date.parse('2026-01-31T10:00:00Z')
const SPAN = { begin: END - HOUR, end: END, recordedFrom: END - HOUR / 2 }

function change(minutesAgo: number, what: Change['change'], kind = 'Pod', uid = 'u'): Change {
  const about = { cluster: { name: 'c', id: 'c', scope: 'c' }, uid, group: '', kind }
  const at = new Date(END - minutesAgo * 60_000).toISOString()
  const rest = { phase: null, evidence: null, admission: null, command: null, basis: [], text: '' }
  const where = { partition: 0, position: 1 }
  return {
    ...about,
    namespace: 'ns',
    name: 'n',
    type: 'History',
    change: what,
    at,
    ...rest,
    ...where,
  }
}

function counted({ lanes }: Density): number {
  const cells = lanes.flatMap((lane) => lane.cells)
  return cells.reduce((sum, each) => sum + each.created + each.other + deletedIn(each), 0)
}

test('a change is in the slice of its time, the first and the last included', () => {
  const changes = [60, 30.5, 30.2, 0].map((ago) => change(ago, 'created'))
  const { lanes } = densityOf(changes, SPAN, new Map())
  deepEqual(
    lanes[0]?.cells.map(({ slice, created }) => [slice, created]),
    [
      [0, 1],
      [29, 2],
      [SLICES - 1, 1],
    ],
  )
})

test('a deletion is by who did it, and by nobody where that is not known', () => {
  const by = { by: 'kinfold', isInferred: false, deletedBy: null } as Deletion
  const changes = [change(5, 'gone', 'Pod', 'ours'), change(5, 'gone'), change(5, 'verdict')]
  const { deleted, other } = densityOf(changes, SPAN, new Map([['ours', by]]))
  deepEqual(
    [...deleted],
    [
      ['Kinfold', 1],
      ['unknown', 1],
    ],
  )
  equal(other, 1)
})

test('six kinds and more have five lanes and one for the others; every change is counted once', () => {
  const changes = Array.from({ length: 9 }).flatMap((_, kind) =>
    Array.from({ length: kind + 1 }, (_, at) => change(at * 7, 'created', `K${kind}`)),
  )
  const density = densityOf(changes, SPAN, new Map())
  deepEqual(
    density.lanes.map(({ kind }) => kind?.kind ?? 'others'),
    ['K8', 'K7', 'K6', 'K5', 'K4', 'others'],
  )
  equal(counted(density), changes.length)
  equal(density.created, changes.length)
})

test('a moment outside of the span is at one of its ends', () => {
  deepEqual(
    [SPAN.begin - 1, SPAN.begin, SPAN.recordedFrom, SPAN.end, SPAN.end + 1].map((at) =>
      partOf(SPAN, at),
    ),
    [0, 0, 0.5, 1, 1],
  )
})
