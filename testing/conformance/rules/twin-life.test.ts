/** What twin runs of rules draw: the same for a seed, and all that can occur does. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { FOREGROUND, ORPHAN } from '../world.ts'
import { certificateRequests, isRequestDue } from './certificate-request.ts'
import { jobLife } from './job-life.ts'
import { drawnPodRequests, isPodRequestDue } from './pod-certificate-request.ts'
import { drawnLeases } from './server-lease.ts'
import { tokenLife } from './token-life.ts'

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
    due.map(
      ({ conditions, certificate }) =>
        `${conditions.map(({ type }) => type).join(' ')} ${certificate}`,
    ),
  )
  equal(all.length > due.length, true)
  deepEqual([...shown].sort(), [
    ...[' none', 'Approved Failed expired', 'Approved Failed none', 'Approved Failed valid'],
    ...['Approved expired', 'Approved none', 'Approved valid'],
    ...['Denied Failed none', 'Denied none', 'Failed none'],
  ])
})

test('lives of tokens have each action, each expiration and each kind of Secret', () => {
  deepEqual(tokenLife(7), tokenLife(7))
  const actions = SEEDS.flatMap((seed) => tokenLife(seed).steps.flatMap((step) => step.actions))
  const shown = actions.flatMap((action): readonly string[] => {
    if (action.type !== 'make' && action.type !== 'expire') return [action.type]
    const { expiration } = action
    const at =
      expiration === 'none' ? 'never' : 'text' in expiration ? expiration.text : expiration.zone
    if (action.type === 'expire') return [`expire ${action.dueMs === null ? at : 'when due'}`]
    return [`make ${at}`, action.name === action.slot ? 'make' : 'make again', action.as]
  })
  const times = ['+05:30', '.250Z', '1796007955', '2099-01-01', 'Z', 'never', 'tomorrow']
  const timed = ['expire', 'make'].flatMap((what) => times.map((time) => `${what} ${time}`))
  deepEqual(
    [...new Set(shown)].sort(),
    [
      ...timed,
      ...['elsewhere', 'expire when due', 'make', 'make again', 'opaque'],
      ...['release', 'remove', 'token', 'touch'],
    ].sort(),
  )
})

test('Leases of API servers lack a field, are renewed when they are due, or are made again', () => {
  const all = SEEDS.flatMap(drawnLeases)
  deepEqual(drawnLeases(7), drawnLeases(7))
  const shown = all.flatMap(({ as, next, renewedS, durationS }) => [
    ...[as, next],
    renewedS === null ? 'never renewed' : 'renewed',
    durationS === null ? 'of no duration' : 'of a duration',
  ])
  deepEqual([...new Set(shown)].sort(), [
    ...['elsewhere', 'is made again', 'is renewed', 'never renewed', 'of a duration'],
    ...['of no duration', 'other', 'renewed', 'server', 'stays'],
  ])
})

test('certificate requests of pods are due in about half of the cases', () => {
  const all = SEEDS.flatMap(drawnPodRequests)
  deepEqual(drawnPodRequests(7), drawnPodRequests(7))
  const due = all.filter(isPodRequestDue).length
  equal(due > all.length / 3 && due < (2 * all.length) / 3, true)
  equal(
    all.some(({ again, isHeld }) => again && isHeld),
    true,
  )
})
