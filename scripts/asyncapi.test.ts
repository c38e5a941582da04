/**
 * docs/integrate/asyncapi.json is valid AsyncAPI 3, by the specification's own schema. That it is
 * current, pages.test.ts says.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { asyncApi } from './asyncapi-page.ts'

const require = createRequire(import.meta.url)

function complaints(document: unknown): readonly unknown[] {
  // The specification brings the meta schema along.
  const own = { meta: false, validateSchema: false }
  const ajv = new Ajv({ ...own, strict: false, allErrors: true, validateFormats: false })
  const validate = ajv.compile(require('@asyncapi/specs/schemas/3.0.0.json'))
  validate(document)
  return validate.errors ?? []
}

test('it is as the specification has it', () => {
  deepEqual(complaints(JSON.parse(asyncApi())), [])
})

test('a channel without its address is none', () => {
  const document = JSON.parse(asyncApi())
  document.channels.lineage.address = 7
  ok(complaints(document).length > 0)
})
