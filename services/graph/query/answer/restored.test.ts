/**
 * What `kinfold restore` made says so in answers, by the annotation of that very object, and what
 * it was made of says what became of it.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { ChangeList, Why } from '../../../../cli/answer.ts'
import { RESTORED_FROM } from '../../../../ports/record/restored-mark.ts'
import { rigged } from '../../../../testing/rig/minute-rig.ts'

const MARK = `annotation:${RESTORED_FROM}web-old=Deployment.apps/web`
const WEB = 'kind=deployment&name=web&namespace=ns'

function textOfCreated(history: Why['history'] | ChangeList['changes']): string | undefined {
  return history.find(({ change }) => change === 'created')?.text
}

test('what was restored says from which uid, and what it was made of as which', async (t) => {
  const rig = await rigged(t)
  const before = await rig.minute('put deploy/web@web-old')
  await rig.minute('delete deploy/web@web-old')
  deepEqual((await rig.get<Why>('/v1/why?uid=web-old')).restoredAs, null)
  await rig.minute(`put deploy/web@web-new [created:1769850000 ${MARK}]`)
  const why = await rig.get<Why>(`/v1/why?${WEB}`)
  const at = '2026-01-31T09:00:00.000Z'
  equal(why.object.uid, 'web-new')
  deepEqual([why.restored, why.restoredAs], [{ from: ['web-old'], at }, null])
  const said = 'restored from uid web-old, as an annotation of kinfold restore says'
  const { changes } = await rig.get<ChangeList>(`/v1/changes?${WEB}`)
  for (const history of [why.history, changes]) {
    equal(textOfCreated(history)?.split('; ')[1], said)
  }
  const old = await rig.get<Why>('/v1/why?uid=web-old')
  deepEqual([old.restored, old.restoredAs], [null, { uid: 'web-new', at }])
  equal(textOfCreated(old.history)?.includes('restored'), false)
  const then = await rig.get<Why>(`/v1/why?${WEB}&at=${before}`)
  deepEqual([then.object.uid, then.restored, then.restoredAs], ['web-old', null, null])
})

test('a mark that a controller copied, and one of the object itself, say nothing', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put deploy/web@web-old')
  await rig.minute('delete deploy/web@web-old')
  const own = `annotation:${RESTORED_FROM}web-new=Deployment.apps/web`
  await rig.minute(`put rs/web@rs-new [${MARK}]`, `put deploy/web@web-new [${own}]`)
  for (const uid of ['rs-new', 'web-new', 'web-old']) {
    const { restored, restoredAs } = await rig.get<Why>(`/v1/why?uid=${uid}`)
    deepEqual([uid, restored, restoredAs], [uid, null, null])
  }
})
