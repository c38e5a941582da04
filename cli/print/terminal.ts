/**
 * What names may do to a terminal: nothing. A user who may write an owner reference may put
 * anything into it.
 *
 * What must stay true: no control, invisible or direction-changing character of what was received
 * is printed raw. Its escape is JSON's, so what is printed as JSON stays the same data.
 */
import { randomUUID } from 'node:crypto'
import { styleText } from 'node:util'

/** Controls, invisible ones, halves of characters, and line ends that only some programs know. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** One line, whatever is in it: for a row, or a sentence. */
export function lineOf(text: string): string {
  return text.replaceAll(UNSEEN, escaped)
}

/** As it is laid out, lines and tabs included. */
export function harmless(text: string): string {
  return text.replaceAll(UNSEEN, (unseen) => (/[\n\t]/.test(unseen) ? unseen : escaped(unseen)))
}

export type Style = 'red' | 'yellow' | 'green' | 'magenta' | 'gray' | 'bold'

/** Unknown to users who name objects, so no name is taken for one of our marks. */
const MARK = `\ue000${randomUUID()}`
const PAINTED = new RegExp(`${MARK}(?<style>[a-z]+):(?<text>.*?)${MARK}`, 'gs')

/** Becomes an escape when it is written. */
export function painted(text: string, style: Style): string {
  return `${MARK}${style}:${text}${MARK}`
}

function withEscapes(text: string): string {
  if (!text.includes(MARK)) return text
  return text.replaceAll(PAINTED, (_, style: Style, inner: string) =>
    styleText(style, inner, { validateStream: false }),
  )
}

/**
 * All that is written as text from now on, by whatever command: none of them has to think of it.
 */
export function guard(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean
  stream.write = (chunk: unknown, ...rest: unknown[]): boolean =>
    write(typeof chunk === 'string' ? withEscapes(harmless(chunk)) : chunk, ...rest)
}

/** `\u001b`; two of them for a character of two units. */
function escaped(unseen: string): string {
  const units = Array.from({ length: unseen.length }, (_, at) => unseen.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
