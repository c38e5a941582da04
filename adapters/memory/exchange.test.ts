/**
 * Shows that the Exchange over the in-memory API server keeps the port's promises.
 */

import { exchangeContract } from '../../ports/exchange.contract.ts'
import { systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { ApiServer } from './api-server.ts'
import { memoryExchange } from './exchange.ts'

const server = new ApiServer({ clock: systemClock(), random: systemRandom(), name: 'memory' })

exchangeContract('in memory', async () => memoryExchange(server))
