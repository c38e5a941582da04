/**
 * What a cluster's own policies read of objects is published of the objects of their namespace
 * alone, after the policies themselves, and however often they change.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { PolicyContent } from '../../core/model/rule/policy-content.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { answered, WatcherRig } from '../../testing/rig/watcher-rig.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  spec: {
    group: 'kinfold.dev',
    names: { plural: 'cleanuppolicies', kind: 'CleanupPolicy' },
    scope: 'Namespaced',
    versions: [{ name: 'v1alpha1', served: true, storage: true }],
  },
}
const policies = (namespace: string): string =>
  `/apis/kinfold.dev/v1alpha1/namespaces/${namespace}/cleanuppolicies`
const jobs = (namespace: string): string => `/apis/batch/v1/namespaces/${namespace}/jobs`
const policy = (rule: string): object => ({
  ...{ apiVersion: 'kinfold.dev/v1alpha1', kind: 'CleanupPolicy' },
  spec: { rule },
})

interface RawPolicy {
  readonly metadata: { readonly namespace: string; readonly name: string }
  readonly spec: { readonly rule: string }
}

/** A rule as the notation has it stands for a specification. */
function policyContent(object: unknown): PolicyContent {
  const { metadata, spec } = object as RawPolicy
  const { namespace, name } = metadata
  const rule = ruleIn(`${namespace}/${name} ${spec.rule} namespace:${namespace}`)
  return { rule, problem: '', account: '' }
}

let rig: WatcherRig
afterEach(() => rig.stop())

/** Jobs in two namespaces, and policies can be made. */
async function started(...rules: readonly string[]): Promise<void> {
  rig = new WatcherRig({ policyContent })
  for (const name of ['shop', 'other']) {
    await rig.create('/api/v1/namespaces', name)
    await rig.create(jobs(name), 'j', { spec: { a: 'one', b: 'two' } })
  }
  await rig.create(DEFINITIONS, 'cleanuppolicies.kinfold.dev', DEFINITION)
  for (const [index, rule] of rules.entries()) {
    await rig.create(policies('shop'), `p${index}`, policy(rule))
  }
  rig.start()
  await rig.synced()
  await rig.clock.advance(10_000)
}

async function job(namespace: string): Promise<ObjectMeta | undefined> {
  const events = await rig.events()
  const last = events.findLast(
    (event) =>
      'object' in event && event.object?.kind === 'Job' && event.object.namespace === namespace,
  )
  return last !== undefined && 'object' in last ? (last.object ?? undefined) : undefined
}

async function readOf(namespace: string): Promise<readonly string[] | null> {
  const read = (await job(namespace))?.projected?.fields
  return read?.map(({ key, value }) => `${key}=${value}`) ?? null
}

async function isRead(...fields: readonly string[]): Promise<void> {
  const isSo = async (): Promise<boolean> =>
    JSON.stringify(await readOf('shop')) === JSON.stringify(fields.length === 0 ? null : fields)
  await rig.until(isSo, `jobs of shop are read with ${fields}`)
  await rig.synced()
}

function listsOf(resource: string): number {
  return rig.requests.filter((request) => request === `LIST ${resource}`).length
}

async function epochs(): Promise<number> {
  return (await rig.events()).filter(({ type }) => type === 'WatcherStarted').length
}

/** Of the first policy with a rule, and the first job that was read for one. */
async function places(): Promise<readonly [number, number]> {
  const events = await rig.events()
  const of = (kind: string, isOfIt: (object: ObjectMeta) => boolean): number =>
    events.findIndex(
      (event) =>
        'object' in event &&
        event.object != null &&
        event.object.kind === kind &&
        isOfIt(event.object),
    )
  const policyAt = of('CleanupPolicy', ({ projected }) => projected?.policy != null)
  const jobAt = of('Job', ({ projected }) => projected !== null)
  ok(policyAt >= 0 && jobAt >= 0)
  return [policyAt, jobAt]
}

function refuse(path: string, isRefused: () => boolean): void {
  rig.broken = (request) =>
    request.path.startsWith(path) && !/watch=|limit=1$/.test(request.path) && isRefused()
      ? answered(503, {})
      : undefined
}

test('a policy that was there first is read, and the objects of its namespace for it', async () => {
  await started('job 60 since:spec.a')
  await isRead('spec.a=one')
  deepEqual(await readOf('other'), null)
})

test('it is on the log before any object that is read for it', async () => {
  await started('job 60 since:spec.a')
  await isRead('spec.a=one')
  const [policyAt, jobAt] = await places()
  ok(policyAt < jobAt)
})

