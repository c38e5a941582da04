/** All tasks in one process: what a single machine needs. What must stay true: each partition is given once and never revoked. */
import type { Placed, Placement } from '../../ports/placement.ts'

export function placeAll(partitions: number): Placement {
  return {
    async *assignments(): AsyncIterable<Placed> {
      for (let partition = 0; partition < partitions; partition++) {
        yield { partition, revoked: new AbortController().signal }
      }
    },
    async [Symbol.asyncDispose]() {},
  }
}
