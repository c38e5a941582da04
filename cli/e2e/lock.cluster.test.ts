/**
 * The second lock on a real API server: what `kinfold rbac` prints is enough for whole cascades and
 * for nothing else, and a reaper that requires the lock acts only where it is in force.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { ALL_MARKS } from '../../core/model/mark.ts'
import type { PropagationPolicy } from '../../core/model/object.ts'
import { STARTS } from '../../ports/cluster.ts'
import { LOCK, LOCK_REFUSALS } from '../../ports/lock.ts'
import { kubeconfigOfAccount, kubectlEach, tokenOfAccount } from '../../testing/cluster/account.ts'
import type { Answer } from '../../testing/cluster/api-client.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  collectionPath,
  DEPLOYMENT,
  type Kind,
  type Made,
  make,
  makeAll,
  missingOf,
  NAMESPACE,
  ownersOf,
  pathOf,
  REPLICA_SET,
  remove,
  untilGone,
} from '../../testing/process/objects.ts'

const KINDS = 'configmaps,deployments.apps,replicasets.apps'
const CONFIG = `
apiVersion: kinfold/v1alpha1
kind: Config
kinds: [${KINDS}]
finalizers: { mayRemove: [example.com/a] }
protection: { namespaces: [safe], labels: [tier=gold], annotations: [example.com/keep] }
`
const DEPENDENTS = 20
const LOCK_WAITS = 'dev.kinfold.lock.waiting test'
const ACCOUNT = 'system:serviceaccount:kinfold:kinfold'
/** More than anybody was to be given, so that nothing but the lock refuses it. */
const TOO_MUCH = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: too-much }
rules:
  - apiGroups: ["", apps]
    resources: [configmaps, deployments, deployments/scale]
    verbs: [get, list, update, patch, delete, deletecollection]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: too-much }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: too-much }
subjects: [{ kind: ServiceAccount, name: kinfold, namespace: kinfold }]
`
const NAMESPACES_TOO = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: namespaces-too }
rules:
  - apiGroups: [""]
    resources: [namespaces, configmaps]
    verbs: [get, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: namespaces-too }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: namespaces-too }
subjects: [{ kind: ServiceAccount, name: kinfold, namespace: gc }]
`

const skip = missingServers('etcd', 'kube-apiserver', 'kubectl')

interface Status {
  readonly message?: string
}

