/**
 * The Kafka that tests run: which version, where its jars are, how Java is called on them.
 *
 * Finding never fetches: a test run without them skips, and says which command would bring them.
 * Where KINFOLD_REQUIRE_SERVERS is 1, as on CI, their absence is an error instead, so nothing is
 * skipped in silence. The fetching is build.ts.
 */
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { serversFolder } from '../cluster/binaries.ts'

/** The version pinned by maven/pom.xml. */
export const KAFKA_VERSION = '4.1.0'

export const NO_JAVA = 'no Java found; install Java 17 or newer, or set JAVA_HOME'

export function kafkaFolder(): string {
  return join(serversFolder(), `kafka-${KAFKA_VERSION}`)
}

/** JAVA_HOME's, else the first on PATH. */
export function findJava(): string | undefined {
  const { JAVA_HOME: home, PATH: path = '' } = process.env
  const folders = home ? [join(home, 'bin')] : path.split(delimiter)
  return folders.map((folder) => join(folder, 'java')).find(isExecutable)
}

export function hasJars(): boolean {
  return existsSync(join(kafkaFolder(), 'lib'))
}

/** The brokers that KAFKA_BROKERS names, for tests that need no broker of their own. */
export function givenBrokers(): readonly string[] | undefined {
  const given = (process.env['KAFKA_BROKERS'] ?? '').split(',').filter((each) => each !== '')
  return given.length === 0 ? undefined : given
}

/**
 * The reason to skip a test that needs Kafka, or undefined. Throws it where KINFOLD_REQUIRE_SERVERS
 * is 1. `own`: the test starts its own brokers even where KAFKA_BROKERS names some.
 */
export function missingKafka({ own = false }: { readonly own?: boolean } = {}): string | undefined {
  if (!own && givenBrokers() !== undefined) return undefined
  const missing = whatIsMissing()
  if (missing === undefined) return undefined
  if (process.env['KINFOLD_REQUIRE_SERVERS'] === '1') throw new Error(missing)
  return `skipped: ${missing}`
}

/**
 * Classes as Java has them in memory, kept by build.ts: half of the processor time of a start.
 * Another Java ignores it.
 */
export function archiveFile(): string {
  return join(kafkaFolder(), 'classes.jsa')
}

export interface JavaCommand {
  readonly binary: string
  readonly args: readonly string[]
}

/**
 * Java on a class of Kafka's, tuned for a short life: it starts fast and stays small, and is slow
 * at its peak.
 */
export function kafkaCommand(mainClass: string, ...args: readonly string[]): JavaCommand {
  const missing = whatIsMissing()
  if (missing !== undefined) throw new Error(missing)
  return {
    binary: findJava()!,
    args: [
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      '-Xmx256m',
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      '-Dorg.slf4j.simpleLogger.showDateTime=true',
      ...(existsSync(archiveFile()) ? [`-XX:SharedArchiveFile=${archiveFile()}`] : []),
      '-cp',
      classPath(),
      mainClass,
      ...args,
    ],
  }
}

function whatIsMissing(): string | undefined {
  if (!hasJars()) return 'kafka not fetched; run `npm run servers`'
  if (findJava() === undefined) return NO_JAVA
  return undefined
}

function classPath(): string {
  const lib = join(kafkaFolder(), 'lib')
  const jars = readdirSync(lib).filter((name) => name.endsWith('.jar'))
  return jars
    .sort()
    .map((name) => join(lib, name))
    .join(delimiter)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
