/**
 * Deleting a CustomResourceDefinition deletes its objects: their dependents are never deleted as if
 * a person had deleted the owners one by one, however the watches lag and the fold is behind.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { object } from '../../testing/model/notation.ts'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import { foldedLog } from '../../testing/rig/folded-log.ts'
import type { Event } from '../model/event.ts'
import { EMPTY_SET } from '../model/hash.ts'
import { policyFor } from '../model/policy.ts'

const RUNS = Number(process.env['RUNS'] ?? 150)
const CLUSTER = 'c'
const BEAT_MS = 5_000
/** When the deletion of the CustomResourceDefinition begins. */
const SINCE_MS = 700_000

interface Taken {
  readonly namespace: number
  /**
   * When its deletion is published, after the deletion of its CustomResourceDefinition began;
   * before it, since the watch of CustomResourceDefinitions may lag by less than a hold.
   */
  readonly toldMs: number
}

const told = fc.record({
  namespace: fc.nat({ max: 5 }),
  toldMs: fc.integer({ min: -29_000, max: 150_000 }),
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
  const missed = { ...relisted, resourceVersion: '2000000', listed: EMPTY_SET }
  return [
    seen(0, name),
    ...taken.flatMap(({ namespace: n, toldMs }, i) => [
      seen(0, `widget/w${i} in n${n}`),
      seen(0, `pod/p${i} in n${n} <- widget/w${i}`),
      // The last of them is published when the CustomResourceDefinition is deleted, later at most
      // by the lag of a watch.
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

test('what went with its definition is never taken for a deletion by a person, and that is', () => {
  fc.assert(
    fc.property(
      fc.array(told, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(0, 2_000, 60_000, 120_000),
      fc.constantFrom<How>('seen', 'deleted', 'relist'),
      fc.nat({ max: 30 }),
      (taken, durationMs, how, behind) => {
        // If the beginning is not published, only the end is: it may not be long after the deletion
        // of the first object.
        const lastsMs = how === 'seen' ? durationMs : 0
        const log = foldedLog()
        const gone: string[] = []
        const fold = (): void => {
          for (const command of log.foldNext()?.commands ?? [])
            if (command.type === 'DeleteObject') gone.push(command.target.name)
        }
        const about = { cluster: CLUSTER, epoch: 1 }
        log.append(
          { type: 'WatcherStarted', serverTime: null, ...about, name: 'test', clusterEpoch: 1 },
          0,
        )
        const policy = policyFor('enforce', 'guarded')
        log.append({ type: 'PolicyChanged', policy, who: 'test', why: 'test' }, 0)
        const world = new World()
        for (const [index, short] of ['crd', 'widget', 'pod'].entries()) {
          const { group, kind } = object(`${short}/x`, '0')
          const relist = { ...about, group, kind, sync: index + 1 }
          log.append(world.served(short, true), 0)
          log.append({ type: 'SyncStarted', ...relist }, 0)
          const finished = { ...relist, resourceVersion: '0', listed: EMPTY_SET }
          log.append({ type: 'SyncFinished', ...finished }, 0)
        }
        const events = [...story(taken, lastsMs, how)].sort((a, b) => a.at - b.at)
        const end = SINCE_MS + lastsMs + 400_000
        for (let now = 0, next = 0; now <= end; now += BEAT_MS) {
          for (let told = events[next]; told !== undefined && told.at <= now; told = events[++next])
            log.append(told.event, told.at)
          log.append({ type: 'Heartbeat', ...about, kinds: [] }, now)
          // The fold may be some records behind.
          while (log.waiting > behind) fold()
        }
        while (log.waiting > 0) fold()
        deepEqual([...new Set(gone)].sort(), ['after', 'before'])
        log.folder.commit()
        deepEqual(check(log.folder.state), [])
      },
    ),
    { numRuns: RUNS },
  )
})
