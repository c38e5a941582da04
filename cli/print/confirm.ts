/**
 * Asks a person on the terminal before something is carried out.
 *
 * What must stay true: the end of the input is no answer, and no answer is none that agrees.
 */
import { createInterface } from 'node:readline/promises'

/** One line of the input; undefined where it ends before. */
export async function answerOn(question: string): Promise<string | undefined> {
  // The terminal edits the line: sequences of our own would be printed as escaped text (C8).
  process.stderr.write(question)
  const lines = createInterface({ input: process.stdin, terminal: false })
  const closed = new AbortController()
  lines.once('close', () => closed.abort())
  try {
    return await lines.question('', { signal: closed.signal })
  } catch {
    return undefined
  } finally {
    lines.close()
  }
}

export function isYes(answer: string | undefined): boolean {
  return answer !== undefined && /^y(es)?$/i.test(answer.trim())
}
