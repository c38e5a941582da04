/**
 * The command `npm run fuzz:api [-- --server URL] [--cases N]`: asks an endpoint by its own
 * /openapi.json, with N cases of each operation (60), or one that it starts. Do not ask one that
 * matters: orders are among the questions.
 *
 * Exit codes: 0 nothing was found, 1 something was, 2 wrong words or schemathesis is not installed.
 */
import { parseArgs } from 'node:util'
import { type FuzzedServer, fuzzAll, fuzzPermitted, serveStory } from './fuzz.ts'
import { missingSchemathesis } from './installed.ts'

process.exitCode = await run()

async function run(): Promise<number> {
  const missing = missingSchemathesis()
  if (missing !== undefined) {
    console.error(missing)
    return 2
  }
  const options = { server: { type: 'string' }, cases: { type: 'string', default: '60' } } as const
  const { values } = parseArgs({ options })
  const cases = Number(values.cases)
  if (!Number.isSafeInteger(cases) || cases < 1) {
    console.error(`--cases ${values.cases} is no number of cases`)
    return 2
  }
  await using server: FuzzedServer =
    values.server === undefined
      ? await serveStory()
      : { url: values.server.replace(/\/+$/, ''), [Symbol.asyncDispose]: async () => undefined }
  let failed = 0
  for (const ask of [fuzzAll, fuzzPermitted]) {
    const { code, output } = await ask(server.url, cases)
    console.log(output)
    if (code !== 0) failed += 1
  }
  return failed === 0 ? 0 : 1
}
