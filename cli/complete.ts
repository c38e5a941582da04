/**
 * What may stand at the end of a command line, for shells and for kubectl: commands, flags, values
 * of flags, kinds, names, namespaces, clusters.
 *
 * What must stay true: commands and flags are those that commander knows, so nothing is listed
 * twice; whatever goes wrong offers nothing and says nothing, since it is asked at each Tab; a
 * running Kinfold is waited for briefly. Its answer is of the form that Cobra's completions have,
 * which kubectl reads: a value a line, a tab, its description, and at the end a colon and a number.
 *
 * Not here: the scripts of the shells (completion.ts).
 */
import type { Command, Option } from 'commander'
import type { ObjectList, RuleList } from './answer.ts'
import { SHORT_NAMES } from './config/built-in-kind.ts'
import { ORDERS } from './print/get-order.ts'
import { COMMAND_NAMES, createProgram } from './program.ts'
import { ask, type ClientFlags, type ScopeFlags, serverOf } from './reach/client.ts'
import { contextNames, namespaceOf } from './reach/scope.ts'

/** As Cobra numbers them; they are added up. */
const NO_SPACE = 2
const NO_FILE = 4

export interface Completion {
  readonly values: readonly (readonly [value: string, description: string])[]
  readonly directive: number
}

/**
 * Flags whose values are known, by their long name. Their checks are elsewhere; complete.test.ts
 * compares.
 */
export const FLAG_VALUES: Readonly<Record<string, readonly string[]>> = {
  '--mode': ['observe', 'dry-run', 'enforce'],
  '--preset': ['guarded', 'parity'],
  '--lock': ['required', 'optional', 'off'],
  '--log-level': ['debug', 'info', 'warn', 'error'],
  '--log-format': ['text', 'json'],
}

/** By command, since outputs differ; those that commander checks are not here. */
export const OUTPUTS: Readonly<Record<string, readonly string[]>> = {
  get: ['table', 'wide', 'name', 'json', 'yaml'],
  tree: ['tree', 'wide', 'name', 'json', 'yaml', 'dot', 'mermaid'],
  why: ['text', 'json', 'yaml'],
  history: ['table', 'wide', 'name', 'json', 'yaml'],
  deletions: ['table', 'wide', 'name', 'json', 'yaml'],
  diff: ['table', 'wide', 'name', 'json', 'yaml', 'jsonl'],
  cascade: ['table', 'json', 'yaml'],
  'plan delete': ['table', 'wide', 'name', 'json', 'yaml'],
  'plan forget-cluster': ['table', 'json', 'yaml'],
  'plan held': ['table', 'wide', 'name', 'json', 'yaml'],
  held: ['table', 'json', 'yaml'],
  'finalizers list': ['table', 'json', 'yaml'],
  'rules list': ['table', 'wide', 'name', 'json', 'yaml'],
  'rules plan': ['table', 'wide', 'name', 'json', 'yaml'],
  'rules explain': ['text', 'json', 'yaml'],
  'rules try': ['text', 'json', 'yaml'],
  status: ['table', 'json', 'yaml'],
  shadow: ['table', 'json', 'yaml'],
  'audit replay': ['text', 'json', 'yaml'],
  'audit horizon': ['table', 'json', 'yaml'],
  'lineage tail': ['text', 'json', 'yaml'],
  'lineage export': ['jsonl', 'csv', 'cypher', 'dot', 'mermaid', 'graphml'],
  restore: ['text', 'json', 'yaml'],
}

const LONG = /^--[a-z]/
const SHELLS = ['bash', 'zsh', 'fish']
const NOTHING: Completion = { values: [], directive: NO_FILE }
const FILES: Completion = { values: [], directive: 0 }

/**
 * `words`: all after the program's name; the last one is to be completed, and may be empty. Of
 * `--flag=value` values are offered without the flag, as Cobra does.
 */
export async function complete(words: readonly string[]): Promise<Completion> {
  const all = words.reduce(withWord, []).flatMap(parted)
  const before = all.slice(0, -1)
  const word = all.at(-1) ?? ''
  const { values, directive } = await candidates(before, word)
  return { values: values.filter(([value]) => value.startsWith(word)), directive }
}

/** bash has `--flag=value` as three words, or as two while it has no value. */
function withWord(all: readonly string[], word: string): readonly string[] {
  const last = all.at(-1) ?? ''
  const isRest = LONG.test(last) && (word === '=' || last.endsWith('='))
  return isRest && !/=./.test(last) ? [...all.slice(0, -1), last + word] : [...all, word]
}

