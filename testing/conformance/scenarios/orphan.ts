/**
 * Orphan deletion: dependents live on without the reference, also late ones, and the last request
 * decides.
 */
import { CONFIG_MAP, POD, SECRET } from '../../process/objects.ts'
import { PRIORITY_CLASS, REALM, REPLICATION_CONTROLLER, WIDGET } from '../kinds.ts'
import type { Scenario } from '../scenario.ts'
import { blocking, FOREGROUND, HOLD, ORPHAN } from '../world.ts'

export const ORPHANS: readonly Scenario[] = [
  {
    rows: 'R6 B34',
    says: 'leaves the dependents of an owner deleted with Orphan, without the reference',
    async run(world) {
      const owner = await world.make(REPLICATION_CONTROLLER, 'owner')
      const pods = await world.makeMany(POD, 'pod', 5, () => ({ owners: [blocking(owner)] }))
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      for (const pod of pods) await world.sees(pod, { owners: [], deleting: false })
      await world.quiet()
      for (const pod of pods) await world.still(pod, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B34 B37',
    says: 'orphans custom resources, by a custom resource, and leaves their other references',
    async run(world) {
      const owner = await world.make(WIDGET, 'owner')
      const other = await world.make(CONFIG_MAP, 'other')
      const widgets = await world.makeMany(WIDGET, 'widget', 30, (index) => ({
        owners: index % 2 === 0 ? [blocking(owner)] : [blocking(other), blocking(owner)],
      }))
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      await world.quiet()
      for (const [index, widget] of widgets.entries()) {
        const owners = index % 2 === 0 ? [] : ['other']
        await world.still(widget, { owners, deleting: false })
      }
    },
  },
  {
    rows: 'C4 B34',
    says: 'orphans the dependents of a cluster-scoped owner in two namespaces and in none',
    async run(world) {
      const owner = await world.make(REALM, 'owner')
      const options = { owners: [blocking(owner)] }
      const dependents = [
        await world.make(CONFIG_MAP, 'under', options),
        await world.make(CONFIG_MAP, 'under', { ...options, namespace: world.other }),
        await world.make(PRIORITY_CLASS, 'under', options),
      ]
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      await world.quiet()
      for (const each of dependents) await world.still(each, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B34 P25',
    says: 'orphans 300 dependents',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const dependents = await world.makeMany(SECRET, 'dependent', 300, () => ({
        owners: [blocking(owner)],
      }))
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      await world.quiet()
      for (const each of dependents.slice(0, 20))
        await world.still(each, { owners: [], deleting: false })
      const left = await world.look()
      if (left.size !== dependents.length) throw new Error(`${left.size} objects are left`)
    },
  },
  {
    rows: 'B34 B69',
    says: 'orphans at once when another finalizer holds the owner, and only removes its own',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner', { finalizers: [HOLD] })
      const dependent = await world.make(SECRET, 'dependent', { owners: [owner] })
      await world.remove(owner, 'Orphan')
      await world.sees(owner, { deleting: true, finalizers: [HOLD] })
      await world.still(dependent, { owners: [], deleting: false })
      await world.finalize(owner, [])
      await world.gone(owner)
      await world.quiet()
      await world.still(dependent, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B25 D10',
    says: 'leaves a dependent whose last owner was deleted with Orphan',
    async run(world) {
      const [first, last] = await world.makeMany(CONFIG_MAP, 'owner', 2)
      const dependent = await world.make(SECRET, 'dependent', { owners: [first!, last!] })
      await world.remove(first!, 'Background')
      await world.sees(dependent, { owners: ['owner-1'] })
      await world.remove(last!, 'Orphan')
      await world.gone(first!, last!)
      await world.quiet()
      await world.still(dependent, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B25 D12',
    says: 'deletes a dependent whose last owner was deleted in the background',
    async run(world) {
      const [first, last] = await world.makeMany(CONFIG_MAP, 'owner', 2)
      const dependent = await world.make(WIDGET, 'dependent', { owners: [first!, last!] })
      await world.remove(first!, 'Orphan')
      await world.sees(dependent, { owners: ['owner-1'] })
      await world.remove(last!, 'Background')
      await world.gone(first!, last!, dependent)
    },
  },
  {
    rows: 'R4 B10 B25',
    says: 'deletes an orphan that is then given an owner that never existed, was deleted before, or is deleted later',
    async run(world) {
      const [past, orphaning, next] = await world.makeMany(CONFIG_MAP, 'owner', 3)
      const options = { owners: [blocking(orphaning!)] }
      const [first, second, third] = await world.makeMany(SECRET, 'dependent', 3, () => options)
      await world.remove(past!, 'Background')
      await world.gone(past!)
      await world.seen()
      await world.remove(orphaning!, 'Orphan')
      await world.gone(orphaning!)
      await world.refer(first!, [{ ...blocking(orphaning!), uid: `never-${world.namespace}` }])
      await world.refer(second!, [past!])
      await world.refer(third!, [blocking(next!)])
      await world.gone(first!, second!)
      await world.quiet()
      await world.still(third!, { owners: ['owner-2'], deleting: false })
      await world.remove(next!, 'Background')
      await world.gone(next!, third!)
    },
  },
  {
    rows: 'B35 P10',
    says: 'leaves dependents that are created a moment before their owner is deleted with Orphan',
    better:
      'upstream orphans what its graph holds when it processes the owner, however far behind that is',
    async run(world) {
      const owners = await world.makeMany(CONFIG_MAP, 'owner', 10)
      const dependents = await Promise.all(
        owners.map(async (owner, index) => {
          const made = await world.make(SECRET, `dependent-${index}`, { owners: [owner] })
          await world.removeWith(owner, { propagationPolicy: 'Orphan' })
          return made
        }),
      )
      await world.gone(...owners)
      await world.quiet()
      for (const each of dependents) await world.still(each, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B35 P10',
    says: 'leaves a dependent that is created after its owner was deleted with Orphan',
    better: 'upstream remembers no orphaned owner and deletes it',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      await world.make(SECRET, 'early', { owners: [owner] })
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      const late = await world.make(SECRET, 'late', { owners: [owner] })
      await world.sees(late, { owners: [], deleting: false })
      await world.quiet()
      await world.still(late, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B35 P10 D12',
    says: 'leaves a dependent that is created after its owner was deleted by its own orphan finalizer',
    better: 'upstream remembers no orphaned owner and deletes it',
    async run(world) {
      const root = await world.make(CONFIG_MAP, 'root')
      const options = { owners: [blocking(root)], finalizers: [ORPHAN] }
      const owner = await world.make(CONFIG_MAP, 'owner', options)
      const early = await world.make(SECRET, 'early', { owners: [blocking(owner)] })
      await world.seen()
      await world.remove(root, 'Background')
      await world.gone(root, owner)
      const late = await world.make(WIDGET, 'late', {
        owners: [blocking(owner)],
        finalizers: [FOREGROUND],
      })
      const below = await world.make(SECRET, 'below', { owners: [blocking(late)] })
      await world.sees(late, { owners: [], deleting: false })
      await world.quiet()
      await world.still(early, { owners: [], deleting: false })
      await world.still(late, { owners: [], deleting: false })
      await world.untouched(below)
    },
  },
  {
    rows: 'B35 P10',
    says: 'leaves a dependent that a controller adopts again while its orphaned owner still exists',
    better: 'upstream orphans what it knows at one moment and deletes what was adopted after it',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner', { finalizers: [HOLD] })
      const dependent = await world.make(SECRET, 'dependent', { owners: [owner] })
      await world.remove(owner, 'Orphan')
      await world.sees(dependent, { owners: [] })
      await world.sees(owner, { finalizers: [HOLD] })
      await world.refer(dependent, [owner])
      await world.quiet()
      await world.finalize(owner, [])
      await world.gone(owner)
      await world.sees(dependent, { owners: [], deleting: false })
      await world.quiet()
      await world.still(dependent, { owners: [], deleting: false })
    },
  },
]
