/**
 * What rules do beside a plain DELETE, through `kinfold up` on a real API server, with the rights
 * and the lock that `kinfold rbac` prints for their config.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type Rule, ruleDigest } from '../../core/model/rule/rule.ts'
import { kubeconfigOfAccount, kubectlEach, tokenOfAccount } from '../../testing/cluster/account.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { HOLD } from '../../testing/conformance/world.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
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
  - name: mark
    match: { kinds: [ConfigMap], labels: mark }
    after: 0
    annotate: { key: example.com/stale, value: 'yes' }
`
const MARK = 'example.com/stale'

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
  let rules: readonly Rule[]
  let token: string

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
    rules = upConfig({ config }).rules
    token = await tokenOfAccount(plane, 'kinfold', 'kinfold')
    for (const { name } of rules) if (name !== 'mark') await enforce(name)
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

  test('an object is annotated once an order says so, once, and nothing else of it is changed', async () => {
    const made = await marked('one')
    await isHeld(made, /rule mark is in dry run/)
    const before = await storedOf(made)
    equal(before.metadata.resourceVersion, made.resourceVersion)
    await enforce('mark')
    const after = await annotated(made)
    deepEqual(comparable(after), comparable(before))
    deepEqual(after.metadata.annotations, { [MARK]: 'yes' })
    // Another one is annotated after it: by then it would have been again.
    await annotated(await marked('two'))
    equal((await storedOf(made)).metadata.resourceVersion, after.metadata.resourceVersion)
  })

  test('who takes it off twice has it held; a rule that is suspended annotates nothing', async () => {
    const made = await marked('three')
    for (const _ of [1, 2]) {
      await annotated(made)
      await mergePatch(plane, pathOf(made), { metadata: { annotations: { [MARK]: null } } })
    }
    await isHeld(made, /annotation example\.com\/stale was removed 2 times after rule mark had set/)
    await kinfold.order('suspend-rule', 'a test', { subject: 'mark' })
    const other = await marked('four')
    await isHeld(other, /rule mark is in dry run/)
    for (const each of [made, other]) {
      equal((await storedOf(each)).metadata.annotations?.[MARK], undefined)
    }
  })

  test('the lock lets the account set the key of the rule, and nothing beside it', async () => {
    const made = await make(plane, { kind: CONFIG_MAP, name: 'plain' })
    await mergePatch(plane, pathOf(made), { metadata: { annotations: { own: 'a' } } })
    for (const metadata of [
      { annotations: { 'example.com/other': 'yes' } },
      { annotations: { own: 'b' } },
      { annotations: { own: null } },
      { annotations: { [MARK]: 'yes', 'kubectl.kubernetes.io/restartedAt': 'now' } },
      { annotations: { [MARK]: 'yes' }, labels: { a: 'b' } },
    ]) {
      const { status, body } = await patched(made, { metadata })
      equal(status, 403, JSON.stringify(body))
      match(body.message ?? '', /nothing may be changed but owner references/)
    }
    const both = { metadata: { annotations: { [MARK]: 'yes' } }, data: { a: 'b' } }
    equal((await patched(made, both)).status, 403)
    equal((await patched(made, { metadata: { annotations: { [MARK]: 'yes' } } })).status, 200)
  })

  async function enforce(name: string): Promise<void> {
    const rule = rules.find((each) => each.name === name)
    ok(rule)
    await kinfold.order('enforce-rule', 'a test', { subject: name, digest: ruleDigest(rule) })
  }

  async function marked(name: string): Promise<Made> {
    const { body } = await plane.request<Stored>('POST', '/api/v1/namespaces/default/configmaps', {
      metadata: { name, labels: { mark: 'yes' } },
      data: { a: 'b' },
    })
    const { uid, resourceVersion } = body.metadata
    return { kind: CONFIG_MAP, namespace: 'default', name, uid, resourceVersion }
  }

  async function storedOf(made: Made): Promise<Stored> {
    return (await plane.request<Stored>('GET', pathOf(made))).body
  }

  async function annotated(made: Made): Promise<Stored> {
    await eventually(`${made.name} is annotated`, async () => {
      const { annotations = {} } = (await storedOf(made)).metadata
      return annotations[MARK] === 'yes' || JSON.stringify(annotations)
    })
    return await storedOf(made)
  }

  async function isHeld(made: Made, because: RegExp): Promise<void> {
    await eventually(`${made.name} is held`, async () => {
      const why = await kinfold.why(made)
      const text = why?.admission?.because ?? ''
      return (why?.verdict?.type === 'annotate' && because.test(text)) || JSON.stringify(why)
    })
  }

  /** As the account that the lock is for. */
  async function patched(
    made: Made,
    patch: object,
  ): Promise<{ status: number; body: { message?: string } }> {
    const authorization = `Bearer ${token}`
    const headers = { authorization, 'content-type': 'application/merge-patch+json' }
    return await plane.request<{ message?: string }>('PATCH', pathOf(made), patch, headers)
  }
})

interface Stored {
  readonly metadata: {
    readonly uid: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly [key: string]: unknown
  }
}

/** But for what an annotation changes. */
function comparable({ metadata, ...rest }: Stored): object {
  const { annotations: _, resourceVersion: __, managedFields: ___, ...others } = metadata
  return { ...rest, metadata: others }
}
