/** Framing, evolution, and the errors of the codec for bytes and records that do not fit. */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Heartbeat, ObjectAdded } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { Seen } from '../../core/model/state.ts'
import { CodecError, type CodecErrorCode, type Writable } from '../../ports/record/codec.ts'
import type { Snapshot } from '../../ports/record/service-record.ts'
import { avroCodec, codecOf } from './codec.ts'
import { fingerprintOf, type Schema } from './schema.ts'

const codec = avroCodec()

const SEEN: Seen = { type: 'Seen', resourceVersion: '7', sync: 3, clusterEpoch: 1 }

test('a record begins with C3 01 and the fingerprint of its schema, then Avro', () => {
  const schema = {
    type: 'record',
    name: 'kinfold.Seen',
    fields: [
      { name: 'resourceVersion', type: 'string' },
      { name: 'sync', type: 'long' },
      { name: 'clusterEpoch', type: 'long' },
    ],
  }
  const fingerprint = Buffer.from(fingerprintOf(schema), 'hex').reverse()
  const body = [2, '7'.charCodeAt(0), 6, 2]
  deepEqual(codec.encode(SEEN), Uint8Array.from([0xc3, 0x01, ...fingerprint, ...body]))
})

test('a text of any length and script is written as Avro says', () => {
  for (const last of ['', 'a', '\u007f', '\u0080', '中', '😀']) {
    for (const length of [0, 1, 61, 62, 63, 64, 65, 127, 128, 4_000]) {
      const resourceVersion = 'x'.repeat(length) + last
      const bytes = Buffer.from(resourceVersion)
      const size = 2 * bytes.length
      const varint = size < 0x80 ? [size] : [(size & 0x7f) | 0x80, size >> 7]
      const body = codec.encode({ ...SEEN, resourceVersion }).subarray(10)
      deepEqual([...body], [...varint, ...bytes, 6, 2], `${length} and ${last}`)
    }
  }
})

test('half a surrogate pair is written as U+FFFD, since readers elsewhere refuse what is no UTF-8', () => {
  for (const length of [0, 1, 63, 64, 4_000]) {
    const [before, after] = ['x'.repeat(length), 'é']
    const written = codec.encode({ ...SEEN, resourceVersion: `${before}\ud800${after}` })
    deepEqual(written, codec.encode({ ...SEEN, resourceVersion: `${before}\ufffd${after}` }))
  }
})

test('a text that the buffer has no room for is written whole', () => {
  for (let length = 900; length < 1_030; length++) {
    const fresh = codecOf([
      {
        name: 'Sample',
        current: record({ name: 'a', type: 'string' }, { name: 'b', type: 'string' }),
        former: [],
      },
    ])
    const sample = {
      type: 'Sample',
      a: 'a'.repeat(length),
      b: 'b'.repeat(63),
    } as unknown as Writable
    deepEqual(fresh.decode(fresh.encode(sample)), sample)
  }
})

test('bytes of one record stay as they are while others are written', () => {
  const first = codec.encode(SEEN)
  const before = Uint8Array.from(first)
  for (let i = 0; i < 100; i++) codec.encode({ ...SEEN, resourceVersion: `other ${i}` })
  deepEqual(first, before)
})

test('a record larger than the buffer is written whole, and a small one after it', () => {
  const large: Snapshot = {
    type: 'Snapshot',
    partition: 0,
    position: 2n ** 60n,
    state: '',
    outputs: '',
    chunk: 1,
    last: true,
    keys: Array.from({ length: 1_000 }, (_, i) => `key ${i}`),
    values: [new Uint8Array(700_000).fill(3), new Uint8Array(0)],
  }
  deepEqual(codec.decode(codec.encode(large)), large)
  deepEqual(codec.decode(codec.encode({ ...large, keys: [] })), { ...large, keys: [] })
})

test('bytes without our frame are UNFRAMED', () => {
  for (const bytes of [
    [],
    [0xc3],
    [0xc3, 0x02, ...codec.encode(SEEN).slice(2)],
    [0, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6],
  ]) {
    throws(() => codec.decode(Uint8Array.from(bytes)), has('UNFRAMED'))
  }
})

test('an unknown fingerprint is UNKNOWN_SCHEMA and named as Avro writes it', () => {
  const bytes = codec.encode(SEEN)
  bytes.set([0x8f, 0x5c, 0x39, 0x3f, 0x1a, 0xd5, 0x75, 0x72], 2)
  throws(() => codec.decode(bytes), has('UNKNOWN_SCHEMA', '7275d51a3f395c8f'))
})

