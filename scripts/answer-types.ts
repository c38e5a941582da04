/**
 * cli/answer.ts: the types of the answers of `/v1`, written from the schemas of the OpenAPI document (`npm run pages`), so the command line reads the documented fields.
 */
import { SCHEMAS } from '../services/graph/api/answer-schema.ts'
import type { Parameter } from '../services/graph/api/operation.ts'
import { ROUTES } from '../services/graph/api/route.ts'
import type { Schema } from '../services/graph/api/schema.ts'

const HEAD = `/** What \`/v1\` answers, as docs/integrate/openapi.json has it. Written by \`npm run pages\` (scripts/answer-types.ts); not to be edited. */
`

export function answerTypes(): string {
  const types = Object.entries(SCHEMAS).map(([name, schema]) => {
    return `export type ${name} = ${typeOf(schema)}\n`
  })
  return [HEAD, ...types, ...questions()].join('\n')
}

/** Of questions that are answered by one document: the rest is text, or goes on. */
function questions(): readonly string[] {
  const asked = ROUTES.flatMap(({ method, path, parameters, answers }) => {
    const answer = answers['application/json']
    const isQuestion = method === 'get' && path.startsWith('/v1/')
    return !isQuestion || answer?.['$ref'] === undefined ? [] : [{ path, parameters, answer }]
  })
  const answers = asked.map(({ path, answer }) => `  readonly '${path}': ${typeOf(answer)}\n`)
  const queries = asked.map(({ path, parameters }) => {
    return `  readonly '${path}': { ${parameters.map(wordOf).join('; ')} }\n`
  })
  return [
    `/** What each question is answered. */\nexport type Answers = {\n${answers.join('')}}\n`,
    `/** What each question takes. */\nexport type Queries = {\n${queries.join('')}}\n`,
  ]
}

/** Numbers are passed on as they were written: the server says what is wrong with one. */
function wordOf({ name, schema }: Parameter): string {
  const type = schema['type'] === 'integer' ? 'string' : typeOf(schema)
  return `readonly ${name}?: ${type} | undefined`
}

function typeOf(schema: Schema): string {
  const { $ref, anyOf, const: only, enum: words, type, items, properties } = schema
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1)
  if (Array.isArray(anyOf)) return anyOf.map((each: Schema) => typeOf(each)).join(' | ')
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(words)) return words.map((each) => JSON.stringify(each)).join(' | ')
  if (Array.isArray(type))
    return type.map((each: string) => typeOf({ ...schema, type: each })).join(' | ')
  switch (type) {
    case 'array':
      return `readonly (${typeOf(items as Schema)})[]`
    case 'object':
      return properties === undefined ? 'object' : `{ ${fieldsOf(schema)} }`
    case 'integer':
      return 'number'
    default:
      return String(type)
  }
}

function fieldsOf({ properties, required }: Schema): string {
  const isThere = (name: string): boolean => (required as readonly string[]).includes(name)
  const fields = Object.entries(properties as Readonly<Record<string, Schema>>).map((each) => {
    const [name, schema] = each
    return `readonly ${name}${isThere(name) ? '' : '?'}: ${typeOf(schema)}`
  })
  return fields.join('; ')
}
