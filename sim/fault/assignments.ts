/**
 * Which partition has which cluster, as the log alone shows it, and the faults that could divide a
 * cluster or crowd several into one partition.
 *
 * What must stay true: it is known from appended records, never from a watcher.
 */

import { readAssignments } from '../../ports/assignment.ts'
import { ASSIGN_PREFIX } from '../../ports/record/control-key.ts'
import type { Appended } from '../broker.ts'
import type { Checker, Fault, World } from '../model.ts'

const SECOND = 1_000

interface Assigned {
  /** The partition of the first published record of each cluster. */
  readonly published: Map<string, number>
  /** The process that recorded the choice of a cluster for which nothing was published yet. */
  readonly chosenBy: Map<string, string>
  /**
   * A process published first that had not recorded the choice itself, and could not know what came
   * before it.
   */
  isHandedOn: boolean
}

/** By log, since a person may begin with an empty one. */
const ASSIGNED = new WeakMap<object, Assigned>()

function assignedOn({ broker }: World): Assigned {
  const none = { published: new Map(), chosenBy: new Map(), isHandedOn: false }
  const known: Assigned = ASSIGNED.get(broker.log) ?? none
  ASSIGNED.set(broker.log, known)
  return known
}

/** The clusters that some of these records assign. */
function assignedIn({ topic, records }: Appended): readonly string[] {
  if (topic !== 'control') return []
  return records.flatMap(({ key }) =>
    key.startsWith(ASSIGN_PREFIX) ? [key.slice(ASSIGN_PREFIX.length)] : [],
  )
}

export const assignmentCheckers: readonly Checker[] = [
  {
    invariant: 'I33: all that is published of a cluster is in one partition',
    appended: (world, appended) => {
      const { topic, partition, records, by } = appended
      const assigned = assignedOn(world)
      const { published, chosenBy } = assigned
      for (const cluster of assignedIn(appended))
        if (!published.has(cluster)) chosenBy.set(cluster, by)
      for (const { key } of topic === 'events' ? records : []) {
        const [cluster = ''] = key.split('/')
        // Orders and policies are in all partitions, under keys of their own.
        if (world.sites.every(({ id }) => id !== cluster)) continue
        const known = published.get(cluster) ?? partition
        if (!published.has(cluster) && chosenBy.get(cluster) !== by) assigned.isHandedOn = true
        published.set(cluster, known)
        if (known !== partition) return `${by} published ${key} in ${partition} and not in ${known}`
      }
      return ''
    },
  },
  {
    invariant: 'I34: clusters are spread over the partitions',
    rest: async (world) => {
      if (world.hasLostWords || assignedOn(world).isHandedOn) return []
      const assignments = [...(await readAssignments(world.broker.log, world.codec)).values()]
      const used = new Set(assignments.map(({ partition }) => partition)).size
      const wanted = Math.min(assignments.length, world.broker.partitions)
      return used === wanted ? [] : [`${assignments.length} clusters are in ${used} partitions`]
    },
  },
]

export const assignmentFaults: readonly Fault[] = [
  {
    row: 'same-moment',
    what: 'watchers of several clusters choose their partitions at the same moment',
    lastsMs: [2 * SECOND, 8 * SECOND],
    most: 1,
    isAtStart: true,
    suits: ({ clusters, partitions }) => clusters > 1 && partitions > 1,
    begin({ world }) {
      const together = Promise.withResolvers<void>()
      let waiting = 0
      const end = world.broker.hinder(async ({ call, topic }) => {
        if (call !== 'append' || topic !== 'control') return undefined
        waiting++
        if (waiting === 2) world.reached('same-moment')
        await together.promise
        return undefined
      })
      return () => {
        end()
        together.resolve()
      }
    },
  },
  {
    row: 'chosen-and-dead',
    what: 'a watcher dies between the choice of its partition and its first event',
    lastsMs: [SECOND, 60 * SECOND],
    most: 1,
    isAtStart: true,
    begin({ world }) {
      const die = (appended: Appended): void => {
        const clusters = assignedIn(appended)
        if (clusters.every((cluster) => assignedOn(world).published.has(cluster))) return
        const slot = world.slots.find(({ process }) => process?.incarnation.name === appended.by)
        if (slot === undefined) return
        world.reached('chosen-and-dead')
        world.onAppended.delete(die)
        slot.kill()
      }
      world.onAppended.add(die)
      return () => world.onAppended.delete(die)
    },
  },
]
