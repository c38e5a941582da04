/**
 * Every text of ours that names a `kinfold` command names one that there is, with flags that it takes (C7, C18).
 *
 * What must stay true: hints are found in the sources themselves, so a new one is covered, or the test fails.
 *
 * Not here: what a hint does in the state that prints it (cli/ask/status.test.ts, cli/ask/held.test.ts).
 */
import { deepEqual, ok } from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from '../cli/program.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDERS = ['adapters', 'cli', 'core', 'playground', 'runtime', 'services', 'web']
/** The sentence around it ends the command, or its text literal does. */
const HINT = /\bkinfold ((?:[a-z-]+|\$\{verb\})(?: [^"`';,|<)\n]*)?)/g
/** A word behind `kinfold` that speaks of the program: "kinfold answered no page". */
const ENGLISH =
  /^(at|is|has|that|ended|answered|answers|rbac prints|runs|made|than|in|while|takes|-f -a)\b/
const PLACEHOLDER = /\$\{[^}]*\}?/g

interface Hint {
  readonly file: string
  readonly command: string
}

function hints(): readonly Hint[] {
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
    .flatMap((line) => [...line.matchAll(HINT)])
    .map(([, command = '']) => ({ file, command: command.trim() }))
    .filter(({ command }) => !ENGLISH.test(command))
}

/** Undefined where it is fine. */
function faultOf(program: Command, command: string): string | undefined {
  const words = command.replaceAll(PLACEHOLDER, ' ').split(/\s+/).filter(Boolean)
  let meant = program
  for (const word of words) {
    const next = meant.commands.find((each) => each.name() === word)
    if (next === undefined) break
    meant = next
  }
  if (meant === program) return 'no such command'
  const flags = words.filter((each) => /^--?[a-z]/.test(each))
  const known = meant.options.flatMap(({ short, long }) => [short, long])
  const unknown = flags.filter((each) => !known.includes(each.replace(/[.:]$/, '')))
  return unknown.length === 0 ? undefined : `it takes no ${unknown.join(', ')}`
}

let program: Command
before(async () => {
  program = await createProgram()
})

test('each command that a text of ours names is one, with flags that it takes', () => {
  const all = hints()
  ok(all.length > 40, `${all.length} hints are found`)
  const faults = all.flatMap(({ file, command }) => {
    const fault = faultOf(program, command)
    return fault === undefined ? [] : [`${file}: kinfold ${command}: ${fault}`]
  })
  deepEqual(faults, [])
})

test('a hint that does not work is noticed', () => {
  for (const wrong of ['resumee --why …', 'resume --cluser x --why …', 'held --why x']) {
    ok(faultOf(program, wrong), wrong)
  }
  deepEqual(faultOf(program, 'resume --cluster north --why …'), undefined)
})
