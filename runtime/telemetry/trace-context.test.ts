/** What a record may carry as its trace, and what is none. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { isTrace } from '../../ports/record/record-limit.ts'
import { traceOf, traceText } from './trace-context.ts'

const TEXT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test('a trace is read as it was written, and a log may carry it', () => {
  const context = traceOf(TEXT)
  deepEqual(context, {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    traceFlags: 1,
    isRemote: true,
  })
  equal(traceText(context!), TEXT)
  equal(isTrace(TEXT), true)
  equal(traceOf(TEXT.replace(/01$/, 'fe'))?.traceFlags, 0)
})

for (const text of [
  undefined,
  '',
  'x',
  TEXT.toUpperCase(),
  `${TEXT}-more`,
  TEXT.replace(/^00/, '01'),
  TEXT.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
  TEXT.replace('b7ad6b7169203331', '0'.repeat(16)),
]) {
  test(`${text} is none`, () => equal(traceOf(text), undefined))
}
