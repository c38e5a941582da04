/**
 * A server that dies in the middle of a cascade and comes back as it was before: every guard would
 * pass, and nothing may be deleted.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { type Preset, policyFor } from '../core/model/policy.ts'
import { ExchangeError } from '../ports/exchange.ts'
import { LogError } from '../ports/log.ts'
import { CHECKERS } from './check/checkers.ts'
import { draw } from './options.ts'
import type { Site } from './site.ts'
import { WholeWorld } from './world.ts'

const MINUTE = 60_000
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const SECRETS = '/api/v1/namespaces/default/secrets'
const FAMILY = 40
/**
 * More than any restore here undoes: from then on no version shows it. The same is true of a
 * restore that bumps the versions, as etcd's tools can.
 */
const WRITES_ON = 50

interface Case {
  readonly outageMs: number
  readonly isKilled?: boolean
  readonly writesOn?: boolean
  readonly preset?: Preset
  readonly propagationPolicy?: 'Background' | 'Orphan'
}

// Between the owner's deletion and the commands' arrival the server dies, and comes back as it was
// before the deletion: every uid and version that a command names is there again, so no guard
// inside a call would notice.
const cases: readonly Case[] = [
  { outageMs: 500 },
  { outageMs: 3_000 },
  { outageMs: 8_000 },
  { outageMs: 60_000 },
  { outageMs: 3_000, isKilled: true },
  { outageMs: 60_000, isKilled: true },
  { outageMs: 3_000, writesOn: true },
  { outageMs: 8_000, writesOn: true },
  { outageMs: 60_000, writesOn: true },
  { outageMs: 30_000, writesOn: true, preset: 'guarded' },
  { outageMs: 3_000, writesOn: true, propagationPolicy: 'Orphan' },
  { outageMs: 30_000, writesOn: true, propagationPolicy: 'Orphan' },
]

for (const each of cases) {
  const { outageMs, isKilled, writesOn, preset, propagationPolicy = 'Background' } = each
  const how = [
    isKilled && ' and Kinfold was killed',
    writesOn && ' and many writes more',
    preset && `, ${preset}`,
    propagationPolicy === 'Orphan' && ', of an owner that orphans',
  ]
  const after = `${outageMs} ms${how.filter(Boolean).join('')}`
  test(`a restore in the middle of a cascade changes nothing, after ${after}`, async () => {
    const world = newWorld(outageMs, { preset: preset ?? 'parity' })
    const [site] = world.sites as [Site]
    makeFamily(site)
    const before = family(site)
    world.start()
    await world.time.advance(MINUTE)
    const { writes } = site
    site.user('DELETE', `${CONFIG_MAPS}/owner`, { propagationPolicy })
    const up = await downAtFirst(world, propagationPolicy === 'Orphan' ? 'PATCH' : 'DELETE')
    world.network.cut(site.name)
    const start = isKilled ? world.slots[0]?.holdDown() : undefined
    await world.time.advance(outageMs)
    restore(site, writes, writesOn === true)
    up()
    start?.()
    await world.time.advance(30 * MINUTE)
    deepEqual(world.wrongs, [])
    deepEqual(family(site), before)
    // A watermark may lag behind what was published before a kill, so that no version shows the
    // restore.
    const [watcher] = world.processes()[0]?.watchers ?? []
    if (!isKilled && !writesOn) deepEqual(watcher?.status().clusterEpoch, 2)
    await world.stop()
    deepEqual(world.wrongs, [])
  })
}

const WITHOUT = [
  'the graph was down',
  'the reaper slept',
  'the watcher slept',
  'the log was away for its watcher',
  'the log held its watcher up',
] as const

// Processes that have nothing to do while the server is down make no call that fails.
for (const who of WITHOUT) {
  for (const [outageMs, laterMs] of [
    [5_000, 1_000],
    [90_000, 1_000],
    [90_000, 240_000],
  ] as const) {
    test(`a restore while ${who} changes nothing, ${laterMs} ms after an outage of ${outageMs} ms`, async () => {
      const apart = { watchers: 1, graphs: 1, reapers: 1, standbys: 0, archive: 'off' } as const
      const world = newWorld(7, { preset: 'parity', shape: 'apart', ...apart })
      const [site] = world.sites as [Site]
      makeFamily(site)
      const before = family(site)
      world.start()
      await world.time.advance(2 * MINUTE)
      const goOn = without(world, who)
      const { writes } = site
      site.user('DELETE', `${CONFIG_MAPS}/owner`, { propagationPolicy: 'Background' })
      await world.time.advance(1_000)
      const up = world.network.hinder(() => {
        throw new ExchangeError('UNREACHABLE', 'the server is down')
      })
      world.network.cut(site.name)
      await world.time.advance(outageMs)
      restore(site, writes, true)
      up()
      await world.time.advance(laterMs)
      goOn()
      await world.time.advance(5 * MINUTE)
      await world.stop()
      deepEqual(family(site), before)
      deepEqual(world.wrongs, [])
    })
  }
}

