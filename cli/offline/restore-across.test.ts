/**
 * `kinfold restore` over two clusters of a playground: an owner in north, what names it in south by
 * `kinfold.io/owner`, and what that owns.
 *
 * What must stay true: the command is run as its users run it, on an archive of what others
 * deleted; each cluster is written by the context that leads to it.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type Playground, startPlayground } from '../../playground/playground.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'

const CONFIG_MAPS = '/api/v1/namespaces/hub/configmaps'
const OBSERVING = ['--mode', 'observe', '--archive', '--archive-kinds', 'configmaps']

interface Stored {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid: string }[]
  }
}

suite('kinfold restore, over two clusters,', () => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-restore-across-'))
  const data = join(directory, 'kinfold')
  let playground: Playground
  let kinfold: KinfoldProcess
  let [north, south] = ['', '']
  const ids = { north: '', south: '' }

  before(async () => {
    const clusters = ['north', 'south'] as const
    playground = await startPlayground({ directory, clusters, workload: false })
    ;[north, south] = playground.servers.map(({ url }) => url) as [string, string]
    for (const [index, name] of clusters.entries()) {
      const url = playground.servers[index]!.url
      await send(url, 'POST', '/api/v1/namespaces', { metadata: { name: 'hub' } })
      const system = await send(url, 'GET', '/api/v1/namespaces/kube-system')
      ids[name] = system.metadata.uid
    }
    const contexts = clusters.flatMap((name) => ['--context', name])
    const flags = [...OBSERVING, ...contexts]
    kinfold = await KinfoldProcess.start({ kubeconfig: playground.kubeconfig, data, flags })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await playground?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  test('without a context of their cluster they are named with it, and nothing is done there', async () => {
    await deletedPair('region')
    const { code, stdout } = await restore('region', 'north')
    equal(code, 1, stdout)
    match(stdout, /^ {2}create {2}ConfigMap\/region -n hub; archived/m)
    const lines = stdout.split('\n')
    const from = lines.findIndex((line) => line.startsWith('In cluster'))
    equal(
      lines[from],
      `In cluster ${ids.south}, to which no --context leads, what names these as its owner by kinfold.io/owner:`,
    )
    match(lines[from + 1] ?? '', /^ {2}- {7}ConfigMap\/region-(owned|settings) -n hub; archived/)
    match(stdout, /^None of these is restored: add --context NAME/m)
    equal((await restore('region', 'north', '--only')).stdout.includes('In cluster'), false)
  })

  test('with one they come back, and name the owner as it is then', async () => {
    await deletedPair('zone')
    const both = ['north', 'south']
    const planned = await restore('zone', ...both)
    equal(planned.code, 0, planned.stdout + planned.stderr)
    const into = `In cluster ${ids.south}, into south, what names these as its owner by kinfold.io/owner:`
    match(planned.stdout, new RegExp(`^${into}$`, 'm'))
    const made = `owner ConfigMap/zone in cluster ${ids.north} is created before; archived`
    match(planned.stdout, new RegExp(`^  create  ConfigMap/zone-settings -n hub; ${made}`, 'm'))
    const checked = await restore('zone', ...both, '--dry-run')
    match(checked.stdout, /^ConfigMap\/zone-settings -n hub in cluster \S+: would be created$/m)
    const done = await restore('zone', ...both, '--yes', '-o', 'json')
    equal(done.code, 0, done.stdout + done.stderr)
    const { across } = JSON.parse(done.stdout)
    deepEqual(
      across.map((part: { from: string; into: string; results: readonly { done: boolean }[] }) => [
        part.from,
        part.into,
        part.results.map((result) => result.done),
      ]),
      [[ids.south, 'south', [true, true]]],
    )
    const [owner, settings, owned] = await Promise.all([
      read(north, 'zone'),
      read(south, 'zone-settings'),
      read(south, 'zone-owned'),
    ])
    equal(ownerOf(settings), `${ids.north}//ConfigMap/hub/zone/${owner.metadata.uid}`)
    deepEqual(
      owned.metadata.ownerReferences?.map(({ uid }) => uid),
      [settings.metadata.uid],
    )
    equal((await fetch(`${south}${CONFIG_MAPS}/zone`)).status, 404)
  })

  test('one that is restored by itself is refused without its owner, and relinked to another', async () => {
    await deletedPair('rack')
    const alone = await restore('rack-settings', 'south')
    match(alone.stdout, /in cluster \S+ is named as it was \(uid \S+\), since no --context leads/)
    const refused = await restore('rack-settings', 'south', 'north')
    match(
      refused.stdout,
      /^ {2}refuse {2}ConfigMap\/rack-settings -n hub: in cluster \S+ owner ConfigMap\/rack \(uid \S+\) does not exist, so it would be deleted again;/m,
    )
    const again = await send(north, 'POST', CONFIG_MAPS, { metadata: { name: 'rack' } })
    const relink = ['--lost-owners', 'relink', '--yes']
    const linked = await restore('rack-settings', 'south', 'north', ...relink)
    equal(linked.code, 0, linked.stdout + linked.stderr)
    const settings = await read(south, 'rack-settings')
    equal(ownerOf(settings), `${ids.north}//ConfigMap/hub/rack/${again.metadata.uid}`)
  })

  /** Contexts first, then flags. */
  async function restore(name: string, ...words: readonly string[]): Promise<Ran> {
    const flags = words.flatMap((word) => {
      return word === 'north' || word === 'south' ? ['--context', word] : [word]
    })
    const of = ['restore', `cm/${name}`, '-n', 'hub', '--data', data]
    return await runKinfold([...of, '--kubeconfig', playground.kubeconfig, ...flags])
  }

  /** An owner, what names it, and what that owns: all are deleted, and in the archive. */
  async function deletedPair(name: string): Promise<void> {
    const owner = await send(north, 'POST', CONFIG_MAPS, { metadata: { name } })
    const value = `${ids.north}//ConfigMap/hub/${name}/${owner.metadata.uid}`
    const annotations = { 'kinfold.io/owner': value }
    const settings = { metadata: { name: `${name}-settings`, annotations } }
    const { metadata } = await send(south, 'POST', CONFIG_MAPS, settings)
    const reference = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: metadata.name,
      uid: metadata.uid,
    }
    const owned = { metadata: { name: `${name}-owned`, ownerReferences: [reference] } }
    await send(south, 'POST', CONFIG_MAPS, owned)
    await send(north, 'DELETE', `${CONFIG_MAPS}/${name}`)
    for (const each of ['settings', 'owned']) {
      await send(south, 'DELETE', `${CONFIG_MAPS}/${name}-${each}`)
    }
    await eventually('all of them are archived', async () => {
      const { stdout, stderr } = await restore(name, 'north', 'south')
      return stdout.includes(`${name}-owned`) || stdout + stderr
    })
  }
})

function ownerOf({ metadata }: Stored): string | undefined {
  return metadata.annotations?.['kinfold.io/owner']
}

async function read(url: string, name: string): Promise<Stored> {
  return await send(url, 'GET', `${CONFIG_MAPS}/${name}`)
}

async function send(url: string, method: string, path: string, body?: object): Promise<Stored> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}`)
  return (await answer.json()) as Stored
}
