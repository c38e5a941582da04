/**
 * Compares the answers of a real endpoint with the schemas of its OpenAPI document: strictly, so a
 * field that is not in it is a difference.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { openApi } from '../services/graph/api/openapi.ts'

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: object; readonly $ref?: string }>
  >
}

const DOCUMENT = JSON.parse(openApi()) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
const ROOT = 'https://kinfold.dev/openapi.json'

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
ajv.addSchema({ $id: ROOT, ...DOCUMENT })

/** The response, once it is compared. Text is not compared. */
export async function checked(
  url: string,
  response: Response,
  method: string = 'GET',
): Promise<Response> {
  const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
  if (type === 'application/problem+json') {
    checkedAs('Problem', await response.clone().json())
    return response
  }
  if (response.status >= 400 && type === 'application/json') {
    checkedAs('Status', await response.clone().json())
    return response
  }
  const pathname = pathOf(new URL(url).pathname)
  const operation = DOCUMENT.paths[pathname]?.[method.toLowerCase()]
  ok(operation !== undefined, `${method} ${pathname} is not in the document`)
  if (response.status !== 200) return response
  ok(Object.hasOwn(operation.responses[200]?.content ?? {}, type), `${url} answers ${type}`)
  if (type !== 'application/json' && type !== 'application/x-ndjson') return response
  const schema = schemaAt(
    ...['paths', pathname, method.toLowerCase(), 'responses', '200', 'content', type, 'schema'],
  )
  const text = await response.clone().text()
  const all = type === 'application/json' ? [text] : text.split('\n').filter((line) => line !== '')
  for (const each of all) compare(JSON.parse(each), schema, url)
  return response
}

/** As the document has it. */
function pathOf(pathname: string): string {
  const found = Object.keys(DOCUMENT.paths).find((path) => {
    return RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
  })
  return found ?? pathname
}

function schemaAt(...path: readonly string[]): string {
  const pointer = path.map((each) => each.replaceAll('~', '~0').replaceAll('/', '~1'))
  return `${ROOT}#/${pointer.map(encodeURIComponent).join('/')}`
}

/** A document that no server of a test answers. */
export function checkedAs(name: string, value: unknown): void {
  compare(value, schemaAt('components', 'schemas', name), name)
}

function compare(value: unknown, schema: string, what: string): void {
  const validate = ajv.getSchema(schema)
  ok(validate !== undefined, `no schema ${schema}`)
  const isRight = validate(value)
  const wrong = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`
  })
  deepEqual(isRight === true ? [] : wrong, [], `${what}: ${JSON.stringify(value).slice(0, 500)}`)
}
