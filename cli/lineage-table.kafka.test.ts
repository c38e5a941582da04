/** The example of a consumer, docs/examples/lineage-table.ts, shows what stands now, in both framings. */
import { deepEqual, equal } from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { avroCodec } from '../adapters/avro/codec.ts'
import { registeredCodec } from '../adapters/avro/registry.ts'
import { openKafkaLog } from '../adapters/kafka/log.ts'
import type { Codec } from '../ports/codec.ts'
import type { Produced, TaskLog } from '../ports/log.ts'
import type { Lineage } from '../ports/lineage.ts'
import { systemClock } from '../runtime/clock.ts'
import { eventually } from '../testing/eventually.ts'
import { type Kafka, startKafka } from '../testing/kafka/broker.ts'
import { missingKafka } from '../testing/kafka/jars.ts'
import { startKinfold } from '../testing/kinfold-command.ts'
import { SchemaRegistry } from '../testing/schema-registry.ts'
import { appendAll, eventsOf } from '../testing/task-rig.ts'

const EXAMPLE = join(import.meta.dirname, '../docs/examples/lineage-table.ts')

suite('the example of a consumer of lineage', { skip: missingKafka() ?? false }, () => {
  test('shows the last entry of each object, and nothing that is gone', async (t) => {
    await using kafka = await startKafka()
    await using registry = await SchemaRegistry.start()
    const { bootstrap: brokers, application } = kafka
    await using log = await openKafkaLog({
      settings: { brokers, application, compression: 'zstd' },
      clientId: 'example',
      partitions: 2,
      mayCreate: true,
      clock: systemClock(),
    })
    const [plain, registered] = [avroCodec(), await registeredCodec(registry)]
    await using task = await log.openTask(0)
    await publish(task, [
      entry(plain, 'deployment', { kind: 'Deployment', group: 'apps', name: 'web' }),
      entry(plain, 'pod', { name: 'web-1' }),
      entry(plain, 'forgotten', { name: 'forgotten' }),
      entry(plain, 'gone', { name: 'gone' }),
    ])
    const web = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'deployment' }
    const owner = { ...web, controller: true, blocking: true, standing: 'solid' } as const
    await publish(task, [
      entry(plain, 'pod', { name: 'web-1', owners: [owner] }),
      { key: 'north/forgotten', value: null },
      entry(plain, 'gone', { name: 'gone', phase: 'gone' }),
    ])

    const child = showTable(t, kafka, registry)
    const said = outputOf(child)
    const first = [
      '2 objects in 1 clusters',
      '',
      'north',
      '  Deployment.apps shop/web observed',
      '  Pod shop/web-1 observed <- Deployment/web (solid)',
    ]
    await eventually('it shows what is there', async () => lastTable(said()) === first.join('\n'))

    await publish(task, [entry(registered, 'pod', { name: 'web-1', phase: 'deleting' })])
    await publish(task, [entry(registered, 'other', { name: 'other', clusterName: 'south' })])
    const second = [
      '3 objects in 2 clusters',
      '',
      'north',
      '  Deployment.apps shop/web observed',
      '  Pod shop/web-1 deleting',
      '',
      'south',
      '  Pod shop/other observed',
    ]
    await eventually('it follows', async () => lastTable(said()) === second.join('\n') || said())
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    equal(code, 0, said())
  })

  test('reads what a graph process writes by a registry', async (t) => {
    await using kafka = await startKafka()
    await using registry = await SchemaRegistry.start()
    const { bootstrap: brokers, application } = kafka
    const folder = mkdtempSync(join(tmpdir(), 'kinfold-lineage-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    await using log = await openKafkaLog({
      settings: { brokers, application, compression: 'zstd' },
      clientId: 'example',
      mayCreate: true,
      clock: systemClock(),
    })
    await appendAll(log, eventsOf(['put deploy/web', 'put rs/a <- deploy/web', 'put rs/b']))
    const where = ['--brokers', brokers.join(), '--application', application]
    const own = ['--data', folder, '--http', '127.0.0.1:0', '--schema-registry', registry.url]
    const graph = startKinfold(['graph', ...where, ...own])
    t.after(() => graph.child.kill('SIGKILL'))
    const graphSaid = outputOf(graph.child)
    const said = outputOf(showTable(t, kafka, registry))
    await eventually('it shows what the graph tells', async () => {
      const lines = lastTable(said()).split('\n')
      const isThere = lines.some((line) => /ReplicaSet.* <- Deployment\/web \(solid\)/.test(line))
      return (isThere && lines[0] === '3 objects in 1 clusters') || said() + graphSaid()
    })
    deepEqual(registry.subjects, ['kinfold.Lineage', 'kinfold.History'])
    const { entries } = await log.read('lineage', 0, 0n, { limit: 1, waitMs: 1_000 })
    equal(entries[0]?.value?.[0], 0)
    graph.child.kill('SIGTERM')
    equal((await graph.ended).code, 0, graphSaid())
  })
})

function showTable(t: TestContext, kafka: Kafka, registry: SchemaRegistry): ChildProcess {
  const where = ['--brokers', kafka.bootstrap.join(), '--application', kafka.application]
  const child = spawn(process.execPath, [EXAMPLE, ...where, '--registry', registry.url])
  t.after(() => child.kill('SIGKILL'))
  return child
}

async function publish(task: TaskLog, records: readonly Produced[]): Promise<void> {
  await task.commit({ outputs: [{ topic: 'lineage', partition: 1, records }], changelog: [] })
}

function entry(codec: Codec, uid: string, of: Partial<Lineage>): Produced {
  const lineage: Lineage = {
    type: 'Lineage',
    ...{ cluster: 'north', clusterName: 'north', uid, group: '', version: 'v1', kind: 'Pod' },
    ...{ scope: 'Namespaced', namespace: 'shop', name: uid, phase: 'observed', owners: [] },
    ...{
      createdAt: null,
      deletedAt: null,
      why: '',
      verdict: null,
      heldBy: null,
      evidence: null,
      position: 1n,
      at: 1,
    },
    ...of,
  }
  return { key: `north/${uid}`, value: codec.encode(lineage) }
}

function outputOf(child: ChildProcess): () => string {
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      said += chunk
    })
  }
  return () => said
}

function lastTable(said: string): string {
  const at = said.search(/\d+ objects in \d+ clusters(?![\s\S]*objects in)/)
  return said.slice(at).trimEnd()
}
