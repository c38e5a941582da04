/** The log on a real Kafka against its contract. */
import { after, before, type TestContext } from 'node:test'
import { type HeldCommit, type LogFixture, logContract } from '../../ports/log.contract.ts'
import type { Log, TaskLog } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { type Link, openLink } from './inside.ts'
import { type KafkaLog, openKafkaLog } from './log.ts'
import { topicName } from './protocol/topic-name.ts'

const skip = missingKafka()
let kafka: Kafka
let link: Link
let count = 0

before(async () => {
  if (skip !== undefined) return
  kafka = await startKafka()
  const { bootstrap: brokers, application } = kafka
  link = openLink({ brokers, application, compression: 'none' }, 'contract')
})
after(async () => {
  await link?.[Symbol.asyncDispose]()
  await kafka?.[Symbol.asyncDispose]()
})

async function open(t: TestContext, application: string): Promise<LogFixture> {
  const fates = new Fates()
  const log = await openKafkaLog({
    settings: { brokers: kafka.bootstrap, application, compression: 'zstd' },
    clientId: 'contract',
    partitions: 2,
    mayCreate: true,
    clock: systemClock(),
    taskLink: (link) => fates.link(link),
  })
  t.after(() => log[Symbol.asyncDispose]())
  return {
    log: settled(log, application),
    holdNextCommit: () => fates.hold(),
    loseNextCommitAnswer: (took) => fates.lose(took),
    reopen: async () => {
      await log[Symbol.asyncDispose]()
      return await open(t, application)
    },
  }
}

type Fate = (endTxn: () => Promise<unknown>, abortTxn: () => Promise<unknown>) => Promise<unknown>

/** Tasks whose next commits end otherwise than well, as the network may have it. */
class Fates {
  readonly #waiting: Fate[] = []

  lose(took: boolean): void {
    this.#waiting.push(async (endTxn) => {
      if (took) await endTxn()
      throw new Error('the answer was lost')
    })
  }

  hold(): HeldCommit {
    const opened = Promise.withResolvers<void>()
    const ending = Promise.withResolvers<'commit' | 'abort'>()
    this.#waiting.push(async (endTxn, abortTxn) => {
      opened.resolve()
      if ((await ending.promise) === 'commit') return await endTxn()
      await abortTxn()
      throw new Error('the transaction was aborted')
    })
    return {
      opened: opened.promise,
      release: () => ending.resolve('commit'),
      abort: () => ending.resolve('abort'),
    }
  }

  link(link: Link): Link {
    return overridden(link, {
      coordinator: async (type: 'transaction', id: string) => {
        const broker = await link.coordinator(type, id)
        return overridden(broker, {
          endTxn: async (options: object) => {
            const fate = this.#waiting.shift()
            const end = async (): Promise<unknown> => await broker.endTxn(options)
            const abort = async (): Promise<unknown> =>
              await broker.endTxn({ ...options, transactionResult: false })
            return fate === undefined ? await end() : await fate(end, abort)
          },
        })
      },
    })
  }
}

/** The same object, with some members replaced. */
function overridden<T extends object>(target: T, members: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get(_, name) {
      if (typeof name === 'string' && name in members) return members[name]
      const member = Reflect.get(target, name, target) as unknown
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/**
 * A commit is visible a moment after it was acknowledged: this one waits for it, so that a test may
 * read at once.
 */
function settled(log: KafkaLog, application: string): Log {
  const visible = async (): Promise<void> => {
    await eventually('what is committed is visible', async () => {
      for (const topic of ['changelog', 'commands', 'events', 'history'] as const) {
        for (const partition of [0, 1]) {
          const written = await endOf(topicName(application, topic), partition)
          if ((await log.bounds(topic, partition)).end !== written) return false
        }
      }
      return true
    })
  }
  const settledTask = (task: TaskLog): TaskLog => ({
    partition: task.partition,
    fence: task.fence,
    commit: async (commit) => {
      const end = await task.commit(commit)
      await visible()
      return end
    },
    [Symbol.asyncDispose]: async () => await task[Symbol.asyncDispose](),
  })
  return overridden<Log>(log, {
    openTask: async (partition: number) => {
      const task = await log.openTask(partition)
      await visible()
      return settledTask(task)
    },
  })
}

/** The end of the written records, committed or not. */
async function endOf(topic: string, partition: number): Promise<bigint> {
  await link.connect([topic])
  const broker = await link.broker(link.leaderOf(topic, partition) ?? -1)
  const topics = [{ topic, partitions: [{ partition, timestamp: -1 }] }]
  const { responses } = await broker.listOffsets({ isolationLevel: 0, topics })
  return BigInt(responses[0]?.partitions[0]?.offset ?? -1)
}

logContract('kafka log', async (t) => {
  if (skip !== undefined) {
    t.skip(skip)
    throw new Error(skip)
  }
  count += 1
  return await open(t, `${kafka.application}-${count}`)
})
