/**
 * `archive.kinds` where Kinfold collects by itself, over a playground with controllers: what both
 * the reaper and the watcher archive comes back once, and the root that a person deleted with it.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import { Controllers } from '../../playground/controllers.ts'
import { type Playground, startPlayground } from '../../playground/playground.ts'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { logDirectoryIn } from '../config/log-directory.ts'

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const REPLICA_SETS = '/apis/apps/v1/namespaces/default/replicasets'
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

interface Stored {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly ownerReferences?: readonly { readonly uid: string }[]
  }
}

suite('kinfold restore of what Kinfold and others deleted', () => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-record-'))
  const data = join(directory, 'kinfold')
  const stop = new AbortController()
  let playground: Playground
  let controllers: Promise<void>
  let kinfold: KinfoldProcess

  before(async () => {
    playground = await startPlayground({ directory, clusters: ['north'], workload: false })
    controllers = new Controllers(playground.servers[0]!.api, systemClock()).run(stop.signal)
    const kinds = ['--archive', '--archive-kinds', 'deployments.apps,configmaps']
    const { kubeconfig } = playground
    kinfold = await KinfoldProcess.start({ kubeconfig, data, flags: [...ACTING, ...kinds] })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    stop.abort()
    await controllers
    await playground?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  test('takes the last record of each, creates the root first, and leaves to controllers what is theirs', async () => {
    const root = (await send('POST', DEPLOYMENTS, DEPLOYMENT)) as Stored
    const { uid } = root.metadata
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid }]
    const metadata = { name: 'settings', ownerReferences }
    const settings = (await send('POST', CONFIG_MAPS, { metadata })) as Stored
    await eventually('all are observed', async () => {
      const sets = await read(REPLICA_SETS)
      const whys = await Promise.all(
        [settings, ...sets].map((each) => kinfold.why({ uid: each.metadata.uid })),
      )
      return sets.length === 1 && whys.every((why) => why?.verdict?.type === 'keep')
    })
    await send('DELETE', `${DEPLOYMENTS}/web`)
    await eventually('its dependents are deleted', async () => {
      const left = [...(await read(REPLICA_SETS)), ...(await read(CONFIG_MAPS))]
      return left.length === 0 || `${left.length} left`
    })
    await kinfold.settled()
    await eventually('the ConfigMap was archived twice', async () => {
      const commands = await commandsOf(settings.metadata.uid)
      return (commands.length === 2 && commands[0] !== '' && commands[1] === '') || commands.join()
    })
    deepEqual(await commandsOf(uid), [''])

    const planned = await restore()
    equal(planned.code, 0, planned.stdout + planned.stderr)
    match(planned.stdout, /^2 to create, 0 there already, [12] left to controllers/m)
    const done = await restore('--yes')
    equal(done.code, 0, done.stdout + done.stderr)
    const [again] = await read(DEPLOYMENTS)
    const [restored] = await read(CONFIG_MAPS)
    deepEqual(
      restored?.metadata.ownerReferences?.map((each) => each.uid),
      [again?.metadata.uid],
    )
    await eventually('the controller makes its ReplicaSet', async () => {
      const sets = await read(REPLICA_SETS)
      return sets[0]?.metadata.ownerReferences?.[0]?.uid === again?.metadata.uid
    })
  })

  /** Of its records in the archive, by their order. */
  async function commandsOf(uid: string): Promise<readonly string[]> {
    const codec = avroCodec()
    const options = { directory: logDirectoryIn(data), clock: systemClock(), readOnly: true }
    await using log = await openSqliteLog(options)
    const { entries } = await log.read('archive', 0, 0n, { limit: 100, waitMs: 0 })
    return entries.flatMap(({ value }) => {
      const record = value === null ? undefined : codec.decode(value)
      return record?.type === 'Archived' && record.uid === uid ? [record.command] : []
    })
  }

  async function restore(...more: readonly string[]): Promise<Ran> {
    const from = ['--data', data, '--kubeconfig', playground.kubeconfig]
    return await runKinfold(['restore', 'deploy/web', ...from, ...more])
  }

  async function read(path: string): Promise<readonly Stored[]> {
    return ((await send('GET', path)) as { readonly items: readonly Stored[] }).items
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

const LABELS = { app: 'web' }
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [{ name: 'a', image: 'b' }] } }
const DEPLOYMENT = {
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', labels: LABELS } },
  spec: { replicas: 1, selector: { matchLabels: LABELS }, template: TEMPLATE },
}
