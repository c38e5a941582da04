/**
 * The tokens that a request must show, as a file has them: a line each, so that one can be replaced while the other still counts.
 *
 * What must stay true: without a readable file nobody is let in, nor by one that other users may read; comparing takes as long for every wrong
 * token; the file is read again when it has changed.
 *
 * Not here: which requests need none (endpoint.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { checkSecret } from './file-access.ts'
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
  /** Why nobody is let in by it since it has changed; empty while it is good. */
  failure(): string
}

/** Throws `ExitError` when the file cannot be read, has no good token now or may be read by other users. */
export function openToken(file: string): HttpToken {
  let tokens = privateTokens(file)
  let stamp = stampOf(file)
  let failure = ''

  function current(): readonly string[] {
    try {
      const now = stampOf(file)
      if (now === stamp) return tokens
      tokens = privateTokens(file)
      stamp = now
      failure = ''
    } catch (error) {
      // Whoever took it away wants nobody in. A file that is just being written is looked at again with the next request.
      tokens = []
      stamp = ''
      failure = error instanceof Error ? error.message : String(error)
    }
    return tokens
  }

  return {
    failure() {
      current()
      return failure
    },
    isShown(authorization = '') {
      const shown = digestOf(/^Bearer +([!-~]+)$/i.exec(authorization)?.[1] ?? '')
      const matches = current().map((token) => timingSafeEqual(digestOf(token), shown))
      return matches.includes(true)
    },
  }
}

/** Another one whenever the file is another, replaced by a link included. */
function stampOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) return 'none'
  const { mtimeMs, size, ino, mode, uid } = stats
  return `${mtimeMs} ${size} ${ino} ${mode} ${uid}`
}

function privateTokens(file: string): readonly string[] {
  const tokens = readTokens(file)
  checkSecret(file, 'the token file')
  return tokens
}

/** Of whoever shows one: it may be anybody's file. */
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
