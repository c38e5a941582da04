/**
 * Asks an endpoint by its own /openapi.json with schemathesis: what the document permits and what
 * it does not, and compares all that it answers with the document.
 *
 * What must stay true: no answer is an error of ours (5xx), each has a status, a content type,
 * headers and a body that the document has. Words are drawn of what is there (schemathesis.toml),
 * so that many questions have an answer.
 *
 * Not here: lines of streams, which answer.test.ts compares.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { GraphGroup, tell } from '../rig/graph-group.ts'
import { eventsOf } from '../rig/task-rig.ts'
import { schemathesisCommand } from './installed.ts'

const CONFIG = join(import.meta.dirname, 'schemathesis.toml')
/** Of these objects the words are. */
const STORY = [
  ...['put deploy/web in shop', 'put rs/web in shop <- deploy/web', 'put pod/a in shop <- rs/web'],
  ...[
    'many 5 cm/a# in shop <- rs/web',
    'put pod/free in other',
    'put node/n',
    'put pv/n <- node/n',
  ],
  ...['put deploy/gone in shop', 'put pod/gone in shop <- deploy/gone', 'pause'],
  ...['delete deploy/gone in shop', 'protect namespace/other', 'put cm/odd in shop <- widget/x'],
]

export interface Fuzzing {
  /** Where it is asked. */
  readonly url: string
  /** The document, if it is another than the endpoint's own: a file. */
  readonly document?: string
  /** Cases of each operation. */
  readonly cases: number
  /** Further flags. */
  readonly flags?: readonly string[]
}

export interface Fuzzed {
  readonly code: number | null
  /** What it printed: each failure with the request that shows it. */
  readonly output: string
}

/** All that is permitted, and what is not. */
export async function fuzzAll(url: string, cases: number): Promise<Fuzzed> {
  return await fuzz({ url, cases })
}

/** What is permitted alone: more of it is answered. */
export async function fuzzPermitted(url: string, cases: number): Promise<Fuzzed> {
  return await fuzz({ url, cases, flags: ['--mode', 'positive', '--phases', 'fuzzing'] })
}

export async function fuzz({ url, document, cases, flags = [] }: Fuzzing): Promise<Fuzzed> {
  // It leaves folders where it runs.
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-fuzz-'))
  try {
    const [python, ...module] = schemathesisCommand()
    const schema = document ?? `${url}/openapi.json`
    const args = ['--config-file', CONFIG, 'run', schema, '--url', url, '--warnings', 'off']
    const all = [...module, ...args, '--max-examples', `${cases}`, ...flags]
    const child = spawn(python, all, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = once(child, 'close')
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = (await ended) as [number | null]
    return { code, output: output + errors }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface FuzzedServer extends AsyncDisposable {
  readonly url: string
}

/** A graph process that folded the story. */
export async function serveStory(): Promise<FuzzedServer> {
  const group = new GraphGroup(1)
  const { url } = await group.start()
  await tell(group.log, eventsOf(STORY))
  await group.caughtUp()
  return { url, [Symbol.asyncDispose]: async () => await group.stop() }
}
