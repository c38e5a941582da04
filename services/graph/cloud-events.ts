/**
 * Headers of CloudEvents 1.0 (Kafka binding, binary mode) on what other programs read: `lineage`
 * and `history`.
 *
 * What must stay true: headers are added outside of the log, and the fold does not know them: key
 * and value are the same bytes as without them, so audits and digests are the same, too. An id is
 * made of the log position that caused the record and its object, so it is the same when the same
 * events are folded again, and never that of another record of one source. Names that users choose
 * make no header large.
 *
 * Not here: how a header is written (adapters/kafka/protocol/record-batch.ts), events for a webhook
 * (runtime/http/webhook.ts).
 */
import { POSITION_KEY } from '../../core/graph/key.ts'
import type { Coordinates } from '../../core/model/object.ts'
import type { Position } from '../../core/model/state.ts'
import type { Header, Log, Produced, TaskCommit, TaskLog, TopicBatch } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { PublicRecord } from '../../ports/record/lineage.ts'

/**
 * By the type of what it says; of a null value by what that says. Its number grows only when a
 * consumer of the former one would read it wrongly.
 */
export const CLOUD_EVENT_TYPE = {
  Lineage: 'dev.kinfold.lineage.v1',
  forgotten: 'dev.kinfold.lineage.forgotten.v1',
  History: 'dev.kinfold.history.v1',
} as const

export const CLOUD_EVENT_CONTENT_TYPE = 'application/vnd.apache.avro'

/** A longer one is left out: nothing but its users' names makes it long. */
const MAX_SUBJECT_BYTES = 1_024
/** Of Confluent's frame: its first byte, and what is before the body. */
const REGISTERED = 0
const REGISTERED_HEAD_BYTES = 5

export interface CloudEventParts {
  readonly codec: Codec
  /** Before the names of all topics. */
  readonly application: string
  /** URL of the schema registry; undefined: schemas have no address. */
  readonly registry: string | undefined
}

/** The same log, with the headers. */
export function withCloudEvents(log: Log, parts: CloudEventParts): Log {
  return {
    partitions: (topic) => log.partitions(topic),
    append: (topic, partition, records) => log.append(topic, partition, records),
    read: (topic, partition, from, options, signal) =>
      log.read(topic, partition, from, options, signal),
    bounds: (topic, partition) => log.bounds(topic, partition),
    end: (topic, partition) => log.end(topic, partition),
    wholeFrom: (topic, partition) => log.wholeFrom(topic, partition),
    latest: (topic, partition) => log.latest(topic, partition),
    loadPosition: (reader, topic, partition) => log.loadPosition(reader, topic, partition),
    savePosition: (reader, topic, partition, position) =>
      log.savePosition(reader, topic, partition, position),
    trim: (topic, partition, before) => log.trim(topic, partition, before),
    openTask: async (partition) => taskOf(await log.openTask(partition), parts),
    [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
  }
}

function taskOf(task: TaskLog, parts: CloudEventParts): TaskLog {
  return {
    partition: task.partition,
    fence: task.fence,
    commit: async (commit) => await task.commit(described(commit, task.partition, parts)),
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  }
}

function described(commit: TaskCommit, partition: number, parts: CloudEventParts): TaskCommit {
  const describe = new Describer(commit, partition, parts)
  const outputs = commit.outputs.map((batch): TopicBatch => {
    if (batch.topic !== 'lineage' && batch.topic !== 'history') return batch
    const records = batch.records.map((record) => ({ ...record, headers: describe.of(record) }))
    return { ...batch, records }
  })
  return { ...commit, outputs }
}

/** Of one commit. All that one event brings about is in one. */
class Describer {
  readonly #parts: CloudEventParts
  readonly #commit: TaskCommit
  readonly #partition: number
  /** Of each position and object how many entries of history are described. */
  readonly #entries = new Map<string, number>()

  constructor(commit: TaskCommit, partition: number, parts: CloudEventParts) {
    this.#commit = commit
    this.#partition = partition
    this.#parts = parts
  }

  of({ key, value }: Produced): readonly Header[] {
    if (value === null) {
      const id = `${this.#idOf(this.#end(), key)}/forgotten`
      return this.#headers(key, CLOUD_EVENT_TYPE.forgotten, id)
    }
    const record = this.#parts.codec.decode(value) as PublicRecord
    const at = this.#idOf(record.position, key)
    const id = record.type === 'History' ? `${at}/${this.#next(at)}` : at
    const subject = subjectOf(record)
    const schema = this.#schemaOf(value)
    return [
      ...this.#headers(key, CLOUD_EVENT_TYPE[record.type], id),
      ['ce_time', new Date(record.at).toISOString()],
      ...(subject.length > MAX_SUBJECT_BYTES ? [] : ([['ce_subject', subject]] as const)),
      ...(schema === undefined ? [] : ([['ce_dataschema', schema]] as const)),
      ['content-type', CLOUD_EVENT_CONTENT_TYPE],
    ]
  }

  #headers(key: string, type: string, id: string): Header[] {
    const [cluster = ''] = key.split('/', 1)
    const source = `/applications/${this.#parts.application}/clusters/${encoded(cluster)}`
    return [
      ['ce_specversion', '1.0'],
      ['ce_id', id],
      ['ce_source', source],
      ['ce_type', type],
    ]
  }

  #idOf(position: bigint, key: string): string {
    return `${this.#partition}-${position}/${encoded(key.slice(key.indexOf('/') + 1))}`
  }

  /** Those of one event and object come in their order. */
  #next(at: string): number {
    const next = this.#entries.get(at) ?? 0
    this.#entries.set(at, next + 1)
    return next
  }

  /**
   * Which event it was that an object was forgotten with, the commit does not say: it was before
   * this.
   */
  #end(): bigint {
    const last = this.#commit.changelog.findLast(({ key }) => key === POSITION_KEY)
    if (last?.value == null) throw new Error('a commit that forgets an object has no position')
    return (this.#parts.codec.decode(last.value) as Position).position
  }

  /** Where a registry has it. */
  #schemaOf(value: Uint8Array): string | undefined {
    const { registry } = this.#parts
    if (registry === undefined || value[0] !== REGISTERED) return undefined
    if (value.length < REGISTERED_HEAD_BYTES) return undefined
    const id = Buffer.from(value.buffer, value.byteOffset).readUInt32BE(1)
    return `${new URL(registry).href.replace(/\/$/, '')}/schemas/ids/${id}`
  }
}

/** `KIND[.GROUP]/[NAMESPACE/]NAME` */
function subjectOf({ group, kind, namespace, name }: Coordinates): string {
  const what = group === '' ? [kind] : [`${kind}.${group}`]
  return [...what, ...(namespace === '' ? [] : [namespace]), name].map(encoded).join('/')
}

/**
 * What is left is ASCII without blanks and slashes, so it is part of a URI, and no name reads as
 * two.
 */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
