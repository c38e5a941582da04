/**
 * `kinfold audit import`: sends what a cluster's audit log says of deletions to a running Kinfold, out of a file.
 *
 * What must stay true: no more is sent than is kept. What is read is read to its end or to the first line that is no audit event, which is named; what was sent before it
 * is kept, and may be sent again.
 *
 * Not here: what an event says (services/graph/actors/audit-event.ts), logs of clouds in formats of their own (docs/who.md).
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { Problem } from '../runtime/problem.ts'
import {
  API_VERSION,
  type Asked,
  askedBy,
  eventOf,
  eventsIn,
} from '../services/graph/actors/audit-event.ts'
import { AUDIT_PATH } from '../services/graph/api/route.ts'
import type { AuditEventsResult } from './answer.ts'
import {
  type ClientFlags,
  refusalOf,
  type Server,
  sendAnyway,
  serverOf,
  withServer,
} from './client.ts'

/** Events of one request: with all that an event may hold it stays below what is taken at once. */
const SENT_AT_ONCE = 100
/** A line may be a list. */
const LONGEST_LINE = 64 * 1024 * 1024

interface ImportFlags extends ClientFlags {
  readonly cluster?: string
}

export function addAuditImport(audit: Command): void {
  withServer(audit.command('import'))
    .description(
      "read a cluster's audit log, and send who asked for deletions to a running kinfold; what is sent twice counts once",
    )
    .argument(
      '<file>',
      'events of audit.k8s.io/v1, one a line, or an EventList; - is standard input',
    )
    .option('--cluster <c>', 'name or id of the cluster whose audit log it is')
    .action(async (file: string, flags: ImportFlags) => {
      const sender = new Sender(serverOf(flags), flags.cluster)
      let received = 0
      for await (const { asked, read } of eventsOfFile(file)) {
        received += read
        await sender.add(asked)
      }
      const { sent, cluster } = await sender.end()
      const where = cluster === undefined ? '' : ` of cluster ${cluster}`
      process.stdout.write(
        `${received} events${where} read, ${sent} of them say who deleted something\n`,
      )
      process.exitCode = EXIT.ok
    })
}

interface Read {
  readonly read: number
  readonly asked: readonly Asked[]
}

/** Of each line; or, where the file is one document of many lines, of that. */
async function* eventsOfFile(file: string): AsyncIterable<Read> {
  let number = 0
  let isDocument = false
  const whole: string[] = []
  let length = 0
  for await (const line of linesOf(file)) {
    number += 1
    // A document that is printed for people begins so; no event does.
    if (number === 1 && line.trim() === '{') isDocument = true
    if (isDocument) {
      length += line.length
      if (length > LONGEST_LINE)
        throw bad(`${file}: a document of more than 64 MiB: give one event a line`)
      whole.push(line)
    } else if (line.trim() !== '') yield eventsOf(line, `${file}: line ${number}`)
  }
  if (isDocument) yield eventsOf(whole.join('\n'), file)
}

function eventsOf(json: string, where: string): Read {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw bad(`${where}: no JSON; expected an event of ${API_VERSION}`)
  }
  try {
    const events = eventsIn(value)
    return { read: events.length, asked: events.flatMap(askedBy) }
  } catch (error) {
    if (error instanceof Problem) throw bad(`${where}: ${error.message}`)
    throw error
  }
}

async function* linesOf(file: string): AsyncIterable<string> {
  const input = file === '-' ? process.stdin : createReadStream(await readable(file))
  let rest = ''
  input.setEncoding('utf8')
  for await (const chunk of input as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LONGEST_LINE) throw bad(`${file}: a line of more than 64 MiB`)
    yield* lines
  }
  if (rest !== '') yield rest
}

async function readable(file: string): Promise<string> {
  try {
    if ((await stat(file)).isDirectory()) throw new Error('it is a directory')
    return file
  } catch (error) {
    throw bad(`${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

/** Sends as much at once as is taken, and waits as long as it is told to. */
class Sender {
  readonly #server: Server
  readonly #path: string
  #waiting: Asked[] = []
  #sent = 0
  #cluster: string | undefined

  constructor(server: Server, cluster: string | undefined) {
    this.#server = server
    const params = cluster === undefined ? '' : `?${new URLSearchParams({ cluster })}`
    this.#path = `${AUDIT_PATH}${params}`
  }

  async add(asked: readonly Asked[]): Promise<void> {
    this.#waiting.push(...asked)
    while (this.#waiting.length >= SENT_AT_ONCE) await this.#send()
  }

  /** Also where nothing is left: a cluster that is not known, or no right to it, is said in any case. */
  async end(): Promise<{ readonly sent: number; readonly cluster: string | undefined }> {
    await this.#send()
    return { sent: this.#sent, cluster: this.#cluster }
  }

  async #send(): Promise<void> {
    const items = this.#waiting.splice(0, SENT_AT_ONCE).map(eventOf)
    const body = JSON.stringify({ kind: 'EventList', apiVersion: API_VERSION, items })
    for (;;) {
      const response = await sendAnyway(this.#server, this.#path, body)
      if (response.ok) {
        const { kept, cluster } = (await response.json()) as AuditEventsResult
        this.#sent += kept
        this.#cluster = cluster.name
        return
      }
      const seconds = Number(response.headers.get('retry-after') ?? 0)
      if (response.status !== 429 || !(seconds > 0)) throw await refusalOf(response, this.#server)
      await response.body?.cancel()
      await setTimeout(seconds * 1_000)
    }
  }
}

function bad(message: string): ExitError {
  return new ExitError(EXIT.input, message)
}
