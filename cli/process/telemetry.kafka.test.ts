/**
 * Over a real Kafka and a real API server the services apart write one trace of a deletion: each
 * its own part of it.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { OtlpReceiver, tracedDeletion } from '../../testing/otlp-receiver.ts'
import { KinfoldServices } from '../../testing/process/kinfold-services.ts'
import { makeFamily, remove, untilGone } from '../../testing/process/objects.ts'
import { VERSION } from '../print/version.ts'

const skip = missingKafka() ?? missingServers('etcd', 'kube-apiserver')

suite('telemetry of the services apart', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kafka: Kafka
  let collector: OtlpReceiver
  let services: KinfoldServices
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-telemetry-'))

  before(async () => {
    ;[plane, kafka, collector] = await Promise.all([
      startControlPlane(),
      startKafka(),
      OtlpReceiver.start(),
    ])
    services = new KinfoldServices({
      kubeconfig: plane.kubeconfig,
      brokers: kafka.bootstrap,
      application: kafka.application,
      folder,
      partitions: 2,
      each: 1,
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_BSP_SCHEDULE_DELAY: '200',
        OTEL_METRIC_EXPORT_INTERVAL: '1000',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      },
    })
    await services.start()
    await services.ready()
  })
  after(async () => {
    await services?.[Symbol.asyncDispose]()
    await collector?.[Symbol.asyncDispose]()
    await Promise.all([plane?.[Symbol.asyncDispose](), kafka?.[Symbol.asyncDispose]()])
    rmSync(folder, { recursive: true, force: true })
  })

  test('a deletion is one trace over all of them, and each names itself', async () => {
    const family = await makeFamily(plane, 'traced', 3)
    await remove(plane, family.owner)
    await untilGone(plane, family.dependents)
    await eventually('the whole of it came', async () => {
      const found = tracedDeletion(collector.spans)
      return typeof found !== 'string' || found
    })
    const found = tracedDeletion(collector.spans)
    ok(typeof found !== 'string')
    const { watch, append, fold, command, reap, call, resultFold } = found
    const all = [watch, append, fold, command, reap, call, resultFold]
    deepEqual(
      all.map(({ service }) => service),
      [
        ...['kinfold-watcher', 'kinfold-watcher', 'kinfold-graph', 'kinfold-graph'],
        ...['kinfold-reaper', 'kinfold-reaper', 'kinfold-graph'],
      ],
    )
    deepEqual(new Set(all.map(({ resource }) => resource['service.version'])), new Set([VERSION]))
    equal(new Set(all.map(({ resource }) => resource['service.instance.id'])).size, 3)
    deepEqual(
      new Set(all.map(({ resource }) => resource['deployment.environment.name'])),
      new Set(['test']),
    )
    deepEqual(
      [watch, command, reap, call].map(({ traceId }) => traceId),
      [watch, watch, watch, watch].map(({ traceId }) => traceId),
    )
    match(call.attributes['kinfold.call.code'] ?? '', /^(200|404|409)$/)
  })

  test('metrics of each of them come, and its endpoint serves them as before', async () => {
    await eventually('metrics came of all', async () => {
      const seen = ['watcher', 'graph', 'reaper'].map((each) => {
        return collector.metrics.get(`kinfold-${each}`)?.has('kinfold_build_info') === true
      })
      return seen.every(Boolean) || seen.join(' ')
    })
    for (const each of services.all) {
      const text = await (await each.ask('/metrics')).text()
      match(text, /^kinfold_build_info\{/m)
      match(text, new RegExp(`^target_info\\{.*service_name="kinfold-${each.service}"`, 'm'))
    }
  })
})
