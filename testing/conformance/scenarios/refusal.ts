/**
 * Refusals of the cluster: a denied object delays only itself, and is deleted when that is allowed.
 */
import { eventually } from '../../eventually.ts'
import {
  CONFIG_MAP,
  type Kind,
  kind,
  type Made,
  make,
  pathOf,
  remove,
  SECRET,
} from '../../process/objects.ts'
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

const WEBHOOK: Kind = {
  ...kind(
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
  ),
  namespaced: false,
}

type Operation = 'DELETE' | 'UPDATE'

export const REFUSALS: readonly Scenario[] = [
  background('denied', (world) => refuse(world, 'DELETE')),
  background('forbidden', (world) => refuse(world, 'DELETE', 'Forbidden')),
  background('prevented by a webhook that is down', refuseByWebhook),
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
    says: 'keeps an owner orphaning while a dependent may not be updated, and orphans it when it may',
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

function background(what: string, refusing: (world: World) => Promise<Made>): Scenario {
  return {
    rows: 'B58 P16',
    says: `tries a dependent whose deletion is ${what} until it is allowed, and others meanwhile`,
    async run(world) {
      const refusal = await refusing(world)
      const owner = await world.make(CONFIG_MAP, 'owner')
      const denied = await world.makeMany(SECRET, 'denied', 20, () => ({ owners: [owner] }))
      const allowed = await world.makeMany(CONFIG_MAP, 'allowed', 20, () => ({ owners: [owner] }))
      await world.remove(owner, 'Background')
      await world.gone(owner, ...allowed)
      await world.quiet()
      await world.untouched(...denied)
      await remove(world.plane, refusal)
      await world.gone(...denied)
    },
  }
}

function rulesFor(operation: Operation): object {
  const operations = [operation]
  return { apiGroups: [''], apiVersions: ['v1'], operations, resources: ['secrets'] }
}

/**
 * Denies this to Secrets of the namespace called `denied…`; ends when the answered binding is
 * removed.
 */
async function refuse(
  world: World,
  operation: Operation,
  reason: 'Invalid' | 'Forbidden' = 'Invalid',
): Promise<Made> {
  const { plane, namespace } = world
  const expression = "!request.name.startsWith('denied')"
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints: { resourceRules: [rulesFor(operation)] },
    matchConditions: [{ name: 'here', expression: `request.namespace == '${namespace}'` }],
    validations: [{ expression, message: 'not this one', reason }],
  }
  await make(plane, { kind: { ...POLICY, body: { spec } }, name: namespace })
  const bound = { spec: { policyName: namespace, validationActions: ['Deny'] } }
  const binding = await make(plane, { kind: { ...BINDING, body: bound }, name: namespace })
  await effective({ plane, namespace }, operation, reason === 'Forbidden' ? 403 : 422)
  return binding
}

/** The same by a webhook that does not answer: no deletion of these may pass. */
async function refuseByWebhook({ plane, namespace }: World): Promise<Made> {
  const name = `${namespace}.conformance.test`
  const webhooks = [
    {
      name,
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      timeoutSeconds: 1,
      clientConfig: { url: 'https://127.0.0.1:1/deny' },
      rules: [rulesFor('DELETE')],
      matchConditions: [
        {
          name: 'here',
          expression: `request.namespace == '${namespace}' && request.name.startsWith('denied')`,
        },
      ],
    },
  ]
  const configuration = await make(plane, { kind: { ...WEBHOOK, body: { webhooks } }, name })
  await effective({ plane, namespace }, 'DELETE', 500)
  return configuration
}

async function effective(
  { plane, namespace }: Pick<World, 'plane' | 'namespace'>,
  operation: Operation,
  refused: number,
): Promise<void> {
  const probe = await make(plane, { kind: SECRET, name: 'denied-probe', namespace })
  const patch = { metadata: { annotations: { a: 'b' } } }
  const type = { 'content-type': 'application/merge-patch+json' }
  await eventually('the refusal takes effect', async () => {
    const { status } =
      operation === 'DELETE'
        ? await plane.request('DELETE', pathOf(probe), { dryRun: ['All'] })
        : await plane.request('PATCH', `${pathOf(probe)}?dryRun=All`, patch, type)
    return status === refused || `${status}`
  })
}
