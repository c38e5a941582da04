/**
 * OpenAPI as far as kubectl asks for it: which paths take a field validation and a dry run, and the
 * fields of each kind, for `explain`.
 *
 * What must stay true: no patch here offers the strategic kind; kubectl then computes its patches
 * from its own types, which know every merge key, rather than from these schemas, which know none.
 * The second version, which kubectl takes for kinds that the third one has not, describes nothing:
 * then kubectl validates nothing by itself, and reports that there is no such kind.
 *
 * Not here: the fields of a kind (schema.ts); the server itself keeps bodies as they come.
 */
import { groupVersion, type Kind } from '../kind.ts'
import type { Registry } from '../registry.ts'
import { OBJECT_META, schemaNameOf, schemasFrom } from './schema.ts'

const ANYTHING = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const OK = { 200: { description: 'OK' } }
const PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => {
  return { name, in: 'query', schema: { type: 'string' } }
})

const V2 = { swagger: '2.0', info: { title: 'Kubernetes', version: 'v1' }, paths: {} }
/**
 * The same as a Document of gnostic's openapi_v2: its version, then its info with title and
 * version.
 */
const V2_PROTOBUF = '\x0a\x032.0\x12\x10\x0a\x0aKubernetes\x12\x02v1'
const V2_PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

export interface OpenApiDocument {
  readonly contentType: string
  readonly text: string
}

/** The document at `/openapi/v2`, `/openapi/v3` or below it; undefined when there is none. */
export function openApiAt(
  pathname: string,
  accept: string,
  registry: Registry,
): OpenApiDocument | undefined {
  if (pathname === '/openapi/v2' && accept.includes('proto-openapi')) {
    return { contentType: V2_PROTOBUF_TYPE, text: V2_PROTOBUF }
  }
  const document = jsonAt(pathname, registry)
  return document && { contentType: 'application/json', text: JSON.stringify(document) }
}

function jsonAt(pathname: string, registry: Registry): object | undefined {
  if (pathname === '/openapi/v2') return V2
  if (pathname === '/openapi/v3') return v3Index(registry)
  const prefix = '/openapi/v3/'
  if (!pathname.startsWith(prefix)) return undefined
  const [root, ...parts] = pathname.slice(prefix.length).split('/')
  const [group, version] = root === 'api' ? ['', parts[0]] : [parts[0], parts[1]]
  if (group === undefined || version === undefined) return undefined
  const kinds = [...registry.kinds()].filter((it) => isIn(it, group, version))
  return kinds.length === 0 ? undefined : v3(kinds, version)
}

function v3Index(registry: Registry): object {
  const paths: Record<string, object> = {}
  for (const kind of registry.kinds()) {
    for (const version of kind.versions) {
      const path = kind.group === '' ? `api/${version}` : `apis/${kind.group}/${version}`
      paths[path] = { serverRelativeURL: `/openapi/v3/${path}` }
    }
  }
  return { paths }
}

function v3(kinds: readonly Kind[], version: string): object {
  const paths: Record<string, object> = {}
  const builtIn = kinds.flatMap((kind) => schemaNameOf(kind, version) ?? [])
  const schemas: Record<string, object> = schemasFrom([...builtIn, OBJECT_META])
  for (const kind of kinds) {
    const gvk = { group: kind.group, version, kind: kind.kind }
    const name = schemaNameOf(kind, version) ?? schemaName(kind, version)
    const schema = schemas[name] ?? customSchema(kind, version)
    schemas[name] = { ...schema, 'x-kubernetes-group-version-kind': [gvk] }
    const content = { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } }
    const operation = (action: string, types: object): object => ({
      parameters: PARAMETERS,
      requestBody: { content: types },
      responses: OK,
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': gvk,
    })
    const path = pathOf(kind, version)
    paths[path] = { post: operation('post', content) }
    paths[`${path}/{name}`] = {
      put: operation('put', content),
      patch: operation('patch', { 'application/merge-patch+json': { schema: ANYTHING } }),
    }
  }
  const info = { title: 'Kubernetes', version: 'v1' }
  return { openapi: '3.0.0', info, paths, components: { schemas } }
}

/** Its CustomResourceDefinition does not describe the fields that every object has. */
function customSchema(kind: Kind, version: string): object {
  const { properties, ...schema } = kind.schemas[version] ?? {}
  const metadata = { allOf: [{ $ref: `#/components/schemas/${OBJECT_META}` }] }
  const common = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata }
  return { ...ANYTHING, ...schema, properties: { ...common, ...(properties as object) } }
}

function isIn(kind: Kind, group: string, version: string): boolean {
  return kind.group === group && kind.versions.includes(version)
}

function pathOf(kind: Kind, version: string): string {
  const root = kind.group === '' ? '/api' : '/apis'
  const namespace = kind.scope === 'Cluster' ? '' : '/namespaces/{namespace}'
  return `${root}/${groupVersion(kind, version)}${namespace}/${kind.resource}`
}

function schemaName(kind: Kind, version: string): string {
  const group = kind.group === '' ? 'core' : kind.group
  return `${group}.${version}.${kind.kind}`
}
