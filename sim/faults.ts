/**
 * Every fault that a world knows, by its row, and why the others are not here.
 *
 * What must stay true: a fault counts only when it came about: what was meant to break broke.
 */
import { lifeFaults } from './life-faults.ts'
import { logFaults } from './log-faults.ts'
import { networkFaults } from './network-faults.ts'
import type { Drawable, ScheduledFault } from './options.ts'
import { processFaults } from './process-faults.ts'
import { streamFaults } from './stream-faults.ts'
import type { Users } from './workload.ts'
import type { WholeWorld } from './world.ts'

export interface Begun {
  end(): void
}

export interface FaultContext {
  readonly world: WholeWorld
  readonly users: readonly Users[]
  readonly fault: ScheduledFault
}

export interface Fault extends Drawable {
  readonly what: string
  begin(context: FaultContext): (() => void) | undefined
}

export const FAULTS: readonly Fault[] = [
  ...networkFaults,
  ...streamFaults,
  ...logFaults,
  ...processFaults,
  ...lifeFaults,
]

export function beginFault(
  world: WholeWorld,
  users: readonly Users[],
  fault: ScheduledFault,
): Begun {
  const found = FAULTS.find(({ row }) => row === fault.row)
  if (found === undefined) throw new Error(`there is no fault ${fault.row}`)
  const end = found.begin({ world, users, fault })
  return { end: () => end?.() }
}
