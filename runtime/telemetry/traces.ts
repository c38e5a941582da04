/**
 * Spans of what passes through the log: an event that was read and appended, the fold of a commit,
 * each command, what the reaper made of it, and its calls.
 *
 * What must stay true: it stands around the log, and the services in it do not know of it. Every
 * record has the key and value that it has without; nothing here waits, and no failure in here
 * leaves here. What it remembers is bounded: what is forgotten costs a link, and no more.
 *
 * Scenario: an event's own span is the beginning of a trace, which its record carries. A commit
 * takes many events at once, so its span is linked to them, 32 at most, and lies in the trace of
 * the first; a command continues the trace of the very event that it was decided by, which is in
 * its id, and is linked to the fold. The result of a command carries its trace on.
 *
 * Not here: where spans go (otlp.ts), their names (attribute.ts).
 */
import {
  type Attributes,
  INVALID_SPAN_CONTEXT,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Clock } from '../../ports/clock.ts'
import type {
  Appending,
  Entry,
  Log,
  Produced,
  TaskCommit,
  TaskLog,
  TopicBatch,
} from '../../ports/log.ts'
import type { Codec, Writable } from '../../ports/record/codec.ts'
import { ATTRIBUTE, SPAN } from './attribute.ts'
import { BoundedMap } from './bounded-map.ts'
import type { ObservedCall } from './observed-cluster.ts'
import { isSampled, traceOf, traceText } from './trace-context.ts'

/** Of one span. */
export const MOST_LINKS = 32
/** Events read and not folded; several readers may read the same. */
const MOST_SEEN = 16_384
/**
 * Commands read and not settled: more than the windows of a reaper's partitions hold together in
 * any but the worst of times.
 */
const MOST_REAPING = 16_384

export interface TracesParts {
  readonly tracer: Tracer
  readonly codec: Codec
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>
}

/** Of a partition, since its last commit. */
interface Folding {
  readonly beganAt: number
  /** Of the events that have one, by their offsets. */
  readonly traces: Map<bigint, SpanContext>
}

interface Reaping {
  readonly verb: string
  readonly span: Span
}

type Decoded<T extends Writable['type']> = Extract<Writable, { readonly type: T }>

export class Traces {
  readonly #parts: TracesParts
  readonly #seen = new BoundedMap<string, SpanContext>(MOST_SEEN)
  readonly #folding = new Map<number, Folding>()
  readonly #reaping = new BoundedMap<string, Reaping>(MOST_REAPING)
  /** The same record is appended again when the log was not there: it stays in its trace. */
  readonly #records = new WeakMap<Appending, Span>()

  constructor(parts: TracesParts) {
    this.#parts = parts
  }

