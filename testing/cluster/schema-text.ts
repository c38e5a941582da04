/**
 * OpenAPI v3 documents of a real kube-apiserver, shortened to the text in which the API server in
 * memory keeps the fields of its kinds (adapters/memory/api/schema.tsv).
 *
 * What must stay true: nothing is invented. A schema, a field, its type and whether it is required
 * are the server's; of a description the first sentence is kept.
 *
 * Not here: reading that text (adapters/memory/api/read/schema.ts).
 */

export interface Schema {
  readonly description?: string
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly allOf?: readonly Schema[]
  readonly $ref?: string
}

/**
 * All that the kinds need, from the schemas of all their groups. `isKind` says of a name whether it
 * is one of the kinds.
 */
export function schemaText(
  schemas: Readonly<Record<string, Schema>>,
  isKind: (name: string) => boolean,
): string {
  const needed = new Set(Object.keys(schemas).filter(isKind))
  for (const name of needed) {
    for (const field of Object.values(schemas[name]?.properties ?? {})) {
      const { ref } = typeOf(field)
      if (ref !== undefined) needed.add(ref)
    }
  }
  const shortNames = Object.groupBy(needed, shortOf)
  const nameIn = (name: string): string =>
    shortNames[shortOf(name)]?.length === 1 ? shortOf(name) : name
  const lines = [...needed].sort().flatMap((name) => {
    const schema = schemas[name]
    if (schema === undefined) throw new Error(`no schema ${name}`)
    const { type = 'any', format, description, required = [] } = schema
    const told = format === undefined ? type : `${type}:${format}`
    const head = `${name}\t${told}\t${first(description)}`
    const fields = Object.entries(schema.properties ?? {}).map(([field, of]) => {
      const { ref, text } = typeOf(of)
      const isRequired = required.includes(field) ? '!' : ''
      const told = ref === undefined ? text : text.replace(ref, nameIn(ref))
      return `\t${field}${isRequired}\t${told}\t${first(of.description)}`
    })
    return [head, ...fields]
  })
  return `${lines.join('\n')}\n`
}

/** `string`, `integer:int32`, the name of a schema; `[]` after it for a list, `{}` for a map. */
function typeOf(schema: Schema): { readonly text: string; readonly ref?: string } {
  const pointer = schema.$ref ?? schema.allOf?.[0]?.$ref
  if (pointer !== undefined) {
    const ref = pointer.slice(pointer.lastIndexOf('/') + 1)
    return { text: ref, ref }
  }
  const { items, additionalProperties: values, type = 'any', format } = schema
  const inner = items ?? (typeof values === 'object' ? values : undefined)
  if (inner === undefined) return { text: format === undefined ? type : `${type}:${format}` }
  const of = typeOf(inner)
  return { ...of, text: `${of.text}${items === undefined ? '{}' : '[]'}` }
}

function shortOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}

function first(description = ''): string {
  const [text = ''] = description.replace(/\s+/g, ' ').split(' Possible enum values:')
  return text.split(/(?<=\.) /)[0]!
}
