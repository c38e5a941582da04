/**
 * Wrong references: other namespaces, other coordinates, versions and kinds that are not served,
 * one uid twice.
 */
import {
  CLUSTER_ROLE,
  CONFIG_MAP,
  type Made,
  type Reference,
  referenceTo,
  SECRET,
} from '../../process/objects.ts'
import { PRIORITY_CLASS, REALM, WIDGET, WIDGET_NOT_PREFERRED, WIDGET_NOT_SERVED } from '../kinds.ts'
import type { Scenario } from '../scenario.ts'
import { blocking, FOREGROUND, HOLD, type World } from '../world.ts'

const UNKNOWN_KIND: Reference = {
  apiVersion: 'conformance.test/v1',
  kind: 'Nothing',
  name: 'nothing',
  uid: 'of-an-unknown-kind',
}
const CORE = { apiVersion: CONFIG_MAP.apiVersion, kind: CONFIG_MAP.kind }
const CUSTOM = { apiVersion: WIDGET.apiVersion, kind: WIDGET.kind }
const INVALID_NAMESPACE = 'OwnerRefInvalidNamespace'

/** As upstream's RESTMapper has it, too. */
function inLowerCase(owner: Made): Reference {
  const reference = referenceTo(owner)
  return { ...reference, kind: reference.kind.toLowerCase() }
}

