/**
 * A test reporter that prints skipped tests and their reasons on standard error: a tier that did
 * not run must not look like one that passed.
 */
import type { TestEvent } from 'node:test/reporters'

export default async function* skipped(source: AsyncIterable<TestEvent>): AsyncIterable<string> {
  const reasons = new Map<string, number>()
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const reason = event.data.skip
    if (reason === undefined || reason === false) continue
    const text = typeof reason === 'string' ? reason : 'without a reason'
    reasons.set(text, (reasons.get(text) ?? 0) + 1)
  }
  for (const [reason, count] of reasons) yield `\nNOT RUN: ${count} tests: ${reason}\n`
}
