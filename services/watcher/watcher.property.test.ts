/** Whatever fails on the way, the log ends with the state of the server. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Event } from '../../core/model/event.ts'
import type { SetHash } from '../../core/model/hash.ts'
import { EMPTY_SET, withMember } from '../../core/model/hash.ts'
import { compareVersions, projectionHash } from '../../core/model/object.ts'
import { WatcherRig } from '../../testing/rig/watcher-rig.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const KIND = { group: '', kind: 'ConfigMap' }

type Deed =
  | 'create'
  | 'write'
  | 'finalize'
  | 'remove'
  | 'wait'
  | 'cut'
  | 'compact'
  | 'relist'
  | 'stop'
  | 'crash'

const deed: fc.Arbitrary<readonly [Deed, number]> = fc.tuple(
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<Deed>('create', 'write', 'finalize', 'remove') },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Deed>('wait', 'cut', 'compact', 'relist', 'stop', 'crash'),
    },
  ),
  fc.nat(4),
)

/** Refusals of the API server (already there, not there) are part of the play. */
async function perform(rig: WatcherRig, [what, which]: readonly [Deed, number]): Promise<void> {
  const path = `${CONFIG_MAPS}/o${which}`
  const refused = (): void => undefined
  switch (what) {
    case 'create':
      return rig.create(CONFIG_MAPS, `o${which}`).catch(refused)
    case 'write':
      return rig.patch(path, { data: { at: String(rig.clock.now()) } }).catch(refused)
    case 'finalize':
      return rig.patch(path, { metadata: { labels: { l: 'x' }, finalizers: null } }).catch(refused)
    case 'remove':
      return rig.remove(path).catch(refused)
    case 'wait':
      return rig.clock.advance(which * 700)
    case 'cut':
      return rig.cut()
    case 'compact':
      return rig.server.compact()
    case 'relist':
      return rig.askRelist(rig.watcher.status().clusterId ?? '', KIND, rig.clock.now())
    case 'stop':
    case 'crash':
      await rig[what]()
      rig.start()
  }
}

interface Held {
  readonly version: string
  readonly hash: string
  readonly sync: number
}

/**
 * The state of a reader of the log in the end: the rules of the fold, without anything else that it
 * does.
 */
function folded(events: readonly Event[]): ReadonlyMap<string, string> {
  const held = new Map<string, Held>()
  for (const event of events) fold(held, event)
  return new Map([...held].map(([uid, { version }]) => [uid, version]))
}

function fold(held: Map<string, Held>, event: Event): void {
  switch (event.type) {
    case 'ObjectAdded':
    case 'ObjectUpdated': {
      const { uid, resourceVersion, kind } = event.object
      if (kind !== 'ConfigMap') return
      const before = held.get(uid)
      const isOlder = before && (compareVersions(resourceVersion, before.version) ?? 0) < 0
      const sync = event.sync ?? before?.sync ?? 0
      if (isOlder) held.set(uid, { ...before, sync })
      else held.set(uid, { version: resourceVersion, hash: projectionHash(event.object), sync })
      return
    }
    case 'ObjectDeleted':
      held.delete(event.object.uid)
      return
    case 'Touched':
      if (event.kind !== 'ConfigMap') return
      for (const { uid, hash, resourceVersion } of event.entries) {
        const before = held.get(uid)
        ok(before, 'only what was told is touched')
        equal(hash, before.hash, 'a touch vouches for what was told')
        held.set(uid, { hash, version: resourceVersion, sync: event.sync ?? before.sync })
      }
      return
    case 'SyncFinished': {
      if (event.kind !== 'ConfigMap') return
      let listed: SetHash = EMPTY_SET
      for (const [uid, { sync }] of [...held]) {
        if (sync === event.sync) listed = withMember(listed, uid)
        else held.delete(uid)
      }
      deepEqual(listed, event.listed)
      return
    }
    default:
      return
  }
}

test('the log ends at what the server holds, whatever broke on the way', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 5, maxLength: 40 }), async (deeds) => {
      const rig = new WatcherRig()
      rig.start()
      await rig.synced()
      for (const each of deeds) await perform(rig, each)
      await rig.clock.advance(70_000)
      await rig.synced()
      const there = [...rig.server.objects('', 'configmaps')].map(
        ({ metadata }) => [metadata.uid, metadata.resourceVersion] as const,
      )
      deepEqual(new Map([...folded(await rig.events())].sort()), new Map(there.sort()))
      await rig.stop()
    }),
    { numRuns: 15 },
  )
})
