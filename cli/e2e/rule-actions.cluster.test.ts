/**
 * What rules do beside a plain DELETE, through `kinfold up` on a real API server, with the rights
 * and the lock that `kinfold rbac` prints for their config.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { kubeconfigOfAccount, kubectlEach } from '../../testing/cluster/account.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { HOLD } from '../../testing/conformance/world.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  type Kind,
  kind,
  type Made,
  make,
  mergePatch,
  POD,
  pathOf,
  remove,
} from '../../testing/process/objects.ts'
import { upConfig } from '../config/config.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kubectl') ?? false
const KINDS = 'pods,nodes,configmaps'
const CONFIG = `
apiVersion: kinfold/v1alpha1
kind: Config
kinds: [${KINDS}]
rules:
  - builtin: orphaned-pods
  - builtin: out-of-service-pods
`

const NODE: Kind = { ...kind('v1', 'Node', 'nodes'), namespaced: false }
const TAINT = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }

interface Pod {
  readonly metadata: {
    readonly deletionTimestamp?: string
    readonly deletionGracePeriodSeconds?: number
  }
  readonly status: {
    readonly phase: string
    readonly conditions?: readonly { readonly type: string; readonly reason?: string }[]
  }
}

suite('rules that do more than delete', { skip }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinfold-rule-actions-'))
    plane = await startControlPlane()
    const config = join(folder, 'kinfold.yaml')
    await writeFile(config, CONFIG)
    const printed = await runKinfold(['rbac', '--config', config, '--service', 'up'])
    equal(printed.code, 0, printed.stderr)
    await kubectlEach(plane, 'apply', printed.stdout)
    const kubeconfig = await kubeconfigOfAccount(plane, 'kinfold', 'kinfold')
    const flags = [...ACTING, '--config', config, '--lock', 'required']
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'data'), flags })
    for (const rule of upConfig({ config }).rules) {
      await kinfold.order('enforce-rule', 'a test', {
        subject: rule.name,
        digest: ruleDigest(rule),
      })
    }
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  async function runningPod(name: string, nodeName: string): Promise<Made> {
    const { spec } = POD.body as { readonly spec: object }
    const of: Kind = { ...POD, body: { spec: { ...spec, nodeName } } }
    const made = await make(plane, { kind: of, name, finalizers: [HOLD] })
    await mergePatch(plane, `${pathOf(made)}/status`, { status: { phase: 'Running' } })
    return made
  }

  async function podIs(made: Made, isSo: (pod: Pod) => boolean): Promise<Pod> {
    let found: Pod | undefined
    await eventually(`pod ${made.name}`, async () => {
      const { body } = await plane.request<Pod>('GET', pathOf(made))
      found = body
      return isSo(body) || JSON.stringify({ ...body.metadata, ...body.status }).slice(0, 2_000)
    })
    ok(found)
    return found
  }

  test('a Pod of a Node that is gone is Failed before it is deleted, by these rights alone', async () => {
    const made = await runningPod('lost', 'gone')
    const { status } = await podIs(made, ({ metadata }) => metadata.deletionTimestamp !== undefined)
    equal(status.phase, 'Failed')
    deepEqual(
      status.conditions?.map(({ type, reason }) => [type, reason]),
      [['DisruptionTarget', 'DeletionByPodGC']],
    )
  })

  test('a Pod that is being deleted goes by force once its Node is out of service, and not before', async () => {
    const node = await make(plane, { kind: NODE, name: 'out' })
    const ready = { type: 'Ready', status: 'True' }
    await mergePatch(plane, `${pathOf(node)}/status`, { status: { conditions: [ready] } })
    const made = await runningPod('stuck', 'out')
    await remove(plane, made)
    await mergePatch(plane, pathOf(node), { spec: { taints: [TAINT] } })
    const held = await podIs(made, ({ metadata }) => metadata.deletionTimestamp !== undefined)
    equal(held.status.phase, 'Running')
    const unknown = { ...ready, status: 'Unknown' }
    await mergePatch(plane, `${pathOf(node)}/status`, { status: { conditions: [unknown] } })
    const { status } = await podIs(made, ({ metadata }) => {
      return metadata.deletionGracePeriodSeconds === 0
    })
    deepEqual([status.phase, status.conditions], ['Failed', undefined])
  })
})