for (const { outageMs, isKilled, writesOn } of [
  { outageMs: 500 },
  { outageMs: 8_000, writesOn: true },
  { outageMs: 60_000, isKilled: true },
] as readonly Case[]) {
  test(`a finalizer stays on what a restore of ${outageMs} ms brought back to life`, async () => {
    const world = newWorld(outageMs, { preset: 'parity' })
    const [site] = world.sites as [Site]
    const owner = { metadata: { name: 'owner', finalizers: ['orphan'] } }
    site.user('POST', CONFIG_MAPS, owner)
    world.start()
    await world.time.advance(MINUTE)
    const { writes } = site
    site.user('DELETE', `${CONFIG_MAPS}/owner`, {})
    const up = await downAtFirst(world, 'PATCH')
    world.network.cut(site.name)
    const start = isKilled ? world.slots[0]?.holdDown() : undefined
    await world.time.advance(outageMs)
    restore(site, writes, writesOn === true)
    up()
    start?.()
    await world.time.advance(3 * MINUTE)
    const { metadata } = site.server.object('', 'configmaps', 'default', 'owner') ?? {}
    await world.stop()
    equal(metadata?.deletionTimestamp, undefined)
    deepEqual(metadata?.finalizers, owner.metadata.finalizers)
    deepEqual(world.wrongs, [])
  })
}

/**
 * The server dies of the first request of this kind, unanswered; call the returned function to
 * restore it.
 */
async function downAtFirst(world: WholeWorld, method: string): Promise<() => void> {
  let isDown = false
  const up = world.network.hinder(({ request }) => {
    if (request.method === method) isDown = true
    if (isDown) throw new ExchangeError('UNREACHABLE', 'the server is down')
    return undefined
  })
  for (let waitedMs = 0; !isDown && waitedMs < MINUTE; waitedMs += 10) await world.time.advance(10)
  ok(isDown, `no ${method} was on its way`)
  return up
}

function without(world: WholeWorld, who: (typeof WITHOUT)[number]): () => void {
  if (who === 'the log was away for its watcher')
    return world.broker.hinder(async ({ by }) => {
      if (by.name.startsWith('watcher')) throw new LogError('UNAVAILABLE', 'the log is away')
      return undefined
    })
  if (who === 'the log held its watcher up') {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const end = world.broker.hinder(async ({ by, call }) => {
      return by.name.startsWith('watcher') && call === 'append' ? await promise : undefined
    })
    return () => {
      end()
      resolve(undefined)
    }
  }
  const isMeant = ({ roles }: (typeof world.slots)[number]): boolean => {
    if (who === 'the graph was down') return roles.folds
    return who === 'the reaper slept' ? roles.reaps : roles.watches
  }
  const slot = world.slots.find(isMeant)
  if (slot === undefined) throw new Error('Nobody has that role.')
  if (who === 'the graph was down') return slot.holdDown()
  const { incarnation } = slot.process ?? {}
  incarnation?.freeze()
  return () => incarnation?.thaw()
}

function restore(site: Site, writes: number, writesOn: boolean): void {
  site.restore(site.writes - writes)
  if (!writesOn) return
  for (let i = 0; i < WRITES_ON; i++)
    site.user('POST', CONFIG_MAPS, { metadata: { name: `later${i}` } })
  site.server.compact()
}

function newWorld(
  seed: number,
  { preset, ...more }: { readonly preset: Preset } & Partial<ReturnType<typeof draw>>,
): WholeWorld {
  const drawn = draw(seed, [])
  const policy = policyFor('enforce', preset)
  const [heartbeatMs, contactLostMs] = [5_000, 15_000]
  const watcher = { ...drawn.watcher, heartbeatMs, contactLostMs }
  const one = { clusters: 1, partitions: 1, shape: 'embedded', bursts: [] } as const
  return new WholeWorld({ ...drawn, policy, watcher, ...one, ...more }, CHECKERS)
}

function makeFamily(site: Site): void {
  site.user('POST', CONFIG_MAPS, { metadata: { name: 'owner' } })
  const { uid } = site.server.object('', 'configmaps', 'default', 'owner')?.metadata ?? {}
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  for (let i = 0; i < FAMILY; i++)
    site.user('POST', SECRETS, { metadata: { name: `d${i}`, ownerReferences } })
}

/** Of each of the dependents, the owner's name. */
function family(site: Site): readonly string[] {
  return [...site.server.objects('', 'secrets')]
    .map(({ metadata }) => `${metadata.name}: ${JSON.stringify(metadata.ownerReferences)}`)
    .sort()
}
