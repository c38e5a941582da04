/**
 * A deletion that does not end is counted once it is late, and what it waits for is followed down
 * to the object that keeps it.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterList } from '../../../../cli/answer.ts'
import { type MinuteRig, rigged } from '../../../../testing/rig/minute-rig.ts'
import { stuckBefore } from './overdue.ts'

const START = Date.parse('2026-01-31T09:00:00Z') / 1_000

test('the lead of the server clock, by which it writes when a deletion is over, is known', () => {
  const state = { now: 1_000_000, clockLeadMs: 120_000 } as Parameters<typeof stuckBefore>[0]
  equal(stuckBefore(state, 600_000), 520_000)
})

type Status = NonNullable<ClusterList['clusters'][number]['status']>

async function overdueIn(rig: MinuteRig): Promise<Status['overdue']> {
  const { clusters } = await rig.get<ClusterList>('/v1/clusters')
  return clusters[0]?.status?.overdue ?? null
}

async function said(rig: MinuteRig): Promise<readonly unknown[]> {
  const { objects, example } = (await overdueIn(rig)) ?? {}
  return [objects, example && `${example.kind}/${example.name} ${example.because}`]
}

test('a deletion in the foreground is late after ten minutes, by the finalizer of a pod', async (t) => {
  const rig = await rigged(t)
  await rig.minute(
    `put deploy/web [deleting:${START} foreground]`,
    `put rs/web-1 <- deploy/web! [deleting:${START} foreground]`,
    `put pod/a <- rs/web-1! [deleting:${START}]`,
    `put pod/b <- rs/web-1! [deleting:${START} example.com/x]`,
    'put cm/free <- deploy/web',
  )
  for (let minute = 0; minute < 8; minute++) await rig.minute()
  deepEqual(await said(rig), [0, null])
  await rig.minute()
  await rig.minute()
  await rig.minute()
  deepEqual(await said(rig), [4, 'Deployment/web waits for the finalizer example.com/x of Pod/b'])
  const { example, since } = (await overdueIn(rig)) ?? {}
  deepEqual([example?.phase, since], ['waiting', '2026-01-31T09:00:00.000Z'])
  await rig.minute('delete pod/b', 'delete pod/a', 'delete rs/web-1')
  equal((await said(rig))[0], 1)
  await rig.minute('delete deploy/web')
  deepEqual(await said(rig), [0, null])
})

const WAITS: readonly (readonly [string, readonly string[], string])[] = [
  [
    'its own finalizer',
    ['put cm/a [deleting example.com/x example.com/y]'],
    'ConfigMap/a waits for the finalizers example.com/x, example.com/y',
  ],
  ['a kubelet', ['put pod/a [deleting]'], 'Pod/a has no finalizer left'],
  [
    'a dependent that is not being deleted',
    ['put deploy/web [deleting foreground]', 'put cm/kept <- deploy/web!, cm/z', 'put cm/z'],
    'Deployment/web waits for its dependent ConfigMap/kept, which is not being deleted',
  ],
  [
    'dependents that do not reference it by a blocking reference',
    ['put deploy/web [deleting foreground]', 'put cm/kept <- deploy/web, cm/z', 'put cm/z'],
    'Deployment/web waits for the finalizer foregroundDeletion, which a collector removes: no dependent blocks it',
  ],
]

for (const [what, story, expected] of WAITS) {
  test(`it may wait for ${what}`, async (t) => {
    const rig = await rigged(t)
    await rig.minute(...story)
    deepEqual(await said(rig), [1, expected])
  })
}
