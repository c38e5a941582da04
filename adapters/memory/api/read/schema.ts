/**
 * The fields of the built-in kinds, as schemas of OpenAPI v3, which `kubectl explain` shows.
 *
 * What must stay true: they are kube-apiserver's, shortened (schema.tsv, which a test compares with
 * the real one; from Kubernetes v1.36, Apache-2.0). Nothing is validated by them. The text is read
 * when it is requested and not before.
 *
 * Not here: documents and paths (openapi.ts), schemas of custom kinds, which their
 * CustomResourceDefinitions contain.
 */
import { readFileSync } from 'node:fs'
import type { Kind } from '../kind.ts'

export const SCHEMA_FILE: URL = new URL('../schema.tsv', import.meta.url)
export const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

type Json = Readonly<Record<string, unknown>>

interface Known {
  readonly schema: Json
  /** Names of the schemas that its fields name. */
  readonly names: readonly string[]
}

let known: ReadonlyMap<string, Known> | undefined

/** `apps` of `io.k8s.api.apps.v1.Deployment`: the group up to its first dot. */
export function isSchemaOf(name: string, { group, kind }: Kind, version: string): boolean {
  const part = group === '' ? 'core' : group.split('.')[0]
  return name.endsWith(`.${part}.${version}.${kind}`)
}

/** Undefined for a kind that is not built in. */
export function schemaNameOf(kind: Kind, version: string): string | undefined {
  return [...all().keys()].find((name) => isSchemaOf(name, kind, version))
}

/** These, and all that they lead to, by name. */
export function schemasFrom(names: readonly string[]): Record<string, Json> {
  const found: Record<string, Json> = {}
  const wanted = new Set(names)
  for (const name of wanted) {
    const { schema, names: more } = all().get(name)!
    found[name] = schema
    for (const each of more) wanted.add(each)
  }
  return found
}

function all(): ReadonlyMap<string, Known> {
  known ??= readSchemas(readFileSync(SCHEMA_FILE, 'utf8'))
  return known
}

/**
 * A line for each schema (name, type, description), and after it an indented one for each of its
 * fields; `!` is a required one.
 */
function readSchemas(text: string): ReadonlyMap<string, Known> {
  const lines = text.trim().split('\n')
  const heads = lines.flatMap((line) => columnsOf(line)[0] || [])
  const byShortName = new Map(heads.map((name) => [name.slice(name.lastIndexOf('.') + 1), name]))
  const found = new Map<string, Known>()
  for (let at = 0; at < lines.length; ) {
    const [name, type, description] = columnsOf(lines[at++]!)
    const properties: Record<string, Json> = {}
    const required: string[] = []
    const names: string[] = []
    for (; lines[at]?.startsWith('\t') === true; at++) {
      const [field, of, about] = columnsOf(lines[at]!.slice(1))
      const key = field.replace('!', '')
      if (key !== field) required.push(key)
      properties[key] = { ...typed(of, byShortName, names), ...about }
    }
    const hasFields = Object.keys(properties).length > 0
    const fields = { properties, ...(required.length > 0 && { required }) }
    const schema = { ...typed(type, byShortName, []), ...description, ...(hasFields && fields) }
    found.set(name, { schema, names })
  }
  return found
}

function columnsOf(line: string): [name: string, type: string, description: Json] {
  const [name = '', type = '', description = ''] = line.split('\t')
  return [name, type, description === '' ? {} : { description }]
}

function typed(type: string, byShortName: ReadonlyMap<string, string>, names: string[]): Json {
  if (type.endsWith('[]')) {
    return { type: 'array', items: typed(type.slice(0, -2), byShortName, names) }
  }
  if (type.endsWith('{}')) {
    const additionalProperties = typed(type.slice(0, -2), byShortName, names)
    return { type: 'object', additionalProperties }
  }
  const name = type.includes('.') ? type : byShortName.get(type)
  if (name !== undefined) {
    names.push(name)
    return { allOf: [{ $ref: `#/components/schemas/${name}` }] }
  }
  const [basic, format] = type.split(':')
  return { ...(basic !== 'any' && { type: basic }), ...(format !== undefined && { format }) }
}
