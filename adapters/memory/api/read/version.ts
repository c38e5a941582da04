/**
 * Objects are kept under one version and sent under the requested one. Versions differ in nothing
 * but the name, except Events, whose two groups have different names for the same fields.
 */
import { groupVersion, type Kind } from '../kind.ts'
import type { ApiObject } from '../object.ts'

/** Of an Event: as core calls it (so it is kept), and as events.k8s.io does. */
const EVENT_FIELDS = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
] as const

const TOLD_FIELDS: ReadonlyMap<string, string> = new Map(EVENT_FIELDS)
const KEPT_FIELDS: ReadonlyMap<string, string> = new Map(EVENT_FIELDS.map(([a, b]) => [b, a]))
const EVENTS = 'events.k8s.io'

export function told(object: ApiObject, kind: Kind, version: string): ApiObject {
  const apiVersion = groupVersion(kind, version)
  if (object.apiVersion === apiVersion) return object
  const named = kind.group === EVENTS ? renamed(object, TOLD_FIELDS) : object
  return { ...named, apiVersion }
}

export function kept(object: ApiObject, kind: Kind): ApiObject {
  if (kind.group === EVENTS) return { ...renamed(object, KEPT_FIELDS), apiVersion: 'v1' }
  const apiVersion = groupVersion(kind, kind.versions[0]!)
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion }
}

function renamed(object: ApiObject, names: ReadonlyMap<string, string>): ApiObject {
  const fields = Object.entries(object).map(([field, value]) => [names.get(field) ?? field, value])
  return Object.fromEntries(fields) as ApiObject
}
