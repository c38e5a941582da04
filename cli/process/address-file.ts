/**
 * Where the endpoint of a data directory is found by commands on the same machine. What must stay
 * true: the file is there only while it is served, and whole from the start.
 */
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve as absolute, join } from 'node:path'
import { INSTANCE } from '../../runtime/instance.ts'
import type { UpConfig } from '../config/config.ts'

export async function serveAddress(
  { data, httpTokenFile }: Pick<UpConfig, 'data' | 'httpTokenFile'>,
  url: string,
  signal: AbortSignal,
): Promise<void> {
  const path = join(data, 'http.json')
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => resolve(), { once: true })
  if (signal.aborted) resolve()
  const tokenFile = httpTokenFile && absolute(httpTokenFile)
  const unfinished = `${path}.${process.pid}`
  const about = { url, pid: process.pid, instance: INSTANCE, tokenFile }
  writeFileSync(unfinished, `${JSON.stringify(about)}\n`)
  // It holds no object of a cluster: users whom the data directory lets in find the endpoint by it.
  chmodSync(unfinished, 0o644)
  renameSync(unfinished, path)
  try {
    await promise
  } finally {
    rmSync(path, { force: true })
  }
}
