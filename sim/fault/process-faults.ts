/**
 * Faults of processes and machines: they die at any call, sleep, come back, lose their disks, and
 * read wrong clocks; and of whole clusters, which are restored.
 *
 * What must stay true: nothing here touches the memory of a process; it dies, sleeps or lives.
 */
import { seeded } from '../../testing/seeded.ts'
import type { Trap } from '../incarnation.ts'
import type { Fault, FaultContext } from '../model.ts'
import type { SimOptions } from '../options.ts'
import type { Roles, Slot } from '../slot.ts'
import { makeRelist, siteOf, swap } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

function slotOf({ world, fault }: FaultContext, role?: keyof Roles): Slot {
  const able = world.slots.filter(({ roles }) => role === undefined || roles[role])
  return able[fault.target % able.length]!
}

/** It dies at one of the next calls of a kind. */
function dyingAt(
  row: string,
  role: keyof Roles | undefined,
  crossings: readonly [Trap['crossing'], ...Trap['crossing'][]],
  most: number,
): Fault['begin'] {
  return (context) => {
    const { world, fault } = context
    const chance = seeded(fault.seed)
    const slot = slotOf(context, role)
    const [crossing, isBack] = [chance.pick(crossings), chance.next() < 0.5]
    slot.arm({ crossing, left: chance.below(most), isBack }, () => world.reached(row))
    return () => slot.disarm()
  }
}

/** It sleeps, and continues as if no time had passed. */
function sleeping(role?: keyof Roles): Fault['begin'] {
  return (context) => {
    const incarnation = slotOf(context, role).process?.incarnation
    if (incarnation?.isAlive !== true) return undefined
    incarnation.freeze()
    context.world.reached(context.fault.row)
    return () => incarnation.thaw()
  }
}

function isApart({ shape }: Pick<SimOptions, 'shape'>): boolean {
  return shape === 'apart'
}

/**
 * An object seen a moment ago is not verified: no operator restores a cluster, with no version that
 * shows it, in less than five seconds.
 */
const SHORTEST_BUMP_MS = 6 * SECOND

