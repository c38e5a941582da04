/**
 * Answers that no server gave, and bodies that were altered on the way.
 *
 * What must stay true: a body that is altered is altered line by line or byte by byte as said, and
 * otherwise as the server sent it.
 */
import type { ExchangeResponse } from '../../ports/exchange.ts'
import { ExchangeError } from '../../ports/exchange.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const PLAIN_TYPE = { 'content-type': 'text/plain' }

export function answer(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = JSON_TYPE,
): ExchangeResponse {
  return { status, headers, body: chunkOf(text) }
}

/** A Status that does not name the requested object. */
export function refusal(
  code: number,
  reason: string,
  headers: Readonly<Record<string, string>> = {},
): ExchangeResponse {
  const rest = { status: 'Failure', message: 'injected', reason, code, details: {} }
  const text = JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, ...rest })
  return answer(code, text, { ...JSON_TYPE, ...headers })
}

export function plain(status: number, text: string): ExchangeResponse {
  return answer(status, text, PLAIN_TYPE)
}

async function* chunkOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}

export async function textOf(response: ExchangeResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

export async function* cutShort(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  let left = bytes
  for await (const chunk of chunks) {
    if (chunk.byteLength >= left) {
      if (left > 0) yield chunk.subarray(0, left)
      throw new ExchangeError('CUT', 'cut in the middle of the answer')
    }
    left -= chunk.byteLength
    yield chunk
  }
}

/** Each whole line of a watch, as the line to be sent instead. */
export async function* eachLine(
  chunks: AsyncIterable<Uint8Array>,
  alter: (line: string) => readonly string[] | Promise<readonly string[]>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    const lines: string[] = []
    for (const line of new TextDecoder().decode(chunk).split('\n')) {
      if (line !== '') lines.push(...(await alter(line)))
    }
    if (lines.length > 0) yield new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''))
  }
}