test('a body that is cut, or longer than its schema, is CORRUPT', () => {
  const bytes = codec.encode(objectAdded())
  for (let length = 10; length < bytes.length; length++) {
    throws(() => codec.decode(bytes.slice(0, length)), has('CORRUPT', 'ObjectAdded'), `${length}`)
  }
  throws(() => codec.decode(Uint8Array.from([...bytes, 0])), has('CORRUPT', 'left over'))
})

test('bytes after the header, whatever they are, decode or are CORRUPT, in a moment', () => {
  const headers = [codec.encode(objectAdded()), codec.encode(heartbeat(3))].map((bytes) =>
    bytes.slice(0, 10),
  )
  const body = fc.uint8Array({ maxLength: 200 })
  fc.assert(
    fc.property(fc.constantFrom(...headers), body, (header, body) => {
      decodeOrCorrupt(Uint8Array.from([...header, ...body]))
    }),
    { numRuns: 2_000 },
  )
})

test('a record with any bit flipped decodes or is CORRUPT, in a moment', () => {
  const bytes = codec.encode(objectAdded())
  for (let bit = 80; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice()
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    decodeOrCorrupt(flipped)
  }
})

test('a list that claims more items than there are bytes is refused before it is read', () => {
  const header = codec.encode(heartbeat(0)).slice(0, 10)
  // Cluster '', epoch 0, then a list of 2^40 kinds; the same as a block with its size.
  const counts = [
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x40],
    [0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x00],
  ]
  for (const count of counts) {
    const bytes = Uint8Array.from([...header, 0, 0, ...count, 0, 0, 0])
    throws(() => codec.decode(bytes), has('CORRUPT', 'longer than the record'))
  }
})

test('a record that its schema does not allow is INVALID, and the field is named', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [{ ...SEEN, sync: 1.5 }, 'sync is 1.5'],
    [{ ...SEEN, sync: 2 ** 53 }, 'sync is 9007199254740992'],
    [{ ...SEEN, sync: -(2 ** 52) - 1 }, 'sync is -4503599627370497'],
    [{ ...SEEN, resourceVersion: undefined }, 'resourceVersion is undefined'],
    [{ ...objectAdded(), sync: undefined }, 'sync is undefined'],
    [{ ...objectAdded(), object: { ...object(), scope: 'Galaxy' } }, 'object.scope is "Galaxy"'],
    [
      { ...objectAdded(), object: { ...object(), scope: 'toString' } },
      'object.scope is "toString"',
    ],
    [
      { ...objectAdded(), object: { ...object(), finalizers: ['a', null] } },
      'object.finalizers.1 is null',
    ],
    [{ ...objectAdded(), object: null }, 'object is null'],
    [
      { type: 'Share', minutes: [{ minute: 1, namespaces: [{ namespace: '', count: 1n }] }] },
      'minutes.0.namespaces.0.count is 1',
    ],
    [{ type: 'UnreadableHome', position: 1, reason: '' }, 'position is 1'],
    [
      { type: 'UnreadableHome', position: 2n ** 63n, reason: '' },
      'position is 9223372036854775808',
    ],
    [{ type: 'Unreadable', home: '', reason: '' }, 'Unreadable'],
  ]
  for (const [record, text] of cases) {
    throws(() => codec.encode(record as Writable), has('INVALID', text))
  }
  deepEqual(codec.decode(codec.encode(SEEN)), SEEN, 'and the next record is not harmed')
})

test('a record of a former schema is read by the rules: new fields by default, old ones skipped', () => {
  const old = codecOf([{ name: 'Sample', current: sample('old'), former: [] }])
  const both = codecOf([{ name: 'Sample', current: sample('new'), former: [sample('old')] }])
  deepEqual(both.decode(old.encode(OLD_SAMPLE)), {
    ...NEW_SAMPLE,
    added: null,
    words: [],
    level: 'guarded',
  })
  deepEqual(both.decode(both.encode(NEW_SAMPLE)), NEW_SAMPLE)
})

test('a record of a newer schema is read by a reader who has that schema', () => {
  const newer = codecOf([{ name: 'Sample', current: sample('new'), former: [] }])
  const both = codecOf([{ name: 'Sample', current: sample('old'), former: [sample('new')] }])
  deepEqual(both.decode(newer.encode(NEW_SAMPLE)), { ...OLD_SAMPLE, removed: 'none', list: [] })
})

