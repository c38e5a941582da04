/**
 * `kinfold restore` as its users run it, over a playground whose controllers make ReplicaSets and
 * Pods: a person deletes a Deployment, and what Kinfold then deleted comes back.
 *
 * What must stay true: the commands of docs/operate/archive.md are run as they are printed there,
 * and print what is printed there (UPDATE=1 rewrites that).
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import { Controllers } from '../../playground/controllers.ts'
import { type Playground, startPlayground } from '../../playground/playground.ts'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { logDirectoryIn } from '../config/log-directory.ts'

const DOCUMENT = join(import.meta.dirname, '..', '..', 'docs', 'operate', 'archive.md')
const NAMESPACES = '/api/v1/namespaces'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments'
const REPLICA_SETS = '/apis/apps/v1/namespaces/shop/replicasets'
const PODS = '/api/v1/namespaces/shop/pods'
const CONFIG_MAPS = '/api/v1/namespaces/shop/configmaps'
const ROLE_BINDINGS = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings'
/** The block in which each line that begins with `$` is a command. */
const EXAMPLE = /^```console\n(.*?)^```\n/ms
/** What differs from run to run: a uid, a time, the end of a generated name. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '…'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…'],
  [/(Pod\/web-\w+-)\w+/g, '$1…'],
]

interface Planned {
  readonly step: string
  readonly kind: string
  readonly namespace: string
  readonly include?: string | null
  readonly rights: readonly string[]
}

interface Stored {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly labels?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly name: string; readonly uid: string }[]
  }
  readonly status?: { readonly readyReplicas?: number }
}

suite('kinfold restore, over a playground,', () => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-restore-'))
  const data = join(directory, 'kinfold')
  const stop = new AbortController()
  let playground: Playground
  let controllers: Promise<void>
  let kinfold: KinfoldProcess

  before(async () => {
    playground = await startPlayground({ directory, clusters: ['north'], workload: false })
    const { api } = playground.servers[0]!
    controllers = new Controllers(api, systemClock()).run(stop.signal)
    await send('POST', NAMESPACES, { metadata: { name: 'shop' } })
    const { kubeconfig } = playground
    const flags = [...ACTING, '--archive']
    kinfold = await KinfoldProcess.start({ kubeconfig, data, flags })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    stop.abort()
    await controllers
    await playground?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  test('the example of docs/operate/archive.md does what is printed there', async () => {
    await apply('web')
    await makeSettings('web')
    const document = readFileSync(DOCUMENT, 'utf8')
    const commands = commandsIn(document)
    ok(commands.length >= 6, `${commands.length} commands`)
    const printed: string[] = []
    for (const command of commands) printed.push(`$ ${command}\n${await run(command)}`)
    const now = `\`\`\`console\n${printed.join('')}\`\`\`\n`
    if (process.env['UPDATE'] === '1')
      writeFileSync(
        DOCUMENT,
        document.replace(EXAMPLE, () => now),
      )
    equal(now, EXAMPLE.exec(document)?.[0])
    const [settings] = (await read(CONFIG_MAPS)).filter(({ metadata }) => metadata.labels)
    const [deployment] = await read(DEPLOYMENTS)
    deepEqual(ownersOf(settings!), [`web ${deployment!.metadata.uid}`])
    deepEqual([(await read(REPLICA_SETS)).length, (await read(PODS)).length], [1, 1])
  })

  test('drop says what becomes unmanaged, and relink mends it once the owner is there again', async () => {
    await apply('cart')
    await makeSettings('cart')
    await deleteAndCollect('cart')
    for (const more of [[], ['--dry-run=server']]) {
      const { code, stdout } = await restore('cart', '--lost-owners', 'drop', ...more)
      equal(code, 1, stdout)
      match(
        stdout,
        /^warning: unmanaged without their controller, .*: ReplicaSet\/cart-\w+ -n shop$/m,
      )
    }
    const dropped = await restore('cart', '--lost-owners', 'drop', '--yes', '-o', 'json')
    equal(dropped.code, 1, dropped.stdout)
    const document = JSON.parse(dropped.stdout)
    deepEqual(
      document.unmanaged.map(({ kind }: Stored) => kind),
      ['ReplicaSet'],
    )
    deepEqual(
      document.results
        .map(({ kind, done }: { kind: string; done: boolean }) => `${kind} ${done}`)
        .sort(),
      ['ConfigMap true', 'ReplicaSet true'],
    )
    const restored = await restoredOf('cart')
    deepEqual(restored.map(ownersOf), [[], []])

    await send('POST', DEPLOYMENTS, manifestOf('cart'))
    const planned = await restore('cart')
    equal(planned.code, 0, planned.stdout)
    match(
      planned.stdout,
      /^ {2}keep {4}ConfigMap\/cart-settings -n shop: was restored before .*; without owner Deployment\/cart, which exists; archived/m,
    )
    match(
      planned.stdout,
      /^ConfigMap.cart-settings.*; --lost-owners relink adds it\.$|^ReplicaSet.cart-.*--lost-owners relink adds it\.$/m,
    )
    const linking = await restore('cart', '--lost-owners', 'relink')
    equal(linking.code, 0, linking.stdout)
    match(
      linking.stdout,
      /^ {2}link {4}ConfigMap\/cart-settings -n shop: .*; gets owner Deployment\/cart \(uid /m,
    )
    match(
      linking.stdout,
      /^0 to create, 2 to link to an owner, 0 there already, 1 left to controllers/m,
    )
    match(linking.stdout, /^Nothing was done: --dry-run has the server check it, --yes does it\.$/m)
    deepEqual((await restoredOf('cart')).map(ownersOf), [[], []])
    const linked = await restore('cart', '--lost-owners', 'relink', '--yes')
    equal(linked.code, 0, linked.stdout)
    const again = (await read(DEPLOYMENTS)).find(({ metadata }) => metadata.name === 'cart')
    const owner = `cart ${again!.metadata.uid}`
    deepEqual((await restoredOf('cart')).map(ownersOf), [[owner], [owner]])
    await eventually('the Deployment manages the ReplicaSet', async () => {
      const now = (await read(DEPLOYMENTS)).find(({ metadata }) => metadata.name === 'cart')
      return now?.status?.readyReplicas === 1 || JSON.stringify(now?.status)
    })
    const done = await restore('cart', '--lost-owners', 'relink')
    equal(done.code, 0, done.stdout)
    match(done.stdout, /^0 to create, 2 there already, 1 left to controllers/m)
    ok(!done.stdout.includes('--yes'), done.stdout)
  })

  test('T4: nothing comes back in another namespace whose objects bear the uid, and no right unasked', async () => {
    const evil = (path: string): string => path.replace('/shop/', '/evil/')
    await send('POST', NAMESPACES, { metadata: { name: 'evil' } })
    await apply('shelf')
    await makeSettings('shelf')
    const owner = (await read(DEPLOYMENTS)).find(({ metadata }) => metadata.name === 'shelf')
    const { uid } = owner!.metadata
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'shelf', uid }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' }
    const binding = (name: string): object => ({
      metadata: { name, ownerReferences },
      roleRef,
      subjects: [{ kind: 'User', name: 'eve' }],
    })
    const theirs = [await send('POST', ROLE_BINDINGS, binding('access'))] as Stored[]
    await send('POST', evil(ROLE_BINDINGS), binding('old-admin'))
    const metadata = { name: 'shelf-settings', ownerReferences }
    await send('POST', evil(CONFIG_MAPS), { metadata, data: {} })
    const there = async (): Promise<readonly string[]> => {
      const paths = [evil(CONFIG_MAPS), evil(ROLE_BINDINGS), ROLE_BINDINGS]
      return (await Promise.all(paths.map(read))).flat().map((each) => each.metadata.name)
    }
    await eventually('the binding is seen', async () => {
      const why = await kinfold.why(theirs[0]!.metadata)
      return why?.verdict?.type === 'keep' || JSON.stringify(why?.verdict)
    })
    await deleteAndCollect('shelf')
    await eventually('all of it is deleted', async () => (await there()).length === 0)
    await kinfold.settled()

    await send('POST', DEPLOYMENTS, manifestOf('shelf'))
    await send('POST', evil(DEPLOYMENTS), manifestOf('shelf'))
    const planned = await restore('shelf', '--lost-owners', 'relink', '-o', 'json')
    const steps: readonly Planned[] = JSON.parse(planned.stdout).steps
    deepEqual(new Set(steps.map(({ namespace }) => namespace)), new Set(['shop']))
    const refused = steps.filter(({ step }) => step === 'refuse')
    deepEqual(
      refused.map(({ kind, include, rights }) => [kind, include, rights]),
      [['RoleBinding', 'rbac', ['gives ClusterRole/admin to User eve']]],
    )
    await restore('shelf', '--lost-owners', 'relink', '--yes')
    deepEqual(await there(), [])
    const asked = ['--lost-owners', 'relink', '--include', 'rbac']
    match(
      (await restore('shelf', ...asked)).stdout,
      /^ {2}create {2}RoleBinding\/access -n shop.*; gives ClusterRole\/admin to User eve; /m,
    )
    equal((await restore('shelf', ...asked, '--yes')).code, 0)
    deepEqual(await there(), ['access'])
    const unknown = await restore('shelf', '--include', 'all')
    deepEqual([unknown.code, /--include: "all" is none of rbac, /.test(unknown.stderr)], [2, true])
  })

  test('a bare --dry-run stands before the object as well as behind it', async () => {
    for (const words of [
      ['--dry-run', 'deploy/cart'],
      ['--dry-run', 'server', 'deploy', 'cart'],
      ['deploy/cart', '--dry-run'],
    ]) {
      const { code, stdout, stderr } = await kinfoldRestore(...words, '-n', 'shop', '-o', 'json')
      equal(code, 0, stderr)
      const { does, results } = JSON.parse(stdout)
      deepEqual([does, results], ['checks', []], words.join(' '))
    }
    const refused = await kinfoldRestore('deploy/cart', '-n', 'shop', '--dry-run=client')
    equal(refused.code, 2)
    match(refused.stderr, /--dry-run: "client" is none of server/)
  })

  test('of a namespace it says how what was in it is restored', async () => {
    for (const words of [['ns/shop'], ['namespace', 'shop'], ['Namespaces/shop', '-n', 'other']]) {
      const { code, stderr } = await kinfoldRestore(...words)
      equal(code, 2)
      match(stderr, /^error: \w+[/ ]shop: a namespace is in no archive; create it .* by object/m)
      match(stderr, /: "kinfold deletions -n shop" lists it$/m)
    }
  })

  test('--only of an object that is not in the archive says so, and restores nothing', async () => {
    const { code, stderr } = await restore('cart', '--only', '--yes')
    equal(code, 2)
    match(
      stderr,
      /Deployment\/cart is not in the archive: Kinfold archives what it deletes itself, and .*; without --only/,
    )
  })

  test('what could not be read is a reason in the one document that is printed', async () => {
    const whole = JSON.parse((await restore('cart', '-o', 'json')).stdout)
    equal(whole.partial, '')
    await kinfold.stop()
    {
      await using log = await openSqliteLog({
        directory: logDirectoryIn(data),
        clock: systemClock(),
      })
      await log.append('archive', 0, [{ key: 'x', value: Buffer.from('no record') }])
    }
    const { code, stdout, stderr } = await restore('cart', '-o', 'json')
    equal(code, 0, stderr)
    match(JSON.parse(stdout).partial, /^records of the archive .* are left out: 1$/)
    match(stderr, /^warning: this may be incomplete: records of the archive/)
  })

  /** What a command of the document prints. */
  async function run(command: string): Promise<string> {
    switch (command) {
      case 'kubectl -n shop delete deployment web':
        await deleteAndCollect('web')
        return 'deployment.apps "web" deleted from shop namespace\n'
      case 'kubectl apply -f web.yaml':
        await apply('web')
        return 'deployment.apps/web created\n'
      default: {
        const [program, ...args] = command.split(' ')
        equal(program, 'kinfold')
        const { code, stdout, stderr } = await runKinfold(args, environment())
        deepEqual([code, stderr], [stdout.includes('\n  refuse ') ? 1 : 0, ''], command)
        return VARYING.reduce((so, [varying, mask]) => so.replaceAll(varying, mask), stdout)
      }
    }
  }

  async function restore(name: string, ...more: readonly string[]): Promise<Ran> {
    return await kinfoldRestore(`deploy/${name}`, '-n', 'shop', ...more)
  }

  async function kinfoldRestore(...args: readonly string[]): Promise<Ran> {
    return await runKinfold(['restore', ...args], environment())
  }

  /** The usual data directory and the usual kubeconfig. */
  function environment(): Readonly<Record<string, string>> {
    return { XDG_DATA_HOME: directory, KUBECONFIG: playground.kubeconfig }
  }

  /** Until its controllers have done all that they do. */
  async function apply(name: string): Promise<void> {
    await send('POST', DEPLOYMENTS, manifestOf(name))
    await eventually(`${name} is ready`, async () => {
      const now = (await read(DEPLOYMENTS)).find(({ metadata }) => metadata.name === name)
      return now?.status?.readyReplicas === 1 || JSON.stringify(now?.status)
    })
  }

  /** What a person has made for it: its controller knows nothing of that. */
  async function makeSettings(name: string): Promise<void> {
    const owner = (await read(DEPLOYMENTS)).find(({ metadata }) => metadata.name === name)
    const { uid } = owner!.metadata
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name, uid }]
    const metadata = { name: `${name}-settings`, labels: { app: name }, ownerReferences }
    await send('POST', CONFIG_MAPS, { metadata, data: { color: 'blue' } })
  }

  async function deleteAndCollect(name: string): Promise<void> {
    const dependents = async (): Promise<readonly Stored[]> =>
      (await Promise.all([REPLICA_SETS, PODS, CONFIG_MAPS].map(read)))
        .flat()
        .filter(({ metadata }) => metadata.labels?.['app'] === name)
    const all = await dependents()
    equal(all.length, 3)
    await eventually('all of them are seen', async () => {
      const whys = await Promise.all(all.map(({ metadata }) => kinfold.why(metadata)))
      return whys.every((why) => why?.verdict?.type === 'keep')
    })
    await send('DELETE', `${DEPLOYMENTS}/${name}`)
    await eventually('its dependents are deleted', async () => {
      const left = await dependents()
      return left.length === 0 || `${left.length} left`
    })
    await kinfold.settled()
  }

  /** Its ConfigMap and its ReplicaSet. */
  async function restoredOf(name: string): Promise<readonly Stored[]> {
    const all = await Promise.all([CONFIG_MAPS, REPLICA_SETS].map(read))
    return all.flat().filter(({ metadata }) => metadata.name.startsWith(`${name}-`))
  }

  async function read(path: string): Promise<readonly Stored[]> {
    const { items } = (await send('GET', path)) as { readonly items: readonly Stored[] }
    return items
  }

  async function send(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${playground.servers[0]!.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}`)
    return await answer.json()
  }
})

function manifestOf(name: string): object {
  const labels = { app: name }
  const containers = [{ name: 'main', image: 'registry.example.com/shop:1' }]
  const template = { metadata: { labels }, spec: { containers } }
  const spec = { replicas: 1, selector: { matchLabels: labels }, template }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, labels }, spec }
}

function ownersOf({ metadata }: Stored): readonly string[] {
  return (metadata.ownerReferences ?? []).map(({ name, uid }) => `${name} ${uid}`)
}

function commandsIn(document: string): readonly string[] {
  const block = EXAMPLE.exec(document)?.[1] ?? ''
  return [...block.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command)
}