  /** The task calls it for each event that it folded. */
  readonly folded = (
    _event: unknown,
    at: { readonly partition: number; readonly position: bigint },
  ): void => {
    const key = `${at.partition}/${at.position}`
    const seen = this.#seen.get(key)
    if (seen === undefined) return
    this.#seen.delete(key)
    let folding = this.#folding.get(at.partition)
    if (folding === undefined) {
      folding = { beganAt: this.#parts.clock.now(), traces: new Map() }
      this.#folding.set(at.partition, folding)
    }
    folding.traces.set(at.position, seen)
  }

  /** To be called for each call of the reaper, once it was answered. */
  readonly called = (call: ObservedCall): void => {
    const reaping = call.auditId === undefined ? undefined : this.#reaping.get(call.auditId)
    if (reaping === undefined || !reaping.span.isRecording()) return
    const { cluster, verb, group, resource, outcome, code, tookMs } = call
    const nowMs = this.#parts.clock.now()
    const span = this.#start(`${SPAN.call} ${verb}`, reaping.span.spanContext(), {
      kind: SpanKind.CLIENT,
      startTime: nowMs - tookMs,
      attributes: {
        [ATTRIBUTE.cluster]: cluster,
        [ATTRIBUTE.method]: verb,
        [ATTRIBUTE.group]: group,
        [ATTRIBUTE.resource]: resource,
        [ATTRIBUTE.outcome]: outcome,
        ...(code !== null && { [ATTRIBUTE.code]: code }),
      },
    })
    if (outcome === 'Unknown') span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(nowMs)
  }

  /** The same log, with traces. */
  log(log: Log): Log {
    return {
      partitions: (topic) => log.partitions(topic),
      append: async (topic, partition, records) => {
        if (topic !== 'events') return await log.append(topic, partition, records)
        return await this.#append(partition, records, (traced) =>
          log.append(topic, partition, traced),
        )
      },
      read: async (topic, partition, from, options, signal) => {
        const page = await log.read(topic, partition, from, options, signal)
        if (topic === 'events') this.#sawEvents(partition, page.entries)
        if (topic === 'commands') this.#sawCommands(page.entries)
        return page
      },
      bounds: (topic, partition) => log.bounds(topic, partition),
      end: (topic, partition) => log.end(topic, partition),
      wholeFrom: (topic, partition) => log.wholeFrom(topic, partition),
      latest: (topic, partition) => log.latest(topic, partition),
      loadPosition: (reader, topic, partition) => log.loadPosition(reader, topic, partition),
      savePosition: (reader, topic, partition, position) =>
        log.savePosition(reader, topic, partition, position),
      trim: (topic, partition, before) => log.trim(topic, partition, before),
      openTask: async (partition) => {
        const task = await log.openTask(partition)
        // What a predecessor folded and did not commit is folded again.
        this.#folding.delete(partition)
        return this.#task(task)
      },
      [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
    }
  }

  async #append(
    partition: number,
    records: readonly Appending[],
    append: (traced: readonly Appending[]) => Promise<bigint>,
  ): Promise<bigint> {
    const spans = records.map((record) => this.#spanOf(record))
    const traced = records.map((record, index) => withTrace(record, spans[index]))
    const contexts = spans.flatMap((span) => (span?.isRecording() ? [span.spanContext()] : []))
    const [first, ...others] = contexts
    const attributes = { [ATTRIBUTE.partition]: partition, [ATTRIBUTE.records]: records.length }
    const span =
      first &&
      this.#start(SPAN.append, first, {
        kind: SpanKind.CLIENT,
        attributes,
        links: linksTo(others),
      })
    return await ended(span, async () => {
      const offset = await append(traced)
      for (const [index, each] of spans.entries()) this.#appended(records[index]!, each)
      return offset
    })
  }

  /** What the record is about: an event that was read, or the result of a command. */
  #spanOf(record: Appending): Span | undefined {
    const known = this.#records.get(record)
    if (known !== undefined) return known
    const span =
      record.seenMs !== undefined
        ? this.#watched(record, record.seenMs)
        : this.#reaping.size === 0
          ? undefined
          : this.#settledBy(record)
    if (span !== undefined) this.#records.set(record, span)
    return span
  }

  #watched(record: Appending, seenMs: number): Span {
    const { clock } = this.#parts
    const startTime = clock.now() - Math.max(0, clock.monotonicMs() - seenMs)
    const span = this.#start(SPAN.watch, undefined, { kind: SpanKind.PRODUCER, startTime })
    if (span.isRecording()) span.setAttributes(this.#aboutEvent(record))
    return span
  }

  #aboutEvent(record: Produced): Attributes {
    const event = this.#decoded(record)
    switch (event?.type) {
      case 'ObjectAdded':
      case 'ObjectUpdated':
      case 'ObjectEdited':
      case 'ObjectDeleted':
        return {
          [ATTRIBUTE.eventType]: event.type,
          [ATTRIBUTE.cluster]: event.cluster,
          ...aboutObject(event.object),
        }
      default:
        return {}
    }
  }

  #settledBy(record: Produced): Span | undefined {
    const result = this.#decoded(record)
    return result !== undefined && isResult(result)
      ? this.#reaping.get(result.command)?.span
      : undefined
  }

  /** It is on the log: its own span is over. */
  #appended(record: Appending, span: Span | undefined): void {
    if (span === undefined) return
    this.#records.delete(record)
    if (record.seenMs !== undefined) return span.end()
    const result = this.#decoded(record)
    if (result === undefined || !isResult(result)) return
    const verb = this.#reaping.get(result.command)?.verb
    // An owner may be found on the way of another command, which goes on.
    if (result.type !== 'CommandSettled' && verb !== 'VerifyOwner') return
    this.#reaping.delete(result.command)
    if (result.type === 'CommandSettled') {
      const { outcome, reason, code } = result
      span.setAttributes({
        [ATTRIBUTE.result]: outcome,
        ...(reason !== '' && { [ATTRIBUTE.reason]: reason }),
        ...(code !== null && { [ATTRIBUTE.code]: code }),
      })
      if (outcome === 'blocked') span.setStatus({ code: SpanStatusCode.ERROR })
    } else {
      span.setAttribute(ATTRIBUTE.result, result.type === 'OwnerFound' ? 'found' : 'absent')
    }
    span.end()
  }

  #sawEvents(partition: number, entries: readonly Entry[]): void {
    for (const { offset, trace: text } of entries) {
      const context = traceOf(text)
      if (context !== undefined) this.#seen.set(`${partition}/${offset}`, context)
    }
  }

  #sawCommands(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const context = traceOf(entry.trace)
      if (context === undefined) continue
      const command = this.#decoded(entry)
      if (command === undefined || !isCommand(command)) continue
      if (this.#reaping.get(command.id) !== undefined) continue
      const span = this.#start(`${SPAN.reap} ${command.type}`, context, {
        kind: SpanKind.CONSUMER,
        attributes: aboutCommand(command),
      })
      this.#reaping.set(command.id, { verb: command.type, span })
    }
  }

  #task(task: TaskLog): TaskLog {
    return {
      partition: task.partition,
      fence: task.fence,
      commit: async (commit) => await this.#commit(task, commit),
      [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
    }
  }

  async #commit(task: TaskLog, commit: TaskCommit): Promise<bigint> {
    const { partition } = task
    const folding = this.#folding.get(partition)
    this.#folding.delete(partition)
    const commands = commit.outputs
      .filter(({ topic }) => topic === 'commands')
      .reduce((sum, { records }) => sum + records.length, 0)
    if (folding === undefined && commands === 0) return await task.commit(commit)
    const contexts = [...(folding?.traces.values() ?? [])]
    const sampled = contexts.filter(isSampled)
    const fold = this.#start(SPAN.fold, sampled[0] ?? contexts[0], {
      kind: SpanKind.CONSUMER,
      links: linksTo(sampled),
      attributes: {
        [ATTRIBUTE.partition]: partition,
        [ATTRIBUTE.commands]: commands,
        [ATTRIBUTE.unlinked]: Math.max(0, sampled.length - MOST_LINKS),
      },
      ...(folding !== undefined && { startTime: folding.beganAt }),
    })
    const issued: Span[] = []
    const outputs = commit.outputs.map((batch): TopicBatch => {
      if (batch.topic !== 'commands') return batch
      const records = batch.records.map((record) => {
        const span = this.#issued(record, fold.spanContext(), folding)
        issued.push(span)
        return withTrace(record, span)
      })
      return { ...batch, records }
    })
    return await ended(fold, async () => {
      try {
        return await task.commit({ ...commit, outputs })
      } finally {
        for (const span of issued) span.end()
      }
    })
  }

  #issued(record: Produced, fold: SpanContext, folding: Folding | undefined): Span {
    const decoded = this.#decoded(record)
    const command = decoded !== undefined && isCommand(decoded) ? decoded : undefined
    const offset = command === undefined ? undefined : offsetIn(command.id)
    const cause = offset === undefined ? undefined : folding?.traces.get(offset)
    return this.#start(`${SPAN.command} ${command?.type ?? 'unknown'}`, cause ?? fold, {
      kind: SpanKind.PRODUCER,
      links: linksTo([fold]),
      attributes: command === undefined ? {} : aboutCommand(command),
    })
  }

  #start(name: string, parent: SpanContext | undefined, options: StartOptions): Span {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
    const startTime = options.startTime ?? this.#parts.clock.now()
    try {
      return this.#parts.tracer.startSpan(name, { ...options, startTime }, context)
    } catch {
      return trace.wrapSpanContext(INVALID_SPAN_CONTEXT)
    }
  }

  /** Undefined for what cannot be decoded; the parts whose work it is report that. */
  #decoded({ value }: Produced): Writable | undefined {
    if (value === null) return undefined
    try {
      return this.#parts.codec.decode(value)
    } catch {
      return undefined
    }
  }
}

