/**
 * Policies of a real cluster through `kinfold up`, with the definitions and rights that are
 * shipped: applied, shown by status in dry run, enforced by an annotation, and carried out by the
 * rights of their accounts.
 */
import { equal, ok, rejects } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { kubeconfigOfAccount, kubectlEach, tokenOfAccount } from '../../testing/cluster/account.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { HOLD } from '../../testing/conformance/world.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  DEPLOYMENT,
  type Kind,
  make,
  mergePatch,
  POD,
  pathOf,
  REPLICA_SET,
  remove,
} from '../../testing/process/objects.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kubectl') ?? false
const DEFINITIONS = new URL('../../deploy/crds/cleanup-policies.yaml', import.meta.url)
const POLICIES = '/apis/kinfold.dev/v1alpha1/namespaces/shop/cleanuppolicies'
const CONFIG_MAPS = '/api/v1/namespaces/shop/configmaps'
const KINDS = 'configmaps,pods,deployments.apps,replicasets.apps'
const RIGHTS = `
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: cleaner, namespace: shop }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: cleaner, namespace: shop }
rules: [{ apiGroups: [''], resources: [configmaps, pods], verbs: [delete] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: cleaner, namespace: shop }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: cleaner }
subjects: [{ kind: ServiceAccount, name: cleaner, namespace: shop }]
`
/** Beside the rights of `cleaner`. */
const MAY_FAIL = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: fail, namespace: shop }
rules: [{ apiGroups: [''], resources: [pods/status], verbs: [patch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: fail, namespace: shop }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: fail }
subjects: [{ kind: ServiceAccount, name: cleaner, namespace: shop }]
`

const MAY_PATCH = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: marker, namespace: shop }
rules: [{ apiGroups: [''], resources: [configmaps], verbs: [patch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: marker, namespace: shop }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: marker }
subjects: [{ kind: ServiceAccount, name: cleaner, namespace: shop }]
`

interface ConfigMap {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
}

interface Policy {
  readonly status?: {
    readonly digest: string
    readonly [key: string]: unknown
    readonly conditions: readonly Readonly<Record<string, string>>[]
  }
}

interface Pod {
  readonly metadata: { readonly deletionGracePeriodSeconds?: number }
  readonly status: { readonly phase: string }
}

suite('kinfold up with policies of the cluster', { skip }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinfold-policies-'))
    plane = await startControlPlane()
    await kubectlEach(plane, 'apply', readFileSync(DEFINITIONS, 'utf8'))
    const rights = ['--kinds', KINDS, '--service', 'up', '--cleanup-policies']
    const printed = await runKinfold(['rbac', ...rights])
    equal(printed.code, 0, printed.stderr)
    await kubectlEach(plane, 'apply', printed.stdout)
    await kubectlEach(plane, 'apply', RIGHTS)
    const kubeconfig = await kubeconfigOfAccount(plane, 'kinfold', 'kinfold')
    const flags = [...ACTING, '--kinds', KINDS]
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'data'), flags })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  async function apply(name: string, spec: string): Promise<void> {
    const head = 'apiVersion: kinfold.dev/v1alpha1\nkind: CleanupPolicy\n'
    const metadata = `metadata: { name: ${name}, namespace: shop }\n`
    await kubectlEach(plane, 'apply', `${head}${metadata}spec: ${spec}\n`)
  }

  async function statusOf(name: string): Promise<Policy['status']> {
    return (await plane.request<Policy>('GET', `${POLICIES}/${name}`)).body.status
  }

  /** Until the status says so; the numbers are matched, due, held and deleted. */
  async function shows(name: string, type: string, text: RegExp): Promise<void> {
    await eventually(`${name} shows ${text}`, async () => {
      const status = await statusOf(name)
      const found = status?.conditions.find((each) => each['type'] === type)
      const numbers = ['matched', 'due', 'held', 'deleted'].map((key) => status?.[key])
      const all = `${found?.['status']} ${numbers.join(' ')} ${found?.['message']}`
      return text.test(all) || all
    })
  }

  async function enforce(name: string): Promise<void> {
    const { digest } = (await statusOf(name)) ?? {}
    ok(digest)
    const annotations = { 'kinfold.dev/enforce': digest }
    await mergePatch(plane, `${POLICIES}/${name}`, { metadata: { annotations } })
  }

  /** Once its status says which rule it is. */
  async function enforceWide(name: string): Promise<void> {
    const policy = `/apis/kinfold.dev/v1alpha1/clustercleanuppolicies/${name}`
    await eventually('its status has a digest', async () => {
      const { body } = await plane.request<Policy>('GET', policy)
      const digest = body.status?.digest ?? ''
      if (digest === '') return false
      const annotations = { 'kinfold.dev/enforce': digest }
      await mergePatch(plane, policy, { metadata: { annotations } })
      return true
    })
  }

  async function isThere(path: string): Promise<boolean> {
    return (await plane.request('GET', path)).status === 200
  }

  test('one is in dry run, says what it would delete, and deletes once it is annotated', async () => {
    for (const [name, labels] of [
      ['old', { stage: 'temporary' }],
      ['other', {}],
    ] as const) {
      await plane.request('POST', CONFIG_MAPS, { metadata: { name, labels } })
    }
    await apply(
      'bad',
      '{ serviceAccountName: cleaner, match: { kinds: [ConfigMap], namespaces: [b] } }',
    )
    await apply(
      'temporary',
      '{ serviceAccountName: cleaner, match: { kinds: [ConfigMap], labels: stage=temporary }, after: 0 }',
    )
    await shows(
      'bad',
      'Ready',
      /^False .*spec\.match\.namespaces: a CleanupPolicy is about its own/,
    )
    await shows('temporary', 'Ready', /^True 1 1 1 0 $/)
    await shows('temporary', 'Enforced', /^False .* kubectl annotate -n shop cleanuppolicies/)
    equal(await isThere(`${CONFIG_MAPS}/old`), true)
    await enforce('temporary')
    await eventually('it is deleted', async () => !(await isThere(`${CONFIG_MAPS}/old`)))
    equal(await isThere(`${CONFIG_MAPS}/other`), true)
    await shows('temporary', 'Enforced', /^True 0 0 0 1 $/)
    await shows('temporary', 'Permitted', /^True /)
    const { digest = '' } = (await statusOf('temporary')) ?? {}
    const order = kinfold.order('enforce-rule', 'a test', { subject: 'shop/temporary', digest })
    await rejects(order, /its annotation decides: kubectl annotate -n shop /)
  })

  test('one that is edited is in dry run again', async () => {
    await mergePatch(plane, `${POLICIES}/temporary`, { spec: { after: '1s' } })
    await shows('temporary', 'Enforced', /^False /)
    const labels = { stage: 'temporary' }
    await plane.request('POST', CONFIG_MAPS, { metadata: { name: 'new', labels } })
    await shows('temporary', 'Ready', /^True 1 1 1 1 $/)
    equal(await isThere(`${CONFIG_MAPS}/new`), true)
  })

  test('one of the whole cluster deletes by the rights of Kinfold, where it names no account', async () => {
    const path = '/api/v1/namespaces/default/configmaps'
    await plane.request('POST', path, { metadata: { name: 'wide', labels: { stage: 'wide' } } })
    const head = 'apiVersion: kinfold.dev/v1alpha1\nkind: ClusterCleanupPolicy\n'
    const spec = '{ match: { kinds: [ConfigMap], labels: stage=wide }, after: 0 }'
    await kubectlEach(plane, 'apply', `${head}metadata: { name: wide }\nspec: ${spec}\n`)
    await enforceWide('wide')
    await eventually('it is deleted', async () => !(await isThere(`${path}/wide`)))
  })

  test('one that has Pods Failed first deletes none whose status its account may not patch', async () => {
    const { spec } = POD.body as { readonly spec: object }
    const lost: Kind = { ...POD, body: { spec: { ...spec, nodeName: 'gone' } } }
    const draft = { kind: lost, namespace: 'shop', name: 'lost', finalizers: [HOLD] }
    const pod = pathOf(await make(plane, draft))
    const lose = { metadata: { labels: { stage: 'lost' } }, status: { phase: 'Running' } }
    await mergePatch(plane, pod, lose)
    await mergePatch(plane, `${pod}/status`, lose)
    const phase = async (): Promise<string> => {
      const { body } = await plane.request<Pod>('GET', pod)
      return `${body.status.phase} ${body.metadata.deletionGracePeriodSeconds ?? 'stays'}`
    }
    await apply(
      'lost',
      '{ serviceAccountName: cleaner, match: { kinds: [Pod], labels: stage=lost }, after: 0, gracePeriodSeconds: 0, failFirst: true }',
    )
    await shows('lost', 'Ready', /^True 1 1 1 0 /)
    await enforce('lost')
    await shows('lost', 'Permitted', /^False .*cleaner" cannot patch resource "pods\/status"/)
    equal(await phase(), 'Running stays')
    await kubectlEach(plane, 'apply', MAY_FAIL)
    await eventually('it is Failed, and then deleted', async () => {
      const now = await phase()
      // Never the one without the other before it.
      ok(['Running stays', 'Failed stays', 'Failed 0'].includes(now), now)
      return now === 'Failed 0' || now
    })
    await shows('lost', 'Permitted', /^True /)
    await mergePatch(plane, pod, { metadata: { finalizers: [] } })
    await eventually('it is gone', async () => !(await isThere(pod)))
  })

  test('one by owners asks the own references of an object, and no owner of those', async () => {
    const namespace = 'shop'
    const deployment = await make(plane, { kind: DEPLOYMENT, namespace, name: 'd' })
    const owners = [deployment]
    const set = await make(plane, { kind: REPLICA_SET, namespace, name: 's', owners })
    const kind = CONFIG_MAP
    for (const draft of [
      { kind, namespace, name: 'direct', owners },
      { kind, namespace, name: 'below', owners: [set] },
      { kind, namespace, name: 'none' },
    ]) {
      const path = pathOf(await make(plane, draft))
      await mergePatch(plane, path, { metadata: { labels: { stage: 'owned' } } })
    }
    const left = async (): Promise<string> => {
      const names = ['direct', 'below', 'none']
      const there = await Promise.all(names.map(async (each) => isThere(`${CONFIG_MAPS}/${each}`)))
      return names.filter((_, index) => there[index]).join(' ')
    }
    const about = (owner: string): string =>
      `{ serviceAccountName: cleaner, match: { kinds: [ConfigMap], owner: ${owner}, labels: stage=owned }, after: 0 }`
    await apply('by-owner', about('{ kinds: [Deployment.apps] }'))
    await shows('by-owner', 'Ready', /^True 1 1 1 0 /)
    await enforce('by-owner')
    await shows('by-owner', 'Ready', /^True 0 0 0 1 /)
    equal(await left(), 'below none')
    await apply('by-none', about('none'))
    await shows('by-none', 'Ready', /^True 1 1 1 0 /)
    await enforce('by-none')
    await shows('by-none', 'Ready', /^True 0 0 0 1 /)
    equal(await left(), 'below')
    await remove(plane, deployment)
    await eventually('all of it is gone', async () => {
      return !(await isThere(pathOf(set))) && (await left()) === ''
    })
  })

  test('one of the whole cluster annotates by the rights of Kinfold, as far as the lock lets it', async () => {
    const path = '/api/v1/namespaces/default/configmaps'
    await plane.request('POST', path, { metadata: { name: 'wide', labels: { stage: 'noted' } } })
    const head = 'apiVersion: kinfold.dev/v1alpha1\nkind: ClusterCleanupPolicy\n'
    const spec =
      "{ match: { kinds: [ConfigMap], labels: stage=noted }, after: 0, annotate: { key: example.com/stale, value: '1' } }"
    await kubectlEach(plane, 'apply', `${head}metadata: { name: note }\nspec: ${spec}\n`)
    await enforceWide('note')
    await eventually('it is annotated', async () => {
      const { body } = await plane.request<ConfigMap>('GET', `${path}/wide`)
      return body.metadata.annotations?.['example.com/stale'] === '1' || JSON.stringify(body)
    })
    const authorization = `Bearer ${await tokenOfAccount(plane, 'kinfold', 'kinfold')}`
    const headers = { authorization, 'content-type': 'application/merge-patch+json' }
    const patched = async (metadata: object): Promise<number> =>
      (await plane.request('PATCH', `${path}/wide`, { metadata }, headers)).status
    for (const key of ['stale', 'a.kubernetes.io/b', 'helm.sh/resource-policy', 'k8s.io/c']) {
      equal(await patched({ annotations: { [key]: 'x' } }), 403, key)
    }
    equal(await patched({ annotations: { 'example.com/stale': null } }), 403)
    equal(await patched({ annotations: { 'team.example.com/any': 'x' } }), 200)
  })

  test('one that annotates does so by the rights of its account, and by these alone', async () => {
    const labels = { stage: 'marked' }
    await plane.request('POST', CONFIG_MAPS, { metadata: { name: 'marked', labels } })
    await apply(
      'marking',
      "{ serviceAccountName: cleaner, match: { kinds: [ConfigMap], labels: stage=marked }, after: 0, annotate: { key: example.com/stale, value: 'yes' } }",
    )
    await apply(
      'acting',
      '{ serviceAccountName: cleaner, match: { kinds: [ConfigMap], labels: stage=marked }, after: 0, annotate: { key: helm.sh/resource-policy, value: keep } }',
    )
    await shows(
      'acting',
      'Ready',
      /^False .*spec\.annotate\.key: no rule sets "helm\.sh\/resource-policy"/,
    )
    await shows('marking', 'Ready', /^True 1 1 1 0 $/)
    await enforce('marking')
    await shows('marking', 'Permitted', /^False .*cannot patch resource "configmaps"/)
    await kubectlEach(plane, 'apply', MAY_PATCH)
    await eventually('it is annotated', async () => {
      const { body } = await plane.request<ConfigMap>('GET', `${CONFIG_MAPS}/marked`)
      return body.metadata.annotations?.['example.com/stale'] === 'yes' || JSON.stringify(body)
    })
    await shows('marking', 'Permitted', /^True 1 0 0 0 $/)
    equal((await statusOf('marking'))?.['annotated'], 1)
  })

  test('one on pods of a Deployment is held once the second one was replaced', {
    skip: missingServers('kube-controller-manager') ?? false,
  }, async () => {
    await plane.startControllerManager({ collector: false })
    const body = { metadata: { name: 'web', namespace: 'shop' }, ...DEPLOYMENT.body }
    const made = await plane.request('POST', '/apis/apps/v1/namespaces/shop/deployments', body)
    equal(made.status, 201)
    await apply(
      'pods',
      '{ serviceAccountName: cleaner, match: { kinds: [Pod], labels: app=a }, after: 0 }',
    )
    await shows('pods', 'Ready', /^True 1 1 1 0 $/)
    await enforce('pods')
    const path = '/api/v1/namespaces/shop/pods'
    const pods = async (): Promise<readonly string[]> => {
      type List = { readonly items: readonly { readonly metadata: { readonly uid: string } }[] }
      const { body: list } = await plane.request<List>('GET', path)
      return list.items.map(({ metadata }) => metadata.uid)
    }
    // What the graph counts and what reapers deleted are of two moments in one status.
    let third = ''
    await eventually('the third pod is held', async () => {
      const [pod = '', ...others] = await pods()
      third = pod
      const { admission } = (await kinfold.why({ uid: pod })) ?? {}
      const because = admission?.because ?? ''
      const text =
        /^ReplicaSet web-\w+ made 2 objects again right after rule shop\/pods had deleted them/
      return (others.length === 0 && text.test(because)) || because
    })
    await shows('pods', 'Ready', /^True 1 1 1 2 /)
    equal((await pods()).join(), third)
  })
})
