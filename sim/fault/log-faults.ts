/**
 * Faults of the log: it is unreachable, its answers are lost, commits stay open, reads come late,
 * positions are forgotten, its end is cut off.
 *
 * What must stay true: if acknowledged records are lost, a process notices: it ends with a
 * sentence, and a person begins with an empty log and empty disks, as that sentence says. Records
 * lost from `control` are published again without a person.
 */

import { POSITION_KEY } from '../../core/graph/key.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import { type Protection, policyFor } from '../../core/model/policy.ts'
import { LogError, SINGLE_PARTITION } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { ORDER_PREFIX, protectingOf } from '../../ports/record/control-key.ts'
import { seeded } from '../../testing/seeded.ts'
import { type LogCall, SWALLOWED } from '../broker.ts'
import type { Fault, World } from '../model.ts'
import { forgetWord } from './configured.ts'
import { direct } from './life-faults.ts'
import { siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const AWAY = 'the log takes nothing for now'
/** What may lose its end; most records are events. */
const CUT = ['events', 'events', 'commands', 'changelog', 'orders', 'control'] as const
const WRITES: ReadonlySet<LogCall> = new Set(['append', 'commit'])

export const logFaults: readonly Fault[] = [
  {
    row: 'F38',
    what: 'a broker crashes: calls fail, and of some that took effect the answer is lost',
    lastsMs: [5 * SECOND, 2 * MINUTE],
    most: 6,
    begin({ world, fault }) {
      const chance = seeded(fault.seed)
      // A task that gets no commit through in twenty tries ends its process, as it should.
      world.excuses.add(isUnknown)
      return world.broker.hinder(async ({ call }) => {
        if (chance.next() >= fault.rate) return undefined
        world.reached('F38')
        if (!WRITES.has(call) || chance.next() < 0.5) throw new LogError('UNAVAILABLE', AWAY)
        return () => {
          throw new LogError('UNKNOWN_OUTCOME', 'the answer was lost')
        }
      })
    },
  },
  {
    row: 'F39',
    what: 'an unclean election cuts off the end of a partition',
    lastsMs: [1, 1],
    most: 1,
    begin(context) {
      const { world, fault } = context
      const chance = seeded(fault.seed)
      const topic = chance.pick(CUT)
      const partition = SINGLE_PARTITION.has(topic) ? 0 : fault.target % world.broker.partitions
      loseEnd(world, topic, partition, BigInt(1 + chance.below(40)))
      return undefined
    },
  },
  {
    row: 'F40',
    what: 'retention removes records before a process has read them',
    lastsMs: [20 * SECOND, 2 * MINUTE],
    most: 1,
    begin(context) {
      const { world, fault } = context
      const role = fault.seed % 2 === 0 ? 'folds' : 'reaps'
      const topic = role === 'folds' ? 'events' : 'commands'
      const starts = world.slots.filter(({ roles }) => roles[role]).map((slot) => slot.holdDown())
      return () => {
        void overtake(world, topic).then(() => {
          for (const start of starts) start()
        })
      }
    },
  },
  {
    row: 'F45',
    what: 'the marker of a commit comes late, or the commit is aborted',
    lastsMs: [MINUTE, 5 * MINUTE],
    most: 4,
    begin({ world, fault }) {
      const chance = seeded(fault.seed)
      return world.broker.hinder(async ({ call }) => {
        if (call !== 'commit' || chance.next() >= fault.rate * 0.3) return undefined
        const held = world.broker.log.holdNextCommit()
        world.reached('F45')
        const isAborted = chance.next() < 0.4
        const afterMs = chance.below(8 * SECOND)
        world.time.at(world.time.monotonicMs() + afterMs, () => {
          if (isAborted) held.abort()
          else held.release()
        })
        return undefined
      })
    },
  },
  {
    row: 'F46',
    what: 'a saved position is acknowledged and lost',
    lastsMs: [MINUTE, 10 * MINUTE],
    most: 3,
    begin({ world }) {
      const end = world.broker.hinder(async ({ call }) => {
        if (call !== 'save') return undefined
        world.reached('F46')
        throw SWALLOWED
      })
      return () => {
        end()
        for (const slot of world.slots) if (slot.roles.reaps) slot.kill()
      }
    },
  },
  {
    row: 'F47',
    what: 'a record cannot be decoded',
    lastsMs: [1, 1],
    most: 4,
    begin(context) {
      const { world, fault } = context
      const partition = fault.target % world.broker.partitions
      const key = `${siteOf(context).id}/blue`
      const value = new Uint8Array([1, 2, 3, fault.seed % 256])
      void world.broker.log.append('events', partition, [{ key, value }])
      world.reached('F47')
      return undefined
    },
  },
  {
    row: 'F49',
    what: 'the log is not available for up to 40 minutes',
    lastsMs: [10 * MINUTE, 40 * MINUTE],
    most: 1,
    begin({ world }) {
      world.reached('F49')
      return world.broker.hinder(async () => {
        throw new LogError('UNAVAILABLE', AWAY)
      })
    },
  },
  {
    row: 'F83',
    what: 'commands are on the log up to ten times',
    lastsMs: [MINUTE, 10 * MINUTE],
    most: 4,
    begin({ world, fault }) {
      const chance = seeded(fault.seed)
      const again = ({ topic, partition, records }: Parameters<Observer>[0]): void => {
        if (topic !== 'commands' || chance.next() >= fault.rate) return
        const times = 1 + chance.below(9)
        const { log } = world.broker
        world.reached('F83')
        for (let time = 0; time < times; time++)
          world.time.at(world.time.monotonicMs() + chance.below(2 * SECOND), () => {
            void log.append('commands', partition, [...records])
          })
      }
      world.onAppended.add(again)
      return () => world.onAppended.delete(again)
    },
  },
  {
    row: 'F85',
    what: 'commands are read up to 40 minutes late',
    lastsMs: [3 * MINUTE, 40 * MINUTE],
    most: 2,
    begin({ world, fault }) {
      const over = Promise.withResolvers<void>()
      const partition = fault.target % world.broker.partitions
      const end = world.broker.hinder(async (passage) => {
        if (passage.call !== 'read' || passage.topic !== 'commands') return undefined
        if (passage.partition !== partition) return undefined
        world.reached('F85')
        await over.promise
        return undefined
      })
      return () => {
        end()
        over.resolve()
      }
    },
  },
  {
    row: 'F95',
    what: 'the archive is full, not available or slow, or its answer is lost',
    lastsMs: [MINUTE, 20 * MINUTE],
    most: 4,
    suits: ({ archive }) => archive !== 'off',
    begin({ world, fault }) {
      const chance = seeded(fault.seed)
      return world.broker.hinder(async ({ call, topic }) => {
        if (call !== 'append' || topic !== 'archive' || chance.next() >= 0.7) return undefined
        world.reached('F95')
        const how = chance.pick(['full', 'away', 'unknown', 'slow'] as const)
        if (how === 'full') throw new LogError('FULL', 'there is no room for it')
        if (how === 'away') throw new LogError('UNAVAILABLE', AWAY)
        if (how === 'slow') await world.time.sleep(chance.below(20 * SECOND))
        return () => {
          if (how === 'unknown') throw new LogError('UNKNOWN_OUTCOME', 'the answer was lost')
        }
      })
    },
  },
  {
    row: 'F96 order',
    what: 'orders and a policy are forged, in `events`',
    lastsMs: [30 * SECOND, 2 * MINUTE],
    most: 2,
    begin({ world }) {
      const { broker, codec } = world
      const about = { who: 'user:mallory', why: 'forged' }
      const said = { digest: null, listed: EMPTY_SET, isProven: true, ...about }
      const of = { type: 'Directive', cluster: '' } as const
      const policy = { ...policyFor('enforce', 'parity'), protection: NO_PROTECTION }
      const forged = [
        codec.encode({ ...of, verb: 'resume', subject: '', ...said }),
        ...['blue', 'green', 'red'].map((name) =>
          codec.encode({ ...of, verb: 'unprotect', subject: `namespace/${name}`, ...said }),
        ),
        codec.encode({ type: 'PolicyChanged', policy, ...about }),
      ]
      for (let partition = 0; partition < broker.partitions; partition++) {
        const records = forged.map((value) => ({ key: 'policy', value }))
        void broker.log.append('events', partition, records)
      }
      // Every order that was ever given, once more.
      void repeatOrders(world)
      world.reached('F96 order')
      return undefined
    },
  },
  {
    row: 'F97',
    what: 'a forged ObjectDeleted, in the name of a former watcher',
    lastsMs: [30 * SECOND, 2 * MINUTE],
    most: 3,
    begin({ world, fault }) {
      let left = 1 + (fault.seed % 4)
      const forge = ({ topic, partition, records }: Parameters<Observer>[0]): void => {
        for (const { key, value } of topic === 'events' ? records : []) {
          if (value === null || left === 0) continue
          const event = world.codec.decode(value)
          if (event.type !== 'ObjectAdded' && event.type !== 'ObjectUpdated') continue
          left--
          world.reached('F97')
          const { cluster, object } = event
          const forged = { type: 'ObjectDeleted', cluster, epoch: 0, object, ageMs: 0 } as const
          const record = { key, value: world.codec.encode(forged) }
          const { log } = world.broker
          world.time.at(world.time.monotonicMs() + SECOND, () => {
            void log.append('events', partition, [record])
          })
        }
      }
      world.onAppended.add(forge)
      return () => world.onAppended.delete(forge)
    },
  },
]

const NO_PROTECTION: Protection = {
  ...{ kinds: [], namespaces: [], labels: [], annotations: [] },
  othersMarks: false,
}

async function repeatOrders({ broker, codec }: World): Promise<void> {
  const { log } = broker
  for (let partition = 0; partition < broker.partitions; partition++) {
    const { start } = await log.bounds('events', partition)
    const { entries } = await log.read('events', partition, start, { limit: 5_000, waitMs: 0 })
    const given = entries.filter(({ value }) => isGiven(codec, value))
    if (given.length > 0) await log.append('events', partition, given)
  }
}

function isGiven(codec: Codec, value: Uint8Array | null): boolean {
  try {
    return value !== null && codec.decode(value).type === 'OrderGiven'
  } catch {
    return false // F47.
  }
}

type Observer = Parameters<World['onAppended']['add']>[0]

function isUnknown(error: unknown): boolean {
  return error instanceof LogError && error.code === 'UNKNOWN_OUTCOME'
}

function loseEnd(
  world: World,
  topic: (typeof CUT)[number],
  partition: number,
  count: bigint,
): void {
  const { log } = world.broker
  void log.bounds(topic, partition).then(async ({ start, end }) => {
    const from = end - count > start ? end - count : start
    const { entries: lost } = await log.read(topic, partition, from, { limit: 50, waitMs: 0 })
    log.cutOff(topic, partition, from)
    world.trace.note('cut off', `${topic}/${partition} from ${from}, it ended at ${end}`)
    world.reached('F39')
    // Records that these topics lost are published again by their producers; lost records that
    // release something, by persons.
    if (topic === 'control' || topic === 'orders') world.hasLostWords = true
    if (topic === 'orders') {
      // Folded again, they are missing.
      const orders = lost.filter(({ key }) => key.startsWith(ORDER_PREFIX))
      world.hasLostOrders ||= orders.length > 0
      forgetWord(world)
      // An order that no partition has followed yet is known to no process any longer: the person
      // who gave it gives it again.
      if (orders.some(({ offset }) => !isFollowed(world, offset))) sayAgain(world)
      world.time.at(world.time.monotonicMs() + MINUTE, () => void letGo(world))
    } else if (topic !== 'control') expectDamage(world)
  })
}

/**
 * A person sees that an object is held although no user wants that, and repeats the directive that
 * ends it.
 */
async function letGo(world: World): Promise<void> {
  for (const { key, value } of await world.broker.log.latest('orders', 0)) {
    const control = value === null ? undefined : world.codec.decode(value)
    if (control?.type !== 'Control') continue
    if (control.verb === 'pause' && !world.pausedMs.has(control.cluster)) {
      await direct(world, 'resume', control.cluster, '')
    }
    const about = protectingOf(key, control)
    if (about?.type !== 'subject' || about.isLifted) continue
    const { cluster, subject } = about
    const site = world.sites.find(({ id }) => id === cluster)
    const isWanted = world.protectedMs.has(`${site?.name}/${subject.replace('namespace/', '')}`)
    if (!isWanted) await direct(world, 'unprotect', cluster, subject)
  }
}

async function overtake(world: World, topic: 'events' | 'commands'): Promise<void> {
  const { log } = world.broker
  for (let partition = 0; partition < world.broker.partitions; partition++) {
    const { end } = await log.bounds(topic, partition)
    await log.trim(topic, partition, end)
  }
  world.reached('F40')
  expectDamage(world)
}

/** The process that finds it out says so and ends; then a person does what its sentence says. */
function expectDamage(world: World): void {
  world.isLogHurt = true
  for (const site of world.sites) world.truthOf(site).forgetTheGone()
  const excuse = (error: unknown): boolean => {
    if (!(error instanceof LogError)) return false
    if (error.code !== 'DAMAGED' && error.code !== 'OUT_OF_RANGE') return false
    world.trace.note('person', `begins anew: ${error.message}`)
    world.excuses.delete(excuse)
    beginAnew(world)
    return true
  }
  world.excuses.add(excuse)
}

/** By all partitions, as of their last commits. */
function isFollowed(world: World, offset: bigint): boolean {
  return Array.from({ length: world.broker.partitions }, (_, partition) => {
    const bytes = world.contentOf(partition).get(POSITION_KEY)
    const state = bytes === undefined ? undefined : world.codec.decode(bytes)
    return state?.type === 'Position' && state.inForce.some((mark) => mark.startsWith(`${offset}/`))
  }).every((isIn) => isIn)
}

/** From now on it counts. */
function sayAgain(world: World): void {
  const nowMs = world.time.monotonicMs()
  for (const cluster of world.pausedMs.keys()) {
    world.pausedMs.set(cluster, nowMs)
    void direct(world, 'pause', cluster, '')
  }
  for (const key of world.protectedMs.keys()) {
    world.protectedMs.set(key, nowMs)
    const [name, namespace] = key.split('/')
    const site = world.sites.find((each) => each.name === name)
    void direct(world, 'protect', site?.id ?? '', `namespace/${namespace}`)
  }
}

/**
 * With an empty log and empty disks. Pauses and protections are given again before anything runs,
 * since no other record of them exists.
 */
function beginAnew(world: World): void {
  const starts = world.slots.map((slot) => slot.holdDown())
  world.broker.replace()
  world.isLogHurt = false
  world.begunAnewMs = world.time.now()
  for (const { disk } of world.slots) disk.lose()
  sayAgain(world)
  world.time.at(world.time.monotonicMs() + MINUTE, () => {
    for (const start of starts) start()
  })
}
