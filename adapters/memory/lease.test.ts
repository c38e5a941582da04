/** The memory lease keeps the port's promises. */
import { setImmediate } from 'node:timers/promises'
import { leaseContract } from '../../ports/lease.contract.ts'
import { MemoryLease } from './lease.ts'

leaseContract('a memory lease', async () => {
  const lease = new MemoryLease()
  return {
    candidate: () => lease,
    until: async (promise) => await promise,
    pass: () => setImmediate(),
    revoke: async () => lease.revoke(),
    [Symbol.asyncDispose]: async () => undefined,
  }
})
