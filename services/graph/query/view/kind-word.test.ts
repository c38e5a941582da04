/**
 * A kind's short names are those that its cluster gives it, and no name of a kind is taken for one.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import type { GroupKind } from '../../../../core/model/object.ts'
import { LogError } from '../../../../ports/log.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { KindWords } from './kind-word.ts'

const POD = { group: '', kind: 'Pod', resource: 'pods', shortNames: ['po'] }
const DEPLOYMENT = {
  group: 'apps',
  kind: 'Deployment',
  resource: 'deployments',
  shortNames: ['deploy'],
}
const WIDGET = { group: 'x.io', kind: 'Widget', resource: 'widgets', shortNames: ['wd', 'po'] }
const ODD = { group: 'y.io', kind: 'Odd', resource: 'odds', shortNames: ['pods', 'deployment'] }
const ALL = [POD, DEPLOYMENT, WIDGET, ODD]

const cases: readonly (readonly [word: string, ...meant: readonly string[]])[] = [
  ['wd', 'Widget'],
  ['WD', 'Widget'],
  ['wd.x.io', 'Widget'],
  ['wd.v1.x.io', 'Widget'],
  ['wd.y.io'],
  ['deploy', 'Deployment'],
  ['deploy.apps', 'Deployment'],
  ['deploys'],
  ['po', 'Pod', 'Widget'],
  ['pods', 'Pod'],
  ['deployment', 'Deployment'],
  ['odd', 'Odd'],
  ['w'],
  ['.'],
  [''],
]

async function wordsOf(kinds: readonly (typeof POD)[]) {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await tell(log, kinds)
  return { log, clock, words: new KindWords({ log, codec, clock }) }
}

async function tell(log: MemoryLog, kinds: readonly (typeof POD)[]): Promise<void> {
  const rest = { resourceVersion: '', sync: 0, projection: '', partition: 0 }
  const own = { type: 'Watermark', cluster: 'c', epoch: 1, clusterEpoch: 1, ...rest } as const
  const records = kinds.map((kind) => {
    return { key: `c/${kind.group}/${kind.kind}`, value: codec.encode({ ...own, ...kind }) }
  })
  await log.append('watermarks', 0, records)
}

for (const [word, ...meant] of cases) {
  test(`"${word}" means ${meant.join(' and ') || 'nothing'}`, async () => {
    const { words } = await wordsOf(ALL)
    const it = await words.of(word)
    const fits = ALL.filter((kind) => it.is(kind, { ...kind, versions: ['v1'] }))
    deepEqual(
      fits.map(({ kind }) => kind),
      meant,
    )
  })
}

test('a kind that nobody told of is still known by its name', async () => {
  const { words } = await wordsOf([POD])
  equal((await words.of('gadget')).is({ group: 'x.io', kind: 'Gadget' }, undefined), true)
})

test('what another version, or nobody, can read is left out', async () => {
  const { log, words } = await wordsOf([WIDGET])
  await log.append('watermarks', 0, [
    { key: 'c//Pod', value: new Uint8Array([0xc3, 1, 2, 3]) },
    { key: 'c//Gone', value: null },
  ])
  equal((await words.of('wd')).is(WIDGET, undefined), true)
})

test('the plural of a kind is the one of its own cluster', async () => {
  const { words } = await wordsOf(ALL)
  equal(await words.resourceOf({ cluster: 'c', group: 'x.io', kind: 'Widget' }), 'widgets')
  equal(await words.resourceOf({ cluster: 'c', group: '', kind: 'Widget' }), undefined)
  equal(await words.resourceOf({ cluster: 'd', group: 'x.io', kind: 'Widget' }), undefined)
})

test('new kinds are known within seconds, and what was read holds while the log is away', async () => {
  const { log, clock, words } = await wordsOf([POD])
  const isWidget = async (): Promise<boolean> => {
    const widget: GroupKind = WIDGET
    return (await words.of('wd')).is(widget, undefined)
  }
  equal(await isWidget(), false)
  await tell(log, [WIDGET])
  equal(await isWidget(), false)
  await clock.advance(10_000)
  equal(await isWidget(), true)
  await clock.advance(10_000)
  log.latest = async () => {
    throw new LogError('UNAVAILABLE', 'away')
  }
  equal(await isWidget(), true)
})
