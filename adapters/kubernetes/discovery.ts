/**
 * Asks an API server which kinds it serves: aggregated discovery in two calls, or one call for each
 * group and version where it has none.
 *
 * What must stay true: a group and version that could not be read, or is stale, is reported as
 * failed and never as absent. A server that serves nothing is a server that failed. Without the
 * right to read which server serves a group, every kind counts as served by an aggregated one: a
 * GET precedes each DELETE there.
 *
 * Not here: which kinds are monitored (services/watcher).
 */
import { apiVersionOf, groupOf, type Scope, versionOf } from '../../core/model/object.ts'
import { ClusterError, type DiscoveredKind, type Discovery } from '../../ports/cluster.ts'
import { ask, PLAIN, type Reading, unreadable } from './call.ts'
import { isJson, type Json } from './json.ts'

const AGGREGATED = ['v2', 'v2beta1']
  .map((version) => `${PLAIN};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat(PLAIN)
  .join(',')
const REGISTRATION = 'apiregistration.k8s.io'
export const API_SERVICES: string = `/apis/${REGISTRATION}/v1/apiservices`
/** Group versions requested at once, where there is no aggregated discovery. */
const CALLS_AT_ONCE = 8

export async function discoverKinds(reading: Reading, signal: AbortSignal): Promise<Discovery> {
  const [core, groups, aggregated] = await Promise.all([
    discoverRoot(reading, '/api', signal),
    discoverRoot(reading, '/apis', signal),
    aggregatedVersions(reading, signal),
  ])
  const served = [...core, ...groups]
  const failed = served.filter(({ resources }) => resources === null).map(({ name }) => name)
  const isRegistrationServed = served.some(({ group }) => group === REGISTRATION)
  const isAggregationKnown =
    aggregated instanceof Set || (aggregated === 'NOT_SERVED' && !isRegistrationServed)
  const isRemote = (name: string): boolean =>
    aggregated instanceof Set ? aggregated.has(name) : !isAggregationKnown
  return { kinds: kindsOf(served, isRemote), failed, isAggregationKnown }
}

/** One group and version; its resources are null when they could not be had. */
interface ServedVersion {
  readonly name: string
  readonly group: string
  readonly version: string
  readonly resources: readonly ServedResource[] | null
}

interface ServedResource {
  readonly resource: string
  readonly kind: string
  readonly scope: Scope
  readonly verbs: readonly string[]
  readonly shortNames: readonly string[]
}

/** Versions in the server's order, the preferred one of each group first. */
async function discoverRoot(
  reading: Reading,
  path: '/api' | '/apis',
  signal: AbortSignal,
): Promise<ServedVersion[]> {
  const body = await ask(reading, path, AGGREGATED, signal)
  const versions =
    body['kind'] === 'APIGroupDiscoveryList'
      ? readAggregated(body)
      : await discoverEach(reading, path, namesIn(body, path), signal)
  const isEmpty = versions.every(({ resources }) => resources?.length === 0)
  if (isEmpty) throw unreadable(path, 'no kind is served there')
  return versions
}

function readAggregated(body: Json): ServedVersion[] {
  return jsonsIn(body, 'items').flatMap((item) => {
    const group = isJson(item['metadata']) ? textIn(item['metadata'], 'name') : ''
    return jsonsIn(item, 'versions').map((it): ServedVersion => {
      const version = textIn(it, 'version')
      const resources = it['freshness'] === 'Stale' ? null : jsonsIn(it, 'resources')
      return {
        ...{ group, version, name: apiVersionOf(group, version) },
        resources: resources?.flatMap(readAggregatedResource) ?? null,
      }
    })
  })
}

function readAggregatedResource(raw: Json): ServedResource[] {
  const kind = isJson(raw['responseKind']) ? textIn(raw['responseKind'], 'kind') : ''
  const scope = raw['scope'] === 'Namespaced' ? 'Namespaced' : 'Cluster'
  return resourceOf(textIn(raw, 'resource'), kind, scope, raw)
}

/** `v1`, or `apps/v1` and so on. */
function namesIn(body: Json, path: string): string[] {
  if (body['kind'] === 'APIVersions') return textsIn(body, 'versions')
  if (body['kind'] !== 'APIGroupList') throw unreadable(path, 'it is no discovery')
  return jsonsIn(body, 'groups').flatMap((group) => {
    const preferred = isJson(group['preferredVersion'])
      ? textIn(group['preferredVersion'], 'groupVersion')
      : ''
    const names = jsonsIn(group, 'versions').map((it) => textIn(it, 'groupVersion'))
    return names.includes(preferred)
      ? [preferred, ...names.filter((it) => it !== preferred)]
      : names
  })
}

async function discoverEach(
  reading: Reading,
  root: string,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ServedVersion[]> {
  const versions: ServedVersion[] = []
  for (let start = 0; start < names.length; start += CALLS_AT_ONCE) {
    const some = names.slice(start, start + CALLS_AT_ONCE)
    versions.push(...(await Promise.all(some.map((it) => discoverOne(reading, root, it, signal)))))
  }
  return versions
}

async function discoverOne(
  reading: Reading,
  root: string,
  name: string,
  signal: AbortSignal,
): Promise<ServedVersion> {
  const version = { name, group: groupOf(name), version: versionOf(name) }
  try {
    const body = await ask(reading, `${root}/${name}`, PLAIN, signal)
    if (body['kind'] !== 'APIResourceList') return { ...version, resources: null }
    const resources = jsonsIn(body, 'resources').flatMap((raw) =>
      resourceOf(
        textIn(raw, 'name'),
        textIn(raw, 'kind'),
        raw['namespaced'] === true ? 'Namespaced' : 'Cluster',
        raw,
      ),
    )
    return { ...version, resources }
  } catch (error) {
    if (error instanceof ClusterError) return { ...version, resources: null }
    throw error
  }
}

/** Longer than any name that a server of its own accord gives. */
const MOST_NAME_LENGTH = 253

/** None for a subresource, for a resource without a kind of its own, or for an invalid name. */
function resourceOf(resource: string, kind: string, scope: Scope, raw: Json): ServedResource[] {
  if (!isName(resource) || !isName(kind) || resource.includes('/')) return []
  return [
    { resource, kind, scope, verbs: textsIn(raw, 'verbs'), shortNames: textsIn(raw, 'shortNames') },
  ]
}

function isName(text: string): boolean {
  return text !== '' && text.length <= MOST_NAME_LENGTH && text.isWellFormed()
}

/**
 * Group versions that an aggregated server serves, or why that is unknown. A server without
 * aggregation serves no such list.
 */
async function aggregatedVersions(
  reading: Reading,
  signal: AbortSignal,
): Promise<Set<string> | Hidden> {
  try {
    return remoteVersions(await ask(reading, API_SERVICES, PLAIN, signal))
  } catch (error) {
    const hidden = error instanceof ClusterError && HIDDEN.find((code) => code === error.code)
    if (hidden) return hidden
    throw error
  }
}

/** The versions that other servers serve, `x.io/v1`, by a list of API services. */
function remoteVersions(list: Json): Set<string> {
  return versionsOf(specsIn(list).filter((spec) => isJson(spec['service'])))
}

/**
 * The versions that the cluster itself serves, and no other server: each version of such a group
 * has an API service, too.
 */
export function localVersions(list: Json): Set<string> {
  return versionsOf(specsIn(list).filter((spec) => (spec['service'] ?? null) === null))
}

function specsIn(list: Json): readonly Json[] {
  return jsonsIn(list, 'items').map((item) => (isJson(item['spec']) ? item['spec'] : {}))
}

function versionsOf(specs: readonly Json[]): Set<string> {
  return new Set(specs.map((spec) => apiVersionOf(textIn(spec, 'group'), textIn(spec, 'version'))))
}

const HIDDEN = ['FORBIDDEN', 'NOT_SERVED'] as const

type Hidden = (typeof HIDDEN)[number]

/**
 * It has no objects that a client could read, so it owns none, whatever other resource has its
 * kind: OpenShift's `processedtemplates` beside `templates`.
 */
function isRequest({ verbs }: Pick<ServedResource, 'verbs'>): boolean {
  return !verbs.includes('get') && !verbs.includes('list')
}

type Building = { -readonly [Key in keyof DiscoveredKind]: DiscoveredKind[Key] }

function kindsOf(
  served: readonly ServedVersion[],
  isRemoteVersion: (name: string) => boolean,
): DiscoveredKind[] {
  const kinds = new Map<string, Building>()
  for (const { name, group, version, resources } of served) {
    for (const { kind, ...rest } of resources ?? []) {
      const key = `${group}/${kind}`
      const known = kinds.get(key)
      const isRemote = isRemoteVersion(name)
      const about = { group, kind, versions: [version], aggregated: isRemote, ambiguous: false }
      const first = { ...about, ...rest }
      if (known === undefined) {
        kinds.set(key, first)
      } else if (known.resource === rest.resource) {
        known.versions = [...known.versions, version]
        known.aggregated ||= isRemote
      } else if (isRequest(known) === isRequest(rest)) {
        known.ambiguous = true
      } else if (isRequest(known)) {
        kinds.set(key, first)
      }
    }
  }
  return [...kinds.values()]
}

function jsonsIn(body: Json, key: string): Json[] {
  const value = body[key]
  return Array.isArray(value) ? value.filter(isJson) : []
}

function textIn(body: Json, key: string): string {
  const value = body[key]
  return typeof value === 'string' ? value : ''
}

function textsIn(body: Json, key: string): string[] {
  const value = body[key]
  return Array.isArray(value) ? value.filter((it) => typeof it === 'string') : []
}
