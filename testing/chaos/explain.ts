/**
 * The diagnosis of a failed round: the services' reports about themselves and about the remaining
 * objects.
 */
import type { KinfoldServices, ServiceProcess } from '../process/kinfold-services.ts'
import type { Made } from '../process/objects.ts'

const LOG_LINES = 25
/** Of objects that are still there. */
const ASKED = 3

/** One text; a service that does not answer says so in it. */
export async function explain(services: KinfoldServices, left: readonly Made[]): Promise<string> {
  const asked = await Promise.all(
    left.slice(0, ASKED).map(async (made) => await why(services, made)),
  )
  const states = await Promise.all(services.all.map(stateOf))
  return [...asked, ...states].join('\n')
}

async function why(services: KinfoldServices, { uid, kind, name }: Made): Promise<string> {
  const answers = await Promise.all(
    services.of('graph').map((graph) => answerOf(graph, `/v1/why?uid=${encodeURIComponent(uid)}`)),
  )
  return `why ${kind.kind}/${name}:\n${answers.join('\n')}`
}

async function stateOf(process: ServiceProcess): Promise<string> {
  const ready = await answerOf(process, '/readyz?verbose')
  const counts = await answerOf(process, '/metrics')
  const backlog = counts.split('\n').filter((line) => /^kinfold_(commands|watch)_/.test(line))
  const log = await process.tail(LOG_LINES)
  return [`${process.name}:`, ready, ...backlog, ...log].join('\n')
}

async function answerOf(process: ServiceProcess, path: string): Promise<string> {
  try {
    return await (await process.ask(path)).text()
  } catch (error) {
    return `${process.name} did not answer: ${error}`
  }
}
