/**
 * The command `npm run servers [name…]`: brings the real servers that tests run, each unless it is
 * there: those of Kubernetes, built by Go, Kafka, fetched by Maven, the oldest Node that the
 * package runs on, fetched by npm, schemathesis, installed by pip, and the examples of consumers,
 * each installed by its language's own means.
 *
 * Exit codes: 0 all there, 2 an unknown name, 4 a tool is missing or a build failed.
 */
import { SERVERS } from '../cluster/binaries.ts'
import { buildUnlessThere } from '../cluster/build.ts'
import { installUnlessThere } from '../consumers/build.ts'
import { CONSUMERS } from '../consumers/consumer.ts'
import { installSchemathesisUnlessThere, SCHEMATHESIS } from '../fuzz-api/installed.ts'
import { fetchUnlessThere } from '../kafka/build.ts'
import { fetchOldestNodeUnlessThere } from '../package/node-22.ts'

process.exitCode = await bring(process.argv.slice(2))

async function bring(names: readonly string[]): Promise<number> {
  const steps = new Map<string, () => Promise<string | undefined>>([
    ...SERVERS.map((server) => [server.name, () => buildUnlessThere(server)] as const),
    ['kafka', fetchUnlessThere],
    ['node-22', fetchOldestNodeUnlessThere],
    [SCHEMATHESIS, installSchemathesisUnlessThere],
    ...CONSUMERS.map((consumer) => {
      return [`consumer-${consumer.language}`, () => installUnlessThere(consumer)] as const
    }),
  ])
  const unknown = names.filter((name) => !steps.has(name))
  if (unknown.length > 0) {
    const known = [...steps.keys()].join(', ')
    console.error(`No server is called ${unknown.join(' or ')}; there are ${known}.`)
    return 2
  }
  for (const [name, step] of steps) {
    if (names.length > 0 && !names.includes(name)) continue
    const failure = await step()
    if (failure === undefined) continue
    console.error(failure)
    return 4
  }
  return 0
}
