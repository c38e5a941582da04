/**
 * The kinds that scenarios use, in addition to those of testing/process/objects.ts, and how custom
 * ones are defined.
 *
 * What must stay true: a kind that is defined is served when `define` resolves. Whether a collector
 * watches it by then is another question: canary.ts answers it.
 */
import { eventually } from '../eventually.ts'
import {
  collectionPath,
  type Kind,
  kind,
  type Made,
  make,
  POD,
  type Requests,
} from '../process/objects.ts'

const SELECTOR = { app: 'a' }
const TEMPLATE = { metadata: { labels: SELECTOR }, spec: POD.body && bodySpec(POD) }

/** Deleted without a policy, it orphans; so does a Job. */
export const REPLICATION_CONTROLLER: Kind = {
  ...kind('v1', 'ReplicationController', 'replicationcontrollers'),
  body: { spec: { replicas: 0, selector: SELECTOR, template: TEMPLATE } },
}
export const JOB: Kind = {
  ...kind('batch/v1', 'Job', 'jobs'),
  body: { spec: { template: { spec: { ...bodySpec(POD), restartPolicy: 'Never' } } } },
}
export const PRIORITY_CLASS: Kind = {
  ...kind('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses'),
  namespaced: false,
  body: { value: 1 },
}
export const DEFINITION: Kind = {
  ...kind('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions'),
  namespaced: false,
}
/** Served as v1, which is preferred, and v1beta1; v1alpha1 is known and not served. */
export const WIDGET: Kind = kind('conformance.test/v1', 'Widget', 'widgets')
export const WIDGET_NOT_PREFERRED = 'conformance.test/v1beta1'
export const WIDGET_NOT_SERVED = 'conformance.test/v1alpha1'
/** Defined and taken away by the scenarios themselves. */
export const PASSING: Kind = kind('passing.conformance.test/v1', 'Passing', 'passings')
export const REALM: Kind = { ...kind('conformance.test/v1', 'Realm', 'realms'), namespaced: false }

export interface DefinitionOptions {
  readonly versions?: readonly { readonly name: string; readonly served: boolean }[]
  readonly conversion?: object
}

export async function define(
  plane: Requests,
  of: Kind,
  { versions, conversion }: DefinitionOptions = {},
): Promise<Made> {
  const [group = '', version = ''] = of.apiVersion.split('/')
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const all = versions ?? [{ name: version, served: true }]
  const spec = {
    group,
    scope: of.namespaced ? 'Namespaced' : 'Cluster',
    names: { plural: of.resource, kind: of.kind },
    versions: all.map((each) => ({
      ...each,
      storage: each.name === version,
      schema: { openAPIV3Schema },
    })),
    ...(conversion && { conversion }),
  }
  const kindOf = { ...DEFINITION, body: { spec } }
  const definition = await make(plane, { kind: kindOf, name: `${of.resource}.${group}` })
  await eventually(`${of.kind} is served`, async () => {
    const { status } = await plane.request('GET', collectionPath(of, 'default'))
    return status === 200 || `${status}`
  })
  return definition
}

export async function defineAll(plane: Requests): Promise<void> {
  const versions = [
    { name: 'v1', served: true },
    { name: 'v1beta1', served: true },
    { name: 'v1alpha1', served: false },
  ]
  await define(plane, WIDGET, { versions })
  await define(plane, REALM)
}

function bodySpec({ body }: Kind): object {
  return (body as { readonly spec: object }).spec
}