export const IDENTITIES: readonly Scenario[] = [
  {
    rows: 'R1 R2 B42 B43',
    says: 'deletes dependents in another namespace, leaves those beside their owner, warns about the former',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const good = await world.makeMany(SECRET, 'good', 10, () => ({ owners: [owner] }))
      const lost = await world.makeMany(SECRET, 'lost', 25, () => ({
        owners: [UNKNOWN_KIND],
        namespace: world.other,
      }))
      const bad = await world.makeMany(SECRET, 'bad', 10, () => ({
        owners: [owner],
        namespace: world.other,
      }))
      await world.gone(...bad)
      for (const each of bad) await world.warned(each, INVALID_NAMESPACE, warning(owner, each))
      await world.quiet()
      await world.untouched(owner, ...good, ...lost)
    },
  },
  {
    rows: 'R15',
    says: 'deletes a dependent of an absent cluster-scoped owner, leaves those of an existing one and of an unknown kind',
    async run(world) {
      const owner = await world.make(PRIORITY_CLASS, 'owner')
      const missing = { ...referenceTo(owner), name: 'missing', uid: 'missing' }
      const kept = await world.make(CONFIG_MAP, 'kept', { owners: [owner] })
      const unknown = await world.make(CONFIG_MAP, 'unknown', { owners: [UNKNOWN_KIND] })
      const taken = await world.make(CONFIG_MAP, 'taken', { owners: [missing] })
      await world.gone(taken)
      await world.quiet()
      await world.untouched(owner, kept, unknown)
    },
  },
  {
    rows: 'U12.1',
    says: 'leaves a namespaced dependent of a cluster-scoped owner until that is deleted',
    async run(world) {
      const owner = await world.make(CLUSTER_ROLE, 'owner')
      const dependent = await world.make(CONFIG_MAP, 'dependent', { owners: [owner] })
      await world.quiet()
      await world.untouched(owner, dependent)
      await world.remove(owner)
      await world.gone(owner, dependent)
    },
  },
  {
    rows: 'U12.4 U12.5 B27',
    says: 'never deletes a cluster-scoped dependent of a namespaced owner, not even when the owner is deleted, and warns about it',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const dependent = await world.make(CLUSTER_ROLE, 'dependent', { owners: [owner] })
      await world.warned(dependent, INVALID_NAMESPACE, warning(owner, dependent))
      await world.remove(owner, 'Background')
      await world.gone(owner)
      await world.quiet()
      await world.untouched(dependent)
    },
  },
  {
    rows: 'U12.6 B46',
    says: 'treats a reference by a served version that is not preferred as any other',
    async run(world) {
      const owner = await world.make(WIDGET, 'owner')
      const reference = { ...referenceTo(owner), apiVersion: WIDGET_NOT_PREFERRED }
      const dependent = await world.make(CONFIG_MAP, 'dependent', { owners: [reference] })
      const beside = await world.make(WIDGET, 'beside', { owners: [reference] })
      await world.quiet()
      await world.untouched(owner, dependent, beside)
      await world.remove(owner)
      await world.gone(owner, dependent, beside)
    },
  },
  {
    rows: 'U12.6 B30',
    says: 'lets a dependent block by a served version that is not preferred',
    async run(world) {
      const owner = await world.make(WIDGET, 'owner')
      const reference = { ...blocking(owner), apiVersion: WIDGET_NOT_PREFERRED }
      const options = { owners: [reference], finalizers: ['conformance.test/hold'] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.quiet()
      await world.still(owner, { finalizers: [FOREGROUND] })
      await world.finalize(held, [])
      await world.gone(held, owner)
    },
  },
  {
    rows: 'U12.7 U12.8 B47',
    says: 'never deletes a dependent that references its owner by a version that is not served, not even when the owner is deleted',
    async run(world) {
      const owner = await world.make(WIDGET, 'owner')
      const reference = { ...referenceTo(owner), apiVersion: WIDGET_NOT_SERVED }
      const dependent = await world.make(CONFIG_MAP, 'dependent', { owners: [reference] })
      const good = await world.make(CONFIG_MAP, 'good', { owners: [owner] })
      await world.quiet()
      await world.untouched(owner, dependent, good)
      await world.remove(owner)
      await world.gone(owner, good)
      await world.quiet()
      await world.untouched(dependent)
    },
  },
  {
    rows: 'B74 D12',
    says: 'deletes what references its owner by the kind in lower case, never what does so in mixed case',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const widget = await world.make(WIDGET, 'custom')
      const low = await world.make(SECRET, 'low', { owners: [inLowerCase(owner)] })
      const custom = await world.make(SECRET, 'of-custom', { owners: [inLowerCase(widget)] })
      const mixed = await world.make(SECRET, 'mixed', {
        owners: [{ ...referenceTo(owner), kind: 'configMap' }],
      })
      await world.quiet()
      await world.untouched(owner, widget, low, custom, mixed)
      await world.remove(owner)
      await world.remove(widget)
      await world.gone(owner, widget, low, custom)
      await world.quiet()
      await world.untouched(mixed)
    },
  },
  {
    rows: 'B74 R4',
    says: 'deletes an object that references an owner that never existed by the kind in lower case',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const never = { ...inLowerCase(owner), name: 'never', uid: `never-${world.namespace}` }
      const taken = await world.make(SECRET, 'taken', { owners: [never] })
      const kept = await world.make(SECRET, 'kept', { owners: [inLowerCase(owner)] })
      await world.gone(taken)
      await world.quiet()
      await world.untouched(owner, kept)
    },
  },
  {
    rows: 'B74 B30',
    says: 'lets a dependent block that references its owner by the kind in lower case',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const reference = { ...inLowerCase(owner), blockOwnerDeletion: true }
      const options = { owners: [reference], finalizers: ['conformance.test/hold'] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.quiet()
      await world.still(owner, { finalizers: [FOREGROUND] })
      await world.finalize(held, [])
      await world.gone(held, owner)
    },
  },
  {
    rows: 'B74 B34',
    says: 'orphans a dependent that references its owner by the kind in lower case',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const kept = await world.make(SECRET, 'kept', { owners: [inLowerCase(owner)] })
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      await world.sees(kept, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B75',
    says: 'leaves what references an owner by a kind of which no object can be read, as by the list of the right one',
    better:
      'upstream sends a GET to a path that no object can have, and any NotFound counts as absence',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const unreadable = [
        { ...referenceTo(owner), kind: 'ConfigMapList' },
        { ...referenceTo(owner), kind: 'Binding' },
        { ...referenceTo(owner), apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview' },
      ]
      const kept = await world.makeMany(SECRET, 'kept', unreadable.length, (index) => ({
        owners: unreadable.slice(index, index + 1),
      }))
      await world.quiet()
      await world.untouched(owner, ...kept)
    },
  },
  {
    rows: 'B79',
    says: 'leaves a dependent of a living owner whose name is longer than a DNS name',
    async run(world) {
      const owner = await world.make(CLUSTER_ROLE, 'x'.repeat(300))
      const kept = await world.make(CONFIG_MAP, 'kept', { owners: [owner] })
      await world.quiet()
      await world.untouched(owner, kept)
    },
  },
  {
    rows: 'B79 R4',
    says: 'takes what names an owner by a uid that no server makes, or in the core group by a name longer than a DNS name',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const widget = await world.make(WIDGET, 'custom')
      const right = await world.make(SECRET, 'right', { owners: [owner] })
      const [uid, name] = ['u'.repeat(200), 'n'.repeat(300)]
      const owners: Reference[] = [
        { ...referenceTo(owner), uid },
        { ...referenceTo(widget), uid },
        { ...CORE, name: 'never', uid },
        { ...referenceTo(owner), name },
        { ...CORE, name, uid },
      ]
      const taken = await world.makeMany(SECRET, 'taken', owners.length, (index) => ({
        owners: owners.slice(index, index + 1),
      }))
      await world.gone(...taken)
      await world.quiet()
      await world.untouched(owner, widget, right)
    },
  },
  {
    rows: 'B79 R4',
    says: 'drops such a reference beside one to a living owner',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const [uid, name] = ['u'.repeat(200), 'n'.repeat(300)]
      const dangling: Reference[] = [
        { ...CORE, name: 'never', uid },
        { ...CORE, name, uid },
      ]
      const kept = await world.makeMany(SECRET, 'kept', dangling.length, (index) => ({
        owners: [...dangling.slice(index, index + 1), owner],
      }))
      for (const each of kept) await world.sees(each, { owners: ['owner'] })
      await world.quiet()
      await world.untouched(owner)
    },
  },
  {
    rows: 'B78',
    says: 'takes what names an owner as no object can be called, with a slash or by two dots',
    run: async (world) => await takesNamed(world, ['a/b', '..']),
  },
  {
    rows: 'B78',
    says: 'takes what names an owner as no object can be called, by one dot or with a percent sign',
    better: 'upstream gets no answer that counts, and asks for ever',
    run: async (world) => await takesNamed(world, ['.', 'a%', 'a%2Fb']),
  },
  ...inBothOrders(
    'U12.9 U12.10 B18 U13',
    'deletes a dependent of an owner that never existed beside one that references it by an unserved version',
    async (world, makeInOrder) => {
      const never = { kind: 'Widget', name: 'never', uid: `never-${world.namespace}` }
      const [good, unserved] = await makeInOrder(
        () => world.make(SECRET, 'good', { owners: [{ ...never, apiVersion: WIDGET.apiVersion }] }),
        () =>
          world.make(SECRET, 'unserved', { owners: [{ ...never, apiVersion: WIDGET_NOT_SERVED }] }),
      )
      await world.gone(good)
      await world.quiet()
      await world.untouched(unserved)
    },
  ),
  ...inBothOrders(
    'U12.11 U12.12 U12.13 B45',
    'deletes a dependent that references an existing uid by a wrong kind or name, leaves those with the right one',
    async (world, makeInOrder) => {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const wrongKind = { ...referenceTo(owner), kind: 'Secret' }
      const wrongName = { ...referenceTo(owner), name: 'other' }
      const [good, kindless] = await makeInOrder(
        () => world.make(SECRET, 'good', { owners: [owner] }),
        () => world.make(SECRET, 'wrong-kind', { owners: [wrongKind] }),
      )
      const nameless = await world.make(SECRET, 'wrong-name', { owners: [wrongName] })
      const late = await world.make(SECRET, 'late', { owners: [owner] })
      await world.gone(kindless, nameless)
      await world.quiet()
      await world.untouched(owner, good, late)
      await world.remove(owner)
      await world.gone(owner, good, late)
    },
  ),
  ...inBothOrders(
    'U12.14 U12.16',
    'deletes a namespaced dependent of an absent owner, never a cluster-scoped one',
    async (world, makeInOrder) => {
      const never = { ...UNKNOWN_KIND, apiVersion: 'v1', kind: 'Secret', uid: world.namespace }
      const [good, wide] = await makeInOrder(
        () => world.make(CONFIG_MAP, 'good', { owners: [never] }),
        () => world.make(CLUSTER_ROLE, 'wide', { owners: [never] }),
      )
      await world.gone(good)
      await world.quiet()
      await world.untouched(wide)
    },
  ),
  ...inBothOrders(
    'U12.15',
    'leaves a namespaced and a cluster-scoped dependent of an existing namespaced owner',
    async (world, makeInOrder) => {
      const owner = await world.make(SECRET, 'owner')
      const [good, wide] = await makeInOrder(
        () => world.make(CONFIG_MAP, 'good', { owners: [owner] }),
        () => world.make(CLUSTER_ROLE, 'wide', { owners: [owner] }),
      )
      await world.warned(wide, INVALID_NAMESPACE, warning(owner, wide))
      await world.quiet()
      await world.untouched(owner, good, wide)
    },
  ),
  {
    rows: 'U13 B18',
    says: 'deletes all dependents that reference one uid that never existed by different coordinates',
    async run(world) {
      const uid = `claimed-${world.namespace}`
      const claims: readonly Reference[] = [
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid },
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid },
        { apiVersion: 'v1', kind: 'Secret', name: 'a', uid },
        { apiVersion: WIDGET.apiVersion, kind: WIDGET.kind, name: 'a', uid },
        { apiVersion: WIDGET_NOT_PREFERRED, kind: WIDGET.kind, name: 'a', uid },
        { apiVersion: REALM.apiVersion, kind: REALM.kind, name: 'a', uid },
      ]
      const made = await world.makeMany(CONFIG_MAP, 'near', claims.length, (index) => ({
        owners: [claims[index]!],
      }))
      const far = await world.makeMany(CONFIG_MAP, 'far', claims.length, (index) => ({
        owners: [claims[index]!],
        namespace: world.other,
      }))
      await world.gone(...made, ...far)
    },
  },
  {
    rows: 'B27',
    says: 'never deletes a dependent of which one reference dangles and another is of an unknown kind',
    async run(world) {
      const [first, last] = await world.makeMany(CONFIG_MAP, 'owner', 2)
      const dependents = [
        await world.make(SECRET, 'before', { owners: [UNKNOWN_KIND, first!] }),
        await world.make(SECRET, 'after', { owners: [first!, UNKNOWN_KIND] }),
        await world.make(SECRET, 'beside-live', { owners: [first!, UNKNOWN_KIND, last!] }),
      ]
      await world.remove(first!, 'Background')
      await world.gone(first!)
      await world.quiet()
      await world.untouched(last!, ...dependents)
    },
  },
  {
    rows: 'B11',
    says: 'deletes a dependent that references its owner twice, once blocking, when the owner is deleted',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const twice = { owners: [referenceTo(owner), blocking(owner)] }
      const dependent = await world.make(SECRET, 'dependent', twice)
      await world.quiet()
      await world.untouched(owner, dependent)
      await world.remove(owner)
      await world.gone(owner, dependent)
    },
  },
  {
    rows: 'B11 B30',
    says: 'lets a dependent block that references its owner twice, once blocking',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const twice = { owners: [referenceTo(owner), blocking(owner)] }
      const options = { ...twice, finalizers: ['conformance.test/hold'] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(owner, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.quiet()
      await world.still(owner, { finalizers: [FOREGROUND] })
      await world.finalize(held, [])
      await world.gone(held, owner)
    },
  },
  {
    rows: 'B11 B34',
    says: 'drops both references of a dependent that references its owner twice when that is deleted with Orphan',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const twice = { owners: [referenceTo(owner), blocking(owner)] }
      const dependents = [
        await world.make(SECRET, 'built-in', twice),
        await world.make(WIDGET, 'custom', twice),
      ]
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      for (const each of dependents) await world.sees(each, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B11 B45',
    says: 'keeps the right one of two references to one uid, of which the other dangles',
    better: 'upstream drops references by uid, the solid one included, so the object has no owner',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const wrongName = { ...referenceTo(owner), name: 'other' }
      const dependent = await world.make(SECRET, 'dependent', { owners: [wrongName, owner] })
      await world.sees(dependent, { owners: ['owner'], deleting: false })
      await world.quiet()
      await world.still(dependent, { owners: ['owner'] })
      await world.remove(owner)
      await world.gone(owner, dependent)
    },
  },
  {
    rows: 'B11 B27 B34',
    says: 'leaves references that cannot be resolved when the owner whose uid they have is deleted with Orphan',
    better: 'upstream drops references by uid, whatever their coordinates',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const unknown = { ...referenceTo(owner), kind: 'Nothing' }
      const right = await world.make(SECRET, 'right', { owners: [owner] })
      const left = [
        await world.make(SECRET, 'unknown-kind', { owners: [unknown] }),
        await world.make(CLUSTER_ROLE, 'wide', { owners: [owner] }),
      ]
      await world.remove(owner, 'Orphan')
      await world.gone(owner)
      await world.sees(right, { owners: [], deleting: false })
      await world.quiet()
      await world.untouched(...left)
    },
  },
  {
    rows: 'B11 B30',
    says: 'removes a waiting owner before what has its uid in a reference to another name',
    better: 'upstream counts what blocks by uid, whatever the coordinates of a reference',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const wrongName = { ...blocking(owner), name: 'other' }
      const options = { owners: [wrongName], finalizers: [HOLD] }
      const held = await world.make(SECRET, 'held', options)
      await world.sees(held, { deleting: true })
      await world.remove(owner, 'Foreground')
      await world.gone(owner)
      await world.still(held, { deleting: true })
      await world.finalize(held, [])
      await world.gone(held)
    },
  },
  {
    rows: 'B42 D10',
    says: 'drops a reference into another namespace beside a solid one',
    async run(world) {
      const far = await world.make(CONFIG_MAP, 'far', { namespace: world.other })
      const near = await world.make(CONFIG_MAP, 'near')
      const shared = await world.make(WIDGET, 'shared', { owners: [far, near] })
      await world.sees(shared, { owners: ['near'], deleting: false })
      await world.quiet()
      await world.untouched(far, near)
    },
  },
]

