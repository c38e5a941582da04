/**
 * From the reaper's archive back into the cluster: over the Kubernetes adapter, on an API server in
 * memory.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openRestorer } from '../../adapters/kubernetes/restorer.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import type { Identity } from '../../core/graph/identity.ts'
import type { ObjectMeta, Uid } from '../../core/model/object.ts'
import { RESTORED_FROM } from '../../ports/record/restored-mark.ts'
import { type ArchiveKey, openArchiveKey } from '../../runtime/archive/archive-key.ts'
import { World } from '../../testing/rig/reaper-world.ts'
import {
  type ArchivedObject,
  type ArchiveIndex,
  checkKeys,
  indexArchive,
  readBodies,
} from './archive-reader.ts'
import type { Guard } from './guarded-kind.ts'
import { planRestore } from './restore-plan.ts'
import { runRestore } from './restore-run.ts'
import type { LostOwners } from './restore-step.ts'
import { type Objects, rootsOf, subtreeOf } from './selection.ts'
import { kindsOf, surveyFor } from './survey.ts'
import { type ArchiveKeys, untrustedText } from './trusted-record.ts'

const SIGNAL = new AbortController().signal
const folder = mkdtempSync(join(tmpdir(), 'restore-'))
after(() => rmSync(folder, { recursive: true }))

function keyOf(byte: number): ArchiveKey {
  const file = join(folder, `key-${byte}`)
  writeFileSync(file, Buffer.alloc(32, byte), { mode: 0o600 })
  return openArchiveKey(file)
}

function referenceTo({ name, uid }: ObjectMeta): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }
}

interface Tree {
  readonly world: World
  readonly root: Uid
}

/** root, which a person deleted, mid below it and leaf below that, both deleted by the reaper. */
async function collected(key?: ArchiveKey): Promise<Tree> {
  const world = await World.open()
  const root = await world.create('root')
  const mid = await world.create('mid', { owners: [referenceTo(root)] })
  const leaf = await world.create('leaf', { owners: [referenceTo(mid)] })
  await world.delete('root')
  await world.command(world.deleteOf(leaf), world.deleteOf(mid))
  const running = world.start({}, { secrets: false, key })
  await world.settled(2)
  await running.stop()
  deepEqual(
    ['mid', 'leaf'].map((name) => world.exists(name)),
    [false, false],
  )
  return { world, root: root.uid }
}

/** Of which the archive knows the uid by its dependents alone. */
function rootIn(objects: Objects, root: Uid): Identity {
  const [found] = rootsOf(objects, { uid: root }, () => undefined)
  if (found === undefined) throw new Error(`nothing names ${root}`)
  return found.identity
}

interface RestoreOptions {
  readonly key?: ArchiveKey
  readonly dryRun?: boolean
  /** Done between the plan and what follows it. */
  readonly meanwhile?: () => Promise<unknown>
}

async function indexed(world: World, keys: ArchiveKeys = new Map()): Promise<ArchiveIndex> {
  const asked = { cluster: world.id, trust: { keys, allowPlaintext: false } }
  return await indexArchive(world.log, world.codec, asked, SIGNAL)
}

/** What became of each object. */
async function restore(
  { world, root }: Tree,
  lost: LostOwners,
  { key, dryRun = false, meanwhile }: RestoreOptions = {},
): Promise<readonly string[]> {
  await using restorer = openRestorer({ name: 'blue', exchange: memoryExchange(world.server) })
  const keys = new Map(key === undefined ? [] : [[key.id, key]])
  const { objects, incomplete } = await indexed(world, keys)
  equal(incomplete, 0)
  const chosen = subtreeOf(objects, rootIn(objects, root))
  const kinds = await kindsOf(restorer, SIGNAL)
  const survey = await surveyFor(chosen, kinds, restorer, SIGNAL)
  const wishes = { lost, controlled: false, included: new Set<Guard>() }
  const steps = planRestore(chosen, survey, wishes)
  checkKeys(chosen, keys)
  const bodies = async (of: readonly ArchivedObject[]) =>
    await readBodies(world.log, world.codec, of, keys, SIGNAL)
  const told = steps.flatMap(({ type, object }) =>
    type === 'create' || type === 'link' ? [] : [`${type} ${object.name}`],
  )
  await meanwhile?.()
  const parts = { restorer, bodies, dryRun }
  for await (const { step, object, uid, reason } of runRestore(steps, parts, SIGNAL)) {
    const did = step === 'create' ? 'made' : 'linked'
    told.push(`${uid === undefined ? `not ${did}: ${reason.slice(0, 50)}` : did} ${object.name}`)
  }
  return told
}

