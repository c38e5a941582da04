/**
 * `node scripts/kills.ts [--kills N] [--dependents N] [--seed N] [--data DIR]`: kills `kinfold up`
 * with SIGKILL at random moments of a cascade on a real API server, starts it again each time, and
 * reports whether the result is right. Exit code 1 if it is not.
 *
 * What must stay true: moments follow from the seed, as far as two processes allow; every finding
 * is reported, none is fatal to the others.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startControlPlane } from '../testing/cluster/control-plane.ts'
import { eventually } from '../testing/eventually.ts'
import { runKinfold } from '../testing/process/kinfold-command.ts'
import { unsettledCommands } from '../testing/process/kinfold-log.ts'
import { KinfoldProcess, logFile } from '../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  type Draft,
  type Made,
  make,
  makeAll,
  missingOf,
  type Requests,
  remove,
  SECRET,
  uidsOf,
} from '../testing/process/objects.ts'
import { type Chance, seeded } from '../testing/seeded.ts'

export interface KillOptions {
  readonly plane: Requests & { readonly kubeconfig: string }
  readonly data: string
  readonly kills: number
  readonly dependents: number
  readonly seed: number
  readonly say: (line: string) => void
}

export interface KillReport {
  /** Objects left when each kill was done, in order. */
  readonly leftAtKills: readonly number[]
  readonly garbageLeft: number
  /** Names of objects that should have stayed and did not. */
  readonly wronglyGone: readonly string[]
  readonly unsettled: readonly string[]
  /** Of `kinfold audit verify`. */
  /** `code` is null when it was ended by a signal. */
  readonly audit: { readonly code: number | null; readonly text: string }
}

/** The share of kills soon after the start, whatever has been done by then. */
const EARLY_SHARE = 0.25
const EARLY_WITHIN_MS = 2_500
/** Of the objects left by the kill before: the last kills have to come before the end, too. */
const largestShare = (kills: number): number => Math.min(0.3, 3 / kills)
const SET = 'doomed'
const MIDDLES = 20
const BYSTANDERS = 100
const ASKED_AT_ONCE = 50

export async function killDuringCascade(options: KillOptions): Promise<KillReport> {
  const { plane, data, kills, dependents, seed, say } = options
  const chance = seeded(seed)
  const start = { kubeconfig: plane.kubeconfig, data }
  let kinfold = await KinfoldProcess.start(start)
  try {
    const { root, last, doomed, bystanders } = await makeObjects(options)
    await eventually('the last dependents are seen', async () => {
      return (await kinfold.verdicts(last)).every((verdict) => verdict === 'keep')
    })
    await remove(plane, root)
    const leftAtKills: number[] = []
    for (let kill = 0; kill < kills; kill++) {
      const moment = momentOf(chance, kill === 0, kills)
      await untilMoment(plane, moment, leftAtKills.at(-1) ?? dependents, kinfold)
      await kinfold.kill()
      leftAtKills.push(await left(plane))
      say(`killed ${moment.early ? 'early' : 'at work'}, ${leftAtKills.at(-1)} objects left`)
      kinfold = await KinfoldProcess.spawn(start)
    }
    await kinfold.ready()
    await finished(plane, kinfold, doomed)
    const garbageLeft = await left(plane)
    const wronglyGone = await missingOf(plane, bystanders)
    await kinfold.stop()
    const unsettled = await unsettledCommands(data)
    const { code, stdout, stderr } = await runKinfold(['audit', 'verify', '--data', data])
    const audit = { code, text: (stdout + stderr).trim() }
    return { leftAtKills, garbageLeft, wronglyGone, unsettled, audit }
  } finally {
    await kinfold.kill()
  }
}

export function isGood({ garbageLeft, wronglyGone, unsettled, audit }: KillReport): boolean {
  return garbageLeft + wronglyGone.length + unsettled.length === 0 && audit.code === 0
}

interface Moment {
  /**
   * Soon after the start, ready or not; otherwise when this share of the objects left by the last
   * kill is deleted.
   */
  readonly early: boolean
  readonly afterMs: number
  readonly share: number
}

function momentOf(chance: Chance, isFirst: boolean, kills: number): Moment {
  const early = chance.next() < EARLY_SHARE && !isFirst
  return {
    early,
    afterMs: chance.next() * EARLY_WITHIN_MS,
    share: largestShare(kills) * chance.next(),
  }
}

