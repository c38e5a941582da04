/**
 * `kinfold audit follow`: sends what a topic's audit events say of deletions to a running Kinfold,
 * as they come, until it is stopped: AKS puts them into Event Hubs, which speak Kafka.
 *
 * What must stay true: its position is committed only after Kinfold has what was before it on its
 * log, so after any end it goes on with what was not: some twice, which counts once, none never. A
 * record that cannot be read stops nothing: it is said, and on Kinfold's log as a gap. So is what
 * the brokers removed before it was read. Of another cluster nothing is sent. The connection string
 * comes out of a file or the environment, and is printed nowhere.
 *
 * Not here: how a topic is read (adapters/kafka/foreign-topic.ts), events (audit-decoder.ts).
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { ForeignBatch } from '../../adapters/kafka/foreign-topic.ts'
import type { KafkaSettings } from '../../adapters/kafka/settings.ts'
import { systemClock } from '../../runtime/clock.ts'
import { checkSecret } from '../../runtime/file-access.ts'
import { Problem } from '../../runtime/http/problem.ts'
import { EXIT, stopSignal } from '../../runtime/lifecycle.ts'
import { AuditDecoder } from '../../services/graph/actors/audit-decoder.ts'
import { JsonError } from '../../services/graph/actors/json-projection.ts'
import { addConnectionOptions, type KafkaFlags, kafkaConfig } from '../config/kafka-config.ts'
import { bad } from '../config/setting.ts'
import { type ClientFlags, serversOf, withServer } from '../reach/client.ts'
import { SOURCE_HINT } from './audit-import.ts'
import { AuditSender, type Found } from './audit-sender.ts'

const ENVIRONMENT = 'KINFOLD_EVENTHUB_CONNECTION_STRING'
/** Event Hubs speak Kafka there. */
const EVENT_HUBS_PORT = 9093
/** Of what the brokers removed a time is said each five minutes, as gaps are kept. */
const GAP_MS = 300_000
/** So many of them: a hundred days. Brokers of Event Hubs keep ninety at most. */
const MOST_GAPS = 28_800

interface FollowFlags extends ClientFlags, KafkaFlags {
  readonly cluster?: string
  readonly source: string
  readonly group?: string
  readonly connectionStringFile?: string
}

export function addAuditFollow(audit: Command): void {
  const command = withServer(audit.command('follow'))
    .description(
      "read a cluster's audit log out of Event Hubs, or another Kafka, as it comes, and send who asked for deletions to a running kinfold; it resumes where it left off",
    )
    .argument('[hub]', 'event hub, or topic (default: EntityPath of the connection string)')
    .requiredOption('--source <id>', `${SOURCE_HINT}; records of others are left out`)
    .option('--cluster <c>', 'name or id of the cluster whose audit log it is')
    .option('--connection-string-file <file>', `of Event Hubs (default: $${ENVIRONMENT})`)
    .option(
      '--group <name>',
      'consumer group, one for each Kinfold that follows (default: kinfold-audit-, and a digest of the source)',
    )
  addConnectionOptions(command).action(async (hub: string | undefined, flags: FollowFlags) => {
    const { settings, topic } = placeOf(hub, flags)
    const { source, group = groupOf(source) } = flags
    const signal = stopSignal()
    const sender = new AuditSender(serversOf(flags), flags.cluster, {
      signal,
      onWait: (why) => say(`${why}; trying again, nothing is lost meanwhile`),
    })
    // Whether it may send at all is known before anything is read.
    await sender.end()
    const follower = new Follower(sender, source)
    say(`following ${topic} as group ${group}, until it is stopped`)
    const place = { settings, topic, group, clientId: 'kinfold-audit', clock: systemClock() }
    try {
      const { followTopic } = await import('../../adapters/kafka/foreign-topic.ts')
      await followTopic(place, async (batch) => await follower.take(batch), signal)
    } catch (error) {
      if (error !== signal.reason) throw error
    }
    process.stdout.write(`${follower.summary()}\n`)
    process.exitCode = EXIT.ok
  })
}

class Follower {
  readonly #sender: AuditSender
  readonly #source: string
  #received = 0
  #others = 0
  #unreadable = 0

  constructor(sender: AuditSender, source: string) {
    this.#sender = sender
    this.#source = source
  }

  /** Resolves when all of it is on Kinfold's log. */
  async take({ partition, records, lost }: ForeignBatch): Promise<void> {
    if (lost !== undefined) await this.#lost(partition, lost)
    for (const { offset, at, value } of records) {
      const found: Found[] = []
      const decoder = await this.#decoded(value, at, found)
      if (decoder.unreadable > 0 && this.#unreadable === 0) {
        say(
          `partition ${partition}, offset ${offset}: ${decoder.unreadable} of ${decoder.received} events cannot be read; Kinfold says the gap`,
        )
      }
      const isFirst = this.#received + this.#others === 0
      if (isFirst && decoder.otherSource !== undefined) {
        say(`records of ${decoder.otherSource} are left out: they are not of ${this.#source}`)
      }
      this.#received += decoder.received
      this.#others += decoder.others
      this.#unreadable += decoder.unreadable
      await this.#sender.add(found)
    }
    await this.#sender.sendWaiting()
  }