function parted(word: string): readonly string[] {
  const at = word.indexOf('=')
  return LONG.test(word) && at > 0 ? [word.slice(0, at), word.slice(at + 1)] : [word]
}

/** As it is written for the shell. */
export function completionText({ values, directive }: Completion): string {
  const lines = values.map(([value, description]) =>
    description === '' ? value : `${value}\t${description}`,
  )
  return `${[...lines, `:${directive}`].join('\n')}\n`
}

async function candidates(before: readonly string[], word: string): Promise<Completion> {
  const [name] = before
  if (name === undefined) return word.startsWith('-') ? NOTHING : plain(COMMAND_NAMES)
  if (!COMMAND_NAMES.includes(name)) return NOTHING
  const line = readLine(await createProgram([name]), before)
  if (line.open !== undefined) return await valuesOf(line.open, line, word)
  if (word.startsWith('-')) return optionsOf(line.command)
  if (line.command.commands.length > 0) return plain(line.command.commands.map((c) => c.name()))
  return await argumentsOf(line, word)
}

interface Line {
  readonly command: Command
  /** Of the command: `plan delete`. */
  readonly path: string
  /** The option whose value comes next. */
  readonly open: Option | undefined
  readonly flags: Flags
  /** How many arguments there are already, and which. */
  readonly given: number
  readonly words: readonly string[]
}

type Flags = ClientFlags & ScopeFlags & { readonly namespace?: string; readonly cluster?: string }

function readLine(program: Command, words: readonly string[]): Line {
  let command = program
  let open: Option | undefined
  const args: string[] = []
  const flags: Record<string, string> = {}
  for (const word of words) {
    if (open !== undefined) {
      flags[open.attributeName()] = word
      open = undefined
      continue
    }
    if (word.startsWith('-')) {
      open = command.options.find(
        ({ long, short, required }) => required && (long === word || short === word),
      )
      continue
    }
    const below = command.commands.find((each) => each.name() === word)
    if (below === undefined) args.push(word)
    else command = below
  }
  return { command, path: pathOf(command), open, flags, given: args.length, words: args }
}

function pathOf(command: Command): string {
  const above = command.parent
  return above?.parent == null ? command.name() : `${pathOf(above)} ${command.name()}`
}

async function valuesOf(option: Option, { path, flags }: Line, word: string): Promise<Completion> {
  const { argChoices = [], long, flags: written } = option
  if (argChoices.length > 0) return plain(argChoices)
  if (long === '--output') return plain(OUTPUTS[path] ?? [])
  if (/<(root|uid)>$/.test(written)) return NOTHING
  if (long === '--cascade') return plain(['background', 'foreground', 'orphan'])
  if (long === '--cluster') return plain((await watched(flags)).clusters)
  if (long === '--sort-by') return plain(ORDERS)
  if (long === '--context') return plain(contextsOf(flags))
  if (/<(file|dir)>$/.test(written)) return FILES
  if (written.endsWith('<object>')) return await objectsOf(flags, word)
  if (written.endsWith('<ns>')) return plain(await namesOfKind(flags, 'namespaces'))
  if (written.endsWith('<kind>')) return plain(await kindsOf(flags))
  return plain(FLAG_VALUES[long ?? ''] ?? [])
}

function contextsOf({ kubeconfig }: ScopeFlags): readonly string[] {
  try {
    return [...new Set(contextNames(kubeconfig))].sort()
  } catch {
    return []
  }
}

function optionsOf(command: Command): Completion {
  const all = [...command.options, command.createOption('-h, --help', 'display help for command')]
  const shown = all.filter(({ hidden, long }) => !hidden && long !== undefined)
  return {
    values: shown.map(({ long, description }) => [long ?? '', description]),
    directive: NO_FILE,
  }
}