test('one that is made later has its kind listed, in the same session, and no other one', async () => {
  await started()
  rig.forget()
  await rig.create(policies('shop'), 'p', policy('job 60 since:spec.a'))
  await isRead('spec.a=one')
  deepEqual([listsOf('jobs'), listsOf('configmaps')], [1, 0])
  equal(await epochs(), 1)
  deepEqual(await readOf('other'), null)
  await rig.patch(`${jobs('shop')}/j`, { spec: { a: 'three' } })
  await isRead('spec.a=three')
})

test('one that leaves has its kind read without it', async () => {
  await started('job 60 since:spec.a')
  await isRead('spec.a=one')
  await rig.remove(`${policies('shop')}/p0`)
  await isRead()
  equal(await epochs(), 1)
})

test('one that is edited all day has its kind listed once a minute', async () => {
  await started('job 60 since:spec.a')
  await isRead('spec.a=one')
  await rig.clock.advance(120_000)
  rig.forget()
  for (let second = 0; second < 180; second++) {
    const path = second % 2 === 0 ? 'spec.b' : 'spec.a'
    await rig.patch(`${policies('shop')}/p0`, { spec: { rule: `job 60 since:${path}` } })
    await rig.clock.advance(1_000)
  }
  const count = listsOf('jobs')
  ok(count >= 2 && count <= 4, `${count} lists`)
  await rig.patch(`${policies('shop')}/p0`, { spec: { rule: 'job 60 since:spec.b' } })
  await isRead('spec.b=two')
})

test('a rule that changes without reading anything else has nothing listed', async () => {
  await started('job 60 since:spec.a')
  await isRead('spec.a=one')
  rig.forget()
  await rig.patch(`${policies('shop')}/p0`, { spec: { rule: 'job 90 since:spec.a' } })
  await rig.clock.advance(90_000)
  equal(listsOf('jobs'), 0)
})

test('the next watcher lists the policies, and resumes all other kinds', async () => {
  await started('job 60 since:spec.a')
  await isRead('spec.a=one')
  await rig.clock.advance(30_000)
  await rig.stop()
  rig.forget()
  rig.start()
  await rig.synced()
  await rig.clock.advance(90_000)
  ok(listsOf('cleanuppolicies') > 0)
  equal(listsOf('jobs'), 0)
  await rig.patch(`${jobs('shop')}/j`, { spec: { a: 'three' } })
  await isRead('spec.a=three')
})

test('a watcher that ends before the kind was listed again is followed by one that lists it', async () => {
  await started()
  await rig.clock.advance(30_000)
  let isHeld = true
  refuse('/apis/batch/v1/jobs?', () => isHeld)
  // Its watch has moved on since its watermark was written.
  await rig.patch(`${jobs('shop')}/j`, { metadata: { labels: { moved: 'on' } } })
  await rig.create(policies('shop'), 'p', policy('job 60 since:spec.a'))
  await rig.clock.advance(30_000)
  deepEqual(await readOf('shop'), null)
  await rig.stop()
  isHeld = false
  rig.start()
  await isRead('spec.a=one')
})

/** One that was made while no watcher was there is known before the session begins, or with it. */
async function madeMeanwhile(refusals: (count: number) => boolean): Promise<void> {
  await started()
  await rig.clock.advance(30_000)
  await rig.stop()
  await rig.create(policies('shop'), 'p', policy('job 60 since:spec.a'))
  let count = 0
  refuse('/apis/kinfold.dev/v1alpha1/cleanuppolicies?', () => refusals(++count))
  rig.start()
  await isRead('spec.a=one')
}

test('objects wait for the list of policies, so what is read for one comes after it', async () => {
  await madeMeanwhile((count) => count === 2)
  const [policyAt, jobAt] = await places()
  ok(policyAt < jobAt)
})

test('where they cannot be listed before the session they are once it lists them', async () => {
  await madeMeanwhile((count) => count === 1)
})

test('where no policies are served nothing else is asked for', async () => {
  rig = new WatcherRig({ policyContent })
  await rig.create('/apis/batch/v1/namespaces/default/jobs', 'j')
  rig.start()
  await rig.synced()
  await rig.clock.advance(30_000)
  equal(rig.requests.filter((each) => each.includes('cleanup')).length, 0)
})

test('they are watched where only other kinds are listed to be, and not where they are left out', async () => {
  for (const config of [
    { kinds: ['jobs.batch'] },
    { ignoreKinds: ['cleanuppolicies.kinfold.dev'] },
  ]) {
    rig = new WatcherRig({ policyContent, config })
    await rig.create('/api/v1/namespaces', 'shop')
    await rig.create(DEFINITIONS, 'cleanuppolicies.kinfold.dev', DEFINITION)
    await rig.create(jobs('shop'), 'j', { spec: { a: 'one' } })
    await rig.create(policies('shop'), 'p', policy('job 60 since:spec.a'))
    rig.start()
    await rig.synced()
    await rig.clock.advance(20_000)
    deepEqual(await readOf('shop'), 'kinds' in config ? ['spec.a=one'] : null)
    await rig.stop()
  }
})
