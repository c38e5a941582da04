/**
 * `--help` is as wide as a terminal, names no path of the machine, and its examples are command
 * lines that are understood.
 */
import { deepEqual, doesNotReject, match } from 'node:assert/strict'
import { homedir, tmpdir } from 'node:os'
import { suite, test } from 'node:test'
import type { Command } from 'commander'
import { EXAMPLES } from './example.ts'
import { createProgram } from './program.ts'

const WIDTH = 80

function everyCommand(command: Command, path: string): readonly (readonly [string, Command])[] {
  const below = command.commands.flatMap((each) => everyCommand(each, `${path} ${each.name()}`))
  return [[path, command], ...below]
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ getOutHelpWidth: () => WIDTH, writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

const everything = await createProgram()

suite('--help of', () => {
  for (const [path, command] of everyCommand(everything, 'kinfold')) {
    test(`${path} is at most ${WIDTH} wide`, () => {
      const lines = helpOf(command).split('\n')
      deepEqual(
        lines.filter((line) => line.length > WIDTH),
        [],
      )
    })

    test(`${path} is the same on every machine`, () => {
      const help = helpOf(command)
      deepEqual(
        [homedir(), tmpdir(), process.cwd()].filter((own) => help.includes(own)),
        [],
      )
    })
  }

  test('why has its examples', () => {
    const why = everything.commands.find((each) => each.name() === 'why')!
    match(helpOf(why), /Examples:\n {2}# [^\n]+\n {2}kinfold why cm\/web-settings -n shop\n/)
  })
})

suite('a command line that begins with', () => {
  for (const { name } of everything.commands.map((each) => ({ name: each.name() }))) {
    test(`${name} has that command as it is among all`, async () => {
      const program = await createProgram([name])
      const [alone, among] = [program, everything].map(
        ({ commands }) => commands.find((each) => each.name() === name)!,
      )
      const texts = (command: Command): readonly string[] =>
        everyCommand(command, '').map(([, each]) => helpOf(each))
      deepEqual(texts(alone!), texts(among!))
    })
  }
})

suite('an example of', () => {
  for (const [path, examples] of Object.entries(EXAMPLES)) {
    test(`${path} is understood`, async () => {
      for (const [line] of examples) {
        const program = await createProgram()
        // It is read, and not carried out.
        for (const [, command] of everyCommand(program, '')) command.action(() => undefined)
        await doesNotReject(program.parseAsync(wordsOf(line), { from: 'user' }), line)
        deepEqual(line.startsWith(`${path} `) || line === path, true)
      }
    })
  }
})

function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)
}
