/**
 * OpenAPI as far as kubectl asks for it before it writes: which paths take a field validation and a dry run, and that every schema lets
 * everything pass.
 *
 * What must stay true: no patch here offers the strategic kind; kubectl then computes its patches from its own types, which know every
 * merge key, rather than from these schemas, which know none.
 *
 * Not here: what the fields of a kind are; the server itself keeps bodies as they come.
 */
import { groupVersion, type Kind } from './kind.ts'
import type { Registry } from './registry.ts'

const ANYTHING = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const OK = { 200: { description: 'OK' } }
const PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => {
  return { name, in: 'query', schema: { type: 'string' } }
})

/** The document at `/openapi/v2`, `/openapi/v3` or below it; undefined when there is none. */
export function openApiAt(pathname: string, registry: Registry): object | undefined {
  if (pathname === '/openapi/v2') return v2(registry)
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
  const schemas: Record<string, object> = {}
  for (const kind of kinds) {
    const gvk = { group: kind.group, version, kind: kind.kind }
    const name = schemaName(kind, version)
    schemas[name] = { ...ANYTHING, 'x-kubernetes-group-version-kind': [gvk] }
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

function v2(registry: Registry): object {
  const definitions: Record<string, object> = {}
  for (const kind of registry.kinds()) {
    for (const version of kind.versions) {
      const gvk = { group: kind.group, version, kind: kind.kind }
      const known = { ...ANYTHING, 'x-kubernetes-group-version-kind': [gvk] }
      definitions[schemaName(kind, version)] = known
    }
  }
  return { swagger: '2.0', info: { title: 'Kubernetes', version: 'v1' }, paths: {}, definitions }
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
