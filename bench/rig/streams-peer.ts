/**
 * The Kafka Streams program with which Kinfold is compared: built by Maven and the Java compiler
 * where it is not yet, and run in a process of its own.
 *
 * What must stay true: it is built from the files under peers/streams, in a folder of the user's
 * cache that is whole or not there.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serversFolder } from '../../testing/cluster/binaries.ts'
import { findJava, NO_JAVA } from '../../testing/kafka/jars.ts'
import type { Spoken } from './spoken-process.ts'
import { startSpoken } from './spoken-process.ts'

/** How many records an event brings about, and how large their keys and values are. */
export interface Shape {
  readonly perEvent: number
  readonly keyBytes: number
  readonly valueBytes: number
}

/** What a fold writes for an event. */
export interface Shapes {
  /** Different keys that lie in a partition's state. */
  readonly keys: number
  readonly changes: Shape
  readonly lineage: Shape
  readonly history: Shape
  readonly commands: Shape
}

export interface StreamsLine {
  readonly atMs: number
  readonly processed: number
  readonly restored: number
  /** It has begun to. */
  readonly restoring: boolean
  readonly running: boolean
}

export interface StreamsOptions {
  readonly folder: string
  readonly brokers: readonly string[]
  /** Before `.events` and its output topics, which are there. */
  readonly application: string
  readonly directory: string
  readonly shapes: Shapes
}

const SOURCE = join(import.meta.dirname, '..', 'peers', 'streams')
const PROGRAM = join(SOURCE, 'src', 'main', 'java', 'kinfold', 'bench', 'Peer.java')
const POM = join(SOURCE, 'pom.xml')
const THREADS = 2
const COMMIT_MS = 100
const run = promisify(execFile)

/** Resolves with the folder of its classes and jars. */
export async function buildStreamsPeer(): Promise<string> {
  const java = findJava()
  if (java === undefined) throw new Error(NO_JAVA)
  const digest = createHash('sha256').update(readFileSync(PROGRAM)).update(readFileSync(POM))
  const folder = join(serversFolder(), `streams-peer-${digest.digest('hex').slice(0, 12)}`)
  if (existsSync(folder)) return folder
  process.stderr.write('building the Kafka Streams program (70 MB are fetched the first time)\n')
  const unfinished = `${folder}.${process.pid}.unfinished`
  await mkdir(unfinished, { recursive: true })
  try {
    const lib = join(unfinished, 'lib')
    const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime']
    await run('mvn', ['-B', '-ntp', '-q', '-f', POM, ...goal, `-DoutputDirectory=${lib}`])
    const target = join(unfinished, 'classes')
    const compiler = join(java, '..', 'javac')
    await run(compiler, ['-d', target, '-cp', join(lib, '*'), PROGRAM])
    await rename(unfinished, folder)
    return folder
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

export async function startStreamsPeer(options: StreamsOptions): Promise<Spoken<StreamsLine>> {
  const { folder, brokers, application, directory, shapes } = options
  const shape = ({ perEvent, keyBytes, valueBytes }: Shape): string =>
    [perEvent.toFixed(6), Math.round(keyBytes), Math.round(valueBytes)].join(':')
  const { keys, changes, lineage, history, commands } = shapes
  const given = {
    brokers: brokers.join(','),
    ...{ application, directory, keys },
    threads: THREADS,
    commitMs: COMMIT_MS,
    changes: shape(changes),
    lineage: shape(lineage),
    history: shape(history),
    commands: shape(commands),
  }
  return await startSpoken({
    name: 'the Kafka Streams program',
    binary: findJava() ?? 'java',
    args: [
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      '-cp',
      [join(folder, 'classes'), join(folder, 'lib', '*')].join(':'),
      'kinfold.bench.Peer',
      ...Object.entries(given).map(([name, value]) => `${name}=${value}`),
    ],
  })
}
