/**
 * The tokens that a request must show, as a file has them: a line each, so that one can be replaced while the other still counts.
 *
 * What must stay true: without a readable file nobody is let in; comparing takes as long for every wrong token; the file is read again when it
 * has changed.
 *
 * Not here: which requests need none (endpoint.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { EXIT, ExitError } from './lifecycle.ts'

/** Shorter ones are guessed; longer ones fit into no header. */
const SHORTEST = 16
const LONGEST = 8_192
/** A file of tokens, and what two of them take while one is replaced. */
const MOST_TOKENS = 16
const PRINTABLE = /^[!-~]+$/

export interface HttpToken {
  /** Whether the value of an `Authorization` header shows one of them. */
  isShown(authorization: string | undefined): boolean
}

/** Throws `ExitError` when the file cannot be read or has no good token now. */
export function openToken(file: string): HttpToken {
  let tokens = readTokens(file)
  let stamp = stampOf(file)

  function current(): readonly string[] {
    try {
      const now = stampOf(file)
      if (now === stamp) return tokens
      tokens = readTokens(file)
      stamp = now
    } catch {
      // Whoever took it away wants nobody in. A file that is just being written is looked at again with the next request.
      tokens = []
      stamp = ''
    }
    return tokens
  }

  return {
    isShown(authorization = '') {
      const shown = digestOf(/^Bearer +([!-~]+)$/i.exec(authorization)?.[1] ?? '')
      const matches = current().map((token) => timingSafeEqual(digestOf(token), shown))
      return matches.includes(true)
    },
  }
}

/** Another one whenever the file is another, replaced by a link included. */
function stampOf(file: string): string {
  const { mtimeMs, size, ino } = statSync(file)
  return `${mtimeMs} ${size} ${ino}`
}

export function readTokens(file: string): readonly string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(EXIT.input, `the token file ${file} cannot be read: ${why}`)
  }
  const lines = text.split('\n').map((line) => line.trim())
  const tokens = lines.filter((line) => line !== '')
  const isGood = (token: string): boolean =>
    token.length >= SHORTEST && token.length <= LONGEST && PRINTABLE.test(token)
  if (tokens.length > 0 && tokens.length <= MOST_TOKENS && tokens.every(isGood)) return tokens
  throw new ExitError(
    EXIT.input,
    `the token file ${file} must hold 1 to ${MOST_TOKENS} lines, each a token of ${SHORTEST} to ${LONGEST} printable characters without spaces`,
  )
}

/** Of one length, whatever is compared. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
