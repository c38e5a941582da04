/**
 * The commands that README.md and the pages of docs print in fenced blocks, and the output that
 * they show.
 *
 * A block without a language, or of `sh` or `bash`, has a command in each line. One of `console`
 * has commands after `$ `, and the text after a command up to the next one is its output, or a part
 * of it.
 *
 * What must stay true: no line of such a block is skipped except empty ones and comments.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Example {
  /** From the root of the checkout. */
  readonly document: string
  readonly line: number
  /** As it is printed, continuation lines with a backslash included. */
  readonly command: string
  /** Lines that the document shows of its output. */
  readonly shown: readonly string[]
}

export const ROOT: string = join(import.meta.dirname, '..', '..')
const COMMANDS: ReadonlySet<string> = new Set(['', 'sh', 'bash', 'console'])
const FENCE = /^ *```(\w*)/
const PROMPT = '$ '

export function allExamples(): readonly Example[] {
  const documents = ['README.md', ...globSync('docs/*/*.md', { cwd: ROOT }).sort()]
  return documents.flatMap((document) => {
    return examplesIn(document, readFileSync(join(ROOT, document), 'utf8'))
  })
}

export function examplesIn(document: string, text: string): readonly Example[] {
  const found: { document: string; line: number; command: string; shown: string[] }[] = []
  let language: string | undefined
  let isGoingOn = false
  for (const [index, written] of text.split('\n').entries()) {
    const fence = FENCE.exec(written)
    if (fence !== null) {
      language = language === undefined ? fence[1]! : undefined
      isGoingOn = false
      continue
    }
    if (language === undefined || !COMMANDS.has(language)) continue
    const line = language === 'console' ? written : written.trim()
    const last = found.at(-1)
    if (isGoingOn && last !== undefined) {
      last.command += `\n${line}`
    } else if (language === 'console' && !line.startsWith(PROMPT)) {
      if (line.trim() !== '') last?.shown.push(line)
      continue
    } else {
      const command = line.startsWith(PROMPT) ? line.slice(PROMPT.length) : line
      if (command === '' || command.startsWith('#')) continue
      found.push({ document, line: index + 1, command, shown: [] })
    }
    isGoingOn = line.endsWith('\\')
  }
  return found
}
