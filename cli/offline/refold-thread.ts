/**
 * Folds the partitions of a log again in threads, as many at once as there are processors.
 *
 * What must stay true: results and error are those of one partition after the other. A signal ends
 * all threads at once, in the middle of an event.
 *
 * Not here: what is folded and compared (services/graph/audit).
 */
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Policy } from '../../core/model/policy.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { EXIT, type ExitCode, ExitError } from '../../runtime/lifecycle.ts'
import type { AuditResult } from '../../services/graph/audit/audit.ts'
import type { RefoldParts } from '../../services/graph/audit/refold.ts'
import type { ReplayResult } from '../../services/graph/audit/replay.ts'
import type { TrialResult } from '../../services/graph/audit/rule-trial.ts'
import type { RefoldFlags } from './refold.ts'

/** What is done with each partition. Plain data: a thread has a copy. */
export type Refolding = { readonly type: 'verify' } | Replaying | Trying

export interface Trying {
  readonly type: 'try'
  readonly fromMs: number
  readonly rule: Rule
}

export interface Replaying {
  readonly type: 'replay'
  readonly fromMs: number
  readonly toMs: number
  /** But for `rememberMs`, which stays as it was. */
  readonly policy: Policy
}

interface Results {
  readonly verify: AuditResult
  readonly replay: ReplayResult
  readonly try: TrialResult
}

type ResultOf<R extends Refolding> = Results[R['type']]

/** `events`: of all partitions. `atMs`: when one of the last was appended. */
export type Progress = (events: number, atMs: number) => void

interface Order {
  readonly flags: RefoldFlags
  readonly partition: number
  readonly refolding: Refolding
}

type Message =
  | { readonly type: 'folded'; readonly events: number; readonly atMs: number }
  | { readonly type: 'result'; readonly result: Results[keyof Results] }
  | { readonly type: 'failed'; readonly failure: Failure }

/** An error loses its class and its fields on its way out of a thread. */
interface Failure {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: unknown
  readonly exitCode: ExitCode | undefined
}

/** Of the log that flags name. */
export async function refoldInThreads<R extends Refolding>(
  flags: RefoldFlags,
  refolding: R,
  signal: AbortSignal,
  progress?: Progress,
): Promise<ResultOf<R>[]> {
  const { readLog } = await import('./refold.ts')
  const partitions = await readLog(flags, async (log) => log.partitions('events'))
  return await refoldPartitions({ flags, refolding, partitions }, signal, progress)
}

/** Of a log that this process has opened before. */
export async function refoldPartitions<R extends Refolding>(
  about: { readonly flags: RefoldFlags; readonly refolding: R; readonly partitions: number },
  signal: AbortSignal,
  progress?: Progress,
): Promise<ResultOf<R>[]> {
  const { flags, refolding, partitions } = about
  const results: ResultOf<R>[] = []
  const threads = new Map<number, AbortController>()
  const folded = new Map<number, number>()
  const failures = new Map<number, unknown>()
  let next = 0
  const oneByOne = async (): Promise<void> => {
    await using thread = newThread()
    while (next < partitions && failures.size === 0) {
      const partition = next++
      const over = new AbortController()
      threads.set(partition, over)
      const either = AbortSignal.any([signal, over.signal])
      try {
        const result = await thread.answer(
          { flags, partition, refolding },
          either,
          (events, atMs) => {
            folded.set(partition, events)
            progress?.(
              Array.from(folded.values()).reduce((sum, each) => sum + each, 0),
              atMs,
            )
          },
        )
        results[partition] = result as ResultOf<R>
      } catch (error) {
        // One before it may fail, too, and is the one that would have failed first.
        failures.set(partition, error)
        for (const [other, thread] of threads) if (other > partition) thread.abort()
      }
    }
  }
  const atOnce = Math.min(partitions, availableParallelism())
  await Promise.all(Array.from({ length: atOnce }, oneByOne))
  if (failures.size > 0) throw failures.get(Math.min(...failures.keys()))
  return results
}

interface Thread extends AsyncDisposable {
  /** One order after the other. */
  answer(order: Order, signal: AbortSignal, progress: Progress): Promise<Results[keyof Results]>
}

function newThread(): Thread {
  const thread = new Worker(new URL(import.meta.url), { workerData: { isRefolding: true } })
  return {
    async answer(order, signal, progress) {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<Results[keyof Results]>()
      const stop = (): void => reject(signal.reason)
      const end = (): void => reject(new Error(`the thread of partition ${order.partition} ended`))
      const hear = (message: Message): void => {
        if (message.type === 'folded') progress(message.events, message.atMs)
        else if (message.type === 'result') resolve(message.result)
        else reject(errorOf(message.failure))
      }
      signal.addEventListener('abort', stop)
      thread.on('message', hear).on('error', reject).on('exit', end)
      thread.postMessage(order)
      try {
        return await promise
      } finally {
        signal.removeEventListener('abort', stop)
        thread.off('message', hear).off('error', reject).off('exit', end)
      }
    },
    async [Symbol.asyncDispose]() {
      await thread.terminate()
    },
  }
}

function errorOf({ name, message, stack, code, exitCode }: Failure): Error {
  if (exitCode !== undefined) return new ExitError(exitCode, message)
  return Object.assign(new Error(message), { name, stack, code })
}

const isRefolding = (workerData as { isRefolding?: boolean } | null)?.isRefolding === true
if (!isMainThread && isRefolding) {
  // All that Node 22 has to say is that node:sqlite is new.
  process.removeAllListeners('warning')
  parentPort?.on('message', (order: Order) => void messageOf(order).then(post))
}

function post(message: Message): void {
  parentPort?.postMessage(message)
}

async function messageOf({ flags, partition, refolding }: Order): Promise<Message> {
  try {
    const { readLog, refoldOne } = await import('./refold.ts')
    const result = await readLog(
      flags,
      async (log) => await refoldOne(log, partition, (parts) => resultOf(parts, refolding)),
      true,
    )
    return { type: 'result', result }
  } catch (error) {
    const { name, message, stack, code } = error as Failure
    const exitCode = error instanceof ExitError ? error.exitCode : undefined
    return { type: 'failed', failure: { name, message, stack, code, exitCode } }
  }
}

async function resultOf(parts: RefoldParts, refolding: Refolding): Promise<Results[keyof Results]> {
  // Nothing stops a thread from within.
  const { signal } = new AbortController()
  if (refolding.type === 'verify') {
    const { auditPartition } = await import('../../services/graph/audit/audit.ts')
    return await auditPartition(parts, signal)
  }
  const progress: Progress = (events, atMs) => post({ type: 'folded', events, atMs })
  if (refolding.type === 'try') {
    const { tryRule } = await import('../../services/graph/audit/rule-trial.ts')
    const { fromMs, rule } = refolding
    return await inReach(tryRule({ ...parts, fromMs, rule, progress }, signal))
  }
  const { replayPartition } = await import('../../services/graph/audit/replay.ts')
  const { fromMs, toMs, policy } = refolding
  const policyFrom = ({ rememberMs }: Policy): Policy => ({ ...policy, rememberMs })
  const replayed = { ...parts, fromMs, toMs, policyFrom, progress }
  return await inReach(replayPartition(replayed, signal))
}

async function inReach<T>(result: Promise<T>): Promise<T> {
  const { TooEarlyError } = await import('../../services/graph/audit/reach.ts')
  try {
    return await result
  } catch (error) {
    if (error instanceof TooEarlyError) throw new ExitError(EXIT.failure, error.message)
    throw error
  }
}
