/**
 * The rules for every file: the direction of imports, a header, no outside in the core, no clocks
 * in loops, no sentence read back, no old words in comments, nothing dead, and no id that leads to
 * no page.
 *
 * What must stay true: the table below is the table in ARCHITECTURE.md; a wall is moved here first.
 */
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { cyclesOf } from './cycle.ts'
import { knownIds, unknownIds } from './ids.ts'
import { oldWordsIn } from './word.ts'

export interface Complaint {
  readonly file: string
  readonly text: string
}

/** What rooms of services/graph may import: its bounds and its turns are outside of them. */
const ROOM_OF_SERVICE = [
  'core',
  'ports',
  'runtime',
  'node',
  'npm',
  'services/graph/config.ts',
  'services/graph/turns.ts',
]

const SERVICE = ['core', 'ports', 'runtime', 'node', 'npm']
const ADAPTER = ['core', 'ports', 'node', 'npm']
const SIM = [
  ...['core', 'ports', 'services', 'runtime', 'testing', 'node'],
  ...['adapters/memory', 'adapters/kubernetes', 'adapters/avro'],
]

const BESIDE_CLI = [
  ...['core', 'ports', 'runtime', 'services', 'playground', 'node', 'npm'],
  // One sentence says who deleted an object, in a terminal and on the page.
  'web/deletion-text.ts',
]

const BESIDE_WEB = ['npm', 'cli/answer.ts', 'services/graph/api/word.ts']

/**
 * The rooms of a folder: each may import what is beside all of them, itself, and those before it.
 */
function rooms(
  folder: string,
  names: readonly string[],
  beside: readonly string[],
): Readonly<Record<string, readonly string[]>> {
  const all = names.map((name) => `${folder}/${name}`)
  return Object.fromEntries(all.map((room, i) => [room, [...beside, ...all.slice(0, i + 1)]]))
}

