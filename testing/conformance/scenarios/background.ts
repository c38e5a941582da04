/**
 * Background deletion: which objects are deleted with their last owner, which stay, and which
 * policy counts when the request names none.
 */
import {
  CONFIG_MAP,
  DEPLOYMENT,
  POD,
  REPLICA_SET,
  type Reference,
  referenceTo,
  SECRET,
} from '../../process/objects.ts'
import { JOB, PRIORITY_CLASS, REALM, REPLICATION_CONTROLLER, WIDGET } from '../kinds.ts'
import type { Scenario } from '../scenario.ts'
import { blocking, FOREGROUND, HOLD, ORPHAN } from '../world.ts'

/** No object has this uid. */
const NEVER: Reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: 'never-was' }
export const BACKGROUND: readonly Scenario[] = [
  {
    rows: 'R3 D10 D12',
    says: 'deletes what only a deleted owner has, drops a reference beside a solid owner, leaves the rest',
    async run(world) {
      const first = await world.make(REPLICATION_CONTROLLER, 'first')
      const second = await world.make(REPLICATION_CONTROLLER, 'second')
      const only = await world.make(POD, 'only', { owners: [first] })
      const shared = await world.make(POD, 'shared', { owners: [first, second] })
      const free = await world.make(POD, 'free')
      await world.remove(first, 'Background')
      await world.gone(first, only)
      await world.sees(shared, { owners: ['second'], deleting: false })
      await world.quiet()
      await world.untouched(second, free)
      await world.still(shared, { owners: ['second'], deleting: false })
    },
  },
  {
    rows: 'R4',
    says: 'deletes an object that is created with an owner that never existed',
    async run(world) {
      const stray = await world.make(POD, 'stray', { owners: [NEVER] })
      const role = { ...NEVER, apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }
      const wide = await world.make(PRIORITY_CLASS, 'stray', { owners: [role] })
      await world.gone(stray, wide)
    },
  },
  {
    rows: 'R4 B10',
    says: 'deletes an object that is given an owner that never existed, and drops that reference beside a solid one',
    async run(world) {
      const live = await world.make(CONFIG_MAP, 'live')
      const stray = await world.make(CONFIG_MAP, 'stray')
      const shared = await world.make(WIDGET, 'shared', { owners: [live] })
      await world.refer(stray, [NEVER])
      await world.refer(shared, [NEVER, live])
      await world.gone(stray)
      await world.sees(shared, { owners: ['live'] })
      await world.quiet()
      await world.untouched(live)
    },
  },
  {
    rows: 'R11',
    says: 'cascades between custom resources, with and without a namespace',
    async run(world) {
      const root = await world.make(REALM, 'root')
      const middle = await world.make(WIDGET, 'middle', { owners: [root] })
      const leaf = await world.make(WIDGET, 'leaf', {
        owners: [middle],
        namespace: world.namespace,
      })
      const wide = await world.make(REALM, 'wide', { owners: [root] })
      const free = await world.make(WIDGET, 'free')
      await world.remove(root, 'Background')
      await world.gone(root, middle, leaf, wide)
      await world.quiet()
      await world.untouched(free)
    },
  },
  {
    rows: 'R12',
    says: 'cascades from custom to built-in and from built-in to custom',
    async run(world) {
      const custom = await world.make(WIDGET, 'custom')
      const builtIn = await world.make(CONFIG_MAP, 'built-in')
      const under = await world.make(CONFIG_MAP, 'under', { owners: [custom] })
      const beneath = await world.make(WIDGET, 'beneath', { owners: [builtIn] })
      await world.remove(custom)
      await world.remove(builtIn)
      await world.gone(custom, under, builtIn, beneath)
    },
  },
  {
    rows: 'B68',
    says: 'orphans the dependents of a Job when no policy is named, and deletes them when Background is named',
    async run(world) {
      const [plain, named] = await world.makeMany(JOB, 'job', 2)
      const kept = await world.make(POD, 'kept', { owners: [blocking(plain!)] })
      const taken = await world.make(POD, 'taken', { owners: [blocking(named!)] })
      await world.remove(plain!)
      await world.remove(named!, 'Background')
      await world.gone(plain!, named!, taken)
      await world.sees(kept, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B41',
    says: 'applies Background level by level',
    async run(world) {
      const deployment = await world.make(DEPLOYMENT, 'web')
      const sets = await world.makeMany(REPLICA_SET, 'web', 3, () => ({
        owners: [blocking(deployment)],
      }))
      const pods = await world.makeMany(POD, 'web', 12, (index) => ({
        owners: [blocking(sets[index % 3]!)],
      }))
      await world.remove(deployment, 'Background')
      await world.gone(deployment, ...sets, ...pods)
    },
  },
  {
    rows: 'B25 B69',
    says: 'leaves the dependents of an owner that a finalizer still holds, and deletes them after',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner', { finalizers: [HOLD] })
      const dependent = await world.make(SECRET, 'dependent', { owners: [owner] })
      await world.remove(owner, 'Background')
      await world.quiet()
      await world.untouched(dependent)
      await world.finalize(owner, [])
      await world.gone(owner, dependent)
    },
  },
  {
    rows: 'D1 D12',
    says: 'requests once the deletion of a dependent that a finalizer holds, and deletes its dependents when it is removed',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const held = await world.make(SECRET, 'held', { owners: [owner], finalizers: [HOLD] })
      const below = await world.make(SECRET, 'below', { owners: [held] })
      await world.remove(owner, 'Background')
      await world.sees(held, { deleting: true, finalizers: [HOLD] })
      await world.quiet()
      await world.still(held, { deleting: true, finalizers: [HOLD], owners: ['owner'] })
      await world.untouched(below)
      await world.finalize(held, [])
      await world.gone(held, below)
    },
  },
  {
    rows: 'D12',
    says: 'deletes a dependent with an orphan or foreground finalizer of its own by that policy',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const orphaning = { owners: [owner], finalizers: [ORPHAN] }
      const [one, two] = [
        await world.make(CONFIG_MAP, 'orphaning', orphaning),
        await world.make(CONFIG_MAP, 'waiting', { owners: [owner], finalizers: [FOREGROUND] }),
      ]
      const kept = await world.make(SECRET, 'kept', { owners: [blocking(one)] })
      const held = await world.make(SECRET, 'held', { owners: [blocking(two)], finalizers: [HOLD] })
      await world.remove(owner, 'Background')
      await world.gone(owner, one)
      await world.sees(kept, { owners: [], deleting: false })
      await world.sees(held, { deleting: true })
      await world.quiet()
      await world.still(two, { deleting: true, finalizers: [FOREGROUND] })
      await world.finalize(held, [])
      await world.gone(two, held)
    },
  },
  {
    rows: 'B12 B36',
    says: 'leaves an object that lost its reference before its owner was deleted',
    async run(world) {
      const [owner, next] = await world.makeMany(CONFIG_MAP, 'owner', 2)
      const freed = await world.make(SECRET, 'freed', { owners: [owner!] })
      const moved = await world.make(SECRET, 'moved', { owners: [owner!] })
      await world.refer(freed, [])
      await world.refer(moved, [next!])
      await world.remove(owner!, 'Background')
      await world.gone(owner!)
      await world.quiet()
      await world.still(freed, { deleting: false, owners: [] })
      await world.still(moved, { deleting: false, owners: ['owner-1'] })
      await world.remove(next!)
      await world.gone(moved)
    },
  },
  {
    rows: 'B42 C4',
    says: 'deletes the dependents of a cluster-scoped owner in two namespaces and in none',
    async run(world) {
      const owner = await world.make(REALM, 'owner')
      const near = await world.make(CONFIG_MAP, 'under', { owners: [owner] })
      const far = await world.make(CONFIG_MAP, 'under', {
        owners: [owner],
        namespace: world.other,
      })
      const wide = await world.make(PRIORITY_CLASS, 'under', { owners: [owner] })
      await world.quiet()
      await world.untouched(owner, near, far, wide)
      await world.remove(owner, 'Background')
      await world.gone(owner, near, far, wide)
    },
  },
  {
    rows: 'C4 D10',
    says: 'deletes a namespaced dependent of several cluster-scoped owners with the last of them',
    async run(world) {
      const owners = await world.makeMany(REALM, 'owner', 3)
      const near = await world.make(CONFIG_MAP, 'shared', { owners })
      const far = await world.make(WIDGET, 'shared', { owners, namespace: world.other })
      for (const [index, owner] of owners.slice(0, 2).entries()) {
        await world.remove(owner, 'Background')
        const left = owners.slice(index + 1).map(({ name }) => name)
        for (const each of [near, far]) await world.sees(each, { owners: left, deleting: false })
      }
      await world.quiet()
      await world.remove(owners[2]!, 'Background')
      await world.gone(...owners, near, far)
    },
  },
  {
    rows: 'C4 B10',
    says: 'deletes a namespaced dependent of a cluster-scoped owner that was updated, held and released',
    async run(world) {
      const owner = await world.make(REALM, 'owner', { finalizers: [HOLD] })
      const first = await world.make(CONFIG_MAP, 'first', { owners: [owner] })
      await world.quiet()
      await world.finalize(owner, [])
      const second = await world.make(CONFIG_MAP, 'second', { owners: [owner] })
      await world.refer(first, [])
      await world.refer(second, [])
      await world.refer(first, [owner])
      await world.refer(second, [owner])
      await world.quiet()
      await world.finalize(owner, [HOLD])
      await world.remove(owner, 'Background')
      await world.quiet()
      for (const each of [first, second]) await world.still(each, { deleting: false })
      await world.finalize(owner, [])
      await world.gone(owner, first, second)
    },
  },
  {
    rows: 'B71',
    says: 'treats controllers and other owners alike',
    async run(world) {
      const [leading, other] = await world.makeMany(CONFIG_MAP, 'owner', 2)
      const owners = [{ ...referenceTo(leading!), controller: true }, other!]
      const dependent = await world.make(WIDGET, 'dependent', { owners })
      await world.remove(leading!)
      await world.sees(dependent, { owners: ['owner-1'] })
      await world.remove(other!)
      await world.gone(dependent)
    },
  },
]
