/**
 * The archive over a real Kafka: an object larger than a record goes there in pieces, and a restore
 * reads it back from the brokers.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createArchive } from '../../services/reaper/archive.ts'
import { createCaller } from '../../services/reaper/call.ts'
import { DEFAULT_REAPER_CONFIG } from '../../services/reaper/config.ts'
import { Throttle } from '../../services/reaper/throttle.ts'
import { indexArchive, readBodies } from '../../services/restore/archive-reader.ts'
import { startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { GONE, World } from '../../testing/rig/reaper-world.ts'
import { openArchive } from '../offline/archive-source.ts'

const SIGNAL = new AbortController().signal
const TEXT = 'x'.repeat(1_400_000)

suite('the archive, over Kafka,', { skip: missingKafka() ?? false }, () => {
  test('takes an object that is larger than a record, and gives it back', async () => {
    await using kafka = await startKafka()
    const { bootstrap: brokers, application } = kafka
    const clock = systemClock()
    await using log = await openKafkaLog({
      settings: { brokers, application, compression: 'none' },
      clientId: 'archive',
      partitions: 3,
      mayCreate: true,
      clock,
    })
    const world = await World.open()
    const metadata = { name: 'large', ownerReferences: [GONE] }
    const path = '/api/v1/namespaces/default/configmaps'
    await world.request('POST', path, { metadata, data: { text: TEXT } })
    const made = await world.read('large')
    const caller = createCaller({
      ...{ id: world.id, cluster: world.connect(), clock, random: { next: () => 0.5 } },
      ...{ throttle: new Throttle(DEFAULT_REAPER_CONFIG), bounds: DEFAULT_REAPER_CONFIG },
      onAnswer: () => undefined,
      onBroken: () => undefined,
    })
    const settings = { secrets: false, key: undefined }
    const archive = createArchive({
      ...{ log, codec: world.codec, clock, bounds: { retries: 0 }, settings },
    })
    const { resourceVersion } = made
    const request = { command: world.deleteOf(made), resourceVersion, caller, onCall: () => {} }
    equal((await archive.keep(request, SIGNAL)).type, 'Kept')

    const flags = { brokers: brokers.join(), application }
    const source = await openArchive(flags)
    await using read = source.log
    const asked = { cluster: world.id, trust: { keys: new Map(), allowPlaintext: false } }
    const { objects, incomplete } = await indexArchive(read, source.codec, asked, SIGNAL)
    deepEqual([[...objects.keys()], incomplete], [[made.uid], 0])
    const bodies = await readBodies(read, source.codec, objects.values(), new Map(), SIGNAL)
    deepEqual(bodies.get(made.uid)?.['data'], { text: TEXT })
  })
})
