/**
 * One thing that a garbage collector must do, as users see it: objects created on a real server,
 * actions on them, and the required result.
 *
 * What must stay true: it says nothing about how, nor how fast; every demand on one collector is a
 * demand on the other.
 */
import type { World } from './world.ts'

export interface Scenario {
  /** The rows it covers, separated by spaces: R3, D10, `--only` selects by them. */
  readonly rows: string
  /** Finishes the sentence "the collector …" or describes the case. */
  readonly says: string
  /** Why kube-controller-manager's own collector may fail it. */
  readonly better?: string
  /**
   * It stops and starts the collector, or needs one that is never killed: nothing else may run at
   * the same time.
   */
  readonly alone?: true
  run(world: World): Promise<void>
}

/** `only` is one of its rows, or a part of its text. */
export function isPicked({ rows, says }: Scenario, only: string | undefined): boolean {
  return only === undefined || rows.split(' ').includes(only) || says.includes(only)
}