test('a subtree comes back below a new root, each reference naming the new uid', async () => {
  const tree = await collected()
  const { world } = tree
  deepEqual(await restore(tree, 'relink'), ['refuse mid', 'refuse leaf'])
  const root = await world.create('root')
  deepEqual(await restore(tree, 'refuse'), ['refuse mid', 'refuse leaf'])
  deepEqual(await restore(tree, 'relink'), ['made mid', 'made leaf'])
  const [mid, leaf] = [await world.read('mid'), await world.read('leaf')]
  deepEqual(
    [mid, leaf].map(({ ownerReferences: [owner] }) => [owner?.uid, owner?.controller]),
    [
      [root.uid, true],
      [mid.uid, true],
    ],
  )
  deepEqual(await restore(tree, 'relink'), ['keep mid', 'keep leaf'])
})

test('a restore that stopped half way goes on when it is run again', async () => {
  const tree = await collected()
  const { world } = tree
  const stop = world.server.inject(async (request, proceed) => {
    const isLeaf = request.method === 'POST' && request.body?.includes('"leaf"') === true
    // The one takes effect and its answer is lost, as when a connection breaks; the other does not.
    if (isLeaf) throw new Error('cut')
    return await proceed()
  })
  await rejects(restore(tree, 'drop'))
  stop()
  const { uid } = await world.read('mid')
  deepEqual(await restore(tree, 'refuse'), ['keep mid', 'made leaf'])
  equal((await world.read('leaf')).ownerReferences[0]?.uid, uid)
  const stored = world.server.object('', 'configmaps', 'default', 'leaf')
  match(JSON.stringify(stored?.metadata), new RegExp(`"${RESTORED_FROM}[^"]+":"ConfigMap/leaf"`))
})

test('a restore goes on behind controllers that copy annotations from owners to dependents', async () => {
  const tree = await collected()
  const { world } = tree
  const annotationsOf = (name: string): Record<string, string> =>
    world.server.object('', 'configmaps', 'default', name)?.metadata.annotations ?? {}
  // As the controller of a Deployment does with its ReplicaSet: what it has wins, what else is
  // there stays.
  const copy = async (from: string, to: string): Promise<void> =>
    await world.patch(to, { annotations: annotationsOf(from) })
  deepEqual(await restore(tree, 'drop'), ['made mid', 'made leaf'])
  await copy('mid', 'leaf')
  deepEqual(await restore(tree, 'refuse'), ['keep mid', 'keep leaf'])
  // What the controller has made of that name is no restored object, though it has a copy of the
  // owner's mark.
  await world.delete('leaf')
  await world.create('leaf', { owners: [referenceTo(await world.read('mid'))] })
  await copy('mid', 'leaf')
  deepEqual(await restore(tree, 'refuse'), ['keep mid', 'leave leaf'])
})

/** Restored with `drop`, and only then the root is there again. */
async function dropped(): Promise<Tree & { readonly again: ObjectMeta }> {
  const tree = await collected()
  deepEqual(await restore(tree, 'drop'), ['made mid', 'made leaf'])
  deepEqual((await tree.world.read('mid')).ownerReferences, [])
  return { ...tree, again: await tree.world.create('root') }
}

test('what was restored without its owner gets it back once that is there again', async () => {
  const tree = await dropped()
  const { world, again } = tree
  deepEqual(await restore(tree, 'refuse'), ['keep mid', 'keep leaf'])
  deepEqual(await restore(tree, 'relink', { dryRun: true }), ['keep leaf', 'linked mid'])
  deepEqual((await world.read('mid')).ownerReferences, [])
  deepEqual(await restore(tree, 'relink'), ['keep leaf', 'linked mid'])
  const { ownerReferences } = await world.read('mid')
  deepEqual(
    ownerReferences.map(({ kind, name, uid, controller }) => [kind, name, uid, controller]),
    [['ConfigMap', 'root', again.uid, true]],
  )
  deepEqual(await restore(tree, 'relink'), ['keep mid', 'keep leaf'])
})

test('an owner is added beside those that an object has got meanwhile, on the version that was read', async () => {
  const tree = await dropped()
  const { world, again } = tree
  const other = await world.create('other')
  const { controller: _, ...owner } = referenceTo(other) as { controller: boolean }
  let isFirst = true
  const stop = world.server.inject(async ({ method, path }, proceed) => {
    if (method === 'PATCH' && path.includes('/mid?') && isFirst) {
      isFirst = false
      // A controller that writes between the read and the patch.
      await world.patch('mid', { ownerReferences: [owner] })
    }
    return await proceed()
  })
  deepEqual(await restore(tree, 'relink'), ['keep leaf', 'linked mid'])
  stop()
  equal(isFirst, false)
  deepEqual(
    (await world.read('mid')).ownerReferences.map(({ uid }) => uid),
    [other.uid, again.uid],
  )
})

