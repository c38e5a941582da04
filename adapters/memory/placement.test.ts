/** The group in memory is a Placement like any other. */
import { setImmediate } from 'node:timers/promises'
import { placementContract } from '../../ports/placement.contract.ts'
import { MemoryCoordinator } from './placement.ts'

for (const [standbys, partitions] of [
  [0, 8],
  [1, 8],
  [2, 7],
] as const) {
  placementContract(
    `in memory with ${partitions} partitions and ${standbys} standbys`,
    async () => {
      const coordinator = new MemoryCoordinator(partitions, standbys)
      return {
        partitions,
        standbys,
        placement: async () => coordinator.placement(),
        moment: async () => await setImmediate(),
        async [Symbol.asyncDispose]() {},
      }
    },
  )
}
