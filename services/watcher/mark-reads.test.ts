/**
 * Marks of other tools are published as soon as they are asked for, of every object, and nothing
 * else of its labels and annotations; no longer once they are not asked for.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { ObjectMeta } from '../../core/model/object.ts'
import { MARK_BOOK_KEY } from '../../ports/record/control-key.ts'
import { type MarkSettings, markKeys, NO_MARKS } from '../../ports/record/manager-mark.ts'
import { WatcherRig } from '../../testing/rig/watcher-rig.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const ID = 'argocd.argoproj.io/tracking-id'
const MARKS: MarkSettings = { tools: ['argo', 'flux'], argoInstanceLabel: null }
const NAME = 'kustomize.toolkit.fluxcd.io/name'
const METADATA = {
  labels: { [NAME]: 'apps', app: 'web' },
  annotations: { [ID]: 'shop:/ConfigMap:default/a', other: 'x' },
}

let rig: WatcherRig
afterEach(() => rig.stop())

async function ask(settings: MarkSettings): Promise<void> {
  const record = { type: 'MarkBook', ...markKeys(settings), who: 'ann' } as const
  await rig.log.append('orders', 0, [{ key: MARK_BOOK_KEY, value: rig.codec.encode(record) }])
}

async function published(name: string): Promise<ObjectMeta | undefined> {
  const last = (await rig.events()).findLast(
    (event) => 'object' in event && event.object?.name === name,
  )
  return last !== undefined && 'object' in last ? (last.object ?? undefined) : undefined
}

test('are published when they are asked for, and until they are not', async () => {
  rig = new WatcherRig()
  await rig.create(CONFIG_MAPS, 'a', { metadata: METADATA })
  rig.start()
  await rig.synced()
  deepEqual((await published('a'))?.labels, [])
  await ask(MARKS)
  await rig.until(async () => (await published('a'))?.labels.length === 1, 'marks are published')
  const marked = await published('a')
  deepEqual(marked?.labels, [{ key: NAME, value: 'apps' }])
  deepEqual(marked?.annotations, [{ key: ID, value: 'shop:/ConfigMap:default/a' }])
  equal(marked?.projected, null)
  await ask(NO_MARKS)
  await rig.until(async () => (await published('a'))?.labels.length === 0, 'they are not')
})

test('one that is too long is left out, and changes nothing else of the object', async () => {
  rig = new WatcherRig()
  await ask(MARKS)
  const annotations = { [ID]: `shop:/ConfigMap:default/${'a'.repeat(2_000)}` }
  await rig.create(CONFIG_MAPS, 'a', { metadata: { ...METADATA, annotations } })
  rig.start()
  await rig.synced()
  const marked = await published('a')
  deepEqual(marked?.labels, [{ key: NAME, value: 'apps' }])
  deepEqual([marked?.annotations, marked?.ownerReferences], [[], []])
})
