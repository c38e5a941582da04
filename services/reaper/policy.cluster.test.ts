/**
 * The reaper and policies of a real kube-apiserver: a user who may write a CleanupPolicy gets by it
 * no right that its account lacks, and reads in its status which one that is.
 *
 * What must stay true: the definitions and the rights are those that are shipped; the log is in
 * memory, and commands are as the fold makes them.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../../adapters/kubernetes/connection/exchange.ts'
import { loadContexts } from '../../adapters/kubernetes/connection/kubeconfig.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import { objectKey } from '../../core/model/partition.ts'
import { ENFORCE_ANNOTATION } from '../../core/model/rule/policy-content.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { policyStatusKey } from '../../ports/record/control-key.ts'
import type { Control, PolicyStatus } from '../../ports/record/service-record.ts'
import { policyContent } from '../../ports/rule/policy-content.ts'
import { systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { kubeconfigOfAccount, kubectlEach } from '../../testing/cluster/account.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { bindRole } from '../../testing/cluster/role.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { deleteByRule } from '../../testing/rig/reaper.ts'
import { createReaper } from './reaper.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kubectl') ?? false
const DEFINITIONS = new URL('../../deploy/crds/cleanup-policies.yaml', import.meta.url)
const POLICIES = '/apis/kinfold.dev/v1alpha1/namespaces/shop/cleanuppolicies'
const SECRETS = '/api/v1/namespaces/shop/secrets'
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop'
const ACCOUNT = 'system:serviceaccount:shop:cleaner'
const SPEC = {
  serviceAccountName: 'cleaner',
  match: { kinds: ['Secret'], labels: 'temporary' },
  after: 0,
}

interface Policy {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly uid: string; readonly generation: number }
  readonly status?: {
    readonly deleted: number
    readonly conditions: readonly { readonly type: string; readonly [key: string]: unknown }[]
  }
}

suite('a policy of a user who may delete no Secrets', { skip }, () => {
  const codec = avroCodec()
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const stop = new AbortController()
  let plane: ControlPlane
  let cluster: Cluster
  let id: string
  let policy: Policy
  let digest: string
  let running: Promise<void>

  before(async () => {
    plane = await startControlPlane({ users: [{ name: 'tenant' }] })
    await made('/api/v1/namespaces', { metadata: { name: 'shop' } })
    await kubectlEach(plane, 'apply', readFileSync(DEFINITIONS, 'utf8'))
    const rights = ['--kinds', 'secrets', '--service', 'reaper', '--cleanup-policies']
    const printed = await runKinfold(['rbac', ...rights])
    equal(printed.code, 0, printed.stderr)
    await kubectlEach(plane, 'apply', printed.stdout)
    await made('/api/v1/namespaces/shop/serviceaccounts', { metadata: { name: 'cleaner' } })
    await made(SECRETS, { metadata: { name: 'password', labels: { temporary: 'yes' } } })

    const kubeconfig = await kubeconfigOfAccount(plane, 'kinfold', 'kinfold-reaper')
    const [context] = loadContexts({ kubeconfig, contexts: [] })
    cluster = openCluster({ name: 'test', exchange: openUndiciExchange(context!) })
    id = await cluster.identify(stop.signal)
    await control(id)
    const reaper = createReaper({
      ...{ log, codec, clock, random: systemRandom() },
      clusters: (each) => (each === id ? { id, cluster } : undefined),
      config: { policyStatusEveryMs: 100, policyProofMs: 200 },
    })
    running = reaper.run(stop.signal)
  })
  after(async () => {
    stop.abort(new Error('The test is done with it.'))
    await running
    await cluster?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  async function made(path: string, body: object): Promise<void> {
    const { status } = await plane.request('POST', path, body)
    equal(status, 201, path)
  }

  async function control(about: string): Promise<void> {
    const record: Control = {
      ...{ type: 'Control', verb: 'epoch', cluster: about, kind: null, number: 1 },
      ...{ connected: true, protection: null, mode: null, who: '', why: '' },
    }
    await log.append('control', 0, [{ key: `cluster/${about}`, value: codec.encode(record) }])
  }

  async function command(name: string): Promise<CommandSettled> {
    const target = { ...SECRET, name }
    const answer = await cluster.get(target, stop.signal)
    ok(answer.type === 'Found')
    const { uid, resourceVersion } = answer.object
    const { uid: policyUid } = policy.metadata
    const about = { kind: 'CleanupPolicy', version: 'v1alpha1', namespace: 'shop', name: 'old' }
    const rule = {
      ...{ name: 'shop/old', digest },
      policy: { ...about, uid: policyUid, account: ACCOUNT },
    }
    const { end } = await log.bounds('events', 0)
    const made = deleteByRule({
      ...{ id: `0-${end}-0`, cluster: id, rule },
      target: { ...target, uid, resourceVersion },
    })
    await log.append('commands', 0, [{ key: objectKey(id, uid), value: codec.encode(made) }])
    await eventually('it is settled', async () => (await log.bounds('events', 0)).end > end)
    const { entries } = await log.read('events', 0, end, { limit: 1, waitMs: 0 })
    return codec.decode(entries[0]!.value!) as CommandSettled
  }

  /** As the graph does. */
  async function publish(more: Partial<PolicyStatus>): Promise<void> {
    const { uid, generation } = policy.metadata
    const status: PolicyStatus = {
      ...{ type: 'PolicyStatus', cluster: id, partition: 0, kind: 'CleanupPolicy' },
      ...{ version: 'v1alpha1', namespace: 'shop', name: 'old', uid, generation, digest },
      ...{ problem: '', isEnforced: false, matched: 1, due: 1, held: 1, note: '', ...more },
    }
    const value = codec.encode(status)
    await log.append('orders', 0, [{ key: policyStatusKey(id, uid), value }])
  }

  async function condition(type: string): Promise<string> {
    const { body } = await plane.request<Policy>('GET', `${POLICIES}/old`)
    const found = body.status?.conditions.find((each) => each.type === type)
    return `${found?.['status']} ${found?.['reason']} ${found?.['message']}`.trim()
  }

  test('is one that its author may write, beside no right to delete', async () => {
    const rule = { apiGroups: ['kinfold.dev'], resources: ['cleanuppolicies'], verbs: ['create'] }
    await bindRole(plane, 'tenant', [rule])
    const authorization = `Bearer ${plane.tokenOf('tenant')}`
    const type = { apiVersion: 'kinfold.dev/v1alpha1', kind: 'CleanupPolicy' }
    const body = { metadata: { namespace: 'shop', name: 'old' }, spec: SPEC }
    digest = ruleDigest(policyContent(body, () => ({ type: 'Refused', reason: '' })).rule!)
    const annotations = { [ENFORCE_ANNOTATION]: digest }
    const written = await plane.request<Policy>(
      'POST',
      POLICIES,
      { ...type, ...body, metadata: { ...body.metadata, annotations } },
      { authorization },
    )
    equal(written.status, 201)
    policy = written.body
    const refused = await plane.request('DELETE', `${SECRETS}/password`, undefined, {
      authorization,
    })
    equal(refused.status, 403)
  })

  test('deletes none, and its status says which right is missing', async () => {
    const { outcome, code, reason } = await command('password')
    deepEqual([outcome, code], ['blocked', 403])
    const missing = /User "system:serviceaccount:shop:cleaner" cannot delete resource "secrets"/
    match(reason, missing)
    equal((await plane.request('GET', `${SECRETS}/password`)).status, 200)
    await publish({ isEnforced: true })
    await eventually('its status says so', async () => {
      const text = await condition('Permitted')
      return missing.test(text) && text.startsWith('False Forbidden') ? true : text
    })
    equal(await condition('Ready'), 'True Compiled')
    equal(await condition('Enforced'), 'True Annotated')
  })

  test('deletes one once a RoleBinding gives that right to its account', async () => {
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['delete'] }]
    await made(`${RBAC}/roles`, { metadata: { name: 'cleaner' }, rules })
    await made(`${RBAC}/rolebindings`, {
      metadata: { name: 'cleaner' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'cleaner' },
      subjects: [{ kind: 'ServiceAccount', name: 'cleaner', namespace: 'shop' }],
    })
    await eventually('it is deleted', async () => {
      const { outcome, reason } = await command('password')
      return outcome === 'done' || reason
    })
    equal((await plane.request('GET', `${SECRETS}/password`)).status, 404)
    await eventually('its status says so', async () => {
      const text = await condition('Permitted')
      return text === 'True Allowed' || text
    })
    const { body } = await plane.request<Policy>('GET', `${POLICIES}/old`)
    equal(body.status?.deleted, 1)
  })

  test('that is refused says why, and shows how another one is enforced', async () => {
    await publish({ problem: 'spec.match: is missing', digest: '' })
    await eventually('its status says so', async () => {
      const text = await condition('Ready')
      return text === 'False Refused spec.match: is missing' || text
    })
    await publish({})
    const annotate = `kubectl annotate -n shop cleanuppolicies.kinfold.dev old --overwrite ${ENFORCE_ANNOTATION}=${digest}`
    await eventually('it shows the command', async () => {
      const text = await condition('Enforced')
      return text === `False DryRun to have it carried out: ${annotate}` || text
    })
  })

  test('keeps a key that is misspelt, so that it is refused and not left out', async () => {
    const body = {
      ...{ apiVersion: 'kinfold.dev/v1alpha1', kind: 'CleanupPolicy' },
      metadata: { name: 'misspelt' },
      spec: { ...SPEC, match: { kinds: ['Secret'], lables: 'temporary' }, after: '1h' },
    }
    await made(POLICIES, body)
    const { body: kept } = await plane.request('GET', `${POLICIES}/misspelt`)
    const { problem } = policyContent(kept, () => ({ type: 'Refused', reason: '' }))
    match(problem, /^spec\.match: unknown key lables/)
  })
})

const SECRET = {
  ...{ group: '', kind: 'Secret', namespace: 'shop', name: '', version: 'v1' },
  ...{ resource: 'secrets', uid: '', resourceVersion: '', aggregated: false },
}
