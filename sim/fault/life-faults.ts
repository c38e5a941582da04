/**
 * Awkward things that users, controllers and operators do, all of them allowed: ownership cycles,
 * chains, adoptions at the last moment, stuck finalizers, kinds that enter and leave discovery,
 * restored families, pauses and protection.
 *
 * What must stay true: each is something that an API server allows; none needs a broken machine.
 */

import type { Directive, PolicyChanged } from '../../core/model/event.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import type { Policy } from '../../core/model/policy.ts'
import { policyFor } from '../../core/model/policy.ts'
import { pauseKey, protectKey } from '../../ports/record/control-key.ts'
import type { Control } from '../../ports/record/service-record.ts'
import { giveOrder } from '../../services/graph/fold/order.ts'
import { seeded } from '../../testing/seeded.ts'
import type { Fault, FaultContext, World } from '../model.ts'
import type { Users } from '../workload.ts'
import { siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** How often an object that Kinfold deletes is created again. */
const RECREATED = 5

function usersOf({ users, fault }: FaultContext): Users {
  return users[fault.target % users.length]!
}

/** Something that users do once. */
function once(row: string, what: string, most: number, act: (users: Users) => void): Fault {
  return {
    row,
    what,
    lastsMs: [1, 1],
    most,
    begin(context) {
      act(usersOf(context))
      context.world.reached(row)
      return undefined
    },
  }
}

export const lifeFaults: readonly Fault[] = [
  once(
    'F23',
    'a CustomResourceDefinition is deleted with all its objects, or created again',
    4,
    (users) => users.define(),
  ),
  once('F24', 'the version that references name is not served any more', 2, (users) =>
    users.dropVersion(),
  ),
  once('F67', 'a reference names an owner in another namespace', 3, (users) =>
    users.dependAcross(),
  ),
  once('F69', 'one of several owners is deleted', 4, (users) => users.shareAndDelete()),
  once('F70', 'owners own each other, or themselves', 3, (users) => users.ring()),
  once(
    'F71',
    'a long chain of owners, and one owner with many dependents, are deleted at once',
    1,
    (users) => users.crowd(),
  ),
  {
    row: 'F72',
    what: 'an object is adopted by another owner right before Kinfold deletes it',
    lastsMs: [MINUTE, 20 * MINUTE],
    most: 4,
    begin(context) {
      const { world, fault } = context
      const site = siteOf(context)
      const chance = seeded(fault.seed)
      const adopt: Parameters<typeof world.beforeEffects.add>[0] = (at, { path }) => {
        if (at !== site || chance.next() >= fault.rate) return
        if (usersOf(context).adoptAt(path)) world.reached('F72')
      }
      world.beforeEffects.add(adopt)
      return () => world.beforeEffects.delete(adopt)
    },
  },
  once('F75', 'an owner is deleted, and a finalizer holds it for hours', 4, (users) =>
    users.holdDeleted(),
  ),
  once('F76', 'an owner has both finalizers of the collector, or a user removes one', 4, (users) =>
    users.mixFinalizers(),
  ),
  {
    row: 'F77',
    what: 'dependents are orphaned while reapers die',
    lastsMs: [2 * MINUTE, 2 * MINUTE],
    most: 4,
    begin(context) {
      const { world, fault } = context
      usersOf(context).orphanFamily()
      const slots = world.slots.filter(({ roles }) => roles.reaps)
      const slot = slots[fault.target % slots.length]!
      const left = seeded(fault.seed).below(12)
      slot.arm({ crossing: 'request', left, isBack: fault.seed % 2 === 0 }, () =>
        world.reached('F77'),
      )
      return () => slot.disarm()
    },
  },
  once('F78', 'a backup tool restores dependents whose owners do not exist', 2, (users) =>
    users.restoreFamily(),
  ),
  {
    row: 'F79',
    what: 'a controller creates again what Kinfold deletes',
    lastsMs: [MINUTE, 10 * MINUTE],
    most: 2,
    begin(context) {
      const { world } = context
      const site = siteOf(context)
      let left = RECREATED
      const again: Parameters<typeof world.afterEffects.add>[0] = (at, { before, after }) => {
        if (at !== site || after !== null || before === null || left-- <= 0) return
        world.reached('F79')
        world.time.at(world.time.monotonicMs() + SECOND, () => usersOf(context).remake(before))
      }
      world.afterEffects.add(again)
      return () => world.afterEffects.delete(again)
    },
  },
  {
    row: 'F94',
    what: 'a person pauses a cluster or all of them, and resumes later',
    lastsMs: [10 * SECOND, 15 * MINUTE],
    most: 3,
    begin(context) {
      const { world, fault } = context
      const cluster = fault.seed % 3 === 0 ? '' : siteOf(context).id
      void direct(world, 'pause', cluster, '').then((isTold) => {
        if (!isTold) return
        world.pausedMs.set(cluster, world.time.monotonicMs())
        world.reached('F94')
      })
      return () => {
        // Another one may have pressed it since; one resume ends all.
        world.pausedMs.delete(cluster)
        void direct(world, 'resume', cluster, '')
      }
    },
  },
  {
    row: 'protect',
    what: 'a person protects a namespace, and ends that later',
    lastsMs: [MINUTE, 30 * MINUTE],
    most: 3,
    begin(context) {
      const { world, fault } = context
      const site = siteOf(context)
      const namespace = seeded(fault.seed).pick(PROTECTED)
      const key = `${site.name}/${namespace}`
      void direct(world, 'protect', site.id, `namespace/${namespace}`).then((isTold) => {
        if (!isTold) return
        world.protectedMs.set(key, world.time.monotonicMs())
        world.reached('protect')
      })
      return () => {
        world.protectedMs.delete(key)
        void direct(world, 'unprotect', site.id, `namespace/${namespace}`)
      }
    },
  },
  {
    row: 'F98',
    what: 'the mode is changed while everything runs, and changed back',
    lastsMs: [MINUTE, 20 * MINUTE],
    most: 2,
    suits: ({ policy }) => policy.mode === 'enforce',
    begin({ world, fault }) {
      const { preset } = world.policy
      const mode = fault.seed % 2 === 0 ? 'dry-run' : 'observe'
      // The rules with it, or none: then their orders are over.
      const rules = fault.seed % 4 < 2 ? world.policy.rules : []
      void tellPolicy(world, { ...policyFor(mode, preset), rules })
      world.reached('F98')
      return () => void tellPolicy(world, world.policy)
    },
  },
]

/** Namespaces that persons protect. */
const PROTECTED = ['blue', 'green', 'red'] as const

/**
 * A person who sees that an object is still held although no user wants that repeats the directive
 * that ends it: the first one may be lost (F39).
 */
export async function letGoOfAll(world: World): Promise<void> {
  for (const { id, name } of world.sites) {
    if (!world.pausedMs.has(id)) await direct(world, 'resume', id, '')
    for (const namespace of PROTECTED) {
      const isWanted = world.protectedMs.has(`${name}/${namespace}`)
      if (!isWanted) await direct(world, 'unprotect', id, `namespace/${namespace}`)
    }
  }
  if (!world.pausedMs.has('')) await direct(world, 'resume', '', '')
}

/**
 * As the endpoint does it: a record for every partition, and one in `orders`, so that reapers know
 * at once. False: the log exists no longer.
 */
export async function direct(
  world: World,
  verb: 'pause' | 'resume' | 'protect' | 'unprotect',
  cluster: string,
  subject: string,
): Promise<boolean> {
  const { broker, codec } = world
  const { log } = broker
  const [who, why] = ['somebody', 'a fault']
  const about = { cluster, who, why }
  const control: Control = {
    ...{ type: 'Control', verb, ...about },
    ...{ kind: null, number: 0, connected: false, protection: null, mode: null },
  }
  const key = subject === '' ? pauseKey(cluster) : protectKey(cluster, subject)
  await log.append('orders', 0, [{ key, value: codec.encode(control) }])
  const order: Directive = {
    ...{ type: 'Directive', verb, ...about, subject },
    ...{ digest: null, listed: EMPTY_SET, isProven: false },
  }
  await giveOrder(log, codec, order, partitionsOf(broker))
  return log === broker.log
}

async function tellPolicy({ broker, codec }: World, policy: Policy): Promise<void> {
  const order: PolicyChanged = { type: 'PolicyChanged', policy, who: 'somebody', why: 'a fault' }
  await giveOrder(broker.endpoint, codec, order, partitionsOf(broker))
}

function partitionsOf({ partitions }: World['broker']): readonly number[] {
  return Array.from({ length: partitions }, (_, each) => each)
}
