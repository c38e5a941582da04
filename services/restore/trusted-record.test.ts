/**
 * Attack f2: an intruder may write the topic `archive` and does not have its key. Each field of an
 * encrypted record changed, contents and pieces exchanged, records in plaintext, copies of former
 * ones: no such record is planned, and none hides an archived one.
 */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { identityOf } from '../../core/graph/identity.ts'
import type { Archived } from '../../ports/record/service-record.ts'
import { type ArchiveKey, openArchiveKey } from '../../runtime/archive/archive-key.ts'
import { type ArchivedAbout, archivedPieces } from '../../runtime/archive/archive-record.ts'
import { type ArchiveIndex, checkKeys, indexArchive, readBodies } from './archive-reader.ts'
import { subtreeOf } from './selection.ts'
import { untrustedText } from './trusted-record.ts'

const SIGNAL = new AbortController().signal
const folder = mkdtempSync(join(tmpdir(), 'trusted-record-'))
after(() => rmSync(folder, { recursive: true }))
const codec = avroCodec()

function keyOf(byte: number): ArchiveKey {
  const file = join(folder, `key-${byte}`)
  writeFileSync(file, Buffer.alloc(32, byte), { mode: 0o600 })
  return openArchiveKey(file)
}

const KEY = keyOf(1)

const OWNER = {
  ...{ apiVersion: 'v1', kind: 'ConfigMap', name: 'web', uid: 'u-web' },
  ...{ controller: true, blockOwnerDeletion: null },
}

const ABOUT: ArchivedAbout = {
  ...{ cluster: 'blue', uid: 'u-1', group: '', kind: 'ConfigMap', namespace: 'shop', name: 'cart' },
  ...{ version: 'v1', resource: 'configmaps', resourceVersion: '7', ownerReferences: [OWNER] },
  ...{ command: '0-1-0', createdAt: 1_000, at: 2_000, rule: '', content: 'whole' },
}

/** With a text that makes it as long as asked. */
function contentOf(
  { group, version, kind, name, namespace, uid }: ArchivedAbout,
  text = '',
): Buffer {
  const apiVersion = group === '' ? version : `${group}/${version}`
  const place = namespace === '' ? {} : { namespace }
  return Buffer.from(
    JSON.stringify({ apiVersion, kind, metadata: { name, ...place, uid }, data: { text } }),
  )
}

function sealed(change: Partial<ArchivedAbout> = {}, text = '', key = KEY): readonly Archived[] {
  const about = { ...ABOUT, ...change }
  return archivedPieces(about, contentOf(about, text), key)
}

function plain(change: Partial<ArchivedAbout> = {}, text = ''): readonly Archived[] {
  const about = { ...ABOUT, ...change }
  return archivedPieces(about, contentOf(about, text), undefined)
}

interface Given {
  readonly keys?: readonly ArchiveKey[]
  readonly allowPlaintext?: boolean
}

interface Known extends ArchiveIndex {
  readonly names: readonly string[]
  /** The texts of what counts. */
  readonly texts: () => Promise<readonly unknown[]>
}

async function known(
  records: readonly Archived[],
  { keys: given = [KEY], allowPlaintext = false }: Given = {},
): Promise<Known> {
  const log = new MemoryLog({ clock: new ManualClock(), partitions: 1 })
  const produced = records.map((record) => ({ key: 'blue/u-1', value: codec.encode(record) }))
  await log.append('archive', 0, produced)
  const keys = new Map(given.map((key) => [key.id, key]))
  const asked = { cluster: 'blue', trust: { keys, allowPlaintext } }
  const index = await indexArchive(log, codec, asked, SIGNAL)
  const chosen = [...index.objects.values()]
  const texts = async (): Promise<readonly unknown[]> => {
    checkKeys(chosen, keys)
    const bodies = await readBodies(log, codec, chosen, keys, SIGNAL)
    return chosen.map(
      ({ uid }) => (bodies.get(uid)?.['data'] as { text: unknown } | undefined)?.text,
    )
  }
  return { ...index, names: chosen.map(({ kind, name }) => `${kind}/${name}`), texts }
}

/** Each field of the head, and another value of it. */
const CHANGES: { readonly [Field in keyof Archived]?: Archived[Field] } = {
  uid: 'u-2',
  group: 'rbac.authorization.k8s.io',
  kind: 'ClusterRoleBinding',
  namespace: 'victim',
  name: 'admin',
  version: 'v2',
  resource: 'secrets',
  resourceVersion: '8',
  ownerReferences: [{ ...OWNER, uid: 'u-other' }],
  command: '',
  rule: 'previews',
  ownerElsewhere: 'north//ConfigMap/hub/region/u-2',
  createdAt: null,
  at: 3_000,
  content: 'metadata',
  nonce: new Uint8Array(12),
}

