/**
 * The functions that allocate garbage: `npm run profile:heap -- PROGRAM` prints those that
 * allocated most until the program ended, collected objects included. Node's own `--heap-prof`
 * counts only what is still alive.
 *
 * Not here: the references that keep memory alive (`--heap-prof`), how to read it
 * (docs/inside/profiling.md).
 */
import { Session } from 'node:inspector/promises'

/** One sample for so many bytes, on average. */
const INTERVAL_BYTES = 32_768
const MOST_LINES = 25

interface SamplingNode {
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    readonly lineNumber: number
  }
  readonly selfSize: number
  readonly children: readonly SamplingNode[]
}

const session = new Session()
session.connect()
await session.post('HeapProfiler.startSampling', {
  samplingInterval: INTERVAL_BYTES,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
})
process.once('beforeExit', async () => {
  const { profile } = await session.post('HeapProfiler.stopSampling')
  const bytes = new Map<string, number>()
  addTo(bytes, profile.head)
  const sum = [...bytes.values()].reduce((all, each) => all + each, 0)
  process.stderr.write(`${(sum / 1e6).toFixed(0)} MB allocated\n`)
  const most = [...bytes].sort(([, a], [, b]) => b - a).slice(0, MOST_LINES)
  for (const [name, each] of most) {
    process.stderr.write(`${((100 * each) / sum).toFixed(1).padStart(5)} % ${name}\n`)
  }
})

function addTo(bytes: Map<string, number>, { callFrame, selfSize, children }: SamplingNode): void {
  const { functionName, url, lineNumber } = callFrame
  const file = url.split('/').slice(-2).join('/')
  const name = `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`
  bytes.set(name, (bytes.get(name) ?? 0) + selfSize)
  for (const child of children) addTo(bytes, child)
}
