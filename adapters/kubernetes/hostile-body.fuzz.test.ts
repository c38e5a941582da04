/**
 * Captured answers of a real server (captures/, Kubernetes 1.36) with damage done to them, read as
 * lists, watches, discovery and answers about one object: an error that says so, or objects as they
 * are in the text; never an absence or a success that the text does not contain, never another end.
 *
 * What must stay true: the allowed results are computed here once more, from the damaged text and
 * without the code under test.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Target } from '../../core/model/command.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { KindReads } from '../../core/model/rule/rule.ts'
import { ClusterError, type Resource, type WatchEvent } from '../../ports/cluster.ts'
import type { Exchange } from '../../ports/exchange.ts'
import { isBeyondCaps } from '../../ports/record/cap.ts'
import { NO_MARK_KEYS } from '../../ports/record/manager-mark.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { damaged, damages, runs } from '../../testing/hostile.ts'
import { avroCodec } from '../avro/codec.ts'
import { readGet, readReap } from './answer.ts'
import { discoverKinds } from './discovery.ts'
import { listPages } from './list.ts'
import { watchEvents } from './watch.ts'

const SECRETS: Resource = {
  ...{ group: '', version: 'v1', resource: 'secrets', kind: 'Secret' },
  scope: 'Namespaced',
}
const READS: KindReads = {
  ...{ group: '', kind: 'Secret', namespace: '', labels: ['tier'] },
  ...{ annotations: ['constructor'], fields: ['data.expiration:base64', 'type'], digest: 'digest' },
}
const PROJECTION: Projection = {
  labels: ['app', '__proto__'],
  annotations: ['kinfold.dev/protect', 'constructor'],
  marks: NO_MARK_KEYS,
  kinds: [READS],
}
const SIGNAL = new AbortController().signal
const JSON_TYPE = { 'content-type': 'application/json' }

const codec = avroCodec()
const body = (...names: string[]): fc.Arbitrary<string> =>
  fc.constantFrom(
    ...names.map((name) => readFileSync(new URL(`captures/${name}`, import.meta.url), 'utf8')),
  )

test('a damaged list is all that stands in it, or an error', async () => {
  const bodies = body('list-page.txt', 'list-metadata.txt', 'list-whole.txt')
  await fc.assert(
    fc.asyncProperty(bodies, damages, async (whole, all) => {
      const text = damaged(whole, all)
      const found = await outcomeOf(async () => {
        const objects: ObjectMeta[] = []
        for await (const page of listPages(reading(text), SECRETS, 500, SIGNAL)) {
          objects.push(...page.objects)
          // A damaged `continue` leads to the same page again.
          if (page.more) break
        }
        return objects
      })
      if (found === undefined) return
      const { items } = JSON.parse(text) as { items: readonly unknown[] | null }
      equal(found.length, items?.length ?? 0)
      for (const object of found) isWritable(object)
    }),
    runs(4_000),
  )
})

test('a damaged watch gives the events before the damage, and then an error', async () => {
  const size = fc.integer({ min: 1, max: 400 })
  const bodies = body('watch.txt', 'watch-initial.txt')
  await fc.assert(
    fc.asyncProperty(bodies, damages, size, async (whole, all, chunkBytes) => {
      const text = damaged(whole, all)
      const events: WatchEvent[] = []
      const found = await outcomeOf(async () => {
        const batches = watchEvents(reading(text, chunkBytes), SECRETS, '1', 60, SIGNAL)
        for await (const batch of batches) events.push(...batch)
        return events
      })
      const lines = Buffer.from(text)
        .toString()
        .split('\n')
        .filter((line) => line.trim() !== '')
      if (found !== undefined) equal(events.length, lines.length)
      for (const [index, event] of events.entries()) {
        const told = JSON.parse(lines[index] ?? '') as { type: string }
        equal(told.type, event.type.toUpperCase())
        if (event.type !== 'Bookmark') isWritable(event.object)
      }
    }),
    runs(2_000),
  )
})

test('a damaged answer about one object proves nothing that it does not say', () => {
  const bodies = body('get.txt', 'not-found.txt', 'conflict.txt', 'invalid.txt', 'removed.txt')
  const status = fc.constantFrom(200, 202, 400, 403, 404, 404, 404, 409, 410, 422, 429, 500)
  const verb = fc.constantFrom('DELETE', 'PATCH')
  fc.assert(
    fc.property(bodies, damages, status, verb, (whole, all, code, verb) => {
      const text = damaged(whole, all)
      const reply = { status: code, headers: JSON_TYPE, text }
      const asked = { target: TARGET, projection: PROJECTION, now: 0 }
      const got = readGet(reply, asked)
      const reaped = readReap(reply, { ...asked, verb, dryRun: false })
      if (got.type === 'Absent' || reaped.type === 'Absent') ok(saysAbsent(code, text), text)
      if (got.type === 'Found') {
        isWritable(got.object)
        equal(got.object.name, TARGET.name)
      }
      if (reaped.type === 'Removed') ok(saysDone(code, text), text)
    }),
    runs(8_000),
  )
})

test('a damaged discovery is an error, or kinds that have a name', async () => {
  await fc.assert(
    fc.asyncProperty(body('discovery.txt'), damages, async (whole, all) => {
      const found = await outcomeOf(() => discoverKinds(reading(damaged(whole, all)), SIGNAL))
      for (const { kind, resource, versions } of found?.kinds ?? []) {
        ok(kind !== '' && resource !== '' && kind.length <= 253 && resource.length <= 253)
        ok(versions.length > 0)
      }
    }),
    runs(1_500),
  )
})

test('a body nested a million deep, and one that repeats its keys, are read or refused', async () => {
  const deep = `{"items":${'['.repeat(1e6)}${']'.repeat(1e6)}}`
  for (const text of [deep, `{"kind":"SecretList","apiVersion":"v1",${deep.slice(1)}`]) {
    equal(await outcomeOf(() => all(listPages(reading(text), SECRETS, 500, SIGNAL))), undefined)
  }
  const twice =
    '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":' +
    '{"name":"a","name":"b","namespace":"n","uid":"u","uid":"v","resourceVersion":"18446744073709551615"}}]}'
  const pages = await all(listPages(reading(twice), SECRETS, 500, SIGNAL))
  const [object] = pages[0]?.objects ?? []
  deepEqual([object?.name, object?.uid], ['b', 'v'], 'the last one, as the server takes it')
  equal(object?.resourceVersion, '18446744073709551615')
})

const TARGET: Target = {
  ...{ group: '', version: 'v1', kind: 'Secret', resource: 'secrets', namespace: 'default' },
  ...{ name: 'dependent-1', uid: '', resourceVersion: '1' },
  aggregated: false,
}

/** Undefined for the error that says it cannot be read; any other is a failure of the test. */
async function outcomeOf<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ClusterError) return undefined
    throw error
  }
}

