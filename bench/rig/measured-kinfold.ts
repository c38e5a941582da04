/**
 * `kinfold up` as a contender: timed until it is ready, quiet, and with a data directory that is
 * deleted with it.
 *
 * Not here: the process itself (testing/process/kinfold-process.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Preset } from '../../core/model/policy.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'

export interface MeasuredKinfold extends AsyncDisposable {
  readonly pid: number
  /** Milliseconds from its start until it was ready. */
  readonly readyMs: number
  /** Holds its data and its log; deleted with the process. */
  readonly directory: string
  /** Rejects, with the end of its log, when it has ended by itself. */
  assertRunning(): Promise<void>
}

/**
 * For Node itself, such as a profiler's; from the environment, since it is no part of the
 * measurement.
 */
const NODE_ARGS = (process.env['KINFOLD_BENCH_NODE_ARGS'] ?? '').split(' ').filter(Boolean)

export async function startKinfold(
  kubeconfig: string,
  preset: Preset = 'parity',
  nodeArgs: readonly string[] = [],
): Promise<MeasuredKinfold> {
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-bench-'))
  const began = performance.now()
  try {
    const kinfold = await KinfoldProcess.start({
      kubeconfig,
      data: join(directory, 'data'),
      flags: ['--mode', 'enforce', '--preset', preset, '--log-level', 'warn'],
      nodeArgs: [...NODE_ARGS, ...nodeArgs],
    })
    return {
      pid: kinfold.pid,
      readyMs: performance.now() - began,
      directory,
      assertRunning: () => kinfold.assertRunning(),
      async [Symbol.asyncDispose]() {
        await kinfold.stop()
        await rm(directory, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await rm(directory, { recursive: true, force: true })
    throw error
  }
}
