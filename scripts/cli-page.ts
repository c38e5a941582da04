/**
 * docs/ask/cli.md: all commands with their arguments, options and examples, as `--help` has them.
 *
 * What must stay true: a page contains nothing that is not in the code (pages.ts). Defaults that
 * depend on the machine are described, not printed.
 */
import { homedir } from 'node:os'
import type { Argument, Command, Option } from 'commander'
import { EXAMPLES } from '../cli/example.ts'
import { createProgram } from '../cli/program.ts'

/** An option that reads the same in so many commands is printed once, at the end. */
const MANY = 10
const SHARED = 'options-of-many-commands'

export async function cliPage(): Promise<string> {
  const commands = leavesOf(await createProgram(), [])
  const shared = sharedRows(commands)
  return `${[
    '# Commands',
    '',
    'What `kinfold COMMAND --help` prints, of all commands. This page is written by `npm run pages`. From a checkout the',
    'command is `node cli/kinfold.js`; `kinfold` below stands for it.',
    '',
    'Exit codes: 0 done, 1 differences or findings, 2 bad input, 3 refused by policy, 4 failure.',
    '',
    ...commands.flatMap(({ path, command }) =>
      wrapped(`- [${path}](#${anchorOf(path)}): ${told(command.description())}`, '  '),
    ),
    ...commands.flatMap(({ path, command }) => ['', ...sectionOf(path, command, shared)]),
    '',
    '## Options of many commands',
    '',
    '| | |',
    '|---|---|',
    ...shared.keys(),
  ].join('\n')}\n`
}

interface Named {
  readonly path: string
  readonly command: Command
}

function leavesOf(command: Command, path: readonly string[]): readonly Named[] {
  if (command.commands.length === 0) return [{ path: path.join(' '), command }]
  return command.commands.flatMap((each) => leavesOf(each, [...path, each.name()]))
}

function anchorOf(path: string): string {
  return `kinfold-${path.replaceAll(' ', '-')}`
}

/** Each row with the option's long name. */
type Shared = ReadonlyMap<string, string>

function sharedRows(commands: readonly Named[]): Shared {
  const options = commands.flatMap(({ command }) => shownOptions(command))
  const byRow = Map.groupBy(options, optionRow)
  const many = [...byRow].filter(([, same]) => same.length >= MANY)
  return new Map(many.map(([text, [first]]) => [text, first?.long ?? '']))
}

function shownOptions(command: Command): readonly Option[] {
  return command.options.filter(({ hidden }) => !hidden)
}

function sectionOf(path: string, command: Command, shared: Shared): readonly string[] {
  const options = shownOptions(command).map(optionRow)
  const rows = [
    ...command.registeredArguments.map(argumentRow),
    ...options.filter((text) => !shared.has(text)),
  ]
  const others = options.flatMap((text) => shared.get(text) ?? [])
  const examples = EXAMPLES[path] ?? []
  return [
    `## kinfold ${path}`,
    '',
    ...wrapped(sentence(command.description())),
    ...(rows.length === 0 ? [] : ['', '| | |', '|---|---|', ...rows]),
    ...(others.length === 0
      ? []
      : ['', ...wrapped(`And [those of many](#${SHARED}): ${named(others)}.`)]),
    ...(examples.length === 0
      ? []
      : ['', ...examples.map(([line, shows]) => `- \`kinfold ${line}\`: ${shows}`)]),
  ]
}

function named(options: readonly string[]): string {
  return options.map((option) => `\`${option}\``).join(', ')
}

function argumentRow(argument: Argument): string {
  return row(argument.name().toUpperCase(), argument.description, argument.defaultValue)
}

function optionRow(option: Option): string {
  return row(
    option.flags,
    option.description,
    option.defaultValueDescription ?? option.defaultValue,
  )
}

function row(name: string, meaning: string, value: unknown): string {
  const isWorthSaying = value !== undefined && value !== false && String(value) !== ''
  const otherwise = isWorthSaying ? ` (\`${String(value)}\`)` : ''
  return `| \`${cell(name)}\` | ${cell(meaning)}${cell(otherwise)} |`
}

function cell(text: string): string {
  return text.replaceAll(homedir(), '~').replaceAll('|', '\\|').replaceAll('\n', ' ')
}

function sentence(text: string): string {
  const [first = '', ...rest] = told(text)
  return `${first.toUpperCase()}${rest.join('')}.`
}

function told(text: string): string {
  return text.replaceAll('\n', ' ').replace(/\.$/, '')
}

/** At 120 columns, as all prose of the documents. */
function wrapped(text: string, indent = ''): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > 120) {
      lines.push(line)
      line = indent + word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