async function argumentsOf(
  { command, flags, given, words }: Line,
  word: string,
): Promise<Completion> {
  const [argument, second] = command.registeredArguments
  // Behind the name of a rule is an object.
  if (argument?.name() === 'rule') {
    if (given === 0) return plain(await rulesOf(flags))
    return given === 1 && second !== undefined ? await objectsOf(flags, word) : NOTHING
  }
  const [kind = ''] = words
  const isObject = argument?.name() === 'object'
  // The second of KIND NAME.
  if (given === 1 && (second?.name() === 'name' || (isObject && !/[/:]/.test(kind)))) {
    return plain(await namesOfKind(flags, kind))
  }
  if (given > 0 || argument === undefined) return NOTHING
  if (argument.name() === 'shell') return plain(SHELLS)
  if (argument.name() === 'cluster') return plain((await watched(flags)).clusters)
  if (['dir', 'file'].includes(argument.name())) return FILES
  if (argument.name() === 'kind') return plain(await listedKinds(command, flags, word))
  return isObject ? await objectsOf(flags, word) : NOTHING
}

async function kindsOf(flags: ClientFlags): Promise<readonly string[]> {
  return [...new Set([...SHORT_NAMES, ...(await watched(flags)).kinds])].sort()
}

/** `get` takes several with commas: what stands before the last of them is kept. */
async function listedKinds(
  command: Command,
  flags: ClientFlags,
  word: string,
): Promise<readonly string[]> {
  const kinds = await kindsOf(flags)
  const comma = command.name() === 'get' ? word.lastIndexOf(',') : -1
  const given = word.slice(0, comma + 1)
  const taken = new Set(given.split(','))
  return kinds.filter((kind) => !taken.has(kind)).map((kind) => given + kind)
}

/** Kinds first; behind a slash the names of that kind. */
async function objectsOf(flags: Flags, word: string): Promise<Completion> {
  const slash = word.indexOf('/')
  if (slash >= 0) {
    const kind = word.slice(0, slash)
    return plain((await namesOfKind(flags, kind)).map((name) => `${kind}/${name}`))
  }
  return {
    values: (await kindsOf(flags)).map((kind) => [`${kind}/`, '']),
    directive: NO_FILE + NO_SPACE,
  }
}

/** In the namespace of the command line; of a kind that has too many, the first. */
async function namesOfKind(flags: Flags, kind: string): Promise<readonly string[]> {
  const { cluster } = flags
  const query = new URLSearchParams({
    ...{ kind, namespace: flags.namespace ?? namespaceOf(flags), limit: `${MOST_NAMES}` },
    ...(cluster !== undefined && { cluster }),
  })
  try {
    const response = await ask(serverOf(flags), `/v1/objects?${query}`, WITHIN_MS)
    const { objects } = (await response.json()) as ObjectList
    return [...new Set(objects.map(({ name }) => name))].sort()
  } catch {
    return []
  }
}

async function rulesOf(flags: Flags): Promise<readonly string[]> {
  try {
    const response = await ask(serverOf(flags), '/v1/rules?counts=false', WITHIN_MS)
    const { rules } = (await response.json()) as RuleList
    return rules.map(({ rule }) => rule.name)
  } catch {
    return []
  }
}

function plain(values: readonly string[]): Completion {
  return { values: values.map((value) => [value, '']), directive: NO_FILE }
}

const WITHIN_MS = 500
const MOST_NAMES = 500
const OBJECTS = /^kinfold_(?:objects|edges)\{(?<labels>.*)\} /gm

interface Watched {
  readonly clusters: readonly string[]
  readonly kinds: readonly string[]
}

/** By its metrics: of a process without a watcher these are only the clusters. */
async function watched(flags: ClientFlags): Promise<Watched> {
  let text: string
  try {
    text = await (await ask(serverOf(flags), '/metrics', WITHIN_MS)).text()
  } catch {
    return { clusters: [], kinds: [] }
  }
  const clusters = new Set<string>()
  const groups = new Map<string, Set<string>>()
  for (const { groups: match } of text.matchAll(OBJECTS)) {
    const label = (name: string): string | undefined =>
      new RegExp(`(?:^|,)${name}="([^"\\\\]*)"`).exec(match?.['labels'] ?? '')?.[1]
    const [cluster, kind] = [label('cluster'), label('kind')?.toLowerCase()]
    if (cluster !== undefined) clusters.add(cluster)
    if (kind === undefined) continue
    groups.set(kind, (groups.get(kind) ?? new Set()).add(label('group') ?? ''))
  }
  return { clusters: [...clusters].sort(), kinds: [...groups].flatMap(namesOf) }
}

/** With its group where another group has a kind of that name. */
function namesOf([kind, groups]: readonly [string, ReadonlySet<string>]): readonly string[] {
  if (groups.size === 1) return [kind]
  return [...groups].map((group) => (group === '' ? kind : `${kind}.${group}`))
}
