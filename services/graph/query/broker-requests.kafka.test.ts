/**
 * What a question costs where the log is on other machines: a few requests, however many partitions
 * there are.
 */
import { equal, ok } from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, before, suite, test } from 'node:test'
import type { Link } from '../../../adapters/kafka/inside.ts'
import { type KafkaLog, openKafkaLog } from '../../../adapters/kafka/log.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { eventually } from '../../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../../testing/kafka/broker.ts'
import { missingKafka } from '../../../testing/kafka/jars.ts'
import { GraphGroup, type GraphProcess, tell } from '../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../testing/rig/task-rig.ts'

const PARTITIONS = 8
const PARTITION_OF: Readonly<Record<string, number>> = { c: 0, d: 3 }
const MOST_REQUESTS = 3
/** Nothing that is remembered lasts so long. */
const LONG_MS = 60_000
const FAMILY = [
  'put deploy/web',
  'put rs/a <- deploy/web!',
  'many 3 pod/p# <- rs/a!',
  'put rs/old',
  'put pod/of-old <- rs/old',
  'put cm/lost',
  'delete cm/lost',
  'delete rs/old',
]
const STORY = [...FAMILY, 'cluster d', ...FAMILY, 'put cm/only-d <- deploy/web']
/** What is read of the log of an object that was deleted is its own. */
const [LIVING, DELETED] = [['ListOffsets'], ['ListOffsets', 'Fetch']]
const TREES: readonly string[] = [
  '/v1/tree?kind=deployment&name=web&namespace=ns&cluster=c',
  '/v1/tree?kind=pod&name=p1&namespace=ns&cluster=d&owners=true',
  '/v1/tree?uid=rs-a&cluster=d',
  '/v1/tree?kind=configmaps&name=only-d&namespace=ns',
  '/v1/tree?uid=cm-lost&cluster=c',
  '/v1/tree?uid=rs-old&cluster=d',
]

suite('over Kafka with eight partitions', { skip: missingKafka() ?? false }, () => {
  const asking = new AsyncLocalStorage<string[]>()
  /**
   * Does not advance: what is remembered for a second is remembered however slow the machine is.
   */
  let nowMs = 0
  let kafka: Kafka
  let log: KafkaLog
  let group: GraphGroup
  let process: GraphProcess
  let requests: string[] = []

  before(async () => {
    kafka = await startKafka()
    const { bootstrap: brokers, application } = kafka
    const system = systemClock()
    log = await openKafkaLog({
      settings: { brokers, application, compression: 'none' },
      clientId: 'requests',
      partitions: PARTITIONS,
      mayCreate: true,
      clock: system,
      readLink: counted,
    })
    group = new GraphGroup(PARTITIONS, 0, log)
    await tell(log, eventsOf(STORY), partitionOf)
    process = await group.start({
      clock: { ...system, monotonicMs: () => nowMs },
      around: (handle) => asking.run(requests, handle),
    })
    await group.caughtUp()
    // Connections are made, and what is followed is read from its beginning.
    for (const tree of TREES) await answer(process, tree)
  })
  after(async () => {
    await group?.stop()
    await log?.[Symbol.asyncDispose]()
    await kafka?.[Symbol.asyncDispose]()
  })

  /** Names what is sent for a question. */
  function counted(link: Link): Link {
    const send: Link['send'] = async (broker, request) => {
      asking.getStore()?.push(request.apiName)
      return await link.send(broker, request)
    }
    return new Proxy(link, {
      get(_, name) {
        if (name === 'send') return send
        const member = Reflect.get(link, name, link) as unknown
        return typeof member === 'function' ? member.bind(link) : member
      },
    })
  }

  async function requestsOf(path: string): Promise<readonly string[]> {
    requests = []
    await answer(process, path)
    return requests
  }

  for (const path of TREES) {
    test(`${path} is at most ${MOST_REQUESTS} requests, after a pause and at once`, async () => {
      nowMs += LONG_MS
      const first = await requestsOf(path)
      ok(first.length > 0, 'none was counted')
      ok(first.length <= MOST_REQUESTS, first.join(', '))
      const again = await requestsOf(path)
      const most = path.includes('lost') || path.includes('old') ? DELETED : LIVING
      // Fewer where the index asks at the same moment: then the request is its own.
      ok(again.length <= most.length, again.join(', '))
    })
  }

  test('a cluster that was given its partition just now is known to the next question', async () => {
    const more = ['cluster e', 'put cm/only-e']
    const told = eventsOf(STORY).length
    await tell(log, eventsOf([...STORY, ...more]).slice(told), () => 5)
    await group.caughtUp()
    nowMs += LONG_MS
    equal(await rootOf('/v1/tree?uid=cm-only-e&cluster=e'), 'only-e')
  })

  async function rootOf(path: string): Promise<string> {
    return (JSON.parse(await answer(process, path)) as { root: { name: string } }).root.name
  }

  test('each tree is what it is over a log of this process', async () => {
    const memory = new GraphGroup(PARTITIONS)
    try {
      await tell(memory.log, eventsOf(STORY), partitionOf)
      const beside = await memory.start()
      await memory.caughtUp()
      for (const path of TREES) {
        const expected = timeless(await answer(beside, path))
        await eventually(`${path} is the same`, async () => {
          return timeless(await answer(process, path)) === expected
        })
      }
    } finally {
      await memory.stop()
    }
  })
})

function partitionOf(cluster: string): number {
  return PARTITION_OF[cluster] ?? 0
}

async function answer({ url }: GraphProcess, path: string): Promise<string> {
  const response = await fetch(url + path)
  const text = await response.text()
  equal(response.status, 200, text)
  return text
}

/** Without what differs by when and where a record was appended. */
function timeless(text: string): string {
  const { asOf: _, ...answered } = JSON.parse(text)
  return JSON.stringify(answered).replaceAll(/"\d{4}-\d\d-\d\dT[^"]*"/g, '"TIME"')
}
