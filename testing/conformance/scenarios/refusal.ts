/** What the cluster refuses: a denied object waits for itself alone, and goes when it may. */
import { eventually } from '../../eventually.ts'
import {
  CONFIG_MAP,
  type Kind,
  kind,
  type Made,
  make,
  pathOf,
  type Requests,
  remove,
  SECRET,
} from '../../objects.ts'
import type { Scenario } from '../scenario.ts'
import { blocking, FOREGROUND, ORPHAN, type World } from '../world.ts'

const POLICY: Kind = {
  ...kind(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
  ),
  namespaced: false,
}
const BINDING: Kind = {
  ...kind(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
  ),
  namespaced: false,
}

export const REFUSALS: readonly Scenario[] = [
  {
    rows: 'B58 P16',
    says: 'tries a dependent whose deletion is denied until it is allowed, and others meanwhile',
    async run(world) {
      const refusal = await refuse(world, 'DELETE')
      const owner = await world.make(CONFIG_MAP, 'owner')
      const denied = await world.makeMany(SECRET, 'denied', 20, () => ({ owners: [owner] }))
      const allowed = await world.makeMany(SECRET, 'allowed', 20, () => ({ owners: [owner] }))
      await world.remove(owner, 'Background')
      await world.gone(owner, ...allowed)
      await world.quiet()
      await world.untouched(...denied)
      await remove(world.plane, refusal)
      await world.gone(...denied)
    },
  },
  {
    rows: 'B58 B30',
    says: 'keeps an owner waiting while the deletion of a blocking dependent is denied',
    async run(world) {
      const refusal = await refuse(world, 'DELETE')
      const owner = await world.make(CONFIG_MAP, 'owner')
      const denied = await world.make(SECRET, 'denied', { owners: [blocking(owner)] })
      const allowed = await world.make(SECRET, 'allowed', { owners: [blocking(owner)] })
      await world.remove(owner, 'Foreground')
      await world.gone(allowed)
      await world.quiet()
      await world.untouched(denied)
      await world.still(owner, { deleting: true, finalizers: [FOREGROUND] })
      await remove(world.plane, refusal)
      await world.gone(owner, denied)
    },
  },
  {
    rows: 'B58 B34',
    says: 'keeps an owner orphaning while a dependent may not be written, and orphans it when it may',
    async run(world) {
      const refusal = await refuse(world, 'UPDATE')
      const owner = await world.make(CONFIG_MAP, 'owner')
      const denied = await world.make(SECRET, 'denied', { owners: [blocking(owner)] })
      const allowed = await world.make(SECRET, 'allowed', { owners: [blocking(owner)] })
      await world.remove(owner, 'Orphan')
      await world.sees(allowed, { owners: [], deleting: false })
      await world.quiet()
      await world.untouched(denied)
      await world.still(owner, { deleting: true, finalizers: [ORPHAN] })
      await remove(world.plane, refusal)
      await world.gone(owner)
      await world.sees(denied, { owners: [], deleting: false })
    },
  },
]

/** Denies this to Secrets of the namespace called `denied…`; ends when the answered binding is removed. */
async function refuse(world: World, operation: 'DELETE' | 'UPDATE'): Promise<Made> {
  const { plane, namespace } = world
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: [operation], resources: ['secrets'] },
      ],
    },
    matchConditions: [{ name: 'here', expression: `request.namespace == '${namespace}'` }],
    validations: [{ expression: "!request.name.startsWith('denied')", message: 'not this one' }],
  }
  await make(plane, { kind: { ...POLICY, body: { spec } }, name: namespace })
  const bound = { spec: { policyName: namespace, validationActions: ['Deny'] } }
  const binding = await make(plane, { kind: { ...BINDING, body: bound }, name: namespace })
  await effective(
    plane,
    await make(plane, { kind: SECRET, name: 'denied-probe', namespace }),
    operation,
  )
  return binding
}

async function effective(plane: Requests, probe: Made, operation: string): Promise<void> {
  await eventually('the refusal takes effect', async () => {
    const { status } =
      operation === 'DELETE'
        ? await plane.request('DELETE', pathOf(probe), { dryRun: ['All'] })
        : await plane.request(
            'PATCH',
            `${pathOf(probe)}?dryRun=All`,
            { metadata: { annotations: { a: 'b' } } },
            { 'content-type': 'application/merge-patch+json' },
          )
    return status === 422 || `${status}`
  })
}
