/**
 * Shows that a real API server's audit webhook, set up as docs/ask/who.md says, attributes
 * deletions: a user's, a controller's, and our own.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import type { ControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Audited, startAudited } from '../../testing/process/audited-plane.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, type KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  collectionPath,
  make,
  makeFamily,
  pathOf,
  REPLICA_SET,
  SECRET,
  untilGone,
} from '../../testing/process/objects.ts'

const DELETE = { kind: 'DeleteOptions', apiVersion: 'v1' } as const
const USER = 'alice'
const CONTROLLER = 'system:serviceaccount:kube-system:namespace-controller'
/** May do nothing. */
const STRANGER = 'mallory'
const AUDITED_MS = 30_000

const skip = missingServers('etcd', 'kube-apiserver') ?? false

suite('the audit webhook of a real API server', { skip }, () => {
  let audited: Audited
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    audited = await startAudited({
      users: [
        ...[USER, CONTROLLER].map((name) => ({ name, groups: ['system:masters'] })),
        { name: STRANGER, groups: [] },
      ],
      flags: ACTING,
    })
    plane = audited.plane
    kinfold = audited.kinfold
  })
  after(async () => await audited?.[Symbol.asyncDispose]())

  async function remove(as: string, path: string, body?: object): Promise<void> {
    equal(await audited.remove(as, path, body), 200)
  }

  /** Match, user and object of each, once there are so many. */
  async function deleters(uid: string, count = 1): Promise<readonly string[]> {
    let told: readonly string[] = []
    await eventually(
      `${count} deletions are attributed`,
      async () => {
        const { deletedBy = [] } = (await kinfold.why({ uid })) ?? {}
        told = deletedBy.map(
          ({ match: how, user, object }) => `${how} ${user} ${object.kind}/${object.name}`,
        )
        return told.length >= count || `${told.length} are`
      },
      { withinMs: AUDITED_MS },
    )
    return told
  }

  test("a user's delete is attributed by uid where the answer says it, and ours by Audit-ID", async () => {
    const set = await make(plane, { kind: REPLICA_SET, name: 'web' })
    const dependent = await make(plane, { kind: SECRET, name: 'web', owners: [set] })
    await remove(USER, pathOf(set))
    await untilGone(plane, [dependent])
    deepEqual(await deleters(set.uid), ['uid alice ReplicaSet/web'])
    const told = await deleters(dependent.uid, 2)
    match(told[0] ?? '', /^audit-id admin Secret\/web$/)
    equal(told[1], 'uid alice ReplicaSet/web')
    const { stdout } = await runKinfold(['why', `uid:${dependent.uid}`, '--data', kinfold.data])
    match(stdout, /^Deleted by admin \(kinfold\/\S+ \(up\)\), by Audit-ID, \d{4}-\S+Z\.$/m)
    match(
      stdout,
      /^Owner ReplicaSet\/web deleted by alice \(kubectl\/v1\.33\.0\), by uid, \S+Z\.$/m,
    )
  })

  test('of what Kinfold orphaned the user is said first who deleted its owner with orphan', async () => {
    const set = await make(plane, { kind: REPLICA_SET, name: 'left' })
    const dependent = await make(plane, { kind: SECRET, name: 'left', owners: [set] })
    await eventually('it is observed', async () => {
      return (await kinfold.verdicts([dependent])).join() === 'keep'
    })
    await remove(USER, pathOf(set), { ...DELETE, propagationPolicy: 'Orphan' })
    await untilGone(plane, [set])
    await eventually(
      'it is said who deleted its owner',
      async () => {
        const { stdout } = await runKinfold(['why', 'secret/left', '--data', kinfold.data])
        const who = '(?:, probably)? by alice \\(kubectl/v1\\.33\\.0\\); it stays\\.'
        const first = `^Orphaned: ReplicaSet/left was deleted with orphan \\d+ s ago${who}\\n`
        return new RegExp(first).test(stdout) || stdout
      },
      { withinMs: AUDITED_MS },
    )
  })

  test('the uid that the answer to a delete has is certain, at level Metadata, too', async () => {
    const { owner } = await makeFamily(plane, 'settings', 1)
    await remove(USER, pathOf(owner))
    deepEqual(await deleters(owner.uid), ['uid alice ConfigMap/settings'])
    const { stdout } = await runKinfold(['why', `uid:${owner.uid}`, '--data', kinfold.data])
    match(stdout, /^Deleted by alice \(kubectl\/v1\.33\.0\), by uid, \S+Z\.$/m)
  })

  test('what the audit log says no uid of is a guess, and is called one', async () => {
    // The answer is the object, which level Metadata leaves out.
    const { owner } = await makeFamily(plane, 'waiting', 1)
    await remove(USER, pathOf(owner), { ...DELETE, propagationPolicy: 'Foreground' })
    deepEqual(await deleters(owner.uid), ['name-and-time alice ConfigMap/waiting'])
    const { stdout } = await runKinfold(['why', `uid:${owner.uid}`, '--data', kinfold.data])
    match(stdout, /^Probably deleted by alice \(kubectl\/v1\.33\.0\), by name and time, \S+Z\.$/m)
  })

  test("a controller's delete of a collection is attributed to it", async () => {
    await plane.request('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })
    const all = await make(plane, { kind: CONFIG_MAP, name: 'a', namespace: 'shop' })
    await remove(CONTROLLER, collectionPath(CONFIG_MAP, 'shop'))
    deepEqual(await deleters(all.uid), [`collection-and-time ${CONTROLLER} ConfigMap/a`])
  })

  test('a deletion that was refused, or only tried, is attributed to nobody', async () => {
    const kept = await make(plane, { kind: CONFIG_MAP, name: 'kept' })
    await remove(USER, pathOf(kept), { ...DELETE, dryRun: ['All'] })
    const later = await make(plane, { kind: CONFIG_MAP, name: 'later' })
    await remove(CONTROLLER, pathOf(later))
    // What came before it was sent before it.
    equal((await deleters(later.uid)).length, 1)
    deepEqual((await kinfold.why({ uid: kept.uid }))?.deletedBy, [])
    await remove(CONTROLLER, pathOf(kept))
    const told = await deleters(kept.uid)
    deepEqual(told, [`uid ${CONTROLLER} ConfigMap/kept`])
    const [{ others } = { others: -1 }] = (await kinfold.why({ uid: kept.uid }))?.deletedBy ?? []
    equal(others, 0)
  })

  test('T1: whatever size the requests of a user without a right have, others are named', async () => {
    const names = ['one', 'two', 'three', 'four', 'five']
    const all = await Promise.all(names.map((name) => make(plane, { kind: CONFIG_MAP, name })))
    // Parts of one batch with what others delete meanwhile, and before it.
    const floods = Array.from({ length: 16 }, async (_, index) => {
      const path = `/api/v1/namespaces/default/configmaps/none-${index}?x=${'y'.repeat(900_000)}`
      const authorization = `Bearer ${plane.tokenOf(STRANGER)}`
      const { status } = await plane.request('DELETE', path, undefined, { authorization })
      equal(status, 403)
    })
    await Promise.all([...floods, ...all.slice(0, 2).map((each) => remove(USER, pathOf(each)))])
    for (const each of all.slice(2)) await remove(USER, pathOf(each))
    for (const { uid, name } of all) {
      deepEqual(await deleters(uid), [`uid ${USER} ConfigMap/${name}`])
      const why = (await kinfold.why({ uid })) as { readonly partial?: string } | undefined
      equal(why?.partial, '')
    }
  })

  test('the same from its file changes nothing, and reads each of its lines', async () => {
    const file = audited.auditLog
    const words = ['audit', 'import', file, '--cluster', 'test', '--data', kinfold.data]
    const { code, stdout, stderr } = await runKinfold(words)
    equal(code, 0, stderr)
    const [, kept] = /^\d+ events of cluster test read, (\d+) of them say/.exec(stdout) ?? []
    ok(Number(kept) >= 5, stdout)
    const missing = await runKinfold([...words.slice(0, 2), `${file}-none`, ...words.slice(3)])
    deepEqual([missing.code, /cannot be read/.test(missing.stderr)], [2, true])
  })
})
