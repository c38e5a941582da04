/**
 * `kinfold audit import`: sends what a cluster's audit log says of deletions to a running Kinfold,
 * out of a file, or out of a pipe that does not end.
 *
 * What must stay true: no more is sent than is kept, and no more is held than is sent at once,
 * however long the file, a line or an event is. It is read to its end or to the first line that is
 * no audit event, which is named; what was before it is kept, and may be sent again. Of what a
 * cloud wraps the rest is read as well, and what could not be read is said in the end. What a pipe
 * has brought is sent before more of it is read, and it waits for a Kinfold that restarts.
 *
 * Not here: how it is read (services/graph/actors/audit-decoder.ts), how it is sent
 * (audit-sender.ts).
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Command, Option } from 'commander'
import { Problem } from '../../runtime/http/problem.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import {
  AuditDecoder,
  FORMATS,
  type Format,
  NO_EVENT,
  type Unreadable,
} from '../../services/graph/actors/audit-decoder.ts'
import { API_VERSION, type Asked } from '../../services/graph/actors/audit-event.ts'
import { JsonError } from '../../services/graph/actors/json-projection.ts'
import { type ClientFlags, serversOf, withServer } from '../reach/client.ts'
import { AuditSender } from './audit-sender.ts'

const PIPE = '-'
/** The command ends with the pipe, or when the user stops it. */
const NEVER = new AbortController().signal

interface ImportFlags extends ClientFlags {
  readonly cluster?: string
  readonly format?: Format
  readonly source?: string
}

/** What `--source` takes: as each cloud names a cluster. */
export const SOURCE_HINT =
  'what the cloud calls the cluster: an AKS resource id, PROJECT/LOCATION/CLUSTER of GKE, or a log group of EKS'

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
    .option('--source <id>', `${SOURCE_HINT}; entries of others are left out`)
    .action(async (file: string, flags: ImportFlags) => {
      const sender = new AuditSender(serversOf(flags), flags.cluster)
      if (file === PIPE) await waitOnwards(sender)
      const log = await sendAll(file, flags, sender)
      const { sent, overShare, cluster } = await sender.end()
      const where = cluster === undefined ? '' : ` of cluster ${cluster}`
      process.stdout.write(
        `${log.received} events${where} read${formatText(log)}, ${sent} of them say who deleted something\n`,
      )
      if (log.others > 0)
        process.stderr.write(`${log.others} entries of other logs or clusters left out\n`)
      if (overShare > 0) process.stderr.write(`${overShareText(overShare)}\n`)
      if (log.unreadable > 0) throw bad(`${file}: ${unreadableText(log)}`)
      process.exitCode = EXIT.ok
    })
}

/**
 * Whether it may send at all is known before anything is read; then no restart of Kinfold ends it.
 */
async function waitOnwards(sender: AuditSender): Promise<void> {
  await sender.end()
  sender.waitFromNowOn({
    signal: NEVER,
    onWait: (why) => process.stderr.write(`${why}; waiting for it, nothing is lost meanwhile\n`),
  })
}

/** As events of an API server nothing has to be said. */
function formatText({ formats }: AuditDecoder): string {
  const clouds = [...formats].filter((format) => format !== 'events')
  return clouds.length === 0 ? '' : `, in the format of ${[...formats].join(' and ')}`
}

function unreadableText({ unreadable, firstUnreadable }: AuditDecoder): string {
  return `${unreadable} of them could not be read, the first in line ${firstUnreadable}: names may be missing; all others were sent`
}

function overShareText(count: number): string {
  return `${count} more were above their users' shares of a day and are not kept: import the file again a day later, what is kept counts once`
}

async function sendAll(
  file: string,
  { format, source }: ImportFlags,
  to: AuditSender,
): Promise<AuditDecoder> {
  const found: Asked[] = []
  const take = (each: Asked | Unreadable | null): void => {
    if (each?.type === 'Actor') found.push(each)
    if (each?.type !== 'Unreadable' || each.isWrapped) return
    throw new Problem(400, `event ${log.received} ${NO_EVENT}`)
  }
  const log = new AuditDecoder(take, { only: format, source })
  try {
    for await (const bytes of inputOf(file)) {
      for await (const _ of log.read(bytes)) await to.add(found.splice(0))
      if (file === PIPE) await to.sendWaiting()
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
  const input = file === PIPE ? process.stdin : createReadStream(await readable(file))
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

function bad(message: string): ExitError {
  return new ExitError(EXIT.input, message)
}
