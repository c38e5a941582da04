/**
 * Splits a stream of bytes into the lines of a watch.
 *
 * What must stay true: a line is given whole or not at all. Bytes after the last newline of a
 * stream that ended were cut: that throws, and so does a line that never ends.
 *
 * Not here: the meaning of a line (cluster.ts).
 */
import { ClusterError } from '../../ports/cluster.ts'

/** An object is at most some 1.5 MiB in etcd; JSON and managedFields make it longer. */
const MAX_LINE_BYTES = 16 * 1024 * 1024
const NEWLINE = 0x0a

/**
 * The lines that each chunk completes, empty ones left out; nothing for a chunk that completes
 * none.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  let rest: Buffer[] = []
  let restBytes = 0
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const end = buffer.lastIndexOf(NEWLINE)
    if (end < 0) {
      rest.push(buffer)
      restBytes += buffer.byteLength
      if (restBytes > MAX_LINE_BYTES) throw unreadable('a line of it never ends')
      continue
    }
    const whole = buffer.subarray(0, end)
    const text = rest.length === 0 ? whole.toString() : Buffer.concat([...rest, whole]).toString()
    rest = end + 1 < buffer.byteLength ? [buffer.subarray(end + 1)] : []
    restBytes = buffer.byteLength - end - 1
    const lines = text.includes('\n') ? text.split('\n').filter(isNotEmpty) : [text]
    if (isNotEmpty(lines[0] ?? '')) yield lines
  }
  if (restBytes > 0) throw unreadable('it was cut within a line')
}

function isNotEmpty(line: string): boolean {
  return line !== '' && line !== '\r'
}

function unreadable(reason: string): ClusterError {
  return new ClusterError('UNREADABLE', `A watch cannot be read: ${reason}; watch again`)
}
