/**
 * Fetches the Kafka that tests run, with its dependencies, as maven/pom.xml pins it; Maven alone is
 * needed for that, Java to run it.
 *
 * What must stay true: the folder appears under its name only when it is whole (filled beside it,
 * then renamed), and an existing folder is not changed. The command is ../servers.ts.
 */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { serversFolder } from '../cluster/binaries.ts'
import { startKafka } from './broker.ts'
import { archiveFile, findJava, hasJars, kafkaFolder, NO_JAVA } from './jars.ts'
import { makeTopic, produce, readAll } from './records.ts'

/** Answers the sentence that says why it failed, if it did. */
export async function fetchUnlessThere(): Promise<string | undefined> {
  const folder = kafkaFolder()
  if (hasJars() && existsSync(archiveFile())) {
    console.log(`kafka: there already (${folder})`)
    return undefined
  }
  const began = performance.now()
  if (!hasJars()) {
    console.log('kafka: fetching (43 MB, when nothing is cached)')
    const failure = await fetchJars(folder)
    if (failure !== undefined) return failure
  }
  const failure = await archiveClasses()
  if (failure !== undefined) return failure
  console.log(`kafka: fetched in ${((performance.now() - began) / 1000).toFixed(1)} s (${folder})`)
  return undefined
}

async function fetchJars(folder: string): Promise<string | undefined> {
  await mkdir(serversFolder(), { recursive: true })
  const unfinished = `${folder}.${process.pid}.unfinished`
  const logFile = `${folder}.fetch.log`
  try {
    const failure = await mavenCopy(join(unfinished, 'lib'), logFile)
    if (failure !== undefined) return failure
    await renameUnlessThere(unfinished, folder)
    await rm(logFile)
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return undefined
}

/** Runs a broker once, for Java to keep the classes that it needed; it writes them as it ends. */
async function archiveClasses(): Promise<string | undefined> {
  if (findJava() === undefined) return NO_JAVA
  const unfinished = `${archiveFile()}.${process.pid}.unfinished`
  process.env['JAVA_TOOL_OPTIONS'] = `-XX:ArchiveClassesAtExit=${unfinished}`
  try {
    await using kafka = await startKafka({ own: true })
    await makeTopic(kafka.client(), 'classes')
    await produce(kafka.client(), 'classes', ['value'])
    await readAll(kafka.client(), 'classes', 1)
    await kafka.broker(1).stop()
    await rename(unfinished, archiveFile())
    return undefined
  } finally {
    delete process.env['JAVA_TOOL_OPTIONS']
    await rm(unfinished, { force: true })
  }
}

async function mavenCopy(output: string, logFile: string): Promise<string | undefined> {
  const log = openSync(logFile, 'w')
  const pom = join(import.meta.dirname, 'maven', 'pom.xml')
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime']
  const args = ['-B', '-ntp', '-f', pom, ...goal, `-DoutputDirectory=${output}`]
  const maven = spawn('mvn', args, { stdio: ['ignore', log, log] })
  closeSync(log)
  const { promise, resolve } = Promise.withResolvers<number | NodeJS.ErrnoException>()
  maven.once('error', resolve)
  maven.once('exit', (code) => resolve(code ?? 1))
  const result = await promise
  if (result === 0) return undefined
  if (typeof result !== 'number') {
    return `kafka was not fetched because Maven could not be started (${result.code}): install Maven 3 and Java 17, or set KAFKA_BROKERS to brokers of your own.`
  }
  const lines = (await readFile(logFile, 'utf8')).split('\n')
  const first = lines.find((line) => line.startsWith('[ERROR]')) ?? lines.at(-1)
  return `kafka was not fetched, Maven says "${first}"; its whole output is in ${logFile}.`
}

/** Two concurrent runs end with the folder of one of them; either is whole. */
async function renameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (!hasJars()) throw error
  }
}
