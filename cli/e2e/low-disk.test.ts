/**
 * A disk that gets full: Kinfold stops deleting before it stops recording, says so, and goes on by
 * itself once there is room.
 */
import { equal, match, ok } from 'node:assert/strict'
import { readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startPlayground } from '../../playground/playground.ts'
import { eventually } from '../../testing/eventually.ts'
import { KinfoldProcess, logFile } from '../../testing/process/kinfold-process.ts'
import { testOnSmallDisk } from '../../testing/process/small-disk.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const KIB_PER_MIB = 1024
const ROOMY = 160 * KIB_PER_MIB
const RESERVE_MIB = 90
const SMALL = 80 * KIB_PER_MIB
/**
 * A mount that is larger is none of ours: then the test has a file limit, which no process can see.
 */
const MOST_BYTES = 1024 ** 3

testOnSmallDisk(
  import.meta.filename,
  'below the reserve nothing is deleted and all is recorded, and what waited goes on by itself',
  ROOMY,
  async (disk, t) => {
    const { blocks, bsize } = statfsSync(disk.path)
    if (blocks * bsize > MOST_BYTES) {
      t.diagnostic('no disk of its own can be mounted here')
      return
    }
    const directory = disk.path
    await using playground = await startPlayground({
      directory,
      clusters: ['north'],
      workload: false,
    })
    const { url } = playground.servers[0]!
    const request = async (method: string, path: string, body?: object): Promise<Made> => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(url + path, {
        method,
        headers,
        body: JSON.stringify(body) ?? null,
      })
      return { ...((await answer.json()) as Made), status: answer.status }
    }
    const make = async (name: string, owner?: { name: string; uid: string }): Promise<string> => {
      const reference = { apiVersion: 'v1', kind: 'ConfigMap', ...owner }
      const ownerReferences = owner === undefined ? [] : [reference]
      const made = await request('POST', CONFIG_MAPS, { metadata: { name, ownerReferences } })
      equal(made.status, 201)
      return made.metadata.uid
    }
    const config = join(directory, 'config.yaml')
    writeFileSync(
      config,
      `apiVersion: kinfold/v1alpha1\nkind: Config\ndiskReserve: ${RESERVE_MIB}MiB\nkinds: [configmaps]\n`,
    )
    const data = join(directory, 'data')
    await using kinfold = await KinfoldProcess.start({
      kubeconfig: playground.kubeconfig,
      data,
      flags: ['--config', config, '--mode', 'enforce', '--preset', 'parity'],
    })
    const lineOfDisk = async (): Promise<string | undefined> =>
      (await kinfold.readiness()).find((line) => line.includes(']disk'))
    const isGone = async (name: string): Promise<boolean> =>
      (await request('GET', `${CONFIG_MAPS}/${name}`)).status === 404
    equal(await lineOfDisk(), undefined)
    const first = await make('first')
    await make('first-dependent', { name: 'first', uid: first })
    await request('DELETE', `${CONFIG_MAPS}/first`)
    await eventually('it is collected', async () => await isGone('first-dependent'))

    disk.resize(SMALL)
    await eventually('readiness has it as a warning', async () => {
      return (await lineOfDisk())?.startsWith('[!]disk warning: ') || 'not yet'
    })
    ok(await kinfold.isReady())
    equal(await kinfold.metric('kinfold_disk_low'), 1)
    ok((await kinfold.metric('kinfold_disk_free_bytes')) < RESERVE_MIB * 1024 ** 2)
    const owner = await make('owner')
    const dependent = await make('dependent', { name: 'owner', uid: owner })
    await request('DELETE', `${CONFIG_MAPS}/owner`)
    await eventually('it is recorded, decided and not done', async () => {
      const { verdict } = (await kinfold.why({ uid: dependent })) ?? {}
      const blocked = await kinfold.metric('kinfold_commands_total', { result: 'blocked' })
      return blocked > 0 || JSON.stringify(verdict)
    })
    equal(await isGone('dependent'), false)

    disk.resize(ROOMY)
    await eventually('it is collected by itself', async () => await isGone('dependent'))
    equal(await lineOfDisk(), undefined)
    equal(await kinfold.metric('kinfold_disk_low'), 0)
    const log = readFileSync(logFile(data), 'utf8')
    match(log, /"the disk is low, so nothing is deleted"/)
    match(log, /disk: too little is free to record what is deleted/)
    match(log, /"the disk has room again"/)
  },
)

interface Made {
  readonly status: number
  readonly metadata: { readonly uid: string }
}
