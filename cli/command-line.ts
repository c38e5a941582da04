/**
 * A command line of some commands: what every command of it has, and what its help says.
 *
 * What must stay true: making it starts nothing, so a command line can be read without being
 * carried out; of the commands only those are loaded that it needs.
 *
 * Not here: which commands there are (program.ts, client-command.ts).
 */
import { Command, type Option } from 'commander'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { Add, Commands } from './client-command.ts'
import { addExamples } from './example.ts'
import { VERSION } from './print/version.ts'
import type { Via } from './via.ts'

/** Every command is in it unless the first word names one. */
export async function programOf(
  commands: Commands,
  words: readonly string[],
  name: string,
): Promise<Command> {
  const program = new Command(name)
    .description(
      'Garbage collection for Kubernetes-style APIs over several clusters, and the record of who owned what.',
    )
    .version(VERSION)
    // Else an option with a long name would leave all descriptions as wide as they are.
    .configureHelp({ minWidthToWrap: 20 })
    .showHelpAfterError(`(${name} COMMAND --help says more)`)
    .exitOverride()
  for (const load of neededFor(commands, words)) (await load())(program)
  program.hook('preAction', async (_, command) => await forward(command))
  refuseRepeats(program)
  sayRequired(program)
  addExamples(program)
  return program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 differences or findings, 2 bad input, 3 refused by policy,\n4 failure.',
  )
}

/** Of a question to a Kinfold in a cluster: from then on it has an address. */
async function forward(command: Command): Promise<void> {
  const flags = command.opts<Partial<Via>>()
  const { via } = flags
  if (via === undefined) return
  const { forwarded } = await import('./via.ts')
  command.setOptionValue('server', await forwarded({ ...flags, via }))
}

/** Words before the command may be anything: then all are needed, to say what is wrong. */
function neededFor(
  commands: Commands,
  [first = '']: readonly string[],
): ReadonlySet<() => Promise<Add>> {
  if (VERSION_WORDS.has(first)) return new Set()
  const named = Object.hasOwn(commands, first) ? commands[first] : undefined
  return new Set(named === undefined ? Object.values(commands) : [named])
}

const VERSION_WORDS: ReadonlySet<string> = new Set(['--version', '-V'])

export function addVersion(program: Command): void {
  program
    .command('version')
    .description('output the version number')
    .action(() => {
      process.stdout.write(`${VERSION}\n`)
    })
}

/**
 * Of two lists the last would count, without a word about the first, and a user who means to add to
 * a list would take from it. Of single values the last counts, as with kubectl.
 */
function refuseRepeats(command: Command): void {
  for (const option of command.options) if (option.flags.endsWith('<list>')) takeOnce(option)
  for (const each of command.commands) refuseRepeats(each)
}

function sayRequired(command: Command): void {
  for (const option of command.options) {
    if (option.mandatory) option.description = `${option.description} (required)`
  }
  for (const each of command.commands) sayRequired(each)
}

function takeOnce(option: Option): void {
  let isGiven = false
  option.argParser((value) => {
    if (isGiven) {
      const text = `${option.long} is given twice: give it once, with commas between`
      throw new ExitError(EXIT.input, text)
    }
    isGiven = true
    return value
  })
}