test('a record of a newer schema is UNKNOWN_SCHEMA to a reader who has not', () => {
  const newer = codecOf([{ name: 'Sample', current: sample('new'), former: [] }])
  const old = codecOf([{ name: 'Sample', current: sample('old'), former: [] }])
  throws(
    () => old.decode(newer.encode(NEW_SAMPLE)),
    has('UNKNOWN_SCHEMA', fingerprintOf(sample('new'))),
  )
})

test('a field that is added without a default makes former records CORRUPT, not wrong', () => {
  const old = codecOf([
    { name: 'Sample', current: record({ name: 'a', type: 'string' }), former: [] },
  ])
  const current = record({ name: 'a', type: 'string' }, { name: 'b', type: 'string' })
  const both = codecOf([
    { name: 'Sample', current, former: [record({ name: 'a', type: 'string' })] },
  ])
  const bytes = old.encode({ type: 'Sample', a: 'x' } as unknown as Writable)
  throws(() => both.decode(bytes), has('CORRUPT', 'default-less'))
})

test('one schema may not serve two types', () => {
  const current = sample('old')
  throws(
    () =>
      codecOf([
        { name: 'A', current, former: [] },
        { name: 'B', current, former: [] },
      ]),
    /A and B/,
  )
})

const OLD_SAMPLE = { type: 'Sample', removed: 'x', list: ['y'], kept: 5n } as unknown as Writable
const NEW_SAMPLE = {
  type: 'Sample',
  kept: 5n,
  added: 7,
  words: ['a'],
  level: 'dry-run',
} as unknown as Writable

function sample(version: 'old' | 'new'): Schema {
  const kept = { name: 'kept', type: { type: 'long', logicalType: 'offset' } }
  const strings = { type: 'array', items: 'string' }
  const level = { type: 'enum', name: 'Level', symbols: ['guarded', 'dry_run'] }
  if (version === 'old') {
    return record(
      { name: 'removed', type: 'string', default: 'none' },
      { name: 'list', type: strings, default: [] },
      kept,
    )
  }
  return record(
    kept,
    { name: 'added', type: ['null', 'long'], default: null },
    { name: 'words', type: strings, default: [] },
    { name: 'level', type: level, default: 'guarded' },
  )
}

function record(...fields: readonly { name: string; type: Schema; default?: unknown }[]): Schema {
  return { type: 'record', name: 'Sample', namespace: 'kinfold', fields }
}

function objectAdded(): ObjectAdded {
  return { type: 'ObjectAdded', cluster: 'c1', epoch: 4, sync: 4_000_001, object: object() }
}

function object(): ObjectMeta {
  return {
    group: 'apps',
    kind: 'ReplicaSet',
    namespace: 'shop',
    name: 'web-5d4f',
    uid: '8f0c6f0e-9f3c-4f51-9d0a-1c2b3d4e5f61',
    version: 'v1',
    resource: 'replicasets',
    scope: 'Namespaced',
    resourceVersion: '123456',
    generation: 2,
    createdAt: 1_790_000_000_000,
    deletedAt: null,
    graceSeconds: null,
    finalizers: ['foregroundDeletion'],
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        name: 'web',
        uid: '1f0c6f0e-9f3c-4f51-9d0a-1c2b3d4e5f61',
        controller: true,
        blockOwnerDeletion: null,
      },
    ],
    labels: [{ key: 'app', value: 'web' }],
    annotations: [],
    projected: null,
  }
}

function heartbeat(kinds: number): Heartbeat {
  const kind = { group: 'apps', kind: 'ReplicaSet', ageMs: 12 }
  return { type: 'Heartbeat', cluster: '', epoch: 0, kinds: new Array(kinds).fill(kind) }
}

/** A length that bytes claim to have would cost minutes. */
const MOST_CPU_US = 1_000_000

function decodeOrCorrupt(bytes: Uint8Array): void {
  const before = process.cpuUsage()
  try {
    const record = codec.decode(bytes)
    equal(typeof record.type, 'string')
  } catch (error) {
    ok(has('CORRUPT')(error), String(error))
  }
  // Of processor time: other work on the machine takes none of it.
  const { user, system } = process.cpuUsage(before)
  ok(user + system < MOST_CPU_US)
}

function has(code: CodecErrorCode, text = ''): (error: unknown) => boolean {
  return (error) => {
    ok(error instanceof CodecError, String(error))
    equal(error.code, code)
    ok(error.message.includes(text), error.message)
    return true
  }
}
