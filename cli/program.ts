/**
 * All commands and their flags.
 *
 * What must stay true: making it starts nothing, so a command line can be read without being carried out; of a command line that begins with a command, nothing of the
 * others is loaded, so that a question costs what it needs.
 */
import { Command, type Option } from 'commander'
import { addExamples } from './example.ts'
import { bad } from './setting.ts'
import { VERSION } from './version.ts'

type Add = (program: Command) => void

const directives = async (): Promise<Add> => (await import('./directive.ts')).addDirectives

/** Command → what adds it, in the order of `--help`. */
const COMMANDS: Readonly<Record<string, () => Promise<Add>>> = {
  up: async () => (await import('./up.ts')).addUp,
  playground: async () => (await import('./playground.ts')).addPlayground,
  watcher: async () => (await import('./service-command.ts')).addWatcher,
  graph: async () => (await import('./service-command.ts')).addGraph,
  reaper: async () => (await import('./service-command.ts')).addReaper,
  status: async () => (await import('./status.ts')).addStatus,
  get: async () => (await import('./get.ts')).addGet,
  tree: async () => (await import('./tree.ts')).addTree,
  why: async () => (await import('./why.ts')).addWhy,
  cascade: async () => (await import('./cascade.ts')).addCascade,
  plan: async () => (await import('./plan.ts')).addPlan,
  delete: async () => (await import('./delete.ts')).addDelete,
  held: async () => (await import('./held.ts')).addHeld,
  pause: directives,
  resume: directives,
  protect: directives,
  unprotect: directives,
  approve: directives,
  reject: directives,
  'close-breaker': directives,
  lineage: async () => (await import('./lineage.ts')).addLineage,
  shadow: async () => (await import('./shadow.ts')).addShadow,
  audit: async () => (await import('./audit.ts')).addAudit,
  restore: async () => (await import('./restore.ts')).addRestore,
  backup: async () => (await import('./backup.ts')).addBackup,
  upgrade: async () => (await import('./upgrade-command.ts')).addUpgrade,
  config: async () => (await import('./config-command.ts')).addConfig,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  rbac: async () => (await import('./rbac.ts')).addRbac,
  topics: async () => (await import('./topics.ts')).addTopics,
  completion: async () => (await import('./completion.ts')).addCompletion,
  version: async () => addVersion,
}

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS)

/** For this command line; every command is in it unless the first word names one. `name`: how it was called, for its help. */
export async function createProgram(
  words: readonly string[] = [],
  name = 'kinfold',
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
  for (const load of neededFor(words)) (await load())(program)
  refuseRepeats(program)
  sayRequired(program)
  addExamples(program)
  return program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 differences or findings, 2 bad input, 3 refused by policy,\n4 failure.',
  )
}

/** Words before the command may be anything: then all are needed, to say what is wrong. */
function neededFor([first = '']: readonly string[]): ReadonlySet<() => Promise<Add>> {
  if (VERSION_WORDS.has(first)) return new Set()
  const named = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
  return new Set(named === undefined ? Object.values(COMMANDS) : [named])
}

const VERSION_WORDS: ReadonlySet<string> = new Set(['--version', '-V'])

function addVersion(program: Command): void {
  program
    .command('version')
    .description('output the version number')
    .action(() => {
      process.stdout.write(`${VERSION}\n`)
    })
}

/** Of two lists the last would count, without a word about the first, and whoever adds to a list would take from it. Of single values the last counts, as with kubectl. */
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
    if (isGiven) throw bad(`${option.long} is given twice: give it once, with commas between`)
    isGiven = true
    return value
  })
}