test('the fields that are changed below are all of a record but what tells pieces apart', () => {
  const [record] = sealed() as [Archived]
  const apart = ['type', 'cluster', 'keyId', 'digest', 'chunk', 'last', 'piece']
  deepEqual([...Object.keys(CHANGES), ...apart].sort(), Object.keys(record).sort())
})

for (const [field, value] of Object.entries(CHANGES)) {
  test(`T2: a record whose ${field} was changed does not count, and the one before it does`, async () => {
    const [record] = sealed({}, 'right') as [Archived]
    const { names, texts, untrusted } = await known([
      record,
      { ...record, at: 2_001, [field]: value },
    ])
    deepEqual([names, await texts()], [['ConfigMap/cart'], ['right']])
    deepEqual([untrusted.changed, untrusted.plaintext, untrusted.unopened], [1, 0, 0])
    match(untrustedText(untrusted), /^records that were changed .* are left out: 1$/)
  })
}

const REFERENCE_CHANGES = [
  { apiVersion: 'v2' },
  { kind: 'Secret' },
  { name: 'api' },
  { controller: null },
  { controller: false },
  { blockOwnerDeletion: true },
]
for (const change of REFERENCE_CHANGES) {
  test(`T2: an owner reference with another ${JSON.stringify(change)} does not count`, async () => {
    const [record] = sealed() as [Archived]
    const forged = { ...record, ownerReferences: [{ ...OWNER, ...change }] }
    deepEqual((await known([forged])).names, [])
  })
}

test('T2: an owner reference that was added or removed does not count', async () => {
  const [record] = sealed() as [Archived]
  const added = { ...record, ownerReferences: [OWNER, { ...OWNER, uid: 'u-3' }] }
  const removed = { ...record, ownerReferences: [] }
  const { names, untrusted } = await known([added, removed])
  deepEqual([names, untrusted.changed], [[], 2])
})

test('T2: a record of another cluster is none of this one', async () => {
  const [record] = sealed({ cluster: 'green' }) as [Archived]
  deepEqual((await known([{ ...record, cluster: 'blue' }])).names, [])
})

test('T2: a content under the head of another record does not count', async () => {
  const [cart] = sealed({}, 'right') as [Archived]
  const [other] = sealed({ uid: 'u-2', name: 'other' }, 'wrong') as [Archived]
  const { nonce, digest, piece } = other
  const { names, texts, untrusted } = await known([
    cart,
    { ...cart, at: 2_001, nonce, digest, piece },
  ])
  deepEqual([names, await texts(), untrusted.changed], [['ConfigMap/cart'], ['right'], 1])
})

test('T2: pieces in another order, or fewer of them, are no object', async () => {
  const pieces = sealed({}, 'x'.repeat(1_200_000)) as [Archived, Archived, Archived]
  const [first, second, third] = pieces
  equal((await known(pieces)).names.length, 1)
  const swapped = [first, { ...third, chunk: 1, last: false }, { ...second, chunk: 2, last: true }]
  const shorter = [first, { ...second, last: true }]
  // With the digest that fits them, so that nothing but the key finds it.
  const { createHash } = await import('node:crypto')
  for (const some of [swapped, shorter]) {
    const bytes = Buffer.concat(some.map(({ piece }) => piece))
    const digest = createHash('sha256').update(bytes).digest('hex')
    const { names, untrusted } = await known(some.map((piece) => ({ ...piece, digest })))
    deepEqual([names, untrusted.changed], [[], 1])
  }
})