function warning({ kind: { apiVersion, kind }, name, uid }: Made, about: Made): string {
  const owner = `[${apiVersion}/${kind}, namespace: ${about.namespace}, name: ${name}, uid: ${uid}]`
  return `ownerRef ${owner} does not exist in namespace "${about.namespace}"`
}

type InOrder = (
  good: () => Promise<Made>,
  bad: () => Promise<Made>,
) => Promise<readonly [Made, Made]>

/** The better and the worse one first; a collector may not care. */
function inBothOrders(
  rows: string,
  says: string,
  run: (world: World, makeInOrder: InOrder) => Promise<void>,
): Scenario[] {
  const goodFirst: InOrder = async (good, bad) => {
    const made = await good()
    return [made, await bad()]
  }
  const badFirst: InOrder = async (good, bad) => {
    const made = await bad()
    return [await good(), made]
  }
  return [
    { rows, says: `${says}; good first`, run: (world) => run(world, goodFirst) },
    { rows, says: `${says}; bad first`, run: (world) => run(world, badFirst) },
  ]
}

/**
 * Of a kind of the core group, of a custom one, and of an owner that is there under a good name.
 */
async function takesNamed(world: World, badNames: readonly string[]): Promise<void> {
  const owner = await world.make(CONFIG_MAP, 'owner')
  const right = await world.make(SECRET, 'right', { owners: [owner] })
  const owners = badNames.flatMap((name): Reference[] => [
    { ...CORE, name, uid: `never-core-${world.namespace}` },
    { ...CUSTOM, name, uid: `never-custom-${world.namespace}` },
    { ...referenceTo(owner), name },
  ])
  const taken = await world.makeMany(SECRET, 'taken', owners.length, (index) => ({
    owners: owners.slice(index, index + 1),
  }))
  await world.gone(...taken)
  await world.untouched(owner, right)
}
