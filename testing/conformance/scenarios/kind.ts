/** Kinds that are added, deleted or broken: only objects that need them wait. */
import { eventually } from '../../eventually.ts'
import {
  CONFIG_MAP,
  collectionPath,
  type Kind,
  kind,
  type Made,
  make,
  type Requests,
  remove,
  SECRET,
} from '../../process/objects.ts'
import { canary } from '../canary.ts'
import { DEFINITION, define, PASSING, WIDGET } from '../kinds.ts'
import type { Scenario } from '../scenario.ts'
import { blocking } from '../world.ts'

const BROKEN: Kind = kind('broken.conformance.test/v1', 'Broken', 'brokens')
const API_SERVICE: Kind = {
  ...kind('apiregistration.k8s.io/v1', 'APIService', 'apiservices'),
  namespaced: false,
}

export const KINDS: readonly Scenario[] = [
  {
    rows: 'R13 B50 B51',
    says: 'deletes the dependents of the objects of a kind when its CustomResourceDefinition is deleted, and again when that is created anew',
    // Killed between the going of an object and of its kind, no collector can know: restart.ts.
    alone: true,
    async run(world) {
      for (const round of ['first', 'second']) {
        const definition = await define(world.plane, PASSING)
        const owner = await world.make(PASSING, round)
        const free = await world.make(PASSING, `${round}-free`)
        const dependent = await world.make(CONFIG_MAP, `${round}-dependent`, { owners: [owner] })
        const sibling = await world.make(PASSING, `${round}-sibling`, { owners: [owner] })
        // Until it is watched, it is unknown which objects were deleted with it.
        await canary(world.plane, [{ kind: PASSING, namespace: world.namespace }])
        await world.untouched(owner, free, dependent, sibling)
        await remove(world.plane, definition)
        await world.gone(owner, free, sibling, dependent)
        await world.eventually('the definition is gone', async () => {
          const { status } = await world.plane.request('GET', collectionPath(PASSING, 'default'))
          return status === 404 || `${status}`
        })
      }
    },
  },
  {
    rows: 'R14 P11 B53',
    says: 'continues with other kinds while the conversion of one is broken',
    async run(world) {
      await breakConversion(world.plane, world.namespace)
      const [background, foreground, orphan] = await world.makeMany(WIDGET, 'owner', 3)
      const taken = await world.make(CONFIG_MAP, 'taken', { owners: [background!] })
      const blocks = await world.make(CONFIG_MAP, 'blocks', { owners: [blocking(foreground!)] })
      const kept = await world.make(CONFIG_MAP, 'kept', { owners: [orphan!] })
      await world.remove(background!, 'Background')
      await world.remove(foreground!, 'Foreground')
      await world.remove(orphan!, 'Orphan')
      await world.gone(background!, taken, foreground!, blocks, orphan!)
      await world.sees(kept, { owners: [], deleting: false })
    },
  },
  {
    rows: 'B51 B52',
    says: 'continues while an aggregated API is down, and leaves what references a kind of it',
    async run(world) {
      const group = 'absent.conformance.test'
      const spec = {
        group,
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { namespace: world.namespace, name: 'absent', port: 443 },
      }
      const service = await make(world.plane, {
        kind: { ...API_SERVICE, body: { spec } },
        name: `v1.${group}`,
      })
      try {
        const absent = { apiVersion: `${group}/v1`, kind: 'Absent', name: 'absent', uid: 'absent' }
        const owner = await world.make(CONFIG_MAP, 'owner')
        const taken = await world.make(WIDGET, 'taken', { owners: [owner] })
        const left = await world.make(SECRET, 'left', { owners: [absent] })
        await world.remove(owner)
        await world.gone(owner, taken)
        await world.quiet()
        await world.untouched(left)
      } finally {
        await remove(world.plane, service)
      }
    },
  },
]

/** An object stored in one version, the other one asking a webhook that is not there. */
async function breakConversion(plane: Requests, namespace: string): Promise<Made> {
  const versions = [
    { name: 'v1', served: true },
    { name: 'v1beta1', served: true },
  ]
  const definition = await define(plane, BROKEN, { versions })
  const stored: Kind = { ...BROKEN, apiVersion: BROKEN.apiVersion.replace('v1', 'v1beta1') }
  const broken = await make(plane, { kind: BROKEN, name: 'stored', namespace })
  const clientConfig = { url: 'https://127.0.0.1:1/convert' }
  const conversion = {
    strategy: 'Webhook',
    webhook: { clientConfig, conversionReviewVersions: ['v1'] },
  }
  const path = `${collectionPath(DEFINITION, '')}/${definition.name}`
  const type = { 'content-type': 'application/merge-patch+json' }
  const { status } = await plane.request('PATCH', path, { spec: { conversion } }, type)
  if (status !== 200) throw new Error(`the conversion was not set: ${status}`)
  await eventually('the conversion is broken', async () => {
    const answer = await plane.request('GET', `${collectionPath(stored, namespace)}/stored`)
    return answer.status >= 400 || `${answer.status}`
  })
  return broken
}
