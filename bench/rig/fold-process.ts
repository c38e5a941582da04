/**
 * Kinfold's graph tasks over Kafka, in a process of their own and as `kinfold graph` runs them,
 * which reports its progress. For fold.ts and restore.ts.
 *
 * What must stay true: counted records are committed. The assignment of partitions is fixed, and
 * there is no endpoint: only the fold is measured.
 *
 * Ends at SIGTERM. Its lines, each of JSON, are `FoldLine`.
 */
import { once } from 'node:events'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import { becomeLean } from '../../cli/process/lean-process.ts'
import type { Placement } from '../../ports/placement.ts'
import { systemClock } from '../../runtime/clock.ts'
import { stopSignal } from '../../runtime/lifecycle.ts'
import { createLogger } from '../../runtime/logger.ts'
import { Cuts } from '../../runtime/shares/cuts.ts'
import { FAR } from '../../services/graph/config.ts'
import { DEFAULT_RETENTION } from '../../services/graph/fold/retention.ts'
import { openGraph } from '../../services/graph/main.ts'

export interface FoldArguments {
  readonly brokers: readonly string[]
  readonly application: string
  readonly directory: string
  /** Of all, those that this process has. */
  readonly partitions: readonly number[]
  /** Keeps the index of history, too, as `kinfold graph` does in addition to its tasks. */
  readonly withIndex: boolean
}

export interface FoldLine {
  /** Wall time. */
  readonly atMs: number
  /** Positions of the partitions that this process has, in `events`. */
  readonly positions: Readonly<Record<number, number>>
  /** How many it has, and of those how many fold, being restored. */
  readonly placed: number
  readonly folding: number
  readonly commits: number
}

const EVERY_MS = 100

becomeLean()
const given = JSON.parse(process.argv[2] ?? '') as FoldArguments
const { brokers, application, directory, partitions } = given
const clock = systemClock()
const settings = {
  ...{ brokers, application, tls: undefined, sasl: undefined },
  compression: 'zstd' as const,
}
const signal = stopSignal()
await using log = await openKafkaLog({
  settings,
  clientId: 'kinfold-graph',
  mayCreate: false,
  clock,
})
let commits = 0
await using made = await openGraph({
  ...{ log, clock, directory },
  placement: placed(),
  codec: avroCodec(),
  pace: FAR,
  logIdentity: log.identity,
  retention: DEFAULT_RETENTION,
  logger: createLogger('bench', 'warn'),
  cuts: new Cuts(clock),
  observe: { committed: () => void commits++ },
})
const telling = setInterval(tell, EVERY_MS)
const loops = [made.graph.run('', signal), ...(given.withIndex ? [made.index.run(signal)] : [])]
await Promise.all(loops)
clearInterval(telling)
tell()

function tell(): void {
  const all = made.graph.status().filter(({ role }) => role === 'active')
  const line: FoldLine = {
    atMs: Date.now(),
    positions: Object.fromEntries(all.map((each) => [each.partition, Number(each.position)])),
    placed: all.length,
    folding: all.filter(({ state }) => state === 'folding').length,
    commits,
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** Those given at the start, for good. */
function placed(): Placement {
  return {
    async *assignments(_url, stopped) {
      for (const partition of partitions) {
        yield { partition, role: 'active', revoked: stopped }
      }
      if (!stopped.aborted) await once(stopped, 'abort')
    },
    owners: () => new Map(),
    [Symbol.asyncDispose]: async () => undefined,
  }
}