interface StartOptions {
  readonly kind: SpanKind
  readonly startTime?: number
  readonly attributes?: Attributes
  readonly links?: Link[]
}

/** Ends with the work, which comes to what it would. */
async function ended<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    span?.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span?.end()
  }
}

function withTrace<R extends Produced>(record: R, span: Span | undefined): R {
  const context = span?.spanContext()
  if (context === undefined || !trace.isSpanContextValid(context)) return record
  return { ...record, trace: traceText(context) }
}

function linksTo(contexts: readonly SpanContext[]): Link[] {
  return contexts
    .filter(isSampled)
    .slice(0, MOST_LINKS)
    .map((context) => ({ context }))
}

type Command = Decoded<
  | 'DeleteObject'
  | 'AnnotateObject'
  | 'OrphanDependent'
  | 'RemoveFinalizer'
  | 'VerifyOwner'
  | 'WarnObject'
>
type Result = Decoded<'CommandSettled' | 'OwnerFound' | 'OwnerAbsent'>

function isCommand(record: Writable): record is Command {
  switch (record.type) {
    case 'DeleteObject':
    case 'AnnotateObject':
    case 'OrphanDependent':
    case 'RemoveFinalizer':
    case 'VerifyOwner':
    case 'WarnObject':
      return true
    default:
      return false
  }
}

function isResult(record: Writable): record is Result {
  switch (record.type) {
    case 'CommandSettled':
    case 'OwnerFound':
    case 'OwnerAbsent':
      return true
    default:
      return false
  }
}

/** Of the event that it was decided by: `partition-offset-index`. */
function offsetIn(id: string): bigint | undefined {
  const offset = /^\d+-(\d+)-\d+$/.exec(id)?.[1]
  return offset === undefined ? undefined : BigInt(offset)
}

function aboutCommand({ id, type, cluster, target }: Command): Attributes {
  return {
    [ATTRIBUTE.commandId]: id,
    [ATTRIBUTE.verb]: type,
    [ATTRIBUTE.cluster]: cluster,
    ...aboutObject(target),
  }
}

interface Named {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

function aboutObject({ group, kind, namespace, name, uid }: Named): Attributes {
  return {
    [ATTRIBUTE.group]: group,
    [ATTRIBUTE.kind]: kind,
    [ATTRIBUTE.namespace]: namespace,
    [ATTRIBUTE.name]: name,
    [ATTRIBUTE.uid]: uid,
  }
}