/**
 * Folder of a file → what it may import: folders of this repository, files, `folder/*` for the
 * files that lie in it directly, `node:*`, `npm`, or `elsewhere` for all outside of its top folder.
 * The longest matching folder counts.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: ['core'],
  ...rooms('core', ['model', 'graph', 'observe', 'judge', 'admit', 'issue'], []),
  ports: ['core', 'ports'],
  // How large a record may be is part of what a log promises.
  'ports/record': ['core', 'ports/record', 'ports/log.ts'],
  adapters: [...ADAPTER, 'self'],
  // What reaches into the client, and what its failures mean.
  'adapters/kafka/protocol': [
    ...ADAPTER,
    'adapters/kafka/protocol',
    'adapters/kafka/failure.ts',
    'adapters/kafka/inside.ts',
  ],
  'adapters/kubernetes': [...ADAPTER, 'adapters/kubernetes/*'],
  ...rooms('adapters/kubernetes', ['connection', 'lease'], [...ADAPTER, 'adapters/kubernetes/*']),
  'adapters/memory/api': [...ADAPTER, 'adapters/memory/api'],
  runtime: ['ports', 'runtime/*', 'node', 'npm'],
  ...rooms(
    'runtime',
    ['shares', 'archive', 'http', 'telemetry'],
    // A share that is spent is refused over HTTP.
    ['ports', 'runtime/*', 'runtime/http/problem.ts', 'node', 'npm'],
  ),
  services: [...SERVICE, 'self'],
  ...rooms('services/reaper', ['decide', 'intake'], SERVICE),
  'services/watcher/publish': [
    ...SERVICE,
    ...['publish', 'config.ts', 'status.ts'].map((name) => `services/watcher/${name}`),
  ],
  'services/watcher/kind': [
    ...SERVICE,
    ...['services/watcher/publish', 'services/watcher/kind'],
    // One watch, whatever its kind; who may watch it, and until when.
    ...[
      'account-rights',
      'config',
      'control-reader',
      'deadline',
      'identity',
      'monitor',
      'status',
    ].map((name) => `services/watcher/${name}.ts`),
  ],
  'services/graph/fold': [...ROOM_OF_SERVICE, 'services/graph/fold'],
  'services/graph/api': ['core/model', 'runtime', 'node', 'npm', 'services/graph/api'],
  ...rooms(
    'services/graph/query',
    ['index', 'view', 'answer', 'plan', 'rule', 'across', 'ask'],
    [...ROOM_OF_SERVICE, 'services/graph/api', 'services/graph/fold'],
  ),
  'services/graph/record': [
    ...ROOM_OF_SERVICE,
    'services/graph/api',
    'services/graph/fold',
    'services/graph/query',
    'services/graph/record',
    'services/graph/stream-position.ts',
  ],
  'services/graph/orders': [
    ...ROOM_OF_SERVICE,
    'services/graph/api',
    'services/graph/fold',
    'services/graph/query',
    'services/graph/orders',
  ],
  'services/graph/actors': [
    ...ROOM_OF_SERVICE,
    'services/graph/api',
    'services/graph/query',
    'services/graph/actors',
  ],
  'services/graph/audit': [
    ...ROOM_OF_SERVICE,
    'services/graph/api',
    'services/graph/fold',
    'services/graph/query',
    'services/graph/audit',
  ],
  'services/graph/evidence': [
    ...ROOM_OF_SERVICE,
    'services/graph/fold',
    'services/graph/audit',
    'services/graph/evidence',
  ],
  playground: ['core', 'ports', 'runtime', 'playground', 'adapters/memory', 'node'],
  sim: [...SIM, 'sim'],
  // Beside the rooms: the parts of a world, and what runs one.
  ...rooms('sim', ['rule', 'fault', 'check', 'small', 'seeds', 'broken'], [...SIM, 'sim/*']),
  cli: [...BESIDE_CLI, 'cli'],
  ...rooms(
    'cli',
    ['print', 'config', 'process', 'setup', 'reach', 'ask', 'offline', 'serve'],
    [...BESIDE_CLI, 'cli/answer.ts'],
  ),
  // In a browser: the types of answers, and the words of records.
  web: ['web', ...BESIDE_WEB, 'core/model/rule/annotate.ts'],
  ...rooms(
    'web',
    ['base', 'picture', 'tree', 'record', 'past'],
    [...BESIDE_WEB, 'web/deletion-text.ts', 'web/object-tabs.ts'],
  ),
  testing: ['*'],
  ...rooms(
    'testing',
    [
      ...['model', 'rig', 'cluster', 'kafka', 'fuzz-api', 'consumers', 'package', 'process'],
      ...['image', 'chart', 'chaos', 'conformance', 'examples', 'browser'],
    ],
    ['elsewhere', 'testing/answer-check.ts', 'testing/eventually.ts', 'testing/seeded.ts'],
  ),
  bench: ['*'],
  scripts: ['*'],
}

/**
 * The rules of the core ask and change the facts of a cluster (core/graph/facts.ts), and see no
 * keys.
 */
const RULES = /^core\/(observe|judge|admit|issue)(\/|\.ts$)/
const KEYS: ReadonlySet<string> = new Set([
  'core/graph/graph.ts',
  'core/graph/key.ts',
  'core/graph/table.ts',
])

/** These put whole processes together, or open the log themselves: they may import adapters. */
export const MAY_IMPORT_ADAPTERS: ReadonlySet<string> = new Set([
  'cli/offline/archive-source.ts',
  'cli/offline/audit-follow.ts',
  'cli/offline/backup.ts',
  'cli/config/clusters.ts',
  'cli/serve/embedded.ts',
  'cli/offline/refold.ts',
  'cli/serve/playground.ts',
  'cli/setup/checkup.ts',
  'cli/config/kafka-config.ts',
  'cli/config/config-rules.ts',
  'cli/serve/service.ts',
  'cli/setup/topics.ts',
  'cli/offline/upgrade.ts',
  'services/graph/main.ts',
  'services/watcher/main.ts',
  'services/reaper/main.ts',
])

