/**
 * Beside another collector: what both would delete, what only one would, and what is unclear.
 * Stories through the real fold.
 */

import { deepEqual, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { MemoryStore } from '../../../adapters/memory/store.ts'
import { policyOf } from '../../../core/graph/graph.ts'
import type { Lineage } from '../../../ports/record/lineage.ts'
import { World } from '../../../testing/model/story.ts'
import { appendAll, codec, runTask, taskStore } from '../../../testing/rig/task-rig.ts'
import { readerOf } from '../query/view/view.ts'
import { Shadow } from './shadow.ts'
import { departureOf } from './shadow-case.ts'
import { lagBucket, quantile } from './shadow-lag.ts'
import type { ShadowReport } from './shadow-report.ts'
import { PATIENCE_MS } from './shadow-report.ts'

interface Rig {
  /** Lines of a story, folded and compared. */
  tell(...lines: string[]): Promise<void>
  /** Log time advances, and nothing happens. */
  wait(ms: number): void
  report(): Promise<ShadowReport>
  restart(): Promise<void>
}

async function rig(t: TestContext): Promise<Rig> {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const store = taskStore()
  const comparison = new MemoryStore()
  const running = runTask(log, store)
  const world = new World()
  const told: Parameters<typeof world.tell>[0][] = []
  const tell = world.tell.bind(world)
  world.tell = (event) => {
    told.push(event)
    return tell(event)
  }
  let waited = 0
  let shadow: Shadow
  let stop = new AbortController()
  let ended = Promise.resolve()
  const start = (): void => {
    stop = new AbortController()
    shadow = new Shadow({
      ...{ log, codec, clock, store: comparison },
      mode: () => {
        const { position, policy } = policyOf(readerOf(store, codec))
        return position < 0n ? undefined : policy.mode
      },
      now: () => clock.now() + waited,
    })
    ended = shadow.run(stop.signal)
  }
  start()
  t.after(async () => {
    stop.abort()
    await ended
    await running[Symbol.asyncDispose]()
  })
  const compared = async (): Promise<void> => {
    await appendAll(log, told.splice(0))
    await running.caughtUp()
    await clock.advance(2_000)
  }
  world.begin()
  await compared()
  return {
    async tell(...lines) {
      for (const line of lines) {
        world.step(line)
        await compared()
      }
    },
    wait: (ms) => {
      waited += ms
    },
    report: async () => await shadow.report(),
    async restart() {
      stop.abort()
      await ended
      start()
      await clock.advance(2_000)
    },
  }
}

/** `agreement KIND/NAME because`, of those that differ. */
async function casesOf({ report }: Pick<Rig, 'report'>): Promise<string[]> {
  const { cases } = await report()
  return cases.map(
    ({ agreement, kind, name, because }) => `${agreement} ${kind}/${name} ${because}`,
  )
}

async function countsOf({ report }: Pick<Rig, 'report'>): Promise<Record<string, number>> {
  const [count] = (await report()).clusters
  const { agreed = 0, theirs = 0, ours = 0, unclear = 0, pending = 0 } = count ?? {}
  return { agreed, theirs, ours, unclear, pending }
}

const NONE = { agreed: 0, theirs: 0, ours: 0, unclear: 0, pending: 0 }

test('what both take is agreed upon, whether it goes at once, slowly or in the foreground', async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web')
  await it.tell('delete rs/web')
  deepEqual(await countsOf(it), { ...NONE, pending: 2 })
  await it.tell('delete pod/a', 'put pod/b <- rs/web [deleting]')
  deepEqual(await countsOf(it), { ...NONE, agreed: 2 })
  await it.tell('delete pod/b')
  deepEqual(await countsOf(it), { ...NONE, agreed: 2 }, 'it counts once')
  await it.tell(
    'put deploy/web',
    'put rs/v2 <- deploy/web!',
    'put deploy/web [deleting foreground]',
  )
  await it.tell('delete rs/v2', 'delete deploy/web')
  deepEqual(await countsOf(it), { ...NONE, agreed: 3 })
  deepEqual(await casesOf(it), [])
})

test('what Kinfold would not have taken is told with the reason', async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'put rs/web', 'put pod/old <- rs.v0/web', 'delete rs/web')
  await it.tell('delete pod/old')
  await it.tell('put rs/free', 'put pod/kept <- rs/free', 'put rs/free [deleting orphan]')
  await it.tell('delete pod/kept')
  await it.tell('many 300 rs/r#', 'put pod/mass <- rs/r0', 'lose-many 101 rs/r#', 'relist rs')
  deepEqual((await countsOf(it))['pending'], 0, 'it waits for approval, not for the other one')
  await it.tell('delete pod/mass')
  const cases = (await casesOf(it)).reverse()
  equal(cases.length, 3)
  match(cases[0] ?? '', /^unclear Pod\/old owner ReplicaSet "web": it cannot be looked up/)
  match(cases[1] ?? '', /^theirs Pod\/kept owner ReplicaSet "free": it asked to orphan/)
  match(
    cases[2] ?? '',
    /^theirs Pod\/mass delete: ReplicaSet "r0" no longer exists; held by approval: /,
  )
  deepEqual(await countsOf(it), { ...NONE, theirs: 2, unclear: 1 })
})