async function untilMoment(
  plane: Requests,
  { early, afterMs, share }: Moment,
  before: number,
  kinfold: KinfoldProcess,
): Promise<void> {
  if (early) return void (await delay(afterMs))
  const enough = before * (1 - share)
  const look = async (): Promise<boolean | string> => {
    if (!kinfold.isRunning) throw new Error('kinfold ended by itself')
    const count = await left(plane)
    return count <= enough || `${count} left`
  }
  await eventually(`at most ${Math.round(enough)} objects are left`, look, { everyMs: 10 })
}

/**
 * An object whose deletion it has not observed it may ask for once more, up to the moment it is
 * stopped.
 */
async function finished(
  plane: Requests,
  kinfold: KinfoldProcess,
  doomed: readonly Made[],
): Promise<void> {
  await eventually('all garbage goes', async () => {
    const count = await left(plane)
    return count === 0 || `${count} left`
  })
  for (let from = 0; from < doomed.length; from += ASKED_AT_ONCE) {
    const some = doomed.slice(from, from + ASKED_AT_ONCE)
    await eventually('it knows that all of it is gone', async () => {
      return (await kinfold.verdicts(some)).every((verdict) => verdict === 'unseen')
    })
  }
  await kinfold.settled()
}

async function left(plane: Requests): Promise<number> {
  const sets = await Promise.all([CONFIG_MAP, SECRET].map((of) => uidsOf(plane, of, SET)))
  return sets.reduce((sum, { size }) => sum + size, 0)
}

interface Objects {
  readonly root: Made
  /** Everything that depends on it alone. */
  readonly doomed: readonly Made[]
  /** The last ones made. */
  readonly last: readonly Made[]
  /** Each has a live owner among its owners, or none at all. */
  readonly bystanders: readonly Made[]
}

async function makeObjects({ plane, dependents }: KillOptions): Promise<Objects> {
  const root = await make(plane, { kind: CONFIG_MAP, name: 'root' })
  const solid = await make(plane, { kind: CONFIG_MAP, name: 'solid' })
  const middles = await makeAll(
    plane,
    drafts(MIDDLES, 'middle', () => [root]),
  )
  const leafCount = dependents - MIDDLES
  const leaves = await makeAll(
    plane,
    drafts(leafCount, 'leaf', (i) => [middles[i % MIDDLES]!]),
  )
  const bystanders = await makeAll(
    plane,
    Array.from({ length: BYSTANDERS }, (_, i) => {
      const owners = [[], [solid], [root, solid]][i % 3]!
      return { kind: SECRET, name: `bystander-${i}`, owners }
    }),
  )
  const last = [
    ...leaves.slice(-MIDDLES),
    ...bystanders.filter((_, i) => i % 3 > 0).slice(-MIDDLES),
  ]
  return { root, last, doomed: [...middles, ...leaves], bystanders: [...bystanders, solid] }
}

function drafts(count: number, name: string, owners: (i: number) => readonly Made[]): Draft[] {
  return Array.from({ length: count }, (_, i) => {
    return {
      kind: i % 2 === 0 ? CONFIG_MAP : SECRET,
      name: `${name}-${i}`,
      set: SET,
      owners: owners(i),
    }
  })
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '20' },
      dependents: { type: 'string', default: '5000' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      data: { type: 'string' },
    },
  })
  const [kills, dependents, seed] = [values.kills, values.dependents, values.seed].map(Number)
  const say = (line: string): void => console.log(line)
  say(`seed ${seed}`)
  const data = values.data ?? (await mkdtemp(join(tmpdir(), 'kinfold-kills-')))
  await using plane = await startControlPlane()
  const numbers = { kills: kills!, dependents: dependents!, seed: seed! }
  const report = await killDuringCascade({ plane, data, say, ...numbers })
  say(JSON.stringify(report, null, 2))
  process.exitCode = isGood(report) ? 0 : 1
  if (isGood(report) && values.data === undefined) {
    await rm(data, { recursive: true })
    await rm(logFile(data))
  } else {
    say(`its data directory is kept: ${data}`)
  }
}

if (import.meta.main) await main()
