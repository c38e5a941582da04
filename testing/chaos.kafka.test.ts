/**
 * Three minutes of kills, pauses and stops over three brokers: nothing is lost, nothing is deleted
 * wrongly, and the record agrees with itself.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { runChaos } from './chaos/chaos.ts'
import { missingServers } from './cluster/binaries.ts'
import { missingKafka } from './kafka/jars.ts'

const MINUTES = 3

const skip = missingKafka({ own: true }) ?? missingServers('etcd', 'kube-apiserver')

test('the services apart come right after every fault', { skip: skip ?? false }, async (t) => {
  const tell = (line: string): void => t.diagnostic(line)
  const { record, kills, living, ended } = await runChaos({ minutes: MINUTES, seed: 1, tell })
  t.diagnostic(
    `${kills} kills, ${record.events} events, ${record.commands} commands, ${living} live`,
  )
  for (const each of ended) t.diagnostic(`ended by itself: ${each}`)
  deepEqual(record.faults, [])
  ok(kills > 0 && record.commands > 0 && living > 0)
})
