/**
 * The discovery of the server: groups, versions, resources, in the old documents and in the
 * aggregated one.
 *
 * What must stay true: both have the same content, computed from the registry at each request.
 *
 * Not here: schemas (openapi.ts).
 */
import type { Kind } from '../kind.ts'
import { type Registry, versionsOfGroup } from '../registry.ts'
import { isJson, mediaRanges } from './representation.ts'

const DISCOVERY = 'apidiscovery.k8s.io'
const STATUS_VERBS = ['get', 'patch', 'update']

export interface Document {
  readonly contentType: string
  readonly body: object
}

/** Reviews are answered and not stored; they are kinds to discovery only. */
const REVIEWS: readonly Pick<Kind, 'group' | 'kind' | 'resource'>[] = [
  {
    group: 'authorization.k8s.io',
    kind: 'SelfSubjectAccessReview',
    resource: 'selfsubjectaccessreviews',
  },
]

/** Undefined for a path that is no discovery of what is served. */
export function discoveryAt(
  pathname: string,
  accept: string,
  registry: Registry,
): Document | undefined {
  const kinds = [...registry.kinds()]
  const [root, group, version, ...more] = pathname.split('/').slice(1)
  if (more.length > 0) return undefined
  if (root === 'api') {
    if (version !== undefined) return undefined
    if (group === undefined || group === '') return groupDocument(kinds, accept, [''], coreVersions)
    return group === 'v1' ? json(resourceList(kinds, '', 'v1')) : undefined
  }
  if (root !== 'apis') return undefined
  const groups = groupsOf(kinds)
  if (group === undefined || group === '') return groupDocument(kinds, accept, groups, groupList)
  if (!groups.includes(group)) return undefined
  if (version === undefined) return json(groupBody(kinds, group))
  return isServed(kinds, group, version) ? json(resourceList(kinds, group, version)) : undefined
}

function groupDocument(
  kinds: readonly Kind[],
  accept: string,
  groups: readonly string[],
  legacy: (kinds: readonly Kind[], groups: readonly string[]) => object,
): Document {
  for (const range of mediaRanges(accept)) {
    if (!isJson(range)) continue
    const { as, g, v } = range.parameters
    if (as === undefined) break
    if (as !== 'APIGroupDiscoveryList' || g !== DISCOVERY || v !== 'v2') continue
    const contentType = `application/json;g=${DISCOVERY};v=v2;as=APIGroupDiscoveryList`
    return { contentType, body: aggregated(kinds, groups) }
  }
  return json(legacy(kinds, groups))
}

function coreVersions(): object {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }
}

function groupList(kinds: readonly Kind[], groups: readonly string[]): object {
  const bodies = groups.map((group) => {
    const { kind: _1, apiVersion: _2, ...body } = groupBody(kinds, group)
    return body
  })
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: bodies }
}

function groupBody(kinds: readonly Kind[], group: string): Readonly<Record<string, unknown>> {
  const versions = versionsOf(kinds, group).map((version) => {
    return { groupVersion: `${group}/${version}`, version }
  })
  const named = { name: group, versions, preferredVersion: versions[0] }
  return { kind: 'APIGroup', apiVersion: 'v1', ...named }
}

function resourceList(kinds: readonly Kind[], group: string, version: string): object {
  const resources: object[] = []
  for (const kind of servedIn(kinds, group, version)) {
    const { resource, singular, scope, shortNames, categories, verbs } = kind
    const namespaced = scope === 'Namespaced'
    resources.push({
      name: resource,
      singularName: singular,
      namespaced,
      kind: kind.kind,
      verbs,
      ...(shortNames.length > 0 && { shortNames }),
      ...(categories.length > 0 && { categories }),
    })
    for (const { name, responseKind } of subresourcesOf(kind, version)) {
      const told = responseKind.kind === 'Scale' ? responseKind : { kind: kind.kind }
      resources.push({
        name: `${resource}/${name}`,
        singularName: '',
        namespaced,
        ...told,
        verbs: STATUS_VERBS,
      })
    }
  }
  for (const { resource, kind } of REVIEWS.filter((review) => review.group === group)) {
    resources.push({ name: resource, singularName: '', namespaced: false, kind, verbs: ['create'] })
  }
  const body = { groupVersion: group === '' ? version : `${group}/${version}`, resources }
  return { kind: 'APIResourceList', apiVersion: 'v1', ...body }
}

function aggregated(kinds: readonly Kind[], groups: readonly string[]): object {
  const items = groups.map((group) => ({
    metadata: group === '' ? {} : { name: group },
    versions: versionsOf(kinds, group).map((version) => ({
      version,
      resources: [
        ...[...servedIn(kinds, group, version)].map((kind) => resourceIn(kind, version)),
        ...REVIEWS.filter((review) => review.group === group).map(reviewIn),
      ],
      freshness: 'Current',
    })),
  }))
  return { kind: 'APIGroupDiscoveryList', apiVersion: `${DISCOVERY}/v2`, metadata: {}, items }
}

function resourceIn(kind: Kind, version: string): object {
  const { group, resource, singular, scope, verbs, shortNames, categories } = kind
  const subresources = subresourcesOf(kind, version).map(({ name, responseKind }) => {
    return { subresource: name, responseKind, verbs: STATUS_VERBS }
  })
  return {
    resource,
    responseKind: { group, version, kind: kind.kind },
    scope: scope === 'Cluster' ? 'Cluster' : 'Namespaced',
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(subresources.length > 0 && { subresources }),
  }
}

function reviewIn({ group, kind, resource }: Pick<Kind, 'group' | 'kind' | 'resource'>): object {
  return {
    resource,
    responseKind: { group, version: 'v1', kind },
    scope: 'Cluster',
    singularResource: kind.toLowerCase(),
    verbs: ['create'],
  }
}

interface Subresource {
  readonly name: string
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string }
}

function subresourcesOf(kind: Kind, version: string): readonly Subresource[] {
  const own = { group: kind.group, version, kind: kind.kind }
  const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale' }
  return [
    ...(kind.hasScale ? [{ name: 'scale', responseKind: scale }] : []),
    ...(kind.hasStatus ? [{ name: 'status', responseKind: own }] : []),
  ]
}

function groupsOf(kinds: readonly Kind[]): readonly string[] {
  const groups = [...kinds, ...REVIEWS].map(({ group }) => group)
  return [...new Set(groups)].filter((group) => group !== '')
}

function versionsOf(kinds: readonly Kind[], group: string): readonly string[] {
  const versions = versionsOfGroup(kinds, group)
  return versions.length > 0 ? versions : ['v1']
}

function isServed(kinds: readonly Kind[], group: string, version: string): boolean {
  return versionsOf(kinds, group).includes(version)
}

function* servedIn(kinds: readonly Kind[], group: string, version: string): Generator<Kind> {
  for (const kind of kinds) {
    if (kind.group === group && kind.versions.includes(version)) yield kind
  }
}

function json(body: object): Document {
  return { contentType: 'application/json', body }
}
