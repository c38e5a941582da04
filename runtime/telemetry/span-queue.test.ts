/** Spans wait within their bound, whatever the collector does, and each of them is counted once. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import {
  AlwaysOffSampler,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { SpanQueue } from './span-queue.ts'

type Done = Parameters<SpanExporter['export']>[1]

/** A collector that answers when the test says so. */
class Slow implements SpanExporter {
  readonly asked: { readonly spans: readonly ReadableSpan[]; readonly done: Done }[] = []

  export(spans: ReadableSpan[], done: Done): void {
    this.asked.push({ spans, done })
  }

  async shutdown(): Promise<void> {}
}

function queueOf(most: number, sampler?: Sampler): { queue: SpanQueue; slow: Slow; end(): void } {
  const slow = new Slow()
  const queue = new SpanQueue(most, slow, (exporter) => new SimpleSpanProcessor({ exporter }))
  const provider = new TracerProvider({ spanProcessors: [queue], ...(sampler && { sampler }) })
  const tracer = provider.getTracer('test')
  return { queue, slow, end: () => tracer.startSpan('span').end() }
}

test('beyond the bound spans are dropped until an answer makes room', () => {
  const { queue, slow, end } = queueOf(2)
  for (let count = 0; count < 5; count++) end()
  equal(slow.asked.length, 2)
  deepEqual(queue.counts(), { sent: 0, failed: 0, dropped: 3 })
  slow.asked[0]?.done({ code: 0 })
  slow.asked[1]?.done({ code: 1, error: new Error('no') })
  deepEqual(queue.counts(), { sent: 1, failed: 1, dropped: 3 })
  for (let count = 0; count < 3; count++) end()
  equal(slow.asked.length, 4)
  deepEqual(queue.counts(), { sent: 1, failed: 1, dropped: 4 })
})

test('what the sampler leaves out takes no room', () => {
  const { queue, slow, end } = queueOf(1, new AlwaysOffSampler())
  for (let count = 0; count < 3; count++) end()
  equal(slow.asked.length, 0)
  deepEqual(queue.counts(), { sent: 0, failed: 0, dropped: 0 })
})
