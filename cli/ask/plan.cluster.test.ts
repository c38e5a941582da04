/**
 * Shows on a real API server that what a plan says is what then goes, and that a cascade can be
 * followed to its end.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { Plan } from '../../services/graph/query/plan/plan.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  DEPLOYMENT,
  type Made,
  make,
  missingOf,
  ownersOf,
  POD,
  pathOf,
  REPLICA_SET,
  type Reference,
  referenceTo,
} from '../../testing/process/objects.ts'

const skip = missingServers('etcd', 'kube-apiserver')

suite('kinfold plan and cascade, on a real API server,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  for (const cascade of ['background', 'foreground', 'orphan'] as const) {
    test(`what goes is what was planned, with ${cascade}`, async () => {
      const family = await makeFamily(plane, cascade)
      await eventually('the family is seen', async () => {
        const verdicts = await kinfold.verdicts(family.slice(1))
        return verdicts.every((verdict) => verdict !== 'unseen') || verdicts.join()
      })
      const plan = await planOf(kinfold, family[0]!, cascade)
      deepEqual(await missingOf(plane, family), [])

      await deleteWith(plane, family[0]!, cascade)
      const words = ['cascade', `uid:${family[0]!.uid}`, '-w', '--data', kinfold.data]
      const { stdout, stderr, code } = await runKinfold(words)
      equal(code, 0, stderr)
      match(
        stdout.trimEnd().split('\n').at(-1) ?? '',
        /: deleted\. Dependents: \d+ done \(1 of them was orphaned, or has another owner, and exists\), 0 remaining$/,
      )

      const planned = plan.objects
        .filter(({ effect }) => effect === 'deleted')
        .map(({ name }) => name)
      deepEqual((await missingOf(plane, family)).sort(), planned.sort())
      for (const each of plan.objects) {
        if (each.effect === 'deleted') continue
        const made = family.find(({ uid }) => uid === each.uid)!
        const left = (await ownersOf(plane, made)) ?? []
        const names = each.owners.map((owner) => owner.slice(owner.indexOf('/') + 1))
        deepEqual(left, names, `the owners of ${each.name}`)
      }
    })
  }
})

/** Three deep, with one that has another owner, too. */
async function makeFamily(plane: ControlPlane, name: string): Promise<readonly Made[]> {
  const root = await make(plane, { kind: DEPLOYMENT, name })
  const blocking = (owner: Made): Reference => ({ ...referenceTo(owner), blockOwnerDeletion: true })
  const other = await make(plane, { kind: CONFIG_MAP, name: `${name}-other` })
  const middle = await make(plane, {
    kind: REPLICA_SET,
    name: `${name}-middle`,
    owners: [blocking(root)],
  })
  const leaf = await make(plane, { kind: POD, name: `${name}-leaf`, owners: [blocking(middle)] })
  const shared = await make(plane, {
    kind: CONFIG_MAP,
    name: `${name}-shared`,
    owners: [middle, other],
  })
  return [root, middle, leaf, shared]
}

async function planOf(kinfold: KinfoldProcess, root: Made, cascade: string): Promise<Plan> {
  const words = ['plan', 'delete', `uid:${root.uid}`, '--cascade', cascade, '-o', 'json']
  const { stdout, stderr, code } = await runKinfold([...words, '--data', kinfold.data])
  equal(code, 0, stderr)
  equal(stderr, '')
  return JSON.parse(stdout) as Plan
}

async function deleteWith(plane: ControlPlane, made: Made, cascade: string): Promise<void> {
  const propagationPolicy = cascade[0]!.toUpperCase() + cascade.slice(1)
  const { status } = await plane.request('DELETE', pathOf(made), {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    propagationPolicy,
  })
  equal(status, 200)
}
