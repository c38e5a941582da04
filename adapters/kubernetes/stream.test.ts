/**
 * Shows that lines are complete however the bytes are cut, and that a cut-off line is never
 * returned.
 */
import { deepEqual, rejects } from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ClusterError } from '../../ports/cluster.ts'
import { linesOf } from './stream.ts'

describe('a stream of lines', () => {
  test('is the same however its bytes are cut', async () => {
    const line = fc.string({ unit: 'binary', minLength: 1 }).filter((it) => !/[\n\r]/.test(it))
    const cuts = fc.array(fc.nat(1_000), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(fc.array(line), cuts, async (lines, at) => {
        const text = lines.map((it) => `${it}\n`).join('')
        const batches = await Array.fromAsync(linesOf(chunksOf(Buffer.from(text), at)))
        deepEqual(
          batches.flat(),
          lines.map((it) => Buffer.from(it).toString()),
        )
      }),
    )
  })

  test('gives all lines of a chunk at once, and nothing for none', async () => {
    const chunks = ['a\nb\nc', 'c', '\nd\n', '\n'].map((it) => Buffer.from(it))
    deepEqual(await Array.fromAsync(linesOf(from(chunks))), [
      ['a', 'b'],
      ['cc', 'd'],
    ])
  })

  test('throws when it ends within a line, after what was whole', async () => {
    const chunks = [Buffer.from('a\n{"type":'), Buffer.from('"ADDED"')]
    const lines = linesOf(from(chunks))
    deepEqual((await lines.next()).value, ['a'])
    await rejects(
      lines.next(),
      (error) => error instanceof ClusterError && error.code === 'UNREADABLE',
    )
  })

  test('throws at a line that never ends', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'a')
    await rejects(linesOf(from(Array.from({ length: 20 }, () => piece))).next(), ClusterError)
  })
})

function chunksOf(bytes: Buffer, cuts: readonly number[]): AsyncIterable<Uint8Array> {
  const sorted = [0, ...cuts.map((it) => it % (bytes.length + 1)), bytes.length].toSorted(
    (a, b) => a - b,
  )
  return from(sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end)))
}

async function* from(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
