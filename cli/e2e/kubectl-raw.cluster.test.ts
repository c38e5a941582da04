/**
 * The real kubectl reads what Kinfold knows as it reads an API server: raw, by name, as a table, a
 * page at a time, and what is refused as its own errors.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers, requireBinary } from '../../testing/cluster/binaries.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'

const GROUP = '/apis/kinfold.dev/v1'
const STORY = [
  ...[
    'put deploy/web in shop',
    'put rs/web in shop <- deploy/web',
    'put pod/web in shop <- rs/web',
  ],
  ...['put node/n', 'many 600 cm/c# in other', 'serve widget'],
]

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

suite('kubectl', { skip: missingServers('kubectl') ?? false }, () => {
  const group = new GraphGroup(1)
  let url = ''
  let home = ''

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'kinfold-kubectl-'))
    url = (await group.start()).url
    await tell(group.log, eventsOf(STORY))
    await group.caughtUp()
  })
  after(async () => {
    await group.stop()
    rmSync(home, { recursive: true, force: true })
  })

  async function kubectl(server: string, line: string): Promise<Ran> {
    const { promise, resolve } = Promise.withResolvers<Ran>()
    const args = ['--server', server, ...line.split(' ')]
    const env = { ...process.env, HOME: home, KUBECONFIG: join(home, 'none') }
    execFile(requireBinary('kubectl'), args, { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    })
    return await promise
  }

  test('gets a path as it is, and prints what is refused', async () => {
    const path = `${GROUP}/namespaces/shop/ownedobjects`
    const list = await kubectl(url, `get --raw ${path}`)
    equal(list.code, 0, list.stderr)
    equal(JSON.parse(list.stdout).items.length, 3)
    const one = await kubectl(url, `get --raw ${path}/deployments.apps:web`)
    equal(JSON.parse(one.stdout).metadata.uid, 'deploy-web')
    const absent = await kubectl(url, `get --raw ${path}/pods:never`)
    deepEqual(
      [absent.code, absent.stderr],
      [1, 'Error from server (NotFound): no object "pods:never" exists in namespace shop\n'],
    )
  })

  test('lists resources, and objects by name as a table', async () => {
    const resources = await kubectl(url, 'api-resources --api-group kinfold.dev -o name')
    equal(resources.stdout, 'clusterownedobjects.kinfold.dev\nownedobjects.kinfold.dev\n')
    const table = await kubectl(url, 'get ownedobjects -n shop')
    match(table.stdout, /^NAME +OWNER +STATE +VERDICT +AGE\n/)
    match(table.stdout, /\nreplicasets\.apps:web +Deployment\/web +exists +keep +\d+d\n/)
    match((await kubectl(url, 'get oo -A -o wide')).stdout, /^NAMESPACE +NAME +.* +BECAUSE\n/)
    match(table.stderr, /^Warning: widgets\.example\.com is not listed yet\n/)
    const owner = '-o jsonpath={.metadata.ownerReferences[0].name}'
    equal((await kubectl(url, `get oo pods:web -n shop ${owner}`)).stdout, 'web')
    equal(
      (await kubectl(url, 'get coo -o name')).stdout,
      'clusterownedobject.kinfold.dev/nodes:n\n',
    )
  })

  test('reads all pages', async () => {
    const { stdout } = await kubectl(url, 'get oo -A -o name --chunk-size 100')
    equal(new Set(stdout.trim().split('\n')).size, 603)
  })

  test('asks for one cluster below its name', async () => {
    const { stdout } = await kubectl(`${url}/clusters/test`, 'get oo -n shop -o name')
    equal(stdout.trim().split('\n').length, 3)
    const nowhere = await kubectl(`${url}/clusters/nowhere`, 'get oo -n shop')
    match(nowhere.stderr, /there is no cluster nowhere; known clusters: test/)
  })

  test('cannot write, and is told so', async () => {
    const ran = await kubectl(url, 'delete oo pods:web -n shop')
    equal(ran.code, 1)
    match(ran.stderr, /the server does not allow this method on the requested resource/)
    const labels = await kubectl(url, 'get oo -n shop -l app=web')
    match(labels.stderr, /Kinfold keeps no labels but those that protect an object/)
  })
})
