/**
 * `npm run examples [DOCUMENT…]`: runs the commands of README.md and the pages of docs as they are
 * printed, each document against a playground of its own, and names those that cannot run there,
 * with the reason.
 *
 * Exit codes: 0 all documents are right, 1 one is not, 4 a server of the tests is missing.
 */
import { missingServers } from '../cluster/binaries.ts'
import { allExamples } from './example.ts'
import { whyNotRun } from './not-run.ts'
import { Stage } from './stage.ts'

process.exitCode = await runExamples(process.argv.slice(2))

async function runExamples(documents: readonly string[]): Promise<number> {
  const missing = missingServers('kubectl')
  if (missing !== undefined) {
    console.error(missing)
    return 4
  }
  const asked = allExamples().filter(({ document }) => {
    return documents.length === 0 || documents.includes(document)
  })
  const byDocument = Map.groupBy(asked, ({ document }) => document)
  let faults = 0
  for (const [document, examples] of byDocument) {
    const run = examples.filter((example) => whyNotRun(example) === undefined)
    await using stage = run.length === 0 ? null : await Stage.open(document)
    for (const example of run) {
      const fault = await stage?.fault(example)
      if (fault !== undefined) faults++
      console.log(`${document}:${example.line}  ${example.command}\n    ${fault ?? 'as printed'}`)
    }
  }
  const byReason = Map.groupBy(asked, (example) => whyNotRun(example) ?? '')
  for (const [why, { length }] of byReason) {
    if (why !== '') console.log(`not run, ${length}: ${why}`)
  }
  return faults === 0 ? 0 : 1
}
