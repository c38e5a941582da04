/** What a restore plans in other clusters, of archives of three that name each other. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { archivedPieces } from '../../runtime/archive/archive-record.ts'
import { indexArchive } from '../../services/restore/archive-reader.ts'
import { identityIn } from '../../services/restore/selection.ts'
import { type AcrossPlan, planAcross } from './restore-across.ts'

const SIGNAL = new AbortController().signal
const TRUST = { keys: new Map(), allowPlaintext: true }
const codec = avroCodec()

/** `CLUSTER/NAME`, and the owner that it names, alike. */
type Naming = readonly [object: string, owner: string]

async function planOf(root: string, all: readonly Naming[]): Promise<AcrossPlan> {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  for (const [object, owner] of all) {
    const [cluster = '', name = ''] = object.split('/')
    const [of = '', named = ''] = owner.split('/')
    const text = `${of}//ConfigMap/hub/${named}/u-${named}`
    const annotations = owner === '' ? {} : { 'kinfold.io/owner': text }
    const metadata = { name, namespace: 'hub', uid: `u-${name}`, annotations }
    const about = {
      ...{ cluster, uid: `u-${name}`, group: '', kind: 'ConfigMap', namespace: 'hub', name },
      ...{ version: 'v1', resource: 'configmaps', resourceVersion: '7', ownerReferences: [] },
      ...{ command: '', createdAt: 1_000, at: 2_000, rule: '', content: 'whole' as const },
    }
    const content = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }))
    for (const piece of archivedPieces(about, content, undefined)) {
      await log.append('archive', 0, [{ key: cluster, value: codec.encode(piece) }])
    }
  }
  const [cluster = '', name = ''] = root.split('/')
  const index = await indexArchive(log, codec, { cluster, trust: TRUST }, SIGNAL)
  const owner = index.objects.get(`u-${name}`)
  const asked = {
    from: { cluster, owners: owner === undefined ? [] : [identityIn(owner)] },
    ...{ namers: index.namers, sites: [], trust: TRUST, at: undefined },
    wishes: { lost: 'refuse', controlled: false, included: new Set<never>() } as const,
  }
  return await planAcross({ log, codec }, asked, SIGNAL)
}

function namesIn({ parts }: AcrossPlan): readonly (readonly [string, readonly string[]])[] {
  return parts.map(({ from, unplanned }) => [from, unplanned.map(({ name }) => name)])
}

test('what names the owner in two clusters is planned, and lacks nothing', async () => {
  const plan = await planOf('a/root', [
    ['a/root', ''],
    ['b/one', 'a/root'],
    ['c/two', 'a/root'],
  ])
  deepEqual(namesIn(plan), [
    ['b', ['one']],
    ['c', ['two']],
  ])
  equal(plan.partial, '')
})

test('what is found of a cluster that was planned before is said to be left out', async () => {
  const plan = await planOf('a/root', [
    ['a/root', ''],
    ['b/one', 'a/root'],
    ['c/two', 'a/root'],
    ['c/three', 'b/one'],
    ['a/four', 'c/two'],
  ])
  deepEqual(namesIn(plan), [
    ['b', ['one']],
    ['c', ['two']],
  ])
  const left = (of: string, far: string): string =>
    `what names owners of cluster ${of} in cluster ${far}, which was planned before, is left out (1): restore it by name, after this`
  equal(plan.partial, `${left('b', 'c')}; ${left('c', 'a')}`)
})
