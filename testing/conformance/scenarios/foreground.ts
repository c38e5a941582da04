/**
 * Foreground deletion: which objects wait for which, what blocks, and what a second request
 * changes.
 */
import { CONFIG_MAP, DEPLOYMENT, POD, REPLICA_SET, SECRET } from '../../process/objects.ts'
import {
  PRIORITY_CLASS,
  REALM,
  REPLICATION_CONTROLLER,
  WIDGET,
  WIDGET_NOT_SERVED,
} from '../kinds.ts'
import type { Scenario } from '../scenario.ts'
import { blocking, FOREGROUND, HOLD, ORPHAN } from '../world.ts'

export const FOREGROUNDS: readonly Scenario[] = [
  {
    rows: 'R7 D10',
    says: 'drops the reference to a waiting owner beside a solid one, and the waiting one is deleted',
    async run(world) {
      const waiting = await world.make(REPLICATION_CONTROLLER, 'waiting')
      const solid = await world.make(REPLICATION_CONTROLLER, 'solid')
      const pod = await world.make(POD, 'pod', { owners: [blocking(waiting), solid] })
      await world.remove(waiting, 'Foreground')
      await world.gone(waiting)
      await world.sees(pod, { owners: ['solid'], deleting: false })
      await world.quiet()
      await world.untouched(solid)
    },
  },
  {
    rows: 'R8',
    says: 'removes a waiting owner before dependents that do not block',
    async run(world) {
      const owner = await world.make(REPLICATION_CONTROLLER, 'owner')
      const options = { owners: [owner], finalizers: [HOLD] }
      const held = await world.makeMany(POD, 'held', 3, () => options)
      await world.remove(owner, 'Foreground')
      await world.gone(owner)
      for (const each of held) await world.sees(each, { deleting: true })
      for (const each of held) await world.finalize(each, [])
      await world.gone(...held)
    },
  },
  {
    rows: 'R9 P13',
    says: 'completes a foreground deletion that was requested twice once its own finalizer is removed',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner', { finalizers: [HOLD] })
      await world.remove(owner, 'Foreground')
      await world.sees(owner, { deleting: true, finalizers: [HOLD] })
      await world.remove(owner, 'Foreground')
      await world.sees(owner, { deleting: true, finalizers: [HOLD] })
      await world.finalize(owner, [])
      await world.gone(owner)
    },
  },
  {
    rows: 'R10 B30',
    says: 'keeps an owner waiting while a blocking dependent exists',
    async run(world) {
      const owner = await world.make(REPLICATION_CONTROLLER, 'owner')
      const held = await world.make(POD, 'held', { owners: [blocking(owner)], finalizers: [HOLD] })
      const quick = await world.make(POD, 'quick', { owners: [blocking(owner)] })
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.gone(quick)
      await world.quiet()
      await world.still(owner, { deleting: true, finalizers: [FOREGROUND] })
      await world.still(held, { deleting: true, owners: ['owner'] })
      await world.finalize(held, [])
      await world.gone(held, owner)
    },
  },
  {
    rows: 'B30 B33',
    says: 'removes an owner without dependents',
    async run(world) {
      const built = await world.make(CONFIG_MAP, 'built-in')
      const custom = await world.make(WIDGET, 'custom')
      const wide = await world.make(REALM, 'wide')
      for (const each of [built, custom, wide]) await world.remove(each, 'Foreground')
      await world.gone(built, custom, wide)
    },
  },
  {
    rows: 'D11 B41',
    says: 'applies Foreground to dependents that have dependents, and removes the root last',
    async run(world) {
      const deployment = await world.make(DEPLOYMENT, 'web')
      const set = await world.make(REPLICA_SET, 'web', { owners: [blocking(deployment)] })
      const options = { owners: [blocking(set)], finalizers: [HOLD] }
      const held = await world.make(POD, 'held', options)
      const pods = await world.makeMany(POD, 'web', 4, () => ({ owners: [blocking(set)] }))
      await world.remove(deployment, 'Foreground')
      await world.gone(...pods)
      await world.sees(held, { deleting: true })
      await world.quiet()
      await world.still(deployment, { deleting: true, finalizers: [FOREGROUND] })
      await world.still(set, { deleting: true, finalizers: [FOREGROUND] })
      await world.finalize(held, [])
      await world.gone(held, set, deployment)
    },
  },
  {
    rows: 'B24 D12',
    says: 'deletes a dependent without dependents in the background, whichever owner waits',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const options = { owners: [blocking(owner)], finalizers: [HOLD] }
      const leaf = await world.make(WIDGET, 'leaf', options)
      await world.remove(owner, 'Foreground')
      await world.sees(leaf, { deleting: true })
      await world.quiet()
      await world.still(leaf, { deleting: true, finalizers: [HOLD] })
      await world.finalize(leaf, [])
      await world.gone(leaf, owner)
    },
  },
  {
    rows: 'B12 B38',
    says: 'examines a waiting owner again when a reference stops blocking or is removed',
    async run(world) {
      const owners = await world.makeMany(CONFIG_MAP, 'owner', 2)
      const [unblocked, freed] = await world.makeMany(SECRET, 'held', 2, (index) => ({
        owners: [blocking(owners[index]!)],
        finalizers: [HOLD],
      }))
      for (const owner of owners) await world.remove(owner, 'Foreground')
      for (const held of [unblocked!, freed!]) await world.sees(held, { deleting: true })
      await world.quiet()
      for (const owner of owners) await world.still(owner, { finalizers: [FOREGROUND] })
      await world.refer(unblocked!, [owners[0]!])
      await world.refer(freed!, [])
      await world.gone(...owners)
      for (const held of [unblocked!, freed!]) await world.finalize(held, [])
      await world.gone(unblocked!, freed!)
    },
  },
  {
    rows: 'B32 P14',
    says: 'does not wait for other finalizers of the owner before it deletes the dependents',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner', { finalizers: [HOLD] })
      const dependents = await world.makeMany(SECRET, 'dependent', 3, () => ({
        owners: [blocking(owner)],
      }))
      await world.remove(owner, 'Foreground')
      await world.gone(...dependents)
      await world.sees(owner, { deleting: true, finalizers: [HOLD] })
      await world.finalize(owner, [])
      await world.gone(owner)
    },
  },
  {
    rows: 'B17',
    says: 'deletes dependents in the background when another client removes the finalizer foregroundDeletion',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const options = { owners: [blocking(owner)], finalizers: [HOLD] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.finalize(owner, [])
      await world.gone(owner)
      const late = await world.make(SECRET, 'late', { owners: [blocking(owner)] })
      await world.gone(late)
      await world.finalize(held, [])
      await world.gone(held)
    },
  },
  {
    rows: 'B20',
    says: 'deletes a dependent that was added while its owner waits, before the owner is removed',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const options = { owners: [blocking(owner)], finalizers: [HOLD] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      const late = await world.make(SECRET, 'late', options)
      await world.quiet()
      await world.finalize(held, [])
      await world.sees(late, { deleting: true })
      await world.quiet()
      await world.still(owner, { deleting: true, finalizers: [FOREGROUND] })
      await world.finalize(late, [])
      await world.gone(late, owner)
    },
  },
  {
    rows: 'B20 B31',
    says: 'deletes a dependent that was added while its owner waits at once, not when the owner is examined again',
    better: 'upstream does not queue a dependent added to a waiting owner',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const options = { owners: [blocking(owner)], finalizers: [HOLD] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.quiet()
      const late = await world.make(SECRET, 'late', { owners: [blocking(owner)] })
      await world.gone(late)
      await world.still(owner, { deleting: true })
      await world.finalize(held, [])
      await world.gone(held, owner)
    },
  },
  {
    rows: 'B70 W',
    says: 'removes a waiting owner at once when it is deleted again in the background',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const options = { owners: [blocking(owner)], finalizers: [HOLD] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.remove(owner, 'Background')
      await world.gone(owner)
      await world.finalize(held, [])
      await world.gone(held)
    },
  },
  {
    rows: 'B70 W P13',
    says: 'turns a waiting owner to orphaning: its remaining dependents lose the reference',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const options = { owners: [blocking(owner)], finalizers: [HOLD] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      await world.sees(held, { deleting: true, owners: [], finalizers: [HOLD] })
      await world.finalize(held, [])
      await world.gone(held)
    },
  },
  {
    rows: 'B70 P13',
    says: 'turns a background deletion that a finalizer holds to foreground',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner', { finalizers: [HOLD] })
      const dependent = await world.make(SECRET, 'dependent', { owners: [blocking(owner)] })
      await world.remove(owner, 'Background')
      await world.quiet()
      await world.untouched(dependent)
      await world.remove(owner, 'Foreground')
      await world.gone(dependent)
      await world.sees(owner, { deleting: true, finalizers: [HOLD] })
      await world.finalize(owner, [])
      await world.gone(owner)
    },
  },
  {
    rows: 'C4 B30',
    says: 'keeps a cluster-scoped owner waiting for dependents in two namespaces and beside it',
    async run(world) {
      const owner = await world.make(REALM, 'owner')
      const near = { owners: [blocking(owner)], finalizers: [HOLD] }
      const held = [
        await world.make(CONFIG_MAP, 'held', near),
        await world.make(CONFIG_MAP, 'held', { ...near, namespace: world.other }),
        await world.make(PRIORITY_CLASS, 'held', near),
      ]
      await world.remove(owner, 'Foreground')
      for (const each of held) {
        await world.sees(each, { deleting: true })
        await world.quiet()
        await world.still(owner, { deleting: true, finalizers: [FOREGROUND] })
        await world.finalize(each, [])
      }
      await world.gone(owner, ...held)
    },
  },
  {
    rows: 'D11 D12 B23',
    says: 'deletes a dependent with an orphan finalizer and dependents in the foreground when its owner waits',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const options = { owners: [blocking(owner)], finalizers: [ORPHAN] }
      const middle = await world.make(CONFIG_MAP, 'middle', options)
      const leaf = await world.make(SECRET, 'leaf', { owners: [blocking(middle)] })
      await world.remove(owner, 'Foreground')
      await world.gone(owner, middle, leaf)
    },
  },
  {
    rows: 'D11',
    says: 'drops references to two waiting owners beside a solid one, and deletes a dependent of these two alone',
    async run(world) {
      const owners = await world.makeMany(CONFIG_MAP, 'owner', 3)
      const [waiting, going, solid] = owners
      const shared = await world.make(SECRET, 'shared', {
        owners: [blocking(waiting!), blocking(going!), solid!],
      })
      const doomed = await world.make(SECRET, 'doomed', {
        owners: [blocking(waiting!), blocking(going!)],
      })
      await world.remove(waiting!, 'Foreground')
      await world.sees(shared, { owners: ['owner-1', 'owner-2'] })
      await world.remove(going!, 'Foreground')
      await world.gone(waiting!, going!, doomed)
      await world.sees(shared, { owners: ['owner-2'], deleting: false })
    },
  },
  {
    rows: 'B22 B27 P13',
    says: 'removes a waiting owner before a blocking dependent that can never be judged',
    better: 'upstream waits for ever for a dependent whose other reference it cannot resolve',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const unserved = { apiVersion: WIDGET_NOT_SERVED, kind: 'Widget', name: 'x', uid: 'never' }
      const dependent = await world.make(SECRET, 'dependent', {
        owners: [blocking(owner), unserved],
      })
      await world.remove(owner, 'Foreground')
      await world.gone(owner)
      await world.quiet()
      await world.still(dependent, { deleting: false, owners: ['owner', 'x'] })
    },
  },
]
