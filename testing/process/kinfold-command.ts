/**
 * Runs the command `kinfold` as its user would: a process of its own, its output and its exit code.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

/** The user who runs the tests may have a namespace in a kubeconfig. */
const NOBODYS = '/nowhere/kubeconfig'

export interface Ran {
  /** Null when it was ended by a signal. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ran>
}

export function startKinfold(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  output: number | 'pipe' = 'pipe',
  main: string = MAIN,
): Running {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, NO_COLOR: '1', KUBECONFIG: NOBODYS, ...env },
    stdio: ['ignore', output, 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = new Promise<Ran>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
  return { child, ended }
}

export async function runKinfold(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return await startKinfold(args, env).ended
}
