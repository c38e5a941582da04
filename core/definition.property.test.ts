/** A definition that is deleted takes its objects along: what hangs on them never goes as if a person had deleted them one by one, however the watches lag and the partitions take turns. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { folders } from '../testing/folders.ts'
import { object } from '../testing/notation.ts'
import { World } from '../testing/story.ts'
import { check } from './check.ts'
import type { Event } from './event.ts'
import { EMPTY_SET } from './hash.ts'
import { policyFor } from './policy.ts'

const RUNS = Number(process.env['RUNS'] ?? 150)
const CLUSTER = 'c'
const BEAT_MS = 5_000
/** When the definition begins to go. */
const SINCE_MS = 700_000

interface Taken {
  readonly namespace: number
  /** When its deletion is told, after the definition began to go; before it, since the watch of definitions, its home and its note together may lag by less than a hold. */
  readonly toldMs: number
}

const told = fc.record({
  namespace: fc.nat({ max: 5 }),
  toldMs: fc.integer({ min: -10_000, max: 150_000 }),
})

interface Told {
  readonly at: number
  readonly event: Event
}

function story(taken: readonly Taken[], lastsMs: number, how: How): readonly Told[] {
  let version = 0
  const seen = (at: number, text: string): Told => ({
    at,
    event: {
      type: 'ObjectAdded',
      cluster: CLUSTER,
      epoch: 1,
      sync: null,
      object: object(text, `${++version}`),
    },
  })
  const gone = (at: number, text: string): Told => ({
    at,
    event: {
      type: 'ObjectDeleted',
      cluster: CLUSTER,
      epoch: 1,
      object: object(text, `${1_000_000 + ++version}`),
      ageMs: 0,
    },
  })
  const until = SINCE_MS + lastsMs
  const name = 'crd/widgets.example.com'
  const relisted = { cluster: CLUSTER, epoch: 1, sync: 99, ...KIND_OF_DEFINITIONS }
  const missed = { ...relisted, resourceVersion: '2000000', listed: LISTED_NONE }
  return [
    seen(0, name),
    ...taken.flatMap(({ namespace: n, toldMs }, i) => [
      seen(0, `widget/w${i} in n${n}`),
      seen(0, `pod/p${i} in n${n} <- widget/w${i}`),
      // The last of them is told when the definition is gone, at most as much later as a watch may lag.
      gone(SINCE_MS + Math.min(toldMs, lastsMs + 150_000), `widget/w${i} in n${n}`),
    ]),
    ...(how === 'seen' ? [seen(SINCE_MS, `${name} [deleting customresourcecleanup]`)] : []),
    ...(how === 'relist'
      ? [
          { at: until, event: { type: 'SyncStarted', ...relisted } as const },
          { at: until, event: { type: 'SyncFinished', ...missed } as const },
        ]
      : [gone(until, name)]),
    seen(until, `${name}@again`),
    // A person's own doing, before and after.
    seen(0, 'widget/before'),
    seen(0, 'pod/before <- widget/before'),
    gone(SINCE_MS - 650_000, 'widget/before'),
    seen(until + 200_000, 'widget/after'),
    seen(until + 200_000, 'pod/after <- widget/after'),
    gone(until + 200_000, 'widget/after'),
  ]
}

type How = 'seen' | 'deleted' | 'relist'
const KIND_OF_DEFINITIONS = { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' }
const LISTED_NONE = Array.from({ length: 6 }, () => EMPTY_SET)

test('what went with its definition is never taken for a deletion by a person, and that is', () => {
  fc.assert(
    fc.property(
      fc.array(told, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(0, 2_000, 60_000, 120_000),
      fc.constantFrom<How>('seen', 'deleted', 'relist'),
      fc.integer({ min: 1, max: 6 }),
      fc.nat({ max: 1 }),
      (taken, durationMs, how, partitions, lag) => {
        // Of one whose beginning is not told only the end is: it may not be long after the first of its objects.
        const lastsMs = how === 'seen' ? durationMs : 0
        const all = folders(partitions, () => '')
        const gone: string[] = []
        const fold = (partition: number): void => {
          for (const command of all.foldNext(partition)?.commands ?? [])
            if (command.type === 'DeleteObject') gone.push(command.target.name)
        }
        const about = { cluster: CLUSTER, epoch: 1 }
        all.append({ type: 'WatcherStarted', ...about, name: 'test', clusterEpoch: 1 }, 0)
        const policy = policyFor('enforce', 'guarded')
        all.append({ type: 'PolicyChanged', policy, who: 'test', why: 'test' }, 0)
        const world = new World()
        for (const [index, short] of ['crd', 'widget', 'pod'].entries()) {
          const { group, kind } = object(`${short}/x`, '0')
          const relist = { ...about, group, kind, sync: index + 1 }
          all.append(world.served(short, true), 0)
          all.append({ type: 'SyncStarted', ...relist }, 0)
          const listed = LISTED_NONE.slice(0, partitions)
          all.append({ type: 'SyncFinished', ...relist, resourceVersion: '0', listed }, 0)
        }
        const events = [...story(taken, lastsMs, how)].sort((a, b) => a.at - b.at)
        const end = SINCE_MS + lastsMs + 400_000
        for (let now = 0, next = 0; now <= end; now += BEAT_MS) {
          for (let told = events[next]; told !== undefined && told.at <= now; told = events[++next])
            all.append(told.event, told.at)
          all.append({ type: 'Heartbeat', ...about, kinds: [] }, now)
          // A partition may be some records behind another, but not by a hold.
          while (all.waiting > lag * partitions) {
            for (let partition = 0; partition < partitions; partition++) fold(partition)
          }
        }
        while (all.waiting > 0) {
          for (let partition = 0; partition < partitions; partition++) fold(partition)
        }
        deepEqual([...new Set(gone)].sort(), ['after', 'before'])
        for (const each of all.all) {
          each.commit()
          deepEqual(check(each.state), [])
        }
      },
    ),
    { numRuns: RUNS },
  )
})
