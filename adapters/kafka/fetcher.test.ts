/**
 * A read that finds no broker reports the port's error, whichever step failed, so that the reader
 * waits instead of ending.
 */
import { equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import kafkajs from 'kafkajs'
import type { Clock } from '../../ports/clock.ts'
import { LogError } from '../../ports/log.ts'
import { Fetcher } from './fetcher.ts'

const ASKED = { topic: 'a.events', partition: 0, from: 0n, limit: 1, waitMs: 0 }

/** Time passes in sleeps only. */
function sleepingClock(): Clock {
  let nowMs = 0
  return {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms
    },
  }
}

test('a connection that cannot be made is tried for a while, and is then UNAVAILABLE', async () => {
  let tries = 0
  const refused = new kafkajs.KafkaJSConnectionError('Connection error: connect ECONNREFUSED')
  await using fetcher = new Fetcher(async () => {
    tries += 1
    throw refused
  }, sleepingClock())
  const isTold = (error: unknown): boolean =>
    error instanceof LogError && error.code === 'UNAVAILABLE'
  await rejects(fetcher.read(ASKED), isTold)
  equal(tries > 1, true, 'it was tried once only')
})
