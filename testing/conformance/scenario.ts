/**
 * One thing that a garbage collector must do, as users see it: objects made on a real server, something done to them, what must come of it.
 *
 * What must stay true: it says nothing about how, nor how fast; whatever passes for one collector is demanded of the other.
 */
import type { World } from './world.ts'

export interface Scenario {
  /** What it covers, separated by spaces: R3, D10, `--only` picks by them. */
  readonly rows: string
  /** Finishes the sentence "the collector …" or tells the case. */
  readonly says: string
  /** Why kube-controller-manager's own collector may fail it. */
  readonly better?: string
  /** It stops and starts the collector, or needs one that is never killed: nothing else may run beside it. */
  readonly alone?: true
  run(world: World): Promise<void>
}

/** `only` is one of its rows, or a part of what it says. */
export function isPicked({ rows, says }: Scenario, only: string | undefined): boolean {
  return only === undefined || rows.split(' ').includes(only) || says.includes(only)
}
