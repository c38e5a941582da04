/**
 * RFC 7386, and the strategic merge patch that kubectl and client-go send for built-in kinds: lists
 * of named things are merged by their key, with `$patch`, `$deleteFromPrimitiveList`,
 * `$setElementOrder` and `$retainKeys` as directives.
 *
 * What must stay true: no directive is ever stored. Merge keys depend on the name of the field,
 * which is unambiguous among the kinds served here except for `ports` (three keys, distinguished by
 * the fields of the entries).
 *
 * Not here: custom resources (they have no strategic merge), RFC 6902 (json-patch.ts).
 */
import { isJsonObject, isSameJson, type JsonObject } from '../object.ts'

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch
  const result: Record<string, unknown> = isJsonObject(document) ? { ...document } : {}
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field]
    else result[field] = applyMergePatch(result[field], value)
  }
  return result
}

/**
 * Lists that are merged, and by which field of their entries; an empty one marks a set of plain
 * values.
 */
const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  conditions: ['type'],
  addresses: ['type'],
  containers: ['name'],
  env: ['name'],
  ephemeralContainers: ['name'],
  finalizers: [],
  hostAliases: ['ip'],
  imagePullSecrets: ['name'],
  initContainers: ['name'],
  ownerReferences: ['uid'],
  podCIDRs: [],
  podIPs: ['ip'],
  ports: ['containerPort', 'port', 'name'],
  resourceClaims: ['name'],
  schedulingGates: ['name'],
  secrets: ['name'],
  subjects: ['name'],
  topologySpreadConstraints: ['topologyKey'],
  volumeDevices: ['devicePath'],
  volumeMounts: ['mountPath'],
  volumes: ['name'],
}

const ORDER = '$setElementOrder/'
const DELETIONS = '$deleteFromPrimitiveList/'

export function applyStrategicMergePatch(document: unknown, patch: JsonObject): JsonObject {
  return mergeObject(isJsonObject(document) ? document : {}, patch)
}

function mergeObject(document: JsonObject, patch: JsonObject): JsonObject {
  if (patch['$patch'] === 'replace') return stripped(patch) as JsonObject
  const kept = retained(document, patch)
  const result: Record<string, unknown> = { ...kept }
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith('$')) continue
    if (value === null || (isJsonObject(value) && value['$patch'] === 'delete'))
      delete result[field]
    else result[field] = merged(field, result[field], value)
  }
  for (const [directive, value] of Object.entries(patch)) {
    if (!Array.isArray(value)) continue
    if (directive.startsWith(DELETIONS)) {
      const field = directive.slice(DELETIONS.length)
      const list = result[field]
      if (Array.isArray(list)) result[field] = list.filter((item) => !has(value, item))
    }
    if (directive.startsWith(ORDER)) {
      const field = directive.slice(ORDER.length)
      const list = result[field]
      if (Array.isArray(list)) result[field] = ordered(list, value, MERGE_KEYS[field] ?? [])
    }
  }
  return result
}

function merged(field: string, before: unknown, value: unknown): unknown {
  if (isJsonObject(value)) return mergeObject(isJsonObject(before) ? before : {}, value)
  const keys = MERGE_KEYS[field]
  if (!Array.isArray(value) || keys === undefined) return stripped(value)
  return mergeList(Array.isArray(before) ? before : [], value, keys)
}

function mergeList(
  before: readonly unknown[],
  patch: readonly unknown[],
  keys: readonly string[],
): readonly unknown[] {
  if (patch.some((item) => isJsonObject(item) && item['$patch'] === 'replace')) {
    return patch.filter((item) => !isJsonObject(item) || item['$patch'] !== 'replace').map(stripped)
  }
  const result = before.slice()
  for (const item of patch) {
    const key = isJsonObject(item) ? keys.find((it) => item[it] !== undefined) : undefined
    const at = result.findIndex((it) => isSameEntry(it, item, key))
    if (isJsonObject(item) && item['$patch'] === 'delete') {
      if (at >= 0) result.splice(at, 1)
    } else if (at < 0) result.push(stripped(item))
    else if (isJsonObject(item)) result[at] = mergeObject(result[at] as JsonObject, item)
  }
  return result
}

function isSameEntry(entry: unknown, item: unknown, key: string | undefined): boolean {
  if (key === undefined) return isSameJson(entry, item)
  return isJsonObject(entry) && isJsonObject(item) && isSameJson(entry[key], item[key])
}

/** `$retainKeys` names the only fields that may stay. */
function retained(document: JsonObject, patch: JsonObject): JsonObject {
  const keys = patch['$retainKeys']
  if (!Array.isArray(keys)) return document
  return Object.fromEntries(Object.entries(document).filter(([field]) => keys.includes(field)))
}

/**
 * In the requested order; entries that it does not name stay after their present predecessors, at
 * the end.
 */
function ordered(
  list: readonly unknown[],
  order: readonly unknown[],
  keys: readonly string[],
): readonly unknown[] {
  const rank = (entry: unknown): number => {
    const at = order.findIndex((it) => {
      const key = isJsonObject(it) ? keys.find((name) => it[name] !== undefined) : undefined
      return isSameEntry(entry, it, key)
    })
    return at < 0 ? order.length : at
  }
  return list.toSorted((a, b) => rank(a) - rank(b))
}

/** Without directives, for values that are taken over unchanged. */
function stripped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripped)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([field, it]) => !field.startsWith('$') && it !== null)
      .map(([field, it]) => [field, stripped(it)]),
  )
}

function has(values: readonly unknown[], item: unknown): boolean {
  return values.some((value) => isSameJson(value, item))
}
