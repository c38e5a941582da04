/**
 * `kinfold audit import`: sends what a cluster's audit log says of deletions to a running Kinfold,
 * out of a file, or out of a pipe that does not end.
 *
 * What must stay true: no more is sent than is kept, and no more is held than is sent at once,
 * however long the file, a line or an event is. It is read to its end or to the first line that is
 * no audit event, which is named; what was before it is kept, and may be sent again. Of what a cloud
 * wraps the rest is read as well, and what could not be read is said in the end. What a pipe has
 * brought is sent before more of it is read.
 *
 * Not here: what an event says (services/graph/actors/audit-event.ts), how clouds wrap it
 * (services/graph/actors/cloud-log.ts).
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { type Command, Option } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import { Problem } from '../runtime/problem.ts'
import { API_VERSION, type Asked, eventOf } from '../services/graph/actors/audit-event.ts'
import { CloudLog, FORMATS, type Format } from '../services/graph/actors/cloud-log.ts'
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
  readonly format?: Format
}

export function addAuditImport(audit: Command): void {
  withServer(audit.command('import'))
    .description(
      "read a cluster's audit log, and send who asked for deletions to a running kinfold; what is sent twice counts once",
    )
    .argument(
      '<file>',
      'events of audit.k8s.io/v1, or what EKS, GKE or AKS export, also in gzip; - is standard input, sent as it comes',
    )
    .option('--cluster <c>', 'name or id of the cluster whose audit log it is')
    .addOption(
      new Option('--format <format>', 'of the file (default: as it looks)').choices(FORMATS),
    )
    .action(async (file: string, flags: ImportFlags) => {
      const sender = new Sender(serverOf(flags), flags.cluster)
      const log = await sendAll(file, flags.format, sender)
      const { sent, overShare, cluster } = await sender.end()
      const where = cluster === undefined ? '' : ` of cluster ${cluster}`
      process.stdout.write(
        `${log.received} events${where} read${formatText(log)}, ${sent} of them say who deleted something\n`,
      )
      if (log.others > 0) process.stderr.write(`${log.others} entries of other logs left out\n`)
      if (overShare > 0) process.stderr.write(`${overShareText(overShare)}\n`)
      if (log.unreadable > 0) throw bad(`${file}: ${unreadableText(log)}`)
      process.exitCode = EXIT.ok
    })
}

/** As events of an API server nothing has to be said. */
function formatText({ formats }: CloudLog): string {
  const clouds = [...formats].filter((format) => format !== 'events')
  return clouds.length === 0 ? '' : `, in the format of ${[...formats].join(' and ')}`
}

function unreadableText({ unreadable, firstUnreadable }: CloudLog): string {
  return `${unreadable} of them could not be read, the first in line ${firstUnreadable}: names may be missing; all others were sent`
}

function overShareText(count: number): string {
  return `${count} more were above their users' shares of a day and are not kept: import the file again a day later, what is kept counts once`
}

async function sendAll(file: string, format: Format | undefined, to: Sender): Promise<CloudLog> {
  const found: Asked[] = []
  const log = new CloudLog((asked) => found.push(asked), format)
  try {
    for await (const bytes of inputOf(file)) {
      log.push(bytes)
      await to.add(found.splice(0))
      if (file === '-') await to.sendWaiting()
    }
    log.end()
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof Problem || isOfGzip(error))) throw error
    await to.add(found.splice(0))
    await to.end()
    const isJson = error instanceof Problem
    const why = isJson
      ? error.message
      : isOfGzip(error)
        ? `the gzip is damaged: ${error.message}`
        : `no JSON; expected an event of ${API_VERSION}`
    throw bad(`${file}: line ${log.line}: ${why}`)
  }
  return log
}

/** Decompressed, where it begins as gzip does. */
async function* inputOf(file: string): AsyncIterable<Uint8Array> {
  const input = file === '-' ? process.stdin : createReadStream(await readable(file))
  const parts = (input as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  const first = await parts.next()
  if (first.done === true) return
  const rest = (async function* () {
    yield first.value
    yield* { [Symbol.asyncIterator]: () => parts }
  })()
  if (first.value[0] !== 0x1f || first.value[1] !== 0x8b) {
    yield* rest
    return
  }
  const unpacked = createGunzip()
  const packed = Readable.from(rest).once('error', (error) => unpacked.destroy(error))
  yield* packed.pipe(unpacked) as AsyncIterable<Uint8Array>
}

function isOfGzip(error: unknown): error is Error {
  return error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('Z_')
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

  async sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) await this.#send()
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
      const isLater = response.status === 429 || response.status === 503
      if (!isLater || !(seconds > 0)) throw await refusalOf(response, this.#server)
      await response.body?.cancel()
      await setTimeout(seconds * 1_000)
    }
  }
}

function bad(message: string): ExitError {
  return new ExitError(EXIT.input, message)
}
