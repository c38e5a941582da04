/**
 * What a version of the fold makes of every story, as bytes: the events, the digests of what each
 * left behind, and the schemas of all records.
 *
 * What must stay true: what is recorded of a released version is never written again, so a program
 * that folds otherwise has another version or fails (services/graph/fold/recording.test.ts). It
 * depends on nothing but the file: a story that is edited since changes nothing.
 *
 * Not here: when it is written (scripts/fold-recording.ts), logs of whole directories
 * (scripts/data-directory.ts).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import { recordSchemas } from '../adapters/avro/codec.ts'
import { RECORD_TYPE_NAMES } from '../adapters/avro/record-type.ts'
import { fingerprintOf } from '../adapters/avro/schema.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import type { Event } from '../core/model/event.ts'
import { FOLD_VERSION } from '../core/model/policy.ts'
import { Batch } from '../services/graph/fold/batch.ts'
import { isStep, World } from './model/story.ts'
import { codec } from './rig/task-rig.ts'

const ROOT = join(import.meta.dirname, '..')
const STORIES = join(ROOT, 'core/scenarios')

export interface FoldRecording {
  readonly foldVersion: number
  /** Fingerprint of each record's schema. */
  readonly schemas: Readonly<Record<string, string>>
  readonly stories: readonly RecordedStory[]
}

export interface RecordedStory extends Digests {
  readonly name: string
  readonly events: readonly RecordedEvent[]
}

/**
 * Append time in milliseconds, and the bytes in hexadecimal digits; of what could not be read,
 * whose it was.
 */
export type RecordedEvent = readonly [
  at: number,
  bytes: string | { readonly home: string; readonly reason: string },
]

export interface Digests {
  readonly state: string
  readonly outputs: string
}

export async function recordFold(): Promise<FoldRecording> {
  const stories: RecordedStory[] = []
  for (const file of readdirSync(STORIES).sort()) {
    const events = eventsIn(readFileSync(join(STORIES, file), 'utf8'))
    stories.push({ name: file.replace('.txt', ''), events, ...(await refolded(events)) })
  }
  return { foldVersion: FOLD_VERSION, schemas: schemasNow(), stories }
}

/** What this program makes of it. */
export async function refolded(events: readonly RecordedEvent[]): Promise<Digests> {
  const store = new MemoryStore()
  const batch = new Batch({ store, codec, partition: 0, partitions: 1, from: undefined })
  for (const [timestamp, bytes] of events) {
    let next: Event | undefined =
      typeof bytes === 'string'
        ? (codec.decode(Buffer.from(bytes, 'hex')) as Event)
        : { type: 'Unreadable', ...bytes }
    while (next !== undefined) {
      const { position } = batch.position
      const outcome = await batch.fold(next, { partition: 0, partitions: 1, position, timestamp })
      next = outcome.continues ? { type: 'Continue' } : undefined
    }
  }
  const { state, outputs } = batch.position
  return { state, outputs }
}

export function schemasNow(): Readonly<Record<string, string>> {
  const all = recordSchemas(RECORD_TYPE_NAMES)
  return Object.fromEntries(all.map(({ name, current }) => [name, fingerprintOf(current)]))
}

export function recordingFile(version: number): string {
  return join(ROOT, 'testing/fold-recordings', `fold-${version}.json.br`)
}

/** Undefined where there is none. */
export function readRecording(version: number): FoldRecording | undefined {
  const file = recordingFile(version)
  if (!existsSync(file)) return undefined
  return JSON.parse(String(brotliDecompressSync(readFileSync(file)))) as FoldRecording
}

export function writeRecording(recording: FoldRecording): number {
  const bytes = brotliCompressSync(JSON.stringify(recording))
  writeFileSync(recordingFile(recording.foldVersion), bytes)
  return bytes.length
}

/**
 * Whether a version of the fold is in a release, by docs/inside/fold-versions.md and CHANGELOG.md:
 * then logs of users have it.
 */
export function isReleased(version: number, foldVersions: string, changelog: string): boolean {
  const row = new RegExp(`^\\| ${version} \\| ([^|]+) \\|`, 'm').exec(foldVersions)
  if (row === null) throw new Error(`docs/inside/fold-versions.md has no row of version ${version}`)
  const release = row[1]!.trim()
  if (release === '–') return false
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${release}`))
  if (heading === undefined) throw new Error(`CHANGELOG.md has no release ${release}`)
  return !heading.includes('not released yet')
}

/** Of the documents of this checkout. */
export function isOut(version: number): boolean {
  const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
  return isReleased(version, textOf('docs/inside/fold-versions.md'), textOf('CHANGELOG.md'))
}

function eventsIn(text: string): readonly RecordedEvent[] {
  const world = new World()
  const events: RecordedEvent[] = []
  const tell = world.tell.bind(world)
  world.tell = (event) => {
    const bytes =
      event.type === 'Unreadable'
        ? { home: event.home, reason: event.reason }
        : Buffer.from(codec.encode(event)).toString('hex')
    events.push([world.now, bytes])
    return tell(event)
  }
  world.begin()
  for (const line of text.split('\n').filter(isStep)) world.step(line)
  return events
}
