/**
 * The spans that wait to be sent: a bound around the SDK's own batches, and counts of what became
 * of them.
 *
 * What must stay true: the code that ends a span never waits, and what is beyond the bound is
 * dropped and counted. A collector that is slow, away or hostile costs spans, and nothing else.
 */
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace'

export interface SpanCounts {
  readonly sent: number
  /** The collector did not take them. */
  readonly failed: number
  /** There were too many. */
  readonly dropped: number
}

export class SpanQueue implements SpanProcessor {
  readonly #most: number
  readonly #batches: SpanProcessor
  #waiting = 0
  #sent = 0
  #failed = 0
  #dropped = 0

  /**
   * `most`: of spans that wait or are on their way. `batches` makes the SDK's part over our
   * exporter.
   */
  constructor(
    most: number,
    exporter: SpanExporter,
    batches: (exporter: SpanExporter) => SpanProcessor,
  ) {
    this.#most = most
    this.#batches = batches({
      export: (spans, done) => {
        exporter.export(spans, (result) => {
          this.#waiting -= spans.length
          if (result.code === 0) this.#sent += spans.length
          else this.#failed += spans.length
          done(result)
        })
      },
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => await exporter.forceFlush?.(),
    })
  }

  counts(): SpanCounts {
    return { sent: this.#sent, failed: this.#failed, dropped: this.#dropped }
  }

  onStart(span: Span, ...rest: [Parameters<SpanProcessor['onStart']>[1]]): void {
    this.#batches.onStart(span, ...rest)
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & 1) === 0) return
    if (this.#waiting >= this.#most) {
      this.#dropped += 1
      return
    }
    this.#waiting += 1
    this.#batches.onEnd(span)
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown()
  }
}
