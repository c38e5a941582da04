/**
 * Shows that the commands which README.md and the pages of docs print work as they are printed, on
 * a playground, with the output that is shown; and that for each of the others a table says why it
 * is not run.
 */
import { equal, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { missingServers } from './cluster/binaries.ts'
import { allExamples } from './examples/example.ts'
import { whyNotRun } from './examples/not-run.ts'
import { Stage } from './examples/stage.ts'
import { NOT_RUN, SETTINGS } from './examples/table.ts'

const all = allExamples()
const run = all.filter((example) => whyNotRun(example) === undefined)
const byDocument = Map.groupBy(run, ({ document }) => document)

suite('the table of commands that are not run', () => {
  for (const [match, why] of NOT_RUN) {
    test(`needs its row ${match}`, () => {
      ok(all.some((example) => whyNotRun(example) === why))
    })
  }
  test('sets up no document that has nothing to run', () => {
    for (const document of Object.keys(SETTINGS)) ok(byDocument.has(document), document)
  })
})

const skip = missingServers('kubectl')

suite('the commands as they are printed', { skip: skip ?? false }, () => {
  for (const [document, examples] of byDocument) {
    test(`of ${document}`, async (context) => {
      await using stage = await Stage.open(document)
      for (const example of examples) {
        await context.test(`line ${example.line}: ${example.command}`, async () => {
          equal(await stage.fault(example), undefined)
        })
      }
    })
  }
})
