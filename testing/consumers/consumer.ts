/**
 * The examples of consumers in docs/integrate/examples, one for each language: how one is installed
 * and run, as docs/integrate/consumers.md prints it, and where the tests have it.
 *
 * What must stay true: finding never fetches; where KINFOLD_REQUIRE_SERVERS is 1, as on CI, a
 * missing one is an error. A folder is named by the content of its files, so an example that was
 * changed is another one until it is installed again. The installing is build.ts.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { serversFolder } from '../cluster/binaries.ts'

const EXAMPLES = join(import.meta.dirname, '../../docs/integrate/examples')

export interface Consumer {
  readonly language: string
  /** All that it is made of, in docs/integrate/examples/LANGUAGE. */
  readonly files: readonly string[]
  /** In that folder; undefined where the checkout has all it needs. */
  readonly install?: string
  /** In that folder, before its flags. */
  readonly run: string
  /** The requirement for the machine. */
  readonly needs: string
}

export const CONSUMERS: readonly Consumer[] = [
  {
    language: 'typescript',
    files: ['lineage-table.ts', 'table.ts', 'spans.ts', 'decoder.ts'],
    run: 'node lineage-table.ts',
    needs: 'Node 24',
  },
  {
    language: 'python',
    files: ['lineage_table.py', 'requirements.txt'],
    install:
      'python3 -m venv .venv && .venv/bin/python -m pip install --only-binary :all: -r requirements.txt',
    run: '.venv/bin/python lineage_table.py',
    needs: 'Python 3.11 or newer with venv',
  },
  {
    language: 'go',
    files: ['main.go', 'table.go', 'spans.go', 'decoder.go', 'go.mod', 'go.sum'],
    install: 'go build -o lineage-table .',
    run: './lineage-table',
    needs: 'Go 1.26 or newer',
  },
  {
    language: 'java',
    files: ['LineageTable.java', 'pom.xml'],
    install: 'mvn -B -ntp dependency:copy-dependencies -DoutputDirectory=target/lib',
    run: "java -cp 'target/lib/*' LineageTable.java",
    needs: 'Maven 3 and Java 17 or newer',
  },
]

export function sourceFolder({ language }: Consumer): string {
  return join(EXAMPLES, language)
}

/** Where it is installed, outside the checkout where it needs anything. */
export function installedFolder(consumer: Consumer): string {
  if (consumer.install === undefined) return sourceFolder(consumer)
  const hash = createHash('sha256').update(consumer.install)
  for (const file of consumer.files)
    hash.update(readFileSync(join(sourceFolder(consumer), file))).update('\0')
  const version = hash.digest('hex').slice(0, 12)
  return join(serversFolder(), `consumer-${consumer.language}-${version}`)
}

/**
 * The reason to skip a test that needs it, or undefined. Throws it where KINFOLD_REQUIRE_SERVERS is
 * 1.
 */
export function missingConsumer(consumer: Consumer): string | undefined {
  if (existsSync(installedFolder(consumer))) return undefined
  const missing = `consumer-${consumer.language} not installed; run \`npm run servers\``
  if (process.env['KINFOLD_REQUIRE_SERVERS'] === '1') throw new Error(missing)
  return `skipped: ${missing}`
}

/** As the document runs it. */
export function startConsumer(consumer: Consumer, flags: readonly string[]): ChildProcess {
  const node = dirname(process.execPath)
  return spawn('bash', ['-c', `exec ${consumer.run} "$@"`, 'bash', ...flags], {
    cwd: installedFolder(consumer),
    env: { ...process.env, PATH: `${node}${delimiter}${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
