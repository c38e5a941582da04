/**
 * Objects and their owner references in the formats of other programs: JSON lines, CSV, Cypher,
 * DOT, Mermaid, GraphML.
 *
 * What must stay true: whatever an object is called, it stays a text within its format; no
 * reference is left out, also where its owner is not among the objects.
 *
 * Not here: where the objects come from (lineage-export.ts).
 */
import type { ClusterRef } from '../../services/graph/api/document.ts'

/** As one line of `-o jsonl` has it. */
export interface ExportedObject {
  readonly cluster: Pick<ClusterRef, 'name' | 'id'>
  /** Empty for the core group. */
  readonly group: string
  /** Empty at a moment of the past. */
  readonly version: string
  readonly kind: string
  /** Empty for a cluster-scoped kind. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly phase: string
  /** RFC 3339, or null where it is unknown. */
  readonly createdAt: string | null
  readonly deletedAt: string | null
  /** The last verdict in a sentence; may be empty. */
  readonly why: string
  readonly owners: readonly ExportedOwner[]
}

export interface ExportedOwner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller: boolean
  readonly blocking: boolean
  /**
   * Its status: solid, waiting, orphaned, dangling, unverified or unresolvable; empty at a moment
   * of the past.
   */
  readonly standing: string
}

/** Objects can be read more than once. */
type Format = (objects: Iterable<ExportedObject>) => Iterable<string>

export type FormatName = 'jsonl' | 'csv' | 'cypher' | 'dot' | 'mermaid' | 'graphml'

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  jsonl: jsonLines,
  csv,
  cypher,
  dot,
  mermaid,
  graphml,
}

function* jsonLines(objects: Iterable<ExportedObject>): Iterable<string> {
  for (const object of objects) yield `${JSON.stringify(object)}\n`
}

const COLUMNS =
  'cluster,cluster_id,namespace,group,version,kind,name,uid,phase,created_at,deleted_at,owner_api_version,owner_kind,owner_name,owner_uid,owner_controller,owner_blocking,owner_status'

/**
 * A row for each owner reference, or one without an owner. Quoted as RFC 4180 has it; lines end as
 * everywhere else.
 */
function* csv(objects: Iterable<ExportedObject>): Iterable<string> {
  yield `${COLUMNS}\n`
  for (const object of objects) {
    const { cluster, namespace, group, version, kind, name, uid, phase } = object
    const own = [cluster.name, cluster.id, namespace, group, version, kind, name, uid, phase]
    const times = [object.createdAt ?? '', object.deletedAt ?? '']
    const owners = object.owners.map((owner) => [
      ...[owner.apiVersion, owner.kind, owner.name, owner.uid],
      ...[String(owner.controller), String(owner.blocking), owner.standing],
    ])
    for (const owner of owners.length > 0 ? owners : [Array.from({ length: 7 }, () => '')]) {
      yield `${[...own, ...times, ...owner].map(field).join(',')}\n`
    }
  }
}

/**
 * Owner references are any text that a tenant writes, and spreadsheets calculate what begins like a
 * formula, also by a full-width sign, and behind spaces and control characters that they leave out.
 */
const FORMULA =
  /^[\p{Cc}\p{Cf}\p{Z}]*[=+\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b]|^\p{Cc}/u

