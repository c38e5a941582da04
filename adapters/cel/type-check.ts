/**
 * Checks the types of an expression by the library's checker, with what an expression may read as
 * its schema.
 *
 * What must stay true: the schema and the values of core/judge/expression.ts have the same types. A
 * declared field is a text, whatever it is in the API.
 */
import type { ASTNode, ParseResult, TypeCheckResult } from '@marcbachmann/cel-js'
import { Environment, ParseError } from '@marcbachmann/cel-js'
import { excerpt, placeOf, Refusal, refusal, sentence } from './refusal.ts'

const TIME = 'google.protobuf.Timestamp'
const DURATION = 'google.protobuf.Duration'
const OWNER = 'OwnerReference'

/** Nested, as the library wants it: the types of fields by their names. */
interface Schema {
  [name: string]: string | Schema
}

const METADATA: Schema = {
  name: 'string',
  namespace: 'string',
  uid: 'string',
  creationTimestamp: TIME,
  deletionTimestamp: TIME,
  labels: 'map<string, string>',
  annotations: 'map<string, string>',
  ownerReferences: `list<${OWNER}>`,
  finalizers: 'list<string>',
}
const OWNER_REFERENCE: Schema = {
  kind: 'string',
  name: 'string',
  uid: 'string',
  apiVersion: 'string',
  controller: 'bool',
}

/** Within the 4 KiB of a source, more than anybody writes by hand. */
const LIMITS = {
  maxAstNodes: 2_000,
  maxDepth: 64,
  maxListElements: 256,
  maxMapEntries: 1,
  maxCallArguments: 4,
}

/** One that knows the fields of an expression. */
export function environmentOf(fields: Iterable<string>): Environment {
  return new Environment({ limits: LIMITS })
    .registerType({ name: OWNER, schema: OWNER_REFERENCE })
    .registerVariable('now', TIME)
    .registerVariable('object', { schema: { metadata: METADATA, ...schemaOf(fields) } })
}

/** Throws where a field is one value and has fields, too. */
function schemaOf(fields: Iterable<string>): Schema {
  const schema = empty()
  for (const path of [...fields].sort()) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    names.reduce((at, name) => innerOf(at, name, path), schema)[last] = 'string'
  }
  return schema
}

function innerOf(outer: Schema, name: string, path: string): Schema {
  const inner = outer[name] ?? empty()
  if (typeof inner === 'string')
    throw new Refusal(
      `object.${path} is in a field that is read as a text: read either the text, or a field in it`,
    )
  outer[name] = inner
  return inner
}

/** Names are users' text, so it inherits none. */
function empty(): Schema {
  return Object.create(null)
}

export function checkTypes(parsed: ParseResult, source: string): void {
  const { valid, type, error } = parsed.check()
  if (!valid) throw new Refusal(typeSentence(error, source))
  if (type !== 'bool')
    throw refusal(
      parsed.ast as ASTNode,
      `is a ${plain(type ?? 'value')}`,
      'an expression is true or false, so compare it, as in int(object.spec.replicas) == 0',
    )
}

function typeSentence(error: TypeCheckResult['error'], source: string): string {
  if (error === undefined) return 'the expression has a wrong type'
  const { start, end } = error.range ?? { start: 0, end: source.length }
  const what = plain(error.summary)
  const found = excerpt(source.slice(start, end))
  const advice = /\bstring\b/.test(what) ? CONVERT : 'both sides of an operator have one type'
  return sentence(
    found,
    { input: source, range: { start } },
    `has a wrong type (${what}): ${advice}`,
  )
}

const CONVERT =
  'a field, label or annotation is a text until it is converted, as in int(object.spec.replicas) ' +
  'or timestamp(object.status.startTime)'

/** The library's names of types, shorter. */
function plain(text: string): string {
  return text.replaceAll(TIME, 'timestamp').replaceAll(DURATION, 'duration')
}

export function parseSentence(error: unknown, source: string): string {
  const isKnown = error instanceof ParseError
  if (!isKnown || error.code === 'limit_exceeded')
    return 'the expression is too long or nested too deeply: make it flatter, or two rules'
  const { summary, range } = error
  const what = summary.endsWith('EOF') ? 'it ends where something is expected' : summary
  return `the expression cannot be read at ${placeOf(source, range?.start ?? 0)}: ${what}`
}
