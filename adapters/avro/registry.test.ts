/**
 * Public records by the ids of a schema registry: written so, read both ways, and every failure a
 * sentence.
 */
import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import { test } from 'node:test'
import avsc from 'avsc'
import { SchemaRegistry } from '../../testing/schema-registry.ts'
import { avroCodec, codecOf, recordSchemas } from './codec.ts'
import { register, registeredCodec } from './registry.ts'
import type { ComplexSchema } from './schema.ts'

const HISTORY = {
  type: 'History',
  cluster: 'c',
  uid: 'u',
  group: '',
  kind: 'Pod',
  namespace: 'shop',
  name: 'web-1',
  change: 'gone',
  text: 'was deleted',
  phase: null,
  evidence: null,
  admission: null,
  command: null,
  partition: 0,
  position: 7n,
  basis: [7n],
  at: 1_000,
  object: null,
} as const

const [HISTORY_SCHEMA] = recordSchemas(['History'])
const CURRENT = HISTORY_SCHEMA!.current as ComplexSchema
/** As if `text` had come later. */
const FORMER: ComplexSchema = {
  ...CURRENT,
  fields: CURRENT.fields!.filter(({ name }) => name !== 'text'),
}
const GROWN: ComplexSchema = {
  ...CURRENT,
  fields: CURRENT.fields!.map((field) =>
    field.name === 'text' ? { ...field, default: '' } : field,
  ),
}

test('a public record is written by the id of its schema, and any client of the registry reads it', async () => {
  await using registry = await SchemaRegistry.start()
  const codec = await registeredCodec(registry)
  const bytes = Buffer.from(codec.encode(HISTORY))
  deepEqual(registry.subjects, ['kinfold.Lineage', 'kinfold.History'])
  equal(bytes[0], 0)
  const response = await fetch(`${registry.url}/schemas/ids/${bytes.readInt32BE(1)}`)
  const { schema } = (await response.json()) as { schema: string }
  const type = avsc.Type.forSchema(JSON.parse(schema))
  const read = type.fromBuffer(bytes.subarray(5)) as { name: string; text: string }
  deepEqual([read.name, read.text], ['web-1', 'was deleted'])
  deepEqual(codec.decode(bytes), HISTORY)
})

test('both framings are read, and what is our own is written as ever', async () => {
  await using registry = await SchemaRegistry.start()
  const [plain, registered] = [avroCodec(), await registeredCodec(registry)]
  deepEqual(registered.decode(plain.encode(HISTORY)), HISTORY)
  const place = { partition: 0, position: 1n }
  const own = { type: 'Digest', ...place, state: 's', outputs: 'o', foldVersion: 1 } as const
  deepEqual(registered.encode(own), plain.encode(own))
  throws(() => plain.decode(registered.encode(HISTORY)), {
    code: 'UNFRAMED',
    message: /see who wrote them, or give --schema-registry/,
  })
  const foreign = Buffer.from(registered.encode(HISTORY))
  foreign.writeInt32BE(99, 1)
  throws(() => registered.decode(foreign), {
    code: 'UNKNOWN_SCHEMA',
    message: /the registry's schema 99 is none of ours/,
  })
})

test('a second start uses the same ids, and former versions are read by theirs', async () => {
  await using registry = await SchemaRegistry.start()
  const older = [{ name: 'History', current: FORMER, former: [] }]
  const newer = [{ name: 'History', current: GROWN, former: [FORMER] }]
  const former = codecOf(older, await register(registry, older))
  const { text: _, ...known } = HISTORY
  const bytes = former.encode(known as never)
  const first = await register(registry, newer)
  deepEqual(codecOf(newer, first).decode(bytes), { ...HISTORY, text: '' })
  deepEqual(await register(registry, newer), first)
})

test('a version that the registry holds incompatible ends the start', async () => {
  await using registry = await SchemaRegistry.start()
  registry.closed.add('kinfold.Lineage')
  await rejects(registeredCodec(registry), {
    name: 'RegistryError',
    message:
      /^the schema registry at http.*, kinfold\.Lineage: it holds this version incompatible .*: see the compatibility of that subject$/,
  })
})

test('credentials are shown, and a refusal says so', async () => {
  await using registry = await SchemaRegistry.start()
  registry.credentials = 'ann:secret'
  await rejects(registeredCodec({ url: registry.url }), {
    message: /it refuses us: see --schema-registry-credentials-file/,
  })
  ok(await registeredCodec({ url: registry.url, credentials: 'ann:secret' }))
})

test('a registry that is not there ends the start', async () => {
  await rejects(registeredCodec({ url: 'http://127.0.0.1:1' }), {
    message: /the schema registry at http:\/\/127\.0\.0\.1:1 cannot be reached \(.*\); check that/,
  })
})