function field(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Statements for Neo4j and what speaks like it; a second time they change nothing. */
function* cypher(objects: Iterable<ExportedObject>): Iterable<string> {
  yield 'CREATE CONSTRAINT kinfold_object IF NOT EXISTS FOR (o:KubernetesObject) REQUIRE o.id IS UNIQUE;\n'
  for (const object of objects) {
    const { cluster, namespace, group, version, kind, name, uid, phase, createdAt } = object
    const properties = { cluster: cluster.name, namespace, group, version, kind, name, uid, phase }
    const all = { ...properties, ...(createdAt === null ? {} : { createdAt }) }
    yield `MERGE (o:KubernetesObject {id: ${text(idOf(object))}}) SET ${settings('o', all)};\n`
  }
  const known = byId(objects)
  for (const object of objects) {
    for (const owner of object.owners) {
      const { apiVersion, kind, name, uid, controller, blocking, standing } = owner
      const reference = `{apiVersion: ${text(apiVersion)}, kind: ${text(kind)}, name: ${text(name)}}`
      const own = settings('b', { cluster: object.cluster.name, kind, name, uid })
      const how = settings('r', { controller, blocking, status: standing })
      yield `MATCH (a:KubernetesObject {id: ${text(idOf(object))}}) MERGE (b:KubernetesObject {id: ${text(ownerIdOf(object, owner, known))}}) ON CREATE SET ${own} MERGE (a)-[r:OWNED_BY ${reference}]->(b) SET ${how};\n`
    }
  }
}

function settings(variable: string, values: Readonly<Record<string, string | boolean>>): string {
  const pairs = Object.entries(values)
  return pairs.map(([key, value]) => `${variable}.${key} = ${text(value)}`).join(', ')
}

/** Of the escapes that JSON knows Cypher has all. */
function text(value: string | boolean): string {
  return JSON.stringify(value)
}

/** Of these nothing is written at an edge. */
const SILENT: ReadonlySet<string> = new Set(['solid', ''])

/** Of one owner to its dependents; dashed: an owner that is not among the objects. */
function* dot(objects: Iterable<ExportedObject>): Iterable<string> {
  const known = byId(objects)
  yield 'digraph kinfold {\n  rankdir=LR\n  node [shape=box]\n'
  for (const object of objects) {
    yield `  ${quoted(idOf(object))} [label=${quoted(labelOf(object))}]\n`
  }
  for (const { id, label } of strangersOf(objects)) {
    yield `  ${quoted(id)} [label=${quoted(label)}, style=dashed]\n`
  }
  for (const object of objects) {
    for (const owner of object.owners) {
      const style = SILENT.has(owner.standing) ? '' : ` [label=${quoted(owner.standing)}]`
      yield `  ${quoted(ownerIdOf(object, owner, known))} -> ${quoted(idOf(object))}${style}\n`
    }
  }
  yield '}\n'
}

function quoted(value: string): string {
  return `"${printable(value).replace(/["\\]/g, '\\$&')}"`
}

function* mermaid(objects: Iterable<ExportedObject>): Iterable<string> {
  const known = byId(objects)
  const numbers = new Map<string, number>()
  const nodeOf = (id: string): string => {
    const number = numbers.get(id) ?? numbers.size
    numbers.set(id, number)
    return `o${number}`
  }
  yield 'flowchart LR\n  classDef missing stroke-dasharray: 4\n'
  for (const object of objects) {
    yield `  ${nodeOf(idOf(object))}["${entities(labelOf(object))}"]\n`
  }
  for (const { id, label } of strangersOf(objects)) {
    yield `  ${nodeOf(id)}["${entities(label)}"]:::missing\n`
  }
  for (const object of objects) {
    for (const owner of object.owners) {
      const arrow = SILENT.has(owner.standing) ? '-->' : `-->|${entities(owner.standing)}|`
      yield `  ${nodeOf(ownerIdOf(object, owner, known))} ${arrow} ${nodeOf(idOf(object))}\n`
    }
  }
}

/** Mermaid has no escapes but these, and renders HTML and Markdown. */
function entities(value: string): string {
  return printable(value).replace(/[^\w ./:-]/gu, (sign) => `#${sign.codePointAt(0)};`)
}

const KEYS = ['cluster', 'namespace', 'group', 'version', 'kind', 'name', 'uid', 'phase'] as const
const EDGE_KEYS = ['controller', 'blocking', 'status'] as const

function* graphml(objects: Iterable<ExportedObject>): Iterable<string> {
  const known = byId(objects)
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
  for (const key of KEYS) {
    yield `  <key id="${key}" for="node" attr.name="${key}" attr.type="string"/>\n`
  }
  for (const key of EDGE_KEYS) {
    const type = key === 'status' ? 'string' : 'boolean'
    yield `  <key id="${key}" for="edge" attr.name="${key}" attr.type="${type}"/>\n`
  }
  yield '  <graph id="kinfold" edgedefault="directed">\n'
  for (const object of objects) {
    yield* nodeElement(idOf(object), { ...object, cluster: object.cluster.name })
  }
  for (const { id, values } of strangersOf(objects)) yield* nodeElement(id, values)
  for (const object of objects) {
    for (const owner of object.owners) {
      const values = { ...owner, status: owner.standing }
      const data = EDGE_KEYS.map(
        (key) => `<data key="${key}">${markup(String(values[key]))}</data>`,
      )
      yield `    <edge source="${markup(idOf(object))}" target="${markup(ownerIdOf(object, owner, known))}">${data.join('')}</edge>\n`
    }
  }
  yield '  </graph>\n</graphml>\n'
}

function* nodeElement(
  id: string,
  values: Partial<Record<(typeof KEYS)[number], string>>,
): Iterable<string> {
  const data = KEYS.flatMap((key) => {
    const value = values[key]
    return value === undefined ? [] : [`<data key="${key}">${markup(value)}</data>`]
  })
  yield `    <node id="${markup(id)}">${data.join('')}</node>\n`
}

const MARKUP: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

function markup(value: string): string {
  return printable(value).replace(/[&<>"]/g, (sign) => MARKUP[sign] ?? sign)
}

/**
 * Control characters are in no name of an API server, no XML may have them, and no picture shows
 * them.
 */
function printable(value: string): string {
  return value.toWellFormed().replace(/[\p{Cc}\ufffe\uffff]/gu, '\ufffd')
}

function labelOf({ cluster, namespace, kind, name }: ExportedObject): string {
  return `${kind}/${name} ${[cluster.name, namespace].filter((part) => part !== '').join(' ')}`
}

interface Stranger {
  readonly id: string
  readonly label: string
  readonly values: Partial<Record<(typeof KEYS)[number], string>>
}

/** Owners that are not among the objects: deleted, never observed, or not asked for. */
function strangersOf(objects: Iterable<ExportedObject>): Iterable<Stranger> {
  const known = byId(objects)
  const strangers = new Map<string, Stranger>()
  for (const object of objects) {
    for (const owner of object.owners) {
      const id = ownerIdOf(object, owner, known)
      if (known.has(id) || strangers.has(id)) continue
      const { kind, name, uid } = owner
      const cluster = object.cluster.name
      strangers.set(id, {
        id,
        label: `${kind}/${name} ${cluster}`,
        values: { cluster, kind, name, uid },
      })
    }
  }
  return strangers.values()
}

function idOf({ cluster, uid }: ExportedObject): string {
  return `${cluster.id}/${uid}`
}

/**
 * A reference is to the object with its uid only if that is what it says: anybody may write any
 * uid.
 */
function ownerIdOf(
  { cluster }: ExportedObject,
  { apiVersion, kind, name, uid }: ExportedOwner,
  known: ReadonlyMap<string, ExportedObject>,
): string {
  const id = `${cluster.id}/${uid}`
  const object = known.get(id)
  if (object === undefined) return `${id}/${kind}/${name}`
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  const isIt =
    object.group === group &&
    object.name === name &&
    object.kind.toLowerCase() === kind.toLowerCase()
  return isIt ? id : `${id}/${kind}/${name}`
}

function byId(objects: Iterable<ExportedObject>): ReadonlyMap<string, ExportedObject> {
  const known = new Map<string, ExportedObject>()
  for (const object of objects) known.set(idOf(object), object)
  return known
}