test('T2: plaintext over what is encrypted does not count', async () => {
  const { names, texts, untrusted } = await known([
    ...sealed({}, 'right'),
    ...plain({ at: 3_000 }, 'POISONED'),
  ])
  deepEqual([names, await texts()], [['ConfigMap/cart'], ['right']])
  match(untrustedText(untrusted), /^records that are not encrypted, .* 1 \(--allow-plaintext/)
})

const BINDING = {
  ...{ uid: 'u-9', group: 'rbac.authorization.k8s.io', kind: 'ClusterRoleBinding', namespace: '' },
  ...{ name: 'mine', resource: 'clusterrolebindings', command: '', at: 3_000 },
  ownerReferences: [{ ...OWNER, kind: 'Namespace', name: 'shop', uid: 'u-shop' }],
}

const SHOP = identityOf('c', {
  ...{ group: '', kind: 'Namespace', namespace: '', name: 'shop', uid: 'u-shop' },
})

for (const [given, keys] of [
  ['its key is given', [KEY]],
  ['no key is given', []],
] as const) {
  test(`T2: a ClusterRoleBinding in plaintext is in no subtree of an encrypted archive, where ${given}`, async () => {
    const { objects } = await known([...sealed(), ...plain(BINDING)], { keys })
    deepEqual(subtreeOf(objects, SHOP), [])
    deepEqual([...objects.keys()], ['u-1'])
  })
}

test('T2: one that is encrypted with a key of the attacker is left out where a key is given', async () => {
  const other = keyOf(2)
  const { names, untrusted } = await known([...sealed(), ...sealed(BINDING, '', other)])
  deepEqual(names, ['ConfigMap/cart'])
  match(
    untrustedText(untrusted),
    new RegExp(`key that was not given \\(${other.id}\\) are left out: 1`),
  )
})

test('without a key the plan says that nothing is proven, and nothing is read', async () => {
  const { names, untrusted, texts } = await known(sealed(), { keys: [] })
  deepEqual(names, ['ConfigMap/cart'])
  match(
    untrustedText(untrusted),
    new RegExp(`\\(${KEY.id}\\) is shown without proof: name its file`),
  )
  await rejects(texts(), /is encrypted with the key .*: name the file of that key/)
})

test('T2: a copy of a former record, appended later, brings no former state back', async () => {
  const [former, last] = [sealed({ at: 1_500 }, 'former'), sealed({ at: 2_000 }, 'last')]
  deepEqual(await (await known([...former, ...last, ...former])).texts(), ['last'])
})

test('keys that replaced each other prove what each of them encrypted', async () => {
  const other = keyOf(2)
  const records = [...sealed({}, 'old'), ...sealed({ uid: 'u-2', name: 'other' }, 'new', other)]
  const { texts, untrusted } = await known(records, { keys: [KEY, other] })
  deepEqual([await texts(), untrustedText(untrusted)], [['old', 'new'], ''])
})

test('--allow-plaintext takes what is not encrypted, but not in place of what is', async () => {
  const records = [
    ...plain({ uid: 'u-0', name: 'before' }, 'before'),
    ...sealed({}, 'right'),
    ...plain({ at: 3_000 }, 'POISONED'),
  ]
  const { names, texts, untrusted } = await known(records, { allowPlaintext: true })
  deepEqual(names, ['ConfigMap/before', 'ConfigMap/cart'])
  deepEqual([await texts(), untrustedText(untrusted)], [['before', 'right'], ''])
})

test('an archive without a key is read as before', async () => {
  const { texts, untrusted } = await known(plain({}, 'plain'), { keys: [] })
  deepEqual([await texts(), untrustedText(untrusted)], [['plain'], ''])
})

const OTHERS = [
  { kind: 'Secret' },
  { name: 'other' },
  { namespace: 'victim' },
  { uid: 'u-2' },
  { group: 'apps' },
]
for (const other of OTHERS) {
  test(`a content with another ${Object.keys(other)[0]} than its head is not created`, async () => {
    const pieces = archivedPieces(ABOUT, contentOf({ ...ABOUT, ...other }), undefined)
    const { texts } = await known(pieces, { keys: [] })
    await rejects(texts(), /ConfigMap\/cart cannot be read .*: its content is of another object/)
  })
}

test('what was archived before its DELETE, and again when that was observed, keeps the rule of the former', async () => {
  const seen = { command: '', rule: '', resourceVersion: '8', at: 2_001 }
  const { objects, before, texts } = await known([
    ...sealed({ rule: 'previews' }, 'before'),
    ...sealed(seen, 'last'),
  ])
  deepEqual(await texts(), ['last'])
  deepEqual([objects.get('u-1')?.rule, before.get('u-1')?.rule], ['', 'previews'])
  // A later command of another cause has the word; one without an observed deletion is its own.
  const twice = [...sealed({ rule: 'previews' }), ...sealed({ command: '0-2-0', at: 2_001 })]
  equal((await known([...twice, ...sealed({ ...seen, at: 2_002 })])).before.get('u-1')?.rule, '')
  deepEqual((await known(twice)).before.size, 0)
})
