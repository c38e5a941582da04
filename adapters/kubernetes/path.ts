/**
 * Paths of resources and objects in an API server.
 *
 * What must stay true: a path names one object or there is none. Names are typed by users: an empty
 * one would make a DELETE of an object one of the whole collection, a slash would name a
 * subresource. Case is kept.
 */
import type { Target } from '../../core/model/command.ts'
import type { Resource } from '../../ports/cluster.ts'
import { isPathSegmentName } from '../../ports/record/object-name.ts'

type Served = Pick<Resource, 'group' | 'version' | 'resource'>

/** `namespace`: empty for all. */
export function collectionPath(
  { group, version, resource }: Served,
  namespace: string = '',
): string {
  const place = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root(group, version)}${place}/${encodeURIComponent(resource)}`
}

/** Null when no object can be there. */
export function objectPath(target: Target): string | null {
  const { group, version, namespace, resource, name } = target
  if (!isSegment(version) || !isSegment(resource) || !isSegment(name)) return null
  if ((group !== '' && !isSegment(group)) || (namespace !== '' && !isSegment(namespace)))
    return null
  const place = namespace === '' ? '' : `namespaces/${encodeURIComponent(namespace)}/`
  return `${root(group, version)}/${place}${encodeURIComponent(resource)}/${encodeURIComponent(name)}`
}

export function namespacePath(namespace: string, resource: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`
}

function root(group: string, version: string): string {
  const api = encodeURIComponent(version)
  return group === '' ? `/api/${api}` : `/apis/${encodeURIComponent(group)}/${api}`
}

/**
 * As the API server checks names of path segments, and no half of a surrogate pair, which has no
 * UTF-8.
 */
function isSegment(text: string): boolean {
  return text !== '' && isPathSegmentName(text) && text.isWellFormed()
}
