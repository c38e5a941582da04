/** Lives of Jobs and certificate requests: the same for a seed, and all that can occur does. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { FOREGROUND, ORPHAN } from '../world.ts'
import { certificateRequests, isRequestDue } from './certificate-request.ts'
import { jobLife } from './job-life.ts'

const SEEDS = Array.from({ length: 100 }, (_, index) => index + 1)
const ACTIONS = SEEDS.flatMap((seed) => jobLife(seed).steps.flatMap(({ actions }) => actions))

test('a life of Jobs is a function of its seed', () => {
  deepEqual(jobLife(7), jobLife(7))
})

test('lives of Jobs have each action, each end and each policy', () => {
  const shown = ACTIONS.map((action) => {
    if (action.type === 'finish') return `finish ${action.as}`
    if (action.type === 'remove') return `remove ${action.policy}`
    if (action.type === 'make') return action.name === action.slot ? 'make' : 'make again'
    if (action.type !== 'ttl') return action.type
    return `ttl ${action.ttl === null ? 'removed' : 'set'}${action.dueMs === null ? '' : ' when due'}`
  })
  deepEqual([...new Set(shown)].sort(), [
    ...['break', 'finish Complete', 'finish Failed', 'finish Suspended', 'finish almost'],
    ...['finish timeless', 'make', 'make again', 'release', 'remove Background'],
    ...['remove Foreground', 'remove Orphan', 'remove undefined', 'remove-cron', 'touch'],
    ...['ttl removed', 'ttl removed when due', 'ttl set', 'ttl set when due'],
  ])
})

test("a CronJob's Jobs have no finalizers of a policy", () => {
  const odd = ACTIONS.filter(
    (action) =>
      action.type === 'make' &&
      action.ofCronJob &&
      action.finalizers.some((each) => each === ORPHAN || each === FOREGROUND),
  )
  deepEqual(odd, [])
})

test('certificate requests are due in about half of the cases, by each condition', () => {
  const all = SEEDS.flatMap(certificateRequests)
  const due = all.filter(isRequestDue)
  const shown = new Set(
    due.map(({ conditions, certificate }) =>
      [...conditions.map(({ type }) => type), certificate].join(' '),
    ),
  )
  equal(all.length > due.length, true)
  deepEqual([...shown].sort(), [
    ...['Approved Failed expired', 'Approved Failed none', 'Approved Failed valid'],
    ...['Approved expired', 'Approved none', 'Approved valid'],
    ...['Denied Failed none', 'Denied none', 'Failed none'],
  ])
})
