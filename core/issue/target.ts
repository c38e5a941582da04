/**
 * How a command names its object to the API server: by a version that is served there.
 *
 * What must stay true: it names what was judged, by uid and resourceVersion; only the version of
 * the API may differ.
 */
import type { Target } from '../model/command.ts'
import type { ObjectMeta } from '../model/object.ts'
import type { Kind } from '../model/state.ts'

/**
 * By a version that is served, which may be another than the one in which it was reported. If the
 * kind is unknown, an aggregated server may be the one that answers.
 */
export function targetOf(object: ObjectMeta, kind: Kind | undefined): Target {
  const { group, namespace, name, uid, resourceVersion } = object
  const { aggregated = true, resource = object.resource } = kind ?? {}
  const version = kind === undefined ? object.version : servedVersion(kind, object.version)
  const place = { group, kind: object.kind, namespace, name }
  return { ...place, version, resource, uid, resourceVersion, aggregated }
}

/** The requested version if it is served, otherwise the preferred one. */
export function servedVersion({ versions }: Pick<Kind, 'versions'>, version: string): string {
  return versions.includes(version) ? version : (versions[0] ?? version)
}