suite('the second lock', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let token: string
  let rights: string
  let lock: string
  let held: readonly Made[]
  let data: string
  let receiver: Server
  /** What the webhook was notified of. */
  const told: string[] = []

  before(async () => {
    plane = await startControlPlane()
    const config = join(plane.folder, 'kinfold.yaml')
    await writeFile(config, CONFIG)
    const args = ['--service', 'up', '--config', config, '--protect-namespaces', 'vault']
    const { code, stdout, stderr } = await runKinfold(['rbac', ...args])
    equal(code, 0, stderr)
    const documents = stdout.split('---\n')
    const isLock = (document: string): boolean => document.includes('ValidatingAdmissionPolicy')
    rights = documents.filter((each) => !isLock(each)).join('---\n')
    lock = documents.filter(isLock).join('---\n')
    await kubectlEach(plane, 'apply', rights)
    token = await tokenOfAccount(plane, 'kinfold', 'kinfold')
    await make(plane, { kind: NAMESPACE, name: 'vault' })
    const kubeconfig = await kubeconfigOfAccount(plane, 'kinfold', 'kinfold')
    receiver = createServer(async (request, response) => {
      const { type, subject } = JSON.parse(await text(request)) as { type: string; subject: string }
      told.push(`${type} ${subject}`)
      response.writeHead(204).end()
    })
    await once(receiver.listen(0, '127.0.0.1'), 'listening')
    const { port } = receiver.address() as AddressInfo
    const settings = join(plane.folder, 'up.yaml')
    const head = 'apiVersion: kinfold/v1alpha1\nkind: Config\n'
    await writeFile(settings, `${head}notify: { url: "http://127.0.0.1:${port}" }\n`)
    const flags = [...ACTING, '--kinds', KINDS, '--lock', 'required', '--config', settings]
    data = join(plane.folder, 'data')
    kinfold = await KinfoldProcess.start({ kubeconfig, data, flags })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
    receiver?.closeAllConnections()
    receiver?.close()
  })

  test('that is required and not there leaves it at dry runs, and says so', async () => {
    await eventually('it is looked for', async () => (await readinessOfLock()).includes('absent'))
    match(
      await readinessOfLock(),
      /\[!\]lock\/test warning: absent, so commands are only dry runs: it let a DELETE pass, .*; apply what kinfold rbac prints/,
    )
    equal(await kinfold.metric('kinfold_lock', { cluster: 'test', required: 'true' }), 0)
    held = await cascade('before', 'Background')
    await eventually('what hangs on the root would go', async () => {
      const reason = (await kinfold.why(held[0] as Made))?.attempt?.reason ?? ''
      return (
        reason.startsWith('it would be carried out, but the lock is required, and it let') || reason
      )
    })
    const { code, stdout } = await runKinfold(['why', `uid:${held[0]?.uid}`, '--data', data])
    equal(code, 0)
    match(stdout, /the lock is required/)
    deepEqual(await missingOf(plane, held), [])
    await eventually('the webhook is told', async () => told.includes(LOCK_WAITS) || told.join())
  })

  test('would not show in a DELETE whose uid cannot be: that fails before anything is asked', async () => {
    const [one] = held
    ok(one)
    const never = { uid: 'never', resourceVersion: one.resourceVersion }
    equal((await deleteAs(one, { preconditions: never, dryRun: ['All'] })).status, 409)
  })

  test('once applied is noticed, and what waited goes', async () => {
    await kubectlEach(plane, 'apply', lock)
    await eventually('it is in force', async () => {
      return (await readinessOfLock()) === '[+]lock/test ok: in force'
    })
    equal(await kinfold.metric('kinfold_lock', { cluster: 'test', required: 'true' }), 1)
    await untilGone(plane, held)
    const lines = await kinfold.readiness()
    deepEqual(
      lines.filter((line) => line.includes('data-copy')),
      [],
      'the Lease passes the lock',
    )
    const lease = async (): Promise<string> => {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${STARTS.namespace}/leases/${STARTS.name}`
      return JSON.stringify((await plane.request('GET', path)).body)
    }
    const before = await lease()
    match(before, /data\.kinfold\.dev/)
    await eventually('it is renewed with the lock in force', async () => (await lease()) !== before)
    const probe = { kind: CONFIG_MAP, namespace: LOCK.namespace, name: LOCK.name }
    equal((await plane.request('GET', pathOf(probe))).status, 200)
  })

  test('lets whole cascades through with exactly the rights that are printed', async () => {
    await untilGone(plane, await cascade('background', 'Background'))
    await untilGone(plane, await cascade('foreground', 'Foreground'))
    const orphans = await cascade('orphans', 'Orphan')
    await eventually('they lose their owner', async () => {
      const left = await Promise.all(orphans.map((each) => ownersOf(plane, each)))
      return left.every((owners) => owners?.length === 0)
    })
    equal(await kinfold.metric('kinfold_commands_total', { code: '403' }), 0)
  })

  test('refuses the account a DELETE that lacks a precondition', async () => {
    const one = await make(plane, { kind: CONFIG_MAP, name: 'unguarded' })
    const { uid, resourceVersion } = one
    for (const preconditions of [undefined, { uid }, { resourceVersion }]) {
      await refused(await deleteAs(one, { preconditions }), LOCK_REFUSALS.unguarded)
    }
    await refused(await deleteAs(one, undefined), LOCK_REFUSALS.unguarded)
    deepEqual(await missingOf(plane, [one]), [])
    equal((await deleteAs(one, { preconditions: { uid, resourceVersion } })).status, 200)
  })

  for (const { on, key, match: how } of ALL_MARKS) {
    for (const value of how.type === 'any-but' ? ['true', ''] : how.values) {
      test(`refuses the account what bears the ${on} ${key}: ${value}`, async () => {
        const text = how.type === 'lists' ? `Replace=true, ${value}` : value
        const one = await made('default', { name: 'marked', [`${on}s`]: { [key]: text } })
        await refused(await guardedDelete(one), `${LOCK_REFUSALS.marked}: ${on} ${key}`)
        deepEqual(await missingOf(plane, [one]), [])
        await remove(plane, one)
      })
    }
  }

  for (const [what, metadata] of [
    ['label tier=gold', { labels: { tier: 'gold' } }],
    ['annotation example.com/keep', { annotations: { 'example.com/keep': '' } }],
  ] as const) {
    test(`refuses the account what the settings protect by ${what}`, async () => {
      const one = await made('default', { name: 'configured', ...metadata })
      await refused(await guardedDelete(one), `${LOCK_REFUSALS.marked}: ${what}`)
      await remove(plane, one)
      const other = await made('default', { name: 'other', labels: { tier: 'silver' } })
      equal((await guardedDelete(other)).status, 200)
    })
  }

  test('takes a mark for its owner’s where a controller may have copied it', async () => {
    const annotations = { 'argocd.argoproj.io/sync-options': 'Prune=false' }
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'it', uid: 'u-it' }
    for (const controller of [true, false]) {
      const ownerReferences = [{ ...owner, controller }]
      const metadata = { name: `copied-${controller}`, annotations, ownerReferences }
      const one = await made('default', metadata, REPLICA_SET)
      const answer = await guardedDelete(one)
      if (controller) equal(answer.status, 200, JSON.stringify(answer.body))
      else await refused(answer, LOCK_REFUSALS.marked)
    }
  })

  test('refuses the account what is in a protected namespace, and nobody else anything', async () => {
    const labelled = await made('default', {
      name: 'labelled',
      labels: { 'kinfold.dev/protected': 'true' },
    })
    const vaulted = await made('vault', { name: 'vaulted' })
    await refused(await guardedDelete(vaulted), LOCK_REFUSALS.namespace)
    await make(plane, { kind: NAMESPACE, name: 'safe' })
    await refused(await guardedDelete(await made('safe', { name: 'a' })), LOCK_REFUSALS.namespace)
    const unmarked = await made('default', {
      name: 'unmarked',
      labels: { 'kinfold.dev/protected': 'false' },
    })
    equal((await guardedDelete(unmarked)).status, 200)
    // The policy concerns no other account.
    equal((await plane.request('DELETE', pathOf(labelled))).status, 200)
    equal((await plane.request('DELETE', pathOf(vaulted))).status, 200)
  })

  test('refuses a collection, and every change but what is taken off two lists, whatever its rights', async () => {
    await kubectlEach(plane, 'apply', TOO_MUCH)
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'content-owner' })
    const other = await make(plane, { kind: CONFIG_MAP, name: 'content-other' })
    const one = await make(plane, {
      kind: DEPLOYMENT,
      name: 'content',
      owners: [owner, other],
      finalizers: ['example.com/a', 'example.com/b'],
    })
    const all = collectionPath(CONFIG_MAP, 'default')
    await eventually('the rights are in force', async () => {
      const { body } = await as<Status>('DELETE', all)
      return (body.message ?? '').includes(LOCK_REFUSALS.unguarded) || JSON.stringify(body)
    })
    // A collection of one, so that the preconditions hold.
    const { uid, resourceVersion } = owner
    const single = `${all}?fieldSelector=metadata.name%3D${owner.name}`
    const collection = await as<Status>('DELETE', single, {
      preconditions: { uid, resourceVersion },
    })
    await refused(collection, LOCK_REFUSALS.collection)
    deepEqual(await missingOf(plane, [owner, other]), [])

    const changes: readonly object[] = [
      { metadata: { labels: { a: 'b' } } },
      { metadata: { annotations: { a: 'b' } } },
      { metadata: { finalizers: ['example.com/a', 'example.com/b', 'example.com/c'] } },
      { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] } },
      { spec: { replicas: 0 } },
    ]
    for (const change of changes) await refused(await patchAs(one, change), LOCK_REFUSALS.content)
    const scaled = await as<Status>(
      'PATCH',
      `${pathOf(one)}/scale`,
      { spec: { replicas: 3 } },
      MERGE,
    )
    await refused(scaled, LOCK_REFUSALS.content)

    const left = { apiVersion: 'v1', kind: 'ConfigMap', name: other.name, uid: other.uid }
    const shortened = await patchAs(one, { metadata: { ownerReferences: [left] } })
    equal(shortened.status, 200, JSON.stringify(shortened.body))
  })

  test('finalizers of others stay, but those that the config lists, on what is being deleted', async () => {
    const one = await make(plane, {
      ...{ kind: CONFIG_MAP, name: 'stuck', finalizers: ['example.com/a', 'example.com/b'] },
    })
    const withOnly = async (finalizer: string): ReturnType<typeof patchAs> =>
      await patchAs(one, { metadata: { finalizers: [finalizer] } })
    await refused(await withOnly('example.com/b'), LOCK_REFUSALS.finalizer)
    await remove(plane, one)
    await refused(await withOnly('example.com/a'), LOCK_REFUSALS.finalizer)
    equal((await withOnly('example.com/b')).status, 200)
  })

  test('is told by doctor, for the account that it is for', async () => {
    const kubeconfig = await kubeconfigOfAccount(plane, 'kinfold', 'kinfold')
    const empty = join(plane.folder, 'empty')
    const locked = await runKinfold(['doctor', '--kubeconfig', kubeconfig, '--data', empty])
    match(locked.stdout, /\[\+\] test: lock: in force\n/)
    const admin = ['doctor', '--kubeconfig', plane.kubeconfig, '--data', empty]
    match((await runKinfold(admin)).stdout, /lock: not in force for this account: it let a DELETE/)
  })

  test('and rights are printed of all kinds that the cluster serves, and its server takes them', async () => {
    const args = ['rbac', '--from-cluster', '--kubeconfig', plane.kubeconfig]
    const { code, stdout, stderr } = await runKinfold(args)
    equal(code, 0, stderr)
    const list = /--kinds (\S+)\n/.exec(stdout)?.[1]?.split(',') ?? []
    ok(list.includes('pods') && list.includes('jobs.batch') && list.length > 40, list.join())
    const barred = list.filter((kind) => /^secrets$|^events|admissionregistration/.test(kind))
    deepEqual(barred, [])
    await kubectlEach(plane, 'apply', stdout)

    // Without a cluster it is known, too, of which of them no Role gives the right to delete.
    const only = ['--only-namespaces', 'shop']
    const served = await runKinfold([...args, ...only])
    equal(served.stdout, (await runKinfold(['rbac', '--kinds', list.join(), ...only])).stdout)
    const change = served.stdout.split('---\n').find((each) => each.includes('- delete\n')) ?? ''
    ok(change.includes('- pods\n') && !/- (namespaces|nodes|clusterroles)\n/.test(change), change)
  })

  for (const [said, meant] of [
    ['secret', 'secrets'],
    ['pvc', 'persistentvolumeclaims'],
    ['deployment', 'deployments.apps'],
    ['widgets.example.com', undefined],
  ] as const) {
    test(`is not printed with a rule about ${said}, of which the cluster serves none`, async () => {
      const args = ['rbac', '--from-cluster', '--kubeconfig', plane.kubeconfig]
      const { code, stdout, stderr } = await runKinfold([...args, '--protect-kinds', said])
      equal(code, 2, stdout + stderr)
      ok(stderr.includes(`--protect-kinds: "${said}" is not among the kinds that`), stderr)
      equal(/; did you mean (\S+)\?\n/.exec(stderr)?.[1], meant, stderr)
    })
  }

  test('protects also what is not collected, such as Secrets', async () => {
    const args = ['rbac', '--from-cluster', '--kubeconfig', plane.kubeconfig]
    const { code, stdout, stderr } = await runKinfold([...args, '--protect-kinds', 'secrets'])
    equal(code, 0, stderr)
    match(stdout, /in \[\\"secrets\\"\]\)/)
  })

  test('leaves a log that folds the same again', async () => {
    await kinfold.stop()
    const args = ['audit', 'verify', '--data', data]
    const { code, stdout, stderr } = await runKinfold(args)
    equal(code, 0, stdout + stderr)
  })

  test('and rights in some namespaces leave the Namespaces themselves alone', async () => {
    const args = ['--service', 'up', '--namespace', 'gc', '--only-namespaces', 'shop']
    const kinds = ['--kinds', 'namespaces,configmaps']
    const { code, stdout, stderr } = await runKinfold(['rbac', ...kinds, ...args])
    equal(code, 0, stderr)
    const shop = await make(plane, { kind: NAMESPACE, name: 'shop' })
    const inside = await made('shop', { name: 'inside' })
    const outside = await made('default', { name: 'outside' })
    // The former lock is about another account.
    const documents = stdout.split('---\n')
    const isLock = (document: string): boolean => document.includes('ValidatingAdmissionPolicy')
    await kubectlEach(plane, 'apply', documents.filter((each) => !isLock(each)).join('---\n'))
    token = await tokenOfAccount(plane, 'gc', 'kinfold')
    await eventually('the rights are in force', async () => {
      const answer = await guardedDelete(inside, ['All'])
      return answer.status === 200 || JSON.stringify(answer)
    })
    for (const answer of [await guardedDelete(shop, ['All']), await patchAs(shop, NOTHING)]) {
      equal(answer.status, 403, JSON.stringify(answer.body))
      match(answer.body.message ?? '', /cannot (delete|patch) resource "namespaces"/)
    }

    // Whatever rights it has: the lock alone refuses it now.
    await kubectlEach(plane, 'apply', NAMESPACES_TOO)
    await kubectlEach(plane, 'apply', documents.filter(isLock).join('---\n'))
    await eventually('the lock is in force', async () => {
      const { status, body } = await guardedDelete(outside, ['All'])
      const message = body.message ?? ''
      return (status === 403 && message.includes(LOCK_REFUSALS.elsewhere)) || message
    })
    await refused(await guardedDelete(shop, ['All']), LOCK_REFUSALS.elsewhere)
    await refused(await guardedDelete(shop), LOCK_REFUSALS.elsewhere)
    await refused(await patchAs(shop, NOTHING), LOCK_REFUSALS.elsewhere)
    deepEqual(await missingOf(plane, [shop, inside, outside]), [])
    equal((await guardedDelete(inside)).status, 200)
  })

  /** An update in which nothing would be wrong, were it not elsewhere. */
  const NOTHING = { metadata: { finalizers: [] } }
  const MERGE = { 'content-type': 'application/merge-patch+json' }

  async function readinessOfLock(): Promise<string> {
    return (await kinfold.readiness()).find((line) => line.includes('lock/test')) ?? ''
  }

  /** As the account that the lock is for. */
  async function as<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer<T>> {
    const authorization = `Bearer ${token}`
    return await plane.request<T>(method, path, body, { authorization, ...headers })
  }

  async function deleteAs(one: Made, options: object | undefined): Promise<Answer<Status>> {
    return await as('DELETE', pathOf(one), options)
  }

  async function guardedDelete(one: Made, dryRun: readonly string[] = []): Promise<Answer<Status>> {
    const { uid, resourceVersion } = one
    return await deleteAs(one, { preconditions: { uid, resourceVersion }, dryRun })
  }

  async function patchAs(one: Made, patch: object): Promise<Answer<Status>> {
    return await as('PATCH', pathOf(one), patch, MERGE)
  }

  async function refused({ status, body }: Answer<Status>, why: string): Promise<void> {
    equal(status, 403, JSON.stringify(body))
    match(body.message ?? '', new RegExp(`'${LOCK.name}'.*: ${why}(: \\w+ \\S+)?$`))
    ok(!body.message?.includes(ACCOUNT), body.message)
  }

  async function made(
    namespace: string,
    metadata: { readonly name: string; readonly [key: string]: unknown },
    of: Kind = CONFIG_MAP,
  ): Promise<Made> {
    const object = { metadata, ...of.body }
    const path = collectionPath(of, namespace)
    const { status, body } = await plane.request<{ metadata: Made }>('POST', path, object)
    equal(status, 201, JSON.stringify(body))
    const { uid, resourceVersion } = body.metadata
    return { kind: of, namespace, name: metadata.name, uid, resourceVersion }
  }

  /**
   * A deployment with dependents, two deep, whose deletion is requested; returns the dependents.
   */
  async function cascade(name: string, policy: PropagationPolicy): Promise<readonly Made[]> {
    const root = await make(plane, { kind: DEPLOYMENT, name })
    const middle = await make(plane, { kind: REPLICA_SET, name, owners: [root] })
    const leaves = await makeAll(
      plane,
      Array.from({ length: DEPENDENTS }, (_, i) => {
        const owner = policy === 'Orphan' ? root : middle
        return { kind: CONFIG_MAP, name: `${name}-${i}`, owners: [owner] }
      }),
    )
    const all = [middle, ...leaves]
    await eventually('they are seen', async () => {
      const verdicts = await kinfold.verdicts(all)
      return verdicts.every((verdict) => verdict === 'keep') || verdicts.join()
    })
    await remove(plane, root, policy)
    return all
  }
})