export const processFaults: readonly Fault[] = [
  {
    row: 'F9',
    what: 'etcd is restored from a snapshot: versions go back or jump ahead, and watches break or stay silent',
    lastsMs: [500, 2 * MINUTE],
    most: 2,
    begin(context) {
      const { world, fault } = context
      const site = siteOf(context)
      const chance = seeded(fault.seed)
      const gone = new Set(site.all().map(({ metadata }) => metadata.uid))
      const down = chance.next() < 0.7
      if (down) world.network.route(site.name, undefined)
      if (down) world.network.cut(site.name)
      const sinceMs = world.time.monotonicMs()
      return () => {
        site.restore(1 + chance.below(chance.pick([5, 60, 400])))
        const tookMs = world.time.monotonicMs() - sinceMs
        if (down && tookMs > SHORTEST_BUMP_MS && chance.next() < 0.4) site.bump(1_000_000)
        world.reached('F9')
        if (site.all().some(({ metadata }) => !gone.has(metadata.uid))) world.reached('F10')
        world.network.route(site.name, site)
        // Otherwise they stay connected to a server that no client writes to any longer.
        if (down || chance.next() < 0.5) world.network.cut(site.name)
      }
    },
  },
  {
    row: 'F29',
    what: 'a watcher is suspended for longer than its Lease, and resumes beside its successor',
    lastsMs: [50 * SECOND, 5 * MINUTE],
    most: 3,
    suits: (options) => isApart(options) && options.watchers > 1,
    begin: sleeping('watches'),
  },
  {
    row: 'F32',
    what: 'two addresses lead to one cluster when a process starts',
    lastsMs: [MINUTE, 3 * MINUTE],
    most: 2,
    suits: ({ clusters }) => clusters > 1,
    begin(context) {
      const end = swap(context)
      slotOf(context, 'watches').kill()
      return end
    },
  },
  {
    row: 'F33',
    what: 'the wall clock of a machine is wrong by up to an hour, or stands still',
    lastsMs: [MINUTE, 40 * MINUTE],
    most: 4,
    begin(context) {
      const { wall } = slotOf(context)
      const chance = seeded(context.fault.seed)
      if (chance.next() < 0.3) wall.standsAt = context.world.time.now()
      else wall.skewMs = (chance.next() * 2 - 1) * 60 * MINUTE
      context.world.reached('F33')
      return () => {
        wall.standsAt = undefined
        wall.skewMs = 0
      }
    },
  },
  {
    row: 'F43',
    what: 'partitions move while batches are under way',
    lastsMs: [SECOND, 30 * SECOND],
    most: 8,
    suits: (options) => isApart(options) && options.graphs > 1,
    begin(context) {
      const slot = slotOf(context, 'folds')
      context.world.reached('F43')
      if (context.fault.rate > 0.2) return slot.holdDown()
      slot.terminate()
      return undefined
    },
  },
  {
    row: 'F44',
    what: 'a graph process is suspended for longer than its session, and resumes beside its successor',
    lastsMs: [25 * SECOND, 5 * MINUTE],
    most: 4,
    suits: (options) => isApart(options) && options.graphs > 1,
    begin: sleeping('folds'),
  },
  {
    row: 'F56',
    what: 'power is lost, and a disk that only claimed to have synced has an older state',
    lastsMs: [10 * SECOND, 20 * MINUTE],
    most: 3,
    begin(context) {
      const slot = slotOf(context, 'folds')
      slot.disk.stopSyncing()
      return () => {
        const start = slot.holdDown()
        slot.disk.loseUnsynced()
        context.world.reached('F56')
        start()
      }
    },
  },
  {
    row: 'F58',
    what: 'a graph process dies between writing, committing and publishing',
    lastsMs: [MINUTE, MINUTE],
    most: 6,
    begin: dyingAt('F58', 'folds', ['commit', 'store-write', 'open-task', 'read', 'append'], 4),
  },
  {
    row: 'F59',
    what: 'a disk is lost, and the process that restores the store dies meanwhile',
    lastsMs: [MINUTE, MINUTE],
    most: 3,
    begin(context) {
      const { world } = context
      const slot = slotOf(context, 'folds')
      const start = slot.holdDown()
      slot.disk.lose()
      start()
      slot.arm({ crossing: 'store-write', left: 1, isBack: context.fault.seed % 2 === 0 }, () =>
        world.reached('F59'),
      )
      return () => slot.disarm()
    },
  },
  {
    row: 'F63',
    what: 'a process is suspended for up to a minute',
    lastsMs: [2 * SECOND, 60 * SECOND],
    most: 6,
    begin: sleeping(),
  },
  {
    row: 'F84',
    what: 'a reaper is suspended with commands that another one has already carried out',
    lastsMs: [5 * SECOND, 8 * MINUTE],
    most: 4,
    suits: (options) => isApart(options) && options.reapers > 1,
    begin: sleeping('reaps'),
  },
  {
    row: 'F86',
    what: 'a reaper dies at any call, before or after the call took effect',
    lastsMs: [MINUTE, 2 * MINUTE],
    most: 8,
    begin: dyingAt('F86', 'reaps', ['request', 'request', 'append', 'save', 'any'], 40),
  },
  {
    row: 'kill',
    what: 'a process is killed at any call; sometimes its disk is lost as well',
    lastsMs: [2 * MINUTE, 2 * MINUTE],
    most: 6,
    begin(context) {
      const { world, fault } = context
      const chance = seeded(fault.seed)
      const slot = slotOf(context)
      slot.arm({ crossing: 'any', left: chance.below(300), isBack: false }, () => {
        world.reached('kill')
        if (chance.next() < 0.3) slot.disk.lose()
        if (chance.next() < 0.3) makeRelist(context)
      })
      return () => slot.disarm()
    },
  },
]