test('for a kind of which no object can be read upstream deletes, and that is told', () => {
  const departed = (kind: string): string | undefined => {
    const owner = { kind, name: 'web', uid: 'u', standing: 'unresolvable' }
    return departureOf({ owners: [owner] } as unknown as Lineage, undefined)?.agreement
  }
  const kinds = ['PodList', 'Binding', 'TokenReview', 'Pod', 'Listing', 'RoleBinding']
  deepEqual(kinds.map(departed), ['theirs', 'theirs', 'theirs', 'unclear', 'unclear', 'unclear'])
})

test('what is protected would not have gone, and the reason says by what', async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'put rs/web in prod')
  const safe = 'put pod/safe in prod <- rs/web [annotation:kinfold.dev/protected=yes]'
  await it.tell(safe, 'delete rs/web in prod')
  deepEqual(await countsOf(it), NONE)
  await it.tell('delete pod/safe in prod')
  const [told = ''] = await casesOf(it)
  match(told, /^theirs Pod\/safe delete: .*; held by protection: /)
})

test('an order, which cannot stop the other collector, makes no difference (C1)', async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'protect namespace/prod', 'pause')
  await it.tell('put rs/web in prod', 'put pod/safe in prod <- rs/web', 'delete rs/web in prod')
  await it.tell('delete pod/safe in prod')
  deepEqual(await countsOf(it), { ...NONE, agreed: 1 })
})

test('what the other one leaves is told once its time is over, and counts as late when it goes after all', async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'put rs/web', 'put pod/a <- rs/web', 'delete rs/web')
  it.wait(PATIENCE_MS)
  deepEqual(await countsOf(it), { ...NONE, ours: 1 })
  deepEqual(await casesOf(it), ['ours Pod/a ReplicaSet "web" no longer exists; it is still there'])
  await it.tell('delete pod/a')
  deepEqual(await countsOf(it), { ...NONE, agreed: 1 })
})

test('what would have gone and is given another owner is told', async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'put rs/web', 'put rs/new', 'put pod/a <- rs/web')
  await it.tell('delete rs/web', 'put pod/a <- rs/new')
  deepEqual(await countsOf(it), { ...NONE, ours: 1 })
  const [told = ''] = await casesOf(it)
  match(told, /^ours Pod\/a ReplicaSet "web" no longer exists; kept after all: keep: /)
})

test("what goes beside a living owner is nobody's, unless the owner proves to have gone before", async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web')
  await it.tell('delete pod/a')
  deepEqual(await countsOf(it), { ...NONE, unclear: 1 })
  await it.tell('delete rs/web')
  deepEqual(await countsOf(it), { ...NONE, agreed: 1, pending: 1 }, 'two watches in no order')
  await it.tell('delete pod/b', 'put pod/c <- rs/ghost', 'delete pod/c')
  deepEqual(await countsOf(it), { ...NONE, agreed: 2, unclear: 1 })
})

test("an orphan deletion and a user's own deletes are no difference", async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'put rs/web', 'put pod/a <- rs/web', 'put pod/free')
  await it.tell('put rs/web [deleting orphan]', 'put pod/a', 'delete rs/web', 'delete pod/a')
  await it.tell('delete pod/free')
  deepEqual(await countsOf(it), NONE)
})

test('nothing is compared in another mode, and another time of mode observe begins with nothing', async (t) => {
  const it = await rig(t)
  await it.tell('put rs/web', 'put pod/a <- rs/web', 'delete rs/web', 'delete pod/a')
  equal((await it.report()).since, null)
  await it.tell(
    'policy observe parity',
    'put rs/x',
    'put pod/x <- rs/x',
    'delete rs/x',
    'delete pod/x',
  )
  deepEqual(await countsOf(it), { ...NONE, agreed: 1 }, 'what went before is no part of it')
  await it.tell(
    'policy enforce parity',
    'put rs/y',
    'put pod/y <- rs/y',
    'delete rs/y',
    'delete pod/y',
  )
  deepEqual(await countsOf(it), { ...NONE, agreed: 1 })
  equal((await it.report()).mode, 'enforce')
  await it.tell('policy observe parity')
  deepEqual(await countsOf(it), NONE)
})

test('a restart goes on where it was', async (t) => {
  const it = await rig(t)
  await it.tell('policy observe parity', 'put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web')
  await it.tell('delete rs/web', 'delete pod/a')
  await it.restart()
  await it.tell('delete pod/b')
  deepEqual(await countsOf(it), { ...NONE, agreed: 2 })
})

test('the median of the lags is right to a fifth', () => {
  const lags: Record<string, number> = {}
  for (let lag = 1; lag <= 1_001; lag++) lags[lagBucket(lag)] = (lags[lagBucket(lag)] ?? 0) + 1
  const median = quantile(lags, 0.5) ?? 0
  equal(median >= 500 && median <= 600, true, String(median))
  equal(quantile({}, 0.5), null)
  equal(quantile({ [lagBucket(0)]: 3 }, 0.99), 0)
})
