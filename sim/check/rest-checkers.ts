/**
 * Checkers of states: bounds at times, and everything else when all is at rest (I16, I17, I19, I23,
 * I26, I30).
 */
import { MemoryStore } from '../../adapters/memory/store.ts'
import { kindKey } from '../../core/graph/key.ts'
import type { Node } from '../../core/model/node.ts'
import { nodePhase } from '../../core/model/node.ts'
import type { StateValue } from '../../core/model/state.ts'
import { auditPartition } from '../../services/graph/audit/audit.ts'
import { DEFAULT_REAPER_CONFIG } from '../../services/reaper/config.ts'
import { mostCalls } from '../../services/reaper/intake/backlog.ts'
import { check } from '../../testing/model/state-check.ts'
import type { Checker } from '../model.ts'
import { RESOURCES, takenIn, widgetScope } from '../oracle.ts'
import { isReplaced } from '../rule/elsewhere-law.ts'
import type { Site } from '../site.ts'
import { ALL, statesOf } from './states.ts'

export const restCheckers: readonly Checker[] = [
  {
    invariant: 'I16 I17: no object is left without an owner, and no deletion incomplete',
    rest: async (world) => (world.isEnforcing ? await world.unexplained() : []),
  },
  {
    invariant: 'I19: the graph is what the API servers hold, and its tables agree',
    rest: async (world) => {
      const complaints: string[] = []
      const held = new Map<string, string>()
      for (const site of world.sites) {
        for (const { metadata } of site.all())
          held.set(`${site.id}/${metadata.uid}`, whatOf(metadata))
      }
      for (const entries of await statesOf(world)) {
        complaints.push(...check(entries))
        const known = [...entries].filter(([key]) => !isReplaced(world, key.split('/')[1] ?? ''))
        complaints.push(...differences(world.sites, new Map(known), held))
      }
      for (const key of held.keys()) complaints.push(`${key} is not in the graph (I19)`)
      return complaints
    },
  },
  {
    invariant: 'I26: a store holds what its changelog says',
    rest: async (world) => {
      const complaints: string[] = []
      // A task that folds over a changelog whose end is cut off notices that only when it is taken
      // over.
      if (world.isLogHurt) return complaints
      for (const { partition, store } of world.tasks()) {
        const said = new Map<string, Uint8Array>()
        for (const { key, value } of await world.broker.log.latest('changelog', partition))
          if (!key.startsWith('~') && value !== null) said.set(key, value)
        const page = world.contentOf(partition).page(ALL.gte, ALL.lt, ALL.limit)
        const isSame =
          page.length === said.size &&
          page.every(([key, value]) => Buffer.compare(value, said.get(key) ?? EMPTY) === 0)
        if (!isSame) complaints.push(`store ${partition} is not its changelog (I26)`)
        void store
      }
      return complaints
    },
  },
  {
    invariant: 'I23: the log folds to the same digests and commands in other batches',
    rest: async (world) => {
      const complaints: string[] = []
      if (world.isLogHurt || world.hasLostOrders) return complaints
      for (let partition = 0; partition < world.broker.partitions; partition++) {
        const parts = { log: world.broker.log, codec: world.codec, partition }
        const store = new MemoryStore()
        const result = await auditPartition({ ...parts, store }, new AbortController().signal)
        if (result.type === 'identical') world.reached('F62')
        else complaints.push(`partition ${partition} at ${result.position}: ${result.what} (I23)`)
      }
      return complaints
    },
  },
  {
    invariant: 'I30: calls in flight and queued commands stay within their bounds',
    now: (world) =>
      world.processes().flatMap(({ reaper, incarnation }) => {
        if (reaper === undefined) return []
        const { inFlight, backlog, clusters } = reaper.status()
        const { maxConcurrency, window } = DEFAULT_REAPER_CONFIG
        const most = mostCalls(maxConcurrency) * clusters.length
        const isOver = inFlight > most || backlog > window * world.broker.partitions
        return isOver ? [`${incarnation.name} has ${inFlight} in flight of ${backlog} (I30)`] : []
      }),
  },
]

const EMPTY = new Uint8Array()

interface What {
  readonly ownerReferences?: readonly {
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    readonly uid: string
    readonly blockOwnerDeletion?: boolean | null
  }[]
  readonly finalizers?: readonly string[]
  readonly deletionTimestamp?: string | undefined
}

/** All that a verdict rests on. */
function whatOf({ ownerReferences = [], finalizers = [], deletionTimestamp }: What): string {
  const owners = takenIn(ownerReferences).map(
    ({ apiVersion, kind, name, uid, blockOwnerDeletion }) => {
      return [apiVersion, kind, name, uid, blockOwnerDeletion === true]
    },
  )
  return JSON.stringify([owners, finalizers, deletionTimestamp !== undefined])
}

/** Removes from `held` the objects that it finds. */
function differences(
  sites: readonly Site[],
  entries: ReadonlyMap<string, StateValue>,
  held: Map<string, string>,
): readonly string[] {
  const found: string[] = []
  for (const [key, value] of entries) {
    if (value.type !== 'Node') continue
    const { group, resource, name, deletedAt, ...rest } = value.object
    const deletionTimestamp = deletedAt === null ? undefined : ''
    if (!RESOURCES.some((each) => each[0] === group && each[1] === resource)) continue
    const at = key.slice('node/'.length)
    const isSame = held.get(at) === whatOf({ ...rest, deletionTimestamp })
    if (!isSame && !isLeftInDoubt(sites, entries, at, value))
      found.push(`${at} (${name}, ${nodePhase(value)}) is not as the server has it (I19)`)
    held.delete(at)
  }
  return found
}

/**
 * The kind left discovery while no watch could report its objects, and no GET is possible any
 * longer. That is no proof of their deletion: a user who removes the finalizer of a
 * CustomResourceDefinition leaves them in the storage, and they exist again with the next one. The
 * graph must say that of each, and of the kind.
 */
function isLeftInDoubt(
  sites: readonly Site[],
  entries: ReadonlyMap<string, StateValue>,
  at: string,
  { doubt, object }: Node,
): boolean {
  const [cluster = ''] = at.split('/')
  const server = sites.find(({ id }) => id === cluster)?.server
  if (object.kind !== 'Widget' || server === undefined || widgetScope(server) !== undefined)
    return false
  const kind = entries.get(kindKey(cluster, object))
  return doubt !== null && kind?.type === 'Kind' && kind.phase === 'unserved'
}
