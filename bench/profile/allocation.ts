/**
 * The bytes that this thread allocates while it does something, by V8's sampling profiler, with
 * what was collected since.
 *
 * What must stay true: it loads nothing else, so another version's code can be measured with it.
 *
 * Not here: time, which means nothing meanwhile.
 */
import { Session } from 'node:inspector/promises'

interface Profiled {
  readonly selfSize: number
  readonly children: readonly Profiled[]
}

/** One sample for so many bytes, on average. */
const SAMPLED_BYTES = 8_192

export async function allocatedBytes(work: () => Promise<void>): Promise<number> {
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLED_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
    await work()
    const { profile } = await session.post('HeapProfiler.stopSampling')
    return bytesOf(profile.head)
  } finally {
    session.disconnect()
  }
}

function bytesOf({ selfSize, children }: Profiled): number {
  return children.reduce((sum, each) => sum + bytesOf(each), selfSize)
}
