/**
 * The status of a Job as its controller would write it: the API server checks each transition, so a
 * finished one has its times and the condition that comes before.
 *
 * Not here: when it is written (job-side.ts).
 */
import type { Finish } from './job-life.ts'

/** The same in each status of a Job: it may not change. */
const START = '2026-01-01T00:00:00Z'

/** `timeS`: seconds since 1970. */
export function statusOf(as: Finish, timeS: number): object {
  const time = new Date(timeS * 1_000).toISOString().replace('.000Z', 'Z')
  const condition = (type: string): object => ({
    type,
    status: 'True',
    lastProbeTime: time,
    ...(as !== 'timeless' && { lastTransitionTime: time }),
  })
  const startTime = START
  switch (as) {
    case 'Complete':
    case 'timeless': {
      const conditions = [condition('SuccessCriteriaMet'), condition('Complete')]
      return { startTime, completionTime: time, succeeded: 1, conditions }
    }
    case 'Failed':
      return { startTime, failed: 1, conditions: ['FailureTarget', 'Failed'].map(condition) }
    case 'Suspended':
      return { conditions: [condition('Suspended')] }
    case 'almost':
      return { startTime, succeeded: 1, conditions: [condition('SuccessCriteriaMet')] }
  }
}
