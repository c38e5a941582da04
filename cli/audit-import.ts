/**
 * `kinfold audit import`: sends what a cluster's audit log says of deletions to a running Kinfold,
 * out of a file.
 *
 * What must stay true: no more is sent than is kept, and no more is held than is sent at once,
 * however long the file, a line or an event is. It is read to its end or to the first line that is
 * no audit event, which is named; what was before it is kept, and may be sent again.
 *
 * Not here: what an event says (services/graph/actors/audit-event.ts), logs of clouds in formats of
 * their own (docs/who.md).
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { Problem } from '../runtime/problem.ts'
import { API_VERSION, type Asked, eventOf } from '../services/graph/actors/audit-event.ts'
import { AuditReader, NO_EVENT } from '../services/graph/actors/audit-reader.ts'
import { JsonError } from '../services/graph/actors/json-projection.ts'
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

/** Events of one request. */
const SENT_AT_ONCE = 100

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
      const received = await sendAll(file, sender)
      const { sent, overShare, cluster } = await sender.end()
      const where = cluster === undefined ? '' : ` of cluster ${cluster}`
      process.stdout.write(
        `${received} events${where} read, ${sent} of them say who deleted something\n`,
      )
      if (overShare > 0) process.stderr.write(`${overShareText(overShare)}\n`)
      process.exitCode = EXIT.ok
    })
}

function overShareText(count: number): string {
  return `${count} more were above their users' shares of a day and are not kept: import the file again a day later, what is kept counts once`
}

/** How many events there were. */
async function sendAll(file: string, sender: Sender): Promise<number> {
  const found: Asked[] = []
  const reader = new AuditReader((asked) => {
    if (asked === undefined) throw new Problem(400, `event ${reader.index} ${NO_EVENT}`)
    if (asked !== null) found.push(asked)
  })
  const input = file === '-' ? process.stdin : createReadStream(await readable(file))
  try {
    for await (const bytes of input as AsyncIterable<Uint8Array>) {
      reader.push(bytes)
      await sender.add(found.splice(0))
    }
    reader.end()
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof Problem)) throw error
    await sender.add(found.splice(0))
    await sender.end()
    const isJson = !(error instanceof JsonError)
    const why = isJson ? error.message : `no JSON; expected an event of ${API_VERSION}`
    throw bad(`${file}: line ${reader.line}: ${why}`)
  }
  return reader.received
}

async function readable(file: string): Promise<string> {
  try {
    if ((await stat(file)).isDirectory()) throw new Error('it is a directory')
    return file
  } catch (error) {
    throw bad(`${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

interface Sent {
  readonly sent: number
  readonly overShare: number
  readonly cluster: string | undefined
}

/** Sends as much at once as is taken, and waits as long as it is told to. */
class Sender {
  readonly #server: Server
  readonly #path: string
  #waiting: Asked[] = []
  #sent = 0
  #overShare = 0
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
  async end(): Promise<Sent> {
    await this.#send()
    return { sent: this.#sent, overShare: this.#overShare, cluster: this.#cluster }
  }

  async #send(): Promise<void> {
    const items = this.#waiting.splice(0, SENT_AT_ONCE).map(eventOf)
    const body = JSON.stringify({ kind: 'EventList', apiVersion: API_VERSION, items })
    for (;;) {
      const response = await sendAnyway(this.#server, this.#path, body)
      if (response.ok) {
        const { kept, overShare, cluster } = (await response.json()) as AuditEventsResult
        this.#sent += kept
        this.#overShare += overShare
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
