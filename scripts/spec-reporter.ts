/**
 * The runner's own reporter `spec`, without skipped tests among the failing ones. Where a suite
 * cannot begin, the runner calls every test of it cancelled, also those that are not to run here,
 * and a developer looks for what broke among them.
 *
 * What must stay true: nothing that failed is left out, and what is skipped is still shown in its
 * place. What did not run is reported at the end (skip-reporter.ts).
 */
import { Readable } from 'node:stream'
import { spec as Spec, type TestEvent } from 'node:test/reporters'

export default async function* report(source: AsyncIterable<TestEvent>): AsyncIterable<string> {
  yield* Readable.from(unmixed(source)).compose(new Spec())
}

async function* unmixed(source: AsyncIterable<TestEvent>): AsyncIterable<object> {
  for await (const event of source) {
    const isSkipped =
      event.type === 'test:fail' && event.data.skip !== undefined && event.data.skip !== false
    yield isSkipped ? { ...event, type: 'test:pass' } : event
  }
}
