/**
 * Hints: the `kinfold` commands that texts of ours name, as they are in the sources and as they are
 * printed.
 *
 * What must stay true: they are found in the sources themselves, so a new one is known without
 * being listed anywhere.
 *
 * Not here: whether such a command exists (scripts/hint.test.ts), and what it does where it is
 * printed (cli/e2e/hint.test.ts).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const FOLDERS = ['adapters', 'cli', 'core', 'playground', 'runtime', 'services', 'web']
/** Stands for `${…}`. */
export const VALUE = '\u25c7'
/** One with a text inside stays: the hint may be in it. */
const PLACEHOLDER = /\$\{[^{}`]*\}/g
/** The sentence around it ends the command, or its text literal does. */
const HINT = new RegExp(`\\bkinfold ([a-z-]+(?:[ ${VALUE}][^"\`';,|<)\\\\\\n]*)?)`, 'g')
/** A word behind `kinfold` that speaks of the program: "kinfold answered no page". */
const ENGLISH =
  /^(at|is|has|that|ended|answered|answers|rbac (prints|made|and)|runs|made|than|in|while|takes|-f -a)\b/

export interface Hint {
  readonly file: string
  /** Behind `kinfold`. */
  readonly command: string
}

export function hintsInSources(): readonly Hint[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((each) => /\.ts$/.test(each) && !/\.(test|contract)\.ts$/.test(each))
      .flatMap((each) => hintsIn(join(folder, each))),
  )
}

function hintsIn(file: string): readonly Hint[] {
  const source = readFileSync(join(ROOT, file), 'utf8')
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  return code
    .split('\n')
    .filter((line) => !line.startsWith('import '))
    .flatMap((line) => [...line.replaceAll(PLACEHOLDER, VALUE).matchAll(HINT)])
    .map(([, command = '']) => ({ file, command: command.trim().replace(/[.:]$/, '') }))
    .filter(({ command }) => !ENGLISH.test(command))
}

/** In quotes, in brackets, or behind a colon to the end of its line. */
const PRINTED = /"kinfold ([^"\n]+)"|\(kinfold ([^)\n]+)\)|(?<=: )kinfold ([a-z-]+(?: [^\n]*)?)$/gm

/** Each once. */
export function hintsPrinted(text: string): readonly string[] {
  const all = [...text.matchAll(PRINTED)].map(([, quoted, inner, rest]) => quoted ?? inner ?? rest)
  return [...new Set(all.map((each) => (each ?? '').trim()))].filter((each) => !ENGLISH.test(each))
}

/**
 * Whether a source prints it, with whatever values. What a page has in quotes behind it is a user's
 * own words.
 */
export function isPrintedBy(printed: string, { command }: Hint): boolean {
  const parts = command.split(VALUE).map((part) => RegExp.escape(part))
  return new RegExp(`^${parts.join('.*')}( …)?$`).test(printed)
}

/** A command of a source with values in the places of its own. */
export function filled({ command }: Hint, values: readonly string[]): string {
  return values.reduce((text, value) => text.replace(VALUE, value), command)
}