const ROOTS = Object.keys(MAY_IMPORT).filter((folder) => !folder.includes('/'))
const IMPORT =
  /^\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]/gm
/** In the core: no clock, chance, process or output. */
const OUTSIDE =
  /\bnew Date\(\)|\b(Date\.now|Math\.random|process\.|console\.|performance\.|setTimeout|setInterval|structuredClock)\b/
/** In service loops: ports give time and chance. */
const CLOCKS =
  /\bnew Date\(\)|\b(Date\.now|Math\.random|performance\.now|setTimeout|setInterval|randomUUID)\b/
const NAMING_IDS = ['*.md', '{bench,docs,schemas,testing}/**/*.md', 'core/scenarios/*.txt']
/** A sentence for people is made at the edge and never read back: code decides by a field. */
const READ_BACK =
  /\b(intent|reason|because|why|who|told)\??\.(startsWith|endsWith|includes|split|match)\(/
/** By name, since rooms move: it has nothing but the public record, whose verdict is a sentence. */
const MAY_READ_BACK: ReadonlySet<string> = new Set(['shadow-case.ts'])
/** As wide as code may be, but for what a linter reads. */
const WIDE_COMMENT = /^(?=.{101})\s*(?:\/\*\*|\*|\/\/(?! biome-ignore)).*$/gm
const UNDONE = new RegExp(['FIX', 'ME'].join('') + '|' + ['XX', 'X'].join(''))

export function sourceFiles(root: string): string[] {
  return ROOTS.flatMap((folder) => {
    try {
      return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
        .map((name) => join(folder, name))
    } catch {
      return []
    }
  }).sort()
}

export function tidy(root: string): Complaint[] {
  const files = sourceFiles(root)
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
  return [
    ...files.flatMap((file) => complaintsOf(file, texts.get(file) ?? '')),
    ...deadFiles(root, texts),
    ...idComplaints(root, texts),
    ...fullFolders(files),
    ...cycles(texts),
  ]
}

/**
 * More than one can keep in mind: such a folder gets rooms. Tests lie beside what they test, and do
 * not count.
 */
const MOST_OF_A_FOLDER = 20

function fullFolders(files: readonly string[]): Complaint[] {
  const product = files.filter((file) => !/\.(test|contract)\.ts$/.test(file))
  return Object.entries(Object.groupBy(product, dirname)).flatMap(([folder, all = []]) =>
    all.length > MOST_OF_A_FOLDER
      ? [
          {
            file: folder,
            text: `has ${all.length} files, at most ${MOST_OF_A_FOLDER}: give it rooms`,
          },
        ]
      : [],
  )
}

/** In sources, documents and stories. */
function idComplaints(root: string, texts: ReadonlyMap<string, string>): Complaint[] {
  const known = knownIds(root)
  const others = globSync(NAMING_IDS, { cwd: root }).map((file): [string, string] => [
    file,
    readFileSync(join(root, file), 'utf8'),
  ])
  return [...texts, ...others.sort()].flatMap(([file, text]) =>
    unknownIds(text, known).map((id) => ({
      file,
      text: `names ${id}, which no page in docs/ has`,
    })),
  )
}

function complaintsOf(file: string, text: string): Complaint[] {
  const found: string[] = []
  const code = withoutComments(text)
  if (!text.replace(/^#!.*\n/, '').startsWith('/**'))
    found.push('has no header that says what it is for')
  if (UNDONE.test(text)) found.push('has a mark for work undone')
  for (const [line] of text.matchAll(WIDE_COMMENT))
    found.push(`has a comment wider than 100 columns: ${line.trim().slice(0, 40)}…`)
  const isTest = /\.(test|contract)\.ts$/.test(file)
  if (!isTest && file.startsWith('core/') && OUTSIDE.test(code))
    found.push('reaches outside of the core')
  if (!isTest && isLoop(file) && CLOCKS.test(code))
    found.push('takes time or chance from elsewhere than the ports')
  if (!isTest && isDecided(file) && READ_BACK.test(code))
    found.push('reads a sentence for people back')
  if (!isTest) {
    for (const [, from, bare] of text.matchAll(IMPORT)) {
      const complaint = importComplaint(file, from ?? bare ?? '')
      if (complaint !== '') found.push(complaint)
    }
  }
  found.push(...oldWordsIn(text))
  return found.map((what) => ({ file, text: what }))
}

function isDecided(file: string): boolean {
  return /^(core|services)\//.test(file) && !MAY_READ_BACK.has(basename(file))
}

function isLoop(file: string): boolean {
  return file.startsWith('services/') && !file.endsWith('/main.ts')
}

export function importComplaint(file: string, specifier: string): string {
  const allowed = MAY_IMPORT[folderOf(file)] ?? []
  if (allowed.includes('*')) return ''
  const target = targetOf(file, specifier)
  if (RULES.test(file) && KEYS.has(target)) return `may not import ${specifier}: ask the facts`
  const isOwn = roomOf(target) === roomOf(file)
  const isAllowed =
    allowed.some((each) => target === each || target.startsWith(`${each}/`)) ||
    allowed.includes(`${dirname(target)}/*`) ||
    (allowed.includes('self') && isOwn) ||
    (allowed.includes('elsewhere') && !isOwn) ||
    (target.startsWith('adapters/') && MAY_IMPORT_ADAPTERS.has(file))
  const isForeignService = file.startsWith('services/') && target.startsWith('services/') && !isOwn
  if (isAllowed && !isForeignService) return ''
  return `may not import ${specifier}`
}

/** The longest one that the table has. */
function folderOf(file: string): string {
  let folder = dirname(file)
  while (folder.includes('/') && MAY_IMPORT[folder] === undefined) folder = dirname(folder)
  return folder
}

/** `adapters/x` and `services/x` are rooms of their own. */
function roomOf(path: string): string {
  const [folder = '', room = ''] = path.split('/')
  return folder === 'adapters' || folder === 'services' ? `${folder}/${room}` : folder
}

function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('node:')) return 'node'
  if (specifier.startsWith('.')) return normalize(join(dirname(file), specifier))
  return 'npm'
}

/** No file imports it, it is no test, and no command starts it. */
function deadFiles(root: string, texts: ReadonlyMap<string, string>): Complaint[] {
  const used = new Set<string>(['cli/main.ts', 'web/main.ts'])
  for (const [file, text] of texts) {
    for (const [, from, bare] of text.matchAll(IMPORT)) used.add(targetOf(file, from ?? bare ?? ''))
    for (const [, from] of text.matchAll(/import\(\s*['"]([^'"]+)['"]/g))
      used.add(targetOf(file, from ?? ''))
    // Started as a process of its own, by its path.
    for (const [, from] of text.matchAll(/['"]([\w./-]+\.ts)['"]/g)) {
      used.add(normalize(join(dirname(file), from ?? '')))
      used.add(from ?? '')
    }
  }
  const scripts = readFileSync(join(root, 'package.json'), 'utf8')
  return [...texts.keys()]
    .filter((file) => !/\.test\.ts$/.test(file) && !used.has(file) && !scripts.includes(file))
    .map((file) => ({ file, text: 'is imported by nothing' }))
}

/** Types included: the meaning of a type has to be read in one direction, too. */
export function cycles(texts: ReadonlyMap<string, string>): Complaint[] {
  const imports = new Map<string, readonly string[]>()
  for (const [file, text] of texts) {
    if (file.endsWith('.test.ts')) continue
    const targets = [...text.matchAll(IMPORT)].map(([, from, bare]) =>
      targetOf(file, from ?? bare ?? ''),
    )
    imports.set(
      file,
      targets.filter((target) => texts.has(target)),
    )
  }
  return cyclesOf(imports).map(([file = '', ...others]) => ({
    file,
    text: `is in a cycle of files with ${others.join(', ')}`,
  }))
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}
