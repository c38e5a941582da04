/**
 * What finalizers hold for long, and what removing one means: as asked over HTTP.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { FinalizerList, FinalizerPlan } from '../../../../cli/answer.ts'
import { readFinalizerSubject } from '../../../../core/admit/finalizer-order.ts'
import { type MinuteRig, rigged } from '../../../../testing/rig/minute-rig.ts'

const START = Date.parse('2026-01-31T09:00:00Z') / 1_000

async function listed(rig: MinuteRig, query = ''): Promise<readonly string[]> {
  const names: string[] = []
  let next: string | null = ''
  while (next !== null) {
    const on = next === '' ? '' : `&continue=${encodeURIComponent(next)}`
    const page: FinalizerList = await rig.get(`/v1/finalizers?limit=1${query}${on}`)
    equal(page.partial, '')
    names.push(...page.objects.map(({ kind, name }) => `${kind}/${name}`))
    next = page.continue
  }
  return names.toSorted()
}

test('an object is listed once it is held for ten minutes, with who holds it and what waits for it', async (t) => {
  const rig = await rigged(t)
  const before = await rig.minute(
    `put deploy/web [deleting:${START} foreground]`,
    `put pod/b <- deploy/web! [deleting:${START} example.com/x batch.kubernetes.io/job-tracking]`,
    `put pod/late <- deploy/web! [deleting:${START + 540} example.com/x]`,
    `put cm/ends <- deploy/web! [deleting:${START}]`,
    'put cm/lives <- deploy/web [example.com/x]',
  )
  for (let minute = 0; minute < 8; minute++) await rig.minute()
  deepEqual(await listed(rig), [])
  deepEqual(await listed(rig, '&olderThan=420'), ['Deployment/web', 'Pod/b'])
  for (let minute = 0; minute < 3; minute++) await rig.minute()
  deepEqual(await listed(rig), ['Deployment/web', 'Pod/b'])
  deepEqual(await listed(rig, '&finalizer=example.com/x'), ['Pod/b'])
  deepEqual(await listed(rig, '&namespace=other'), [])
  deepEqual(await listed(rig, `&olderThan=0&at=${before}`), ['Deployment/web', 'Pod/b'])

  const page: FinalizerList = await rig.get('/v1/finalizers')
  const pod = page.objects.find(({ name }) => name === 'b')
  deepEqual(pod?.finalizers, [
    { name: 'example.com/x', by: '', once: null },
    { name: 'batch.kubernetes.io/job-tracking', by: 'the Job controller', once: null },
  ])
  deepEqual(
    [pod?.since, pod?.because, pod?.blocks.map(({ kind, name, by }) => `${by} ${kind}/${name}`)],
    [
      '2026-01-31T09:00:00.000Z',
      'waits for the finalizers example.com/x, batch.kubernetes.io/job-tracking',
      ['foreground Deployment/web'],
    ],
  )
  const owner = page.objects.find(({ name }) => name === 'web')
  match(owner?.because ?? '', /^waits for the finalizer/)
  deepEqual(owner?.finalizers, [
    { name: 'foregroundDeletion', by: 'the collector', once: 'no dependent blocks it' },
  ])
})

test('a plan says what removing a finalizer means, and has a digest of just that', async (t) => {
  const rig = await rigged(t)
  const of = async (finalizer: string): Promise<FinalizerPlan> =>
    await rig.get(`/v1/plan/finalizer?uid=cm-a&finalizer=${encodeURIComponent(finalizer)}`)
  await rig.minute('put cm/a [deleting example.com/x]')
  const refused = await of('example.com/x')
  match(refused.refused, /does not list that finalizer in finalizers.mayRemove/)
  deepEqual([refused.digest, refused.means, refused.call], [null, '', ''])

  await rig.minute('may-remove example.com/x example.com/y')
  const plan = await of('example.com/x')
  equal(plan.refused, '')
  equal(
    plan.means,
    'The object is deleted at once; what its controller wanted to clean up is not cleaned up.',
  )
  match(plan.call, /^JSON Patch of configmaps: test uid cm-a, .*remove \/metadata\/finalizers\/0$/)
  await rig.minute('put cm/a [deleting example.com/y example.com/x]')
  const later = await of('example.com/x')
  match(later.means, /^The object stays until its other finalizers are removed \(example.com\/y\)/)
  equal(later.digest === plan.digest, false)
})

test('names that a server of another kind may have are shown as they are, and make no other subject', async (t) => {
  const rig = await rigged(t)
  const hostile = ['example.com/~1~0', 'a","7","b', `x${'/'.repeat(299)}`]
  await rig.minute(`put cm/a [deleting ${hostile.join(' ')}]`, `may-remove ${hostile.join(' ')}`)
  for (const finalizer of hostile) {
    const { subject, digest, refused }: FinalizerPlan = await rig.get(
      `/v1/plan/finalizer?uid=cm-a&finalizer=${encodeURIComponent(finalizer)}`,
    )
    equal(refused, '')
    deepEqual(readFinalizerSubject(subject)?.finalizer, finalizer)
    match(digest ?? '', /^sha256:[0-9a-f]{64}$/)
  }
  const { objects }: FinalizerList = await rig.get('/v1/finalizers?olderThan=0')
  deepEqual(objects[0]?.finalizers.map(({ name }) => name).toSorted(), hostile.toSorted())
})
