/**
 * Shows that the real kubectl works on a playground: what a new user tries in the first minutes.
 *
 * Not here: what becomes of dependents; no collector runs.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { missingServers, requireBinary } from '../testing/cluster/binaries.ts'
import { runKinfold } from '../testing/process/kinfold-command.ts'
import { type Playground, startPlayground } from './playground.ts'

const TIMEOUT_MS = 30_000

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: applied, labels: { app: applied } }
spec:
  replicas: 2
  selector: { matchLabels: { app: applied } }
  template:
    metadata: { labels: { app: applied } }
    spec:
      containers:
      - { name: one, image: "one:1", env: [{ name: A, value: "1" }, { name: B, value: "2" }], ports: [{ containerPort: 80 }] }
      - { name: two, image: "two:1" }
`

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, kind: Widget, shortNames: [wd] }
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{ name: Size, type: string, jsonPath: .spec.size }]
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`

let directory: string
let playground: Playground

const skip = missingServers('kubectl')

suite('kubectl on a playground', { skip: skip ?? false }, () => {
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kinfold-kubectl-'))
    playground = await startPlayground({ directory, clusters: ['north'], workload: false })
  })
  after(async () => {
    await playground?.[Symbol.asyncDispose]()
    await rm(directory, { recursive: true, force: true })
  })

  test('creates by its own commands, and gets in every form', async () => {
    match(await kubectl('create configmap it --from-literal=a=1'), /configmap\/it created/)
    await rejects(kubectl('create configmap it'), /AlreadyExists|already exists/)
    match(await kubectl('get configmap it'), /^NAME +DATA +AGE\nit +1 +\d+s\n$/)
    match(await kubectl('get cm it -o yaml'), /uid: [0-9a-f-]{36}/)
    equal(JSON.parse(await kubectl('get cm it -o json')).data.a, '1')
    equal(await kubectl('get cm it -o name'), 'configmap/it\n')
    await rejects(kubectl('get configmap absent'), /configmaps "absent" not found/)
    match(await kubectl('create deployment made --image=x:1 --replicas=0 --port=80'), /created/)
    equal(await kubectl('get deploy made -o jsonpath={.spec.replicas}'), '0')
    match(await kubectl('get deploy -o wide'), /made +0\/0 .* x +x:1 +app=made/)
    for (const command of [
      'create namespace tmp',
      'create secret generic s --from-literal=a=b',
      'create job j --image=x -- run',
      'create cronjob cj --image=x --schedule=@daily',
      'create serviceaccount robot',
      'create service clusterip svc --tcp=80:8080',
      'create role r --verb=get --resource=pods',
      'run p --image=x:1',
    ]) {
      match(await kubectl(command), /created/, command)
    }
    match(await kubectl('delete namespace tmp'), /deleted/)
    equal(await kubectl('auth can-i delete pods'), 'yes\n')
  })

  test('applies, says what would change, and changes no more than that', async () => {
    const file = await manifest(DEPLOYMENT)
    match(await kubectl(`apply -f ${file}`), /created/)
    match(await kubectl(`apply -f ${file}`), /unchanged/)
    const changed = DEPLOYMENT.replace('one:1', 'one:2').replace('{ name: A, value: "1" }, ', '')
    const other = await manifest(changed)
    const difference = await kubectl(`diff -f ${other}`).catch((error) => error.stdout)
    match(difference, /-\s+image: one:1\n\+\s+image: one:2|\+\s+image: one:2/)
    match(await kubectl(`apply -f ${other}`), /configured/)
    const path = 'jsonpath={.spec.template.spec.containers}'
    deepEqual(JSON.parse(await kubectl(`get deploy applied -o ${path}`)), [
      {
        name: 'one',
        image: 'one:2',
        env: [{ name: 'B', value: '2' }],
        ports: [{ containerPort: 80 }],
      },
      { name: 'two', image: 'two:1' },
    ])
    match(await kubectl(`apply --server-side -f ${other}`), /serverside-applied/)
    match(await kubectl('scale deploy applied --replicas=5'), /scaled/)
    match(await kubectl('describe deploy applied'), /Replicas: +5 desired/)
  })

  test('patches in three ways, labels and annotates', async () => {
    await kubectl('create configmap patched --from-literal=a=1')
    const patch = (type: string, body: unknown) =>
      kubectl(`patch cm patched --type=${type} -p`, JSON.stringify(body))
    match(await patch('strategic', { data: { b: '2' } }), /patched/)
    match(await patch('merge', { data: { a: null } }), /patched/)
    match(await patch('json', [{ op: 'add', path: '/data/c', value: '3' }]), /patched/)
    await rejects(patch('json', [{ op: 'test', path: '/data/c', value: '4' }]))
    match(await kubectl('label cm patched l=m'), /labeled/)
    match(await kubectl('annotate cm patched n=o'), /annotated/)
    const { data, metadata } = JSON.parse(await kubectl('get cm patched -o json'))
    deepEqual(
      [data, metadata.labels, metadata.annotations],
      [{ b: '2', c: '3' }, { l: 'm' }, { n: 'o' }],
    )
    match(await kubectl('get cm -l l=m'), /patched/)
    match(await kubectl('describe cm patched'), /Name: +patched/)
  })

  for (const [cascade, finalizers] of [
    ['foreground', '["foregroundDeletion"]'],
    ['orphan', '["orphan"]'],
  ] as const) {
    test(`deletes with --cascade=${cascade}, and then at once`, async () => {
      await kubectl('create configmap gone')
      match(await kubectl(`delete cm gone --cascade=${cascade} --wait=false`), /deleted/)
      equal(await kubectl('get cm gone -o jsonpath={.metadata.finalizers}'), finalizers)
      match(await kubectl('delete cm gone --cascade=background'), /deleted/)
      await rejects(kubectl('get cm gone'), /not found/)
    })
  }

  test('watches', async () => {
    await kubectl('create serviceaccount first')
    const args = [...given(), 'get', 'serviceaccounts', '-w', '--no-headers']
    const watching = spawn(requireBinary('kubectl'), [
      ...args,
      '--field-selector=metadata.name!=robot',
    ])
    const exited = once(watching, 'close')
    const lines = createInterface({ input: watching.stdout })[Symbol.asyncIterator]()
    const next = async (): Promise<string> => String((await lines.next()).value)
    try {
      match(await next(), /^first +\d+s/)
      await kubectl('create serviceaccount second')
      match(await next(), /^second +\d+s/)
    } finally {
      watching.kill()
      await exited
    }
  })

  test('defines a kind, uses it, and takes it away', async () => {
    const definition = await manifest(DEFINITION)
    match(await kubectl(`apply -f ${definition}`), /created/)
    await kubectl('wait --for=condition=established crd/widgets.example.com')
    const widget =
      'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n'
    match(await kubectl(`apply -f ${await manifest(widget)}`), /created/)
    const larger = await manifest(widget.replace('3', '4'))
    match(await kubectl(`apply -f ${larger}`), /configured/)
    match(await kubectl('get wd'), /^NAME +SIZE\nw +4\n$/)
    match(await kubectl('delete crd widgets.example.com'), /deleted/)
    await rejects(kubectl('get widgets'), /could not find|doesn't have a resource type/)
  })

  test('finds its way around', async () => {
    ok((await kubectl('api-resources')).includes('deployments'))
    match(await kubectl('version'), /Server Version: v1\./)
    match(await kubectl('get all -A'), /deployment\.apps\/made/)
    equal(await kubectl('get events -A'), '')
    match(await kubectl('explain configmap'), /KIND: +ConfigMap/)
  })

  test('says of a kind that is not served that there is none', async () => {
    const file = await manifest('apiVersion: example.com/v1\nkind: Foo\nmetadata: { name: f }\n')
    const refused = /no matches for kind "Foo" in version "example.com\/v1"/
    await rejects(kubectl(`apply -f ${file}`), refused)
    await rejects(kubectl(`create -f ${file}`), refused)
  })

  test('explains kinds and their fields', async () => {
    match(await kubectl('explain pod'), /DESCRIPTION:\n +Pod is a collection of containers/)
    const spec = await kubectl('explain deployment.spec')
    match(spec, /\n +replicas\t<integer>\n +Number of desired pods/)
    match(spec, /\n +template\t<PodTemplateSpec> -required-\n/)
    const owners = await kubectl('explain rs.metadata.ownerReferences')
    match(owners, /uid\t<string> -required-\n +UID of the referent/)
    match(await kubectl('explain ev.reason'), /short, machine understandable string/)
    await rejects(kubectl('explain deployment.spec.nothing'), /field "nothing" does not exist/)
  })

  test('explains a kind that a definition made', async () => {
    const described = DEFINITION.replaceAll('Widget', 'Gadget')
      .replaceAll('widget', 'gadget')
      .replace('wd', 'gd')
      .replace(
        'type: object,',
        'type: object, description: "It turns.", properties: { spec: { type: object, properties: { size: { type: integer, description: "In teeth." } } } },',
      )
    await kubectl(`apply -f ${await manifest(described)}`)
    match(await kubectl('explain gadget'), /It turns\./)
    match(await kubectl('explain gadget.spec.size'), /In teeth\./)
    match(await kubectl('explain gadget.metadata.uid'), /UID is the unique in time and space/)
  })

  test('applies what kinfold rbac prints, and hears that its lock is not evaluated', async () => {
    const from = ['--from-cluster', '--kubeconfig', playground.kubeconfig, '--context', 'north']
    for (const service of ['all', 'up']) {
      const printed = await runKinfold(['rbac', '--service', service, ...from])
      equal(printed.code, 0, printed.stderr)
      const file = await manifest(printed.stdout)
      const { stdout, stderr } = await ran(`apply -f ${file}`)
      match(stdout, /validatingadmissionpolicy\S+kinfold-lock (created|configured)/)
      match(stdout, /validatingadmissionpolicybinding\S+kinfold-lock (created|unchanged)/)
      match(stderr, /Warning: .* evaluates no admission policies/)
      match(await kubectl(`apply -f ${file}`), /kinfold-lock unchanged/)
    }
    const policies = await kubectl('get validatingadmissionpolicy')
    match(policies, /^NAME +VALIDATIONS +PARAMKIND +AGE\nkinfold-lock +\d+ +<unset> /)
    const bindings = await kubectl('get validatingadmissionpolicybinding')
    match(bindings, /^NAME +POLICYNAME +PARAMREF +AGE\nkinfold-lock +kinfold-lock +<unset> /)
  })
})

function given(): readonly string[] {
  return ['--kubeconfig', playground.kubeconfig, '--cache-dir', join(directory, 'cache')]
}

/** Its output; rejects with its complaint. `last` is one argument, whatever is in it. */
async function kubectl(command: string, last?: string): Promise<string> {
  return (await ran(command, last)).stdout
}

async function ran(
  command: string,
  last?: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const args = [...given(), ...command.split(' ')]
  if (last !== undefined) args.push(last)
  return await promisify(execFile)(requireBinary('kubectl'), args, {
    timeout: TIMEOUT_MS,
    env: { ...process.env, KUBECTL_EXTERNAL_DIFF: 'diff -u' },
  })
}

let manifests = 0

async function manifest(text: string): Promise<string> {
  const file = join(directory, `manifest-${manifests++}.yaml`)
  await writeFile(file, text)
  return file
}
