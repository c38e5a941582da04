/**
 * The commands of docker-compose.yml work: they run as processes from the folder that would be the
 * image, over a real Kafka with the settings of the file, and collect the clusters of the
 * playground.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import kafkajs from 'kafkajs'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { kafkaProperties, readCompose } from '../../testing/process/compose.ts'
import { Containers } from '../../testing/process/containers.ts'
import { environment } from '../../testing/process/dockerfile.ts'
import type { Ran } from '../../testing/process/kinfold-command.ts'

const TOKEN = 'a-token-for-a-test-of-compose'
/** A broker of a test has addresses and a folder of its own. */
const OF_THE_MACHINE = /^(node|process|controller|inter|log|advertised|listener)\.|^listeners$/

const compose = readCompose()
const wanted = kafkaProperties(compose)
const skip = missingKafka({ own: true })

suite('the commands of docker-compose.yml', { skip: skip ?? false }, () => {
  let kafka: Kafka
  let containers: Containers
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-compose-'))

  before(async () => {
    const settings = Object.entries(wanted).filter(([name]) => !OF_THE_MACHINE.test(name))
    kafka = await startKafka({ own: true, properties: Object.fromEntries(settings) })
    const token = join(folder, 'http-token')
    writeFileSync(token, `${TOKEN}\n`, { mode: 0o600 })
    containers = await Containers.make({
      compose,
      folder,
      others: { 'kafka:9092': kafka.bootstrap[0] ?? '' },
      secrets: { 'http-token': token },
    })
    await containers.up()
  })
  after(async () => {
    await containers?.[Symbol.asyncDispose]()
    await kafka?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('set Kafka what it knows', async () => {
    const admin = kafka.client().admin()
    await admin.connect()
    try {
      const resources = [{ type: kafkajs.ConfigResourceTypes.BROKER, name: '1' }]
      const { resources: told } = await admin.describeConfigs({ resources, includeSynonyms: false })
      // What it does not know it lists as well, and hides its value, which might be a secret.
      const known = told.flatMap(({ configEntries }) =>
        configEntries.filter((each) => !each.isSensitive).map((each) => each.configName),
      )
      deepEqual(
        Object.keys(wanted).filter((name) => !known.includes(name)),
        [],
      )
    } finally {
      await admin.disconnect()
    }
  })

  test('let both graph processes answer over all partitions', async () => {
    await eventually('both tell the same tree of two levels', async () => {
      const [one, two] = await ofBoth('tree', 'deploy/cart')
      if (one?.code !== 0) return `${one?.stderr}`
      const isWhole = (one.stdout.match(/Pod/gi)?.length ?? 0) >= 2
      return (isWhole && one.stdout === two?.stdout) || `${one.stdout}${two?.stdout}${two?.stderr}`
    })
  })

  test('collect what hung on a deployment that is deleted, and say why', async () => {
    const pods = await podsOfWeb()
    equal(pods.length > 0, true)
    const url = `${api()}/apis/apps/v1/namespaces/shop/deployments/web`
    equal((await fetch(url, { method: 'DELETE' })).status, 200)
    await eventually('its pods go', async () => {
      const left = await podsOfWeb()
      return left.length === 0 || left.join(', ')
    })
    await eventually('both know', async () => {
      const told = await ofBoth('why', `pod/${pods[0]}`)
      return told.every(({ stdout }) => /DeleteObject/.test(stdout)) || JSON.stringify(told)
    })
  })

  test('refuse who shows no token', async () => {
    const [graph] = containers.of('graph-1')
    equal((await fetch(`http://${graph?.address(7070)}/v1/tree?kind=pod&name=x`)).status, 401)
  })

  test('write nowhere but to their volumes and their cache', () => {
    const cache = environment()['XDG_CACHE_HOME'] ?? ''
    for (const container of containers.all) {
      const files = container.written().filter((file) => !file.startsWith(`${cache}/kinfold/`))
      deepEqual(files, [], container.name)
    }
    // The lock says whose kubeconfig it is.
    const written = readdirSync(join(folder, 'volumes', 'playground')).toSorted()
    deepEqual(written, ['kubeconfig', 'log.lock'])
  })

  async function ofBoth(...words: readonly string[]): Promise<readonly Ran[]> {
    const both = [...containers.of('graph-1'), ...containers.of('graph-2')]
    const named = ['--namespace', 'shop', '--cluster', 'north']
    return await Promise.all(both.map((each) => each.kinfold(...words, ...named)))
  }

  function api(): string {
    return `http://${containers.of('playground')[0]?.address(8001)}`
  }

  async function podsOfWeb(): Promise<readonly string[]> {
    const response = await fetch(`${api()}/api/v1/namespaces/shop/pods`)
    const { items } = (await response.json()) as { items: { metadata: { name: string } }[] }
    return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('web-'))
  }
})