/** It is unchanged by the log, and within the caps; or it was beyond them, and is held. */
function isWritable(object: ObjectMeta): void {
  const event = { type: 'ObjectAdded', cluster: 'c', epoch: 1, sync: null, object } as const
  deepEqual(codec.decode(codec.encode(event)), event)
  ok(!isBeyondCaps(object))
}

/** Some servers name the kind where others name the resource. */
const NAMES = [TARGET.resource, TARGET.kind, TARGET.kind.toLowerCase()]

function saysAbsent(code: number, text: string): boolean {
  const { kind, reason, details, code: said = 404 } = JSON.parse(text) as Record<string, unknown>
  const { name, kind: about } = details as Record<string, unknown>
  const isThis = name === TARGET.name && NAMES.includes(String(about))
  const is404 = code === 404 && said === 404
  return is404 && kind === 'Status' && reason === 'NotFound' && isThis
}

/** A Status of success, or the object without anything that holds it. */
function saysDone(code: number, text: string): boolean {
  const { kind, status, metadata } = JSON.parse(text) as Record<string, unknown>
  if (code >= 300) return false
  if (kind === 'Status') return status === 'Success'
  return (metadata as Record<string, unknown>)['name'] === TARGET.name
}

function reading(text: string, chunkBytes = 1_000_000_000) {
  const bytes = Buffer.from(text)
  const exchange: Exchange = {
    request: async () => ({ status: 200, headers: JSON_TYPE, body: chunks(bytes, chunkBytes) }),
    [Symbol.asyncDispose]: async () => {},
  }
  return { exchange, projection: PROJECTION, now: () => 0 }
}

async function* chunks(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  return await Array.fromAsync(items)
}
