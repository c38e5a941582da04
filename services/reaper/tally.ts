/**
 * Counts for metrics, by labels of which there are few: cluster, verb, outcome, code. Never a uid
 * or a name.
 */
import type { Command, CommandType, Outcome } from '../../core/model/command.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { CallVerb } from './call.ts'
import type { Result } from './decide/result.ts'

export interface SettledCount {
  readonly cluster: ClusterId
  readonly verb: CommandType
  /** `found` for a `VerifyOwner` that found its owner; one that did not is `absent`. */
  readonly outcome: Outcome | 'found'
  readonly code: number | null
  readonly count: number
}

export interface CallCount {
  readonly cluster: ClusterId
  readonly verb: CallVerb
  /** Null: no answer. */
  readonly code: number | null
  readonly count: number
}

/** Commands that were not carried out because of protection. */
export interface RefusedCount {
  readonly cluster: ClusterId
  readonly count: number
}

export interface Tally {
  /** `isSpared`: it was not carried out because of the protection of its object. */
  settled(command: Command, result: Result, isSpared: boolean): void
  answered(cluster: ClusterId, verb: CallVerb, code: number | null): void
  unreadable(): void
  counts(): {
    readonly settled: readonly SettledCount[]
    readonly calls: readonly CallCount[]
    readonly protectedRefusals: readonly RefusedCount[]
    readonly unreadable: number
  }
}

type Labels<T> = Omit<T, 'count'>
type Counting<T> = Map<string, Labels<T> & { count: number }>

export function createTally(): Tally {
  const settled: Counting<SettledCount> = new Map()
  const calls: Counting<CallCount> = new Map()
  const refusals: Counting<RefusedCount> = new Map()
  let unreadable = 0
  return {
    settled({ cluster, type: verb }, result, isSpared) {
      const outcome = outcomeOf(result)
      const code = result.type === 'CommandSettled' ? result.code : null
      count(settled, `${cluster} ${verb} ${outcome} ${code}`, { cluster, verb, outcome, code })
      if (isSpared) count(refusals, cluster, { cluster })
    },
    answered(cluster, verb, code) {
      count(calls, `${cluster} ${verb} ${code}`, { cluster, verb, code })
    },
    unreadable() {
      unreadable++
    },
    counts: () => ({
      settled: [...settled.values()].map((one) => ({ ...one })),
      calls: [...calls.values()].map((one) => ({ ...one })),
      protectedRefusals: [...refusals.values()].map((one) => ({ ...one })),
      unreadable,
    }),
  }
}

/** The one word for it. */
export function outcomeOf(result: Result): Outcome | 'found' {
  switch (result.type) {
    case 'CommandSettled':
      return result.outcome
    case 'OwnerFound':
      return 'found'
    case 'OwnerAbsent':
      return 'absent'
  }
}

function count<T>(counts: Counting<T>, key: string, labels: Labels<T>): void {
  const known = counts.get(key)
  if (known === undefined) counts.set(key, { ...labels, count: 1 })
  else known.count++
}
