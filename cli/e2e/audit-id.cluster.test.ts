/**
 * Shows that the audit log of a real API server has each of our calls by its command's id, and by
 * the name of the service that sent it.
 *
 * Not here: what `why` says of a command.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { auditArgs, auditEvents } from '../../testing/cluster/audit-log.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { recordsOf } from '../../testing/process/kinfold-log.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { CONFIG_MAP, make, makeAll, remove, SECRET, uidsOf } from '../../testing/process/objects.ts'

const DEPENDENTS = 20
const SET = 'audited'

const skip = missingServers('etcd', 'kube-apiserver')

suite('the audit log of a real API server', { skip: skip ?? false }, () => {
  let folder: string
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinfold-audit-'))
    plane = await startControlPlane({ apiserverArgs: await auditArgs(folder) })
    const { kubeconfig } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('names the command of each DELETE and PATCH, and who sent it', async () => {
    const deleted = await family('deleted')
    const orphaned = await family('orphaned')
    await remove(plane, deleted.owner)
    await remove(plane, orphaned.owner, 'Orphan')
    await eventually('both owners and the dependents of one are deleted', async () => {
      const left = [
        ...(await uidsOf(plane, CONFIG_MAP, SET)),
        ...(await uidsOf(plane, SECRET, SET)),
      ]
      return left.length === DEPENDENTS || `${left.length} left`
    })
    await kinfold.idle()
    const commands = new Map<string, string>()
    for (const each of await recordsOf(kinfold.data, 'commands')) {
      if ('target' in each) commands.set(each.id, `${each.target.resource}/${each.target.name}`)
    }
    const ours = await auditEvents(folder, 'kinfold')
    const writes = ours.filter(({ verb, objectRef }) => {
      const isConcerned = objectRef?.resource === 'secrets' || objectRef?.resource === 'configmaps'
      return isConcerned && (verb === 'delete' || verb === 'patch')
    })
    ok(writes.length > 2 * DEPENDENTS, `${writes.length} writes`)
    for (const { auditID, objectRef } of writes) {
      equal(commands.get(auditID), `${objectRef?.resource}/${objectRef?.name}`)
    }
    for (const { userAgent } of ours) match(userAgent ?? '', /^kinfold\/\d+\.\d+\.\d+\S* \(up\)$/)
    deepEqual(new Set(writes.map(({ verb }) => verb)), new Set(['delete', 'patch']))
  })

  async function family(name: string) {
    const owner = await make(plane, { kind: CONFIG_MAP, name, set: SET })
    const drafts = Array.from({ length: DEPENDENTS }, (_, index) => {
      return { kind: SECRET, name: `${name}-${index}`, set: SET, owners: [owner] }
    })
    return { owner, dependents: await makeAll(plane, drafts) }
  }
})
