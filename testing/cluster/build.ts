/**
 * Builds the real Kubernetes servers and tools for tests from the Go modules pinned in go/, needing
 * nothing but Go. Existing binaries are not changed; a binary appears under its name only when it
 * is whole (built beside it, then renamed). The command is ../servers.ts.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { builtFolder, findBinary, KUBERNETES_VERSION, type ServerSource } from './binaries.ts'

/** Answers the sentence that says why it failed, if it did. */
export async function buildUnlessThere(server: ServerSource): Promise<string | undefined> {
  const there = findBinary(server.name)
  if (there !== undefined) {
    console.log(`${server.name}: there already (${there})`)
    return undefined
  }
  console.log(`${server.name}: building (minutes, when nothing is cached)`)
  const began = performance.now()
  const folder = builtFolder(server.name)
  await mkdir(folder, { recursive: true })
  const target = join(folder, server.name)
  const unfinished = `${target}.${process.pid}.unfinished`
  try {
    const logFile = `${target}.build.log`
    const failure = await goBuild(server, unfinished, logFile)
    if (failure !== undefined) return failure
    await rename(unfinished, target)
    await rm(logFile)
  } finally {
    await rm(unfinished, { force: true })
  }
  console.log(`${server.name}: built in ${seconds(performance.now() - began)} (${target})`)
  return undefined
}

async function goBuild(
  server: ServerSource,
  output: string,
  logFile: string,
): Promise<string | undefined> {
  const log = openSync(logFile, 'w')
  const tags = server.tags === undefined ? [] : ['-tags', server.tags]
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', linkerFlags(server)]
  const go = spawn('go', [...args, ...tags, '-o', output, server.package], {
    cwd: join(import.meta.dirname, 'go', server.module),
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const { promise, resolve } = Promise.withResolvers<number | NodeJS.ErrnoException>()
  go.once('error', resolve)
  go.once('exit', (code) => resolve(code ?? 1))
  const result = await promise
  if (result === 0) return undefined
  if (typeof result === 'number') {
    const lines = (await readFile(logFile, 'utf8')).trim().split('\n')
    return `${server.name} was not built, go says "${lines.at(-1)}"; its whole output is in ${logFile}.`
  }
  return `${server.name} was not built because Go could not be started (${result.code}): install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a folder that has the binary.`
}

/** Without its version a Kubernetes server calls itself v0.0.0. */
function linkerFlags({ module }: ServerSource): string {
  if (module !== 'kubernetes') return '-s -w'
  const [major, minor] = KUBERNETES_VERSION.slice(1).split('.')
  const version = { gitVersion: KUBERNETES_VERSION, gitMajor: major, gitMinor: minor }
  const stamps = Object.entries(version).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  )
  return ['-s -w', ...stamps].join(' ')
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