  summary(): string {
    const { sent, overShare, cluster } = this.#sender.counts()
    const parts = [
      `${this.#received} events${cluster === undefined ? '' : ` of cluster ${cluster}`} read`,
      `${sent} of them say who deleted something`,
      this.#unreadable > 0 && `${this.#unreadable} could not be read`,
      overShare > 0 && `${overShare} were above their users' shares of a day`,
      this.#others > 0 && `${this.#others} of other logs or clusters left out`,
    ]
    return parts.filter((part) => part !== false).join(', ')
  }

  /** A damaged record is no reason to stop: the exporter goes on writing after it. */
  async #decoded(value: Uint8Array, at: number, found: Found[]): Promise<AuditDecoder> {
    const decoder = new AuditDecoder(
      (each) => {
        if (each !== null) found.push(each.type === 'Actor' ? each : { ...each, at: each.at ?? at })
      },
      { source: this.#source },
    )
    try {
      for await (const _ of decoder.read(value));
      decoder.end()
    } catch (error) {
      if (!(error instanceof JsonError || error instanceof Problem)) throw error
      decoder.received += 1
      decoder.unreadable += 1
      found.push({ type: 'Unreadable', at, isWrapped: true })
    }
    return decoder
  }

  async #lost(partition: number, lost: NonNullable<ForeignBatch['lost']>): Promise<void> {
    const { from = lost.to, to } = lost
    say(
      `partition ${partition}: the brokers removed records of ${timeText(from)} to ${timeText(to)} before they were read; Kinfold says the gap`,
    )
    const begin = Math.max(from, to - MOST_GAPS * GAP_MS)
    for (let at = begin; at < to; at += GAP_MS) {
      await this.#sender.add([{ type: 'Unreadable', at, isWrapped: true }])
    }
    await this.#sender.add([{ type: 'Unreadable', at: to, isWrapped: true }])
  }
}

interface Place {
  readonly settings: KafkaSettings
  readonly topic: string
}

function placeOf(hub: string | undefined, flags: FollowFlags): Place {
  const secret = connectionString(flags)
  if (secret === undefined) {
    if (hub === undefined) throw bad('name the topic, or give a connection string')
    return { settings: kafkaConfig(flags, undefined, '').settings, topic: hub }
  }
  const given = (['sasl', 'saslUsername', 'saslPasswordFile', 'saslTokenFile'] as const).find(
    (key) => flags[key] !== undefined,
  )
  if (given !== undefined) throw bad(`--${given}: the connection string is the login: leave it out`)
  const { from, text } = secret
  const fields = new Map(text.split(';').map((part) => fieldOf(part)))
  const host = /^sb:\/\/([^/:\s]+)\/?$/.exec(fields.get('endpoint') ?? '')?.[1]
  const topic = hub ?? fields.get('entitypath')
  if (host === undefined || !fields.has('sharedaccesskey')) {
    throw bad(
      `${from} holds no connection string: expected Endpoint=sb://NAMESPACE.servicebus.windows.net/;SharedAccessKeyName=…;SharedAccessKey=…`,
    )
  }
  if (topic === undefined) throw bad(`name the event hub: ${from} has no EntityPath`)
  const brokers = flags.brokers ?? `${host}:${EVENT_HUBS_PORT}`
  const { settings } = kafkaConfig({ ...flags, brokers, tls: true }, undefined, '')
  const sasl = { mechanism: 'plain', username: '$ConnectionString', password: text } as const
  return { settings: { ...settings, sasl }, topic }
}

/** Keys are of any case; a key's value may have `=` in it. */
function fieldOf(part: string): [string, string] {
  const at = part.indexOf('=')
  return [part.slice(0, Math.max(at, 0)).trim().toLowerCase(), part.slice(at + 1).trim()]
}

function connectionString({
  connectionStringFile: file,
}: FollowFlags): { readonly from: string; readonly text: string } | undefined {
  if (file === undefined) {
    const text = process.env[ENVIRONMENT]?.trim()
    return text ? { from: `$${ENVIRONMENT}`, text } : undefined
  }
  try {
    const text = readFileSync(file, 'utf8').trim()
    checkSecret(file, '--connection-string-file')
    return { from: file, text }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    throw bad(`--connection-string-file ${file} cannot be read: ${error.message}`)
  }
}

/** Clusters may share a hub: each has all of it, so each is another group. */
function groupOf(source: string): string {
  const digest = createHash('sha256').update(source.toLowerCase()).digest('hex')
  return `kinfold-audit-${digest.slice(0, 12)}`
}

function timeText(at: number): string {
  return new Date(at).toISOString()
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
