/**
 * The vectors of CEL's own specification, of which each that can be compiled here is evaluated.
 *
 * What must stay true: an answer differs only where it is listed, with the reason. The number of
 * vectors that are run is asserted, so that none is left out unseen.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js'
import { readTree } from '../../core/judge/expression/read-tree.ts'
import { evaluate } from '../../core/judge/expression.ts'
import { compileExpression } from './compile.ts'

interface Vector {
  readonly name: string
  readonly expr: string
  /** As the specification writes it: one of `boolValue`, `int64Value` and others. */
  readonly value?: Readonly<Record<string, unknown>>
  readonly isError: boolean
}

interface Suite {
  readonly name: string
  readonly suites?: readonly Suite[]
  readonly tests?: readonly { readonly original: Readonly<Record<string, unknown>> }[]
}

/** A vector with anything else has variables, messages or another container. */
const PLAIN: ReadonlySet<string> = new Set([
  'name',
  'description',
  'expr',
  'value',
  'evalError',
  'disableMacros',
])

const DIFFERENCES: ReadonlyMap<string, string> = new Map([
  // A duration is as long as the specification's message: 10,000 years, not 292 as in Go.
  ['sub_time_duration_over', 'a value'],
  ['sub_time_duration_under', 'a value'],
])

const EMPTY = {
  object: {
    name: '',
    namespace: '',
    uid: '',
    createdAt: null,
    deletedAt: null,
    finalizers: [],
    ownerReferences: [],
    labels: [],
    annotations: [],
  },
  fields: new Map<string, string>(),
}

function vectorsOf(suite: Suite): readonly Vector[] {
  const own = (suite.tests ?? []).flatMap(({ original }) => {
    const { name, expr, value, evalError } = original
    if (Object.keys(original).some((key) => !PLAIN.has(key)) || typeof expr !== 'string') return []
    const vector = { name: String(name), expr, isError: evalError !== undefined }
    return [value === undefined ? vector : { ...vector, value: value as Vector['value'] & object }]
  })
  return [...own, ...(suite.suites ?? []).flatMap(vectorsOf)]
}

/** What is true when the vector holds; undefined for a type that an expression does not have. */
function claimOf({ expr, value, isError }: Vector): string | undefined {
  if (value === undefined) return !isError || isCompiled(expr) ? expr : `(${expr}) == (${expr})`
  const literal = literalOf(value)
  return literal === undefined ? undefined : `(${expr}) == ${literal}`
}

function literalOf(value: Readonly<Record<string, unknown>>): string | undefined {
  const { boolValue, int64Value, doubleValue, stringValue } = value
  if (boolValue !== undefined || int64Value !== undefined) return String(boolValue ?? int64Value)
  if (doubleValue !== undefined) return `double("${doubleValue}")`
  return stringValue === undefined ? undefined : JSON.stringify(stringValue)
}

function isCompiled(source: string): boolean {
  return compileExpression(source).type === 'Compiled'
}

test('each vector of the specification that can be compiled has its value', () => {
  let run = 0
  for (const vector of vectorsOf(conformance as Suite)) {
    const claim = claimOf(vector)
    const compilation = claim === undefined ? undefined : compileExpression(claim)
    if (compilation?.type !== 'Compiled') continue
    const tree = readTree(compilation.expression.tree)
    assert.ok(tree)
    const answer = evaluate(tree, EMPTY, 0)
    const isAsSaid = vector.isError ? typeof answer === 'object' : answer === true
    const isListed = DIFFERENCES.has(vector.name)
    assert.equal(isAsSaid, !isListed, `${vector.name}: ${claim} is ${JSON.stringify(answer)}`)
    run++
  }
  assert.equal(run, 355)
})