const lateChanges: readonly (readonly [string, string, (world: World) => Promise<unknown>])[] = [
  [
    'an owner that was deleted meanwhile is not named',
    'not linked: its owner ConfigMap/root was deleted meanwhile mid',
    (world) => world.delete('root'),
  ],
  [
    'an owner that was replaced meanwhile is not named',
    'not linked: its owner ConfigMap/root was deleted meanwhile mid',
    async (world) => {
      await world.delete('root')
      await world.create('root')
    },
  ],
  [
    'an object that was replaced meanwhile is not touched',
    'not linked: it was deleted meanwhile mid',
    async (world) => {
      await world.delete('mid')
      await world.create('mid')
    },
  ],
  [
    'an object that another controller adopted meanwhile gets no second one',
    'not linked: ConfigMap/other is its controller by now mid',
    async (world) =>
      await world.patch('mid', { ownerReferences: [referenceTo(await world.create('other'))] }),
  ],
]
for (const [what, expected, meanwhile] of lateChanges) {
  test(what, async () => {
    const tree = await dropped()
    const { world } = tree
    const told = await restore(tree, 'relink', { meanwhile: () => meanwhile(world) })
    equal(told.at(-1), expected)
    const names = (await world.read('mid')).ownerReferences.map(({ name }) => name)
    ok(!names.includes('root'), names.join())
  })
}

test('an owner that could not be read is not named', async () => {
  const tree = await dropped()
  const { world } = tree
  const meanwhile = async (): Promise<void> => {
    world.server.inject(async ({ method, path }, proceed) => {
      if (method === 'GET' && path.endsWith('/root'))
        return { status: 503, headers: {}, body: bytes('') }
      return await proceed()
    })
  }
  const told = await restore(tree, 'relink', { meanwhile })
  equal(told.at(-1), 'not linked: its owner ConfigMap/root could not be looked up: 5 mid')
  deepEqual((await world.read('mid')).ownerReferences, [])
})

async function* bytes(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

test('a dry run makes nothing', async () => {
  const tree = await collected()
  deepEqual(await restore(tree, 'drop', { dryRun: true }), ['made mid', 'made leaf'])
  deepEqual(
    ['mid', 'leaf'].map((name) => tree.world.exists(name)),
    [false, false],
  )
})

test('what is encrypted takes its key, and another one says so', async () => {
  const [key, other] = [keyOf(1), keyOf(2)]
  const tree = await collected(key)
  await rejects(restore(tree, 'drop'), /is encrypted with the key .*: name the file of that key/)
  const { objects, untrusted } = await indexed(tree.world, new Map([[other.id, other]]))
  equal(objects.size, 0)
  match(
    untrustedText(untrusted),
    new RegExp(`^records that are encrypted with .* \\(${key.id}\\) are left out: 2 `),
  )
  deepEqual(await restore(tree, 'drop', { key }), ['made mid', 'made leaf'])
})

test('of several records of an object the last whole one counts', async () => {
  const { world, root } = await collected()
  const page = await world.log.read('archive', 0, 0n, { limit: 10, waitMs: 0 })
  const [leaf, mid] = page.entries
  const [first, second] = [decode(world, leaf?.value), decode(world, mid?.value)]
  // Begun and never ended; and one that is there twice.
  const begun = { ...first, at: first.at + 1, last: false }
  const records = [begun, second].map((record) => ({
    key: `${world.id}/x`,
    value: world.codec.encode(record),
  }))
  await world.log.append('archive', 0, records)
  const { objects, incomplete } = await indexed(world)
  equal(incomplete, 1)
  const chosen = subtreeOf(objects, rootIn(objects, root))
  deepEqual(
    chosen.map(({ name, offset }) => [name, offset]),
    [
      [second.name, 3n],
      [first.name, 0n],
    ],
  )
  const bodies = await readBodies(world.log, world.codec, chosen, new Map(), SIGNAL)
  equal(bodies.size, 2)
})

test('what does not fit its digest, or is no record of ours, is told of and left out', async () => {
  const { world, root } = await collected()
  const page = await world.log.read('archive', 0, 0n, { limit: 10, waitMs: 0 })
  const [leaf] = page.entries
  const first = decode(world, leaf?.value)
  const harmed = { ...first, at: first.at + 1, piece: Buffer.from('{"kind":"ConfigMap"}') }
  await world.log.append('archive', 0, [
    { key: `${world.id}/x`, value: world.codec.encode(harmed) },
    { key: `${world.id}/x`, value: Buffer.from('garbage') },
  ])
  const { objects, incomplete } = await indexed(world)
  equal(incomplete, 2)
  deepEqual(
    subtreeOf(objects, rootIn(objects, root)).map(({ offset }) => offset),
    [1n, 0n],
  )
})

function decode(world: World, value: Uint8Array | null | undefined) {
  const record = world.codec.decode(value ?? new Uint8Array())
  if (record.type !== 'Archived') throw new Error('no record of the archive')
  return record
}
