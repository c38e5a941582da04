/**
 * The graph service: runs the tasks that it is given, and sees to it that the policy asked for is the one folded.
 *
 * What must stay true: a task's failure that only a person can mend ends the service; it never goes on with fewer partitions in silence.
 */
import { policyOf } from '../../core/graph.ts'
import type { Policy } from '../../core/policy.ts'
import type { StateValue } from '../../core/state.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Log } from '../../ports/log.ts'
import type { Placement } from '../../ports/placement.ts'
import type { Store } from '../../ports/store.ts'
import { together } from '../../runtime/lifecycle.ts'
import type { RetentionConfig } from './retention.ts'
import { keepTrimmed } from './retention.ts'
import type { TaskObserver } from './task.ts'
import { Task } from './task.ts'

export interface GraphParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly placement: Placement
  readonly openStore: (partition: number) => Promise<Store>
  readonly retention: RetentionConfig
  readonly observe?: TaskObserver
}

export interface Graph {
  run(signal: AbortSignal): Promise<void>
  readonly tasks: readonly Task[]
}

export function createGraph(parts: GraphParts): Graph {
  const tasks: Task[] = []
  const { log, codec, clock, observe } = parts

  async function runTask(partition: number, signal: AbortSignal): Promise<void> {
    await using store = await parts.openStore(partition)
    const task = new Task({ log, codec, clock, store, partition, ...(observe && { observe }) })
    tasks.push(task)
    const retention = parts.retention
    await together(
      [
        (either) => task.run(either),
        (either) => keepTrimmed({ log, codec, clock, task, retention }, either),
      ],
      signal,
    )
  }

  return {
    tasks,
    async run(signal) {
      const loops: ((signal: AbortSignal) => Promise<void>)[] = []
      for await (const { partition, revoked } of parts.placement.assignments(signal)) {
        loops.push((either) => runTask(partition, AbortSignal.any([either, revoked])))
      }
      await together(loops, signal)
    },
  }
}

/** Appends a `PolicyChanged` to each partition whose last one folded differs. Call it once the tasks are folding. */
export async function ensurePolicy(
  log: Log,
  codec: Codec,
  tasks: readonly Task[],
  policy: Policy,
  who: string,
): Promise<void> {
  for (const task of tasks) {
    const folded = policyOf({ get: (key) => decode(codec, task.store.get(key)) })
    const { mode, preset, foldVersion } = folded.policy
    const isSame =
      folded.position >= 0n &&
      mode === policy.mode &&
      preset === policy.preset &&
      foldVersion === policy.foldVersion
    if (isSame) continue
    const event = { type: 'PolicyChanged', policy, who, why: 'asked for at start' } as const
    await log.append('events', task.partition, [{ key: 'policy', value: codec.encode(event) }])
  }
}

function decode(codec: Codec, bytes: Uint8Array | undefined): StateValue | undefined {
  return bytes === undefined ? undefined : (codec.decode(bytes) as StateValue)
}
