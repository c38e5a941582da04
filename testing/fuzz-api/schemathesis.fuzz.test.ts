/**
 * Whatever the endpoint is asked by its own OpenAPI document, its answer is one that the document
 * has; and a document that promises something else is found out.
 */
import { equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { openApi } from '../../services/graph/api/openapi.ts'
import { runs } from '../hostile.ts'
import { type FuzzedServer, fuzz, fuzzAll, fuzzPermitted, serveStory } from './fuzz.ts'
import { missingSchemathesis } from './installed.ts'

suite('schemathesis', { skip: missingSchemathesis() ?? false }, () => {
  let server: FuzzedServer
  let folder: string

  before(async () => {
    server = await serveStory()
    folder = mkdtempSync(join(tmpdir(), 'kinfold-fuzz-test-'))
  })
  after(async () => {
    await server?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('finds no answer to a question, permitted or not, that the document does not have', async () => {
    const { code, output } = await fuzzAll(server.url, runs(10).numRuns)
    equal(code, 0, output)
    match(output, /\d{3,} generated, \d{3,} passed/)
  })

  test('finds none to questions about objects that are there, either', async () => {
    const { code, output } = await fuzzPermitted(server.url, runs(30).numRuns)
    equal(code, 0, output)
  })

  for (const [lie, from, to] of [
    ['an answer of another shape', '"$ref": "#/components/schemas/Held"', '"type": "array"'],
    ['another content type', '"text/vnd.graphviz"', '"text/csv"'],
  ] as const) {
    test(`finds ${lie}`, async () => {
      const document = join(folder, 'lie.json')
      const text = openApi()
      equal(text.split(from).length, 2)
      writeFileSync(document, text.replace(from, to))
      const flags = ['--include-path', '/v1/held', '--include-path', '/debug/graph']
      const { code, output } = await fuzz({ url: server.url, document, cases: 3, flags })
      equal(code, 1, output)
    })
  }
})
