/**
 * The tokens that a request must show, as a file has them: a line each, so that one can be replaced
 * while the other still counts.
 *
 * What must stay true: without a readable file no client is let in, nor by a file that other users
 * may read; comparing takes as long for every wrong token; the file is read again when it has
 * changed.
 *
 * Not here: which requests need none (endpoint.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { checkSecret } from '../file-access.ts'
import { EXIT, ExitError } from '../lifecycle.ts'

/** Shorter ones are guessed; longer ones fit into no header. */
const SHORTEST = 16
const LONGEST = 8_192
/** A file of tokens, and what two of them take while one is replaced. */
const MOST_TOKENS = 16
const PRINTABLE = /^[!-~]+$/
export const TOKEN_RULE: string = `${SHORTEST} to ${LONGEST} printable characters without spaces`

export interface HttpToken {
  /** Whether the value of an `Authorization` header shows one of them. */
  isShown(authorization: string | undefined): boolean
  /** Why no client is let in by it since it has changed; empty while it is good. */
  failure(): string
}

/**
 * Throws `ExitError` when the file cannot be read, has no good token now or may be read by other
 * users.
 */
export function openToken(file: string): HttpToken {
  const watched = watchedFile(file, privateTokens)
  return {
    failure: watched.failure,
    isShown: (authorization) => shownIn(watched.current(), authorization) >= 0,
  }
}

/**
 * What a file holds, read again when it has changed: nothing while it is not good. `read` throws
 * `ExitError`, for the start as well.
 */
export function watchedFile<T>(
  file: string,
  read: (file: string) => readonly T[],
): { current(): readonly T[]; failure(): string } {
  let held = read(file)
  let stamp = stampOf(file)
  let failure = ''

  function current(): readonly T[] {
    try {
      const now = stampOf(file)
      if (now === stamp) return held
      held = read(file)
      stamp = now
      failure = ''
    } catch (error) {
      // An operator who took it away wants no client let in. A file that is just being written is
      // read again with the next request.
      held = []
      stamp = ''
      failure = error instanceof Error ? error.message : String(error)
    }
    return held
  }

  return {
    current,
    failure() {
      current()
      return failure
    },
  }
}

/**
 * Which of these tokens the value of an `Authorization` header shows; -1: none. It takes as long
 * for every wrong one.
 */
export function shownIn(tokens: readonly string[], authorization = ''): number {
  const shown = digestOf(/^Bearer +([!-~]+)$/i.exec(authorization)?.[1] ?? '')
  const matches = tokens.map((token) => timingSafeEqual(digestOf(token), shown))
  return matches.indexOf(true)
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

/** For clients, which show one: the mode of the file is not checked. */
export function readTokens(file: string): readonly string[] {
  const tokens = linesOf(file, 'the token file')
  if (tokens.length > 0 && tokens.length <= MOST_TOKENS && tokens.every(isGoodToken)) return tokens
  throw new ExitError(
    EXIT.input,
    `the token file ${file} must hold 1 to ${MOST_TOKENS} lines, each a token of ${TOKEN_RULE}`,
  )
}

/** Lines that are not empty. `what`: the file's role, for the sentence. */
export function linesOf(file: string, what: string): readonly string[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n')
    return lines.map((line) => line.trim()).filter((line) => line !== '')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(EXIT.input, `${what} ${file} cannot be read: ${why}`)
  }
}

export function isGoodToken(token: string): boolean {
  return token.length >= SHORTEST && token.length <= LONGEST && PRINTABLE.test(token)
}

/** Of one length, whatever is compared. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
