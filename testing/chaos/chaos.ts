/**
 * Rounds of a churning cluster, with faults while it churns and a quiet window after each, in which
 * everything must become right.
 *
 * What must stay true: no object that has a live owner is ever missing, at any check; after each
 * window the cluster holds exactly the expected objects.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startControlPlane } from '../cluster/control-plane.ts'
import { eventually } from '../eventually.ts'
import { startKafka } from '../kafka/broker.ts'
import { KinfoldServices } from '../process/kinfold-services.ts'
import { seeded } from '../seeded.ts'
import { explain } from './explain.ts'
import { Faults } from './fault.ts'
import { checkRecord, type RecordReport } from './record.ts'
import { World } from './world.ts'

export interface ChaosOptions {
  readonly minutes: number
  readonly seed: number
  /** Concurrent faults; by default 1. */
  readonly atOnce?: number
  readonly tell?: (line: string) => void
}

export interface ChaosReport {
  readonly rounds: number
  readonly kills: number
  readonly faults: Readonly<Record<string, number>>
  /** Processes that ended by themselves, with the end of their logs. */
  readonly ended: readonly string[]
  readonly living: number
  readonly record: RecordReport
  /** From the end of the faults of a round until all was right, in milliseconds. */
  readonly convergedMs: readonly number[]
}

const PARTITIONS = 4
const EACH = 2
/** The time between two faults: more than a group's session, so that partitions move in between. */
const FAULT_EVERY_MS = 7_000
const FAULTS_PER_ROUND = 3
/** Two busy cores, a lease of 15 s, commands that wait for their time. */
const CONVERGE_WITHIN_MS = 180_000

export async function runChaos({
  minutes,
  seed,
  atOnce = 1,
  tell = () => {},
}: ChaosOptions): Promise<ChaosReport> {
  const chance = seeded(seed)
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'kinfold-chaos-'))
  resources.defer(async () => await rm(folder, { recursive: true, force: true }))
  const [plane, kafka] = await Promise.all([
    startControlPlane(),
    startKafka({ brokers: 3, own: true }),
  ])
  resources.use(plane)
  resources.use(kafka)
  const services = resources.use(
    new KinfoldServices({
      kubeconfig: plane.kubeconfig,
      brokers: kafka.bootstrap,
      application: kafka.application,
      folder,
      partitions: PARTITIONS,
      each: EACH,
      standbys: 1,
    }),
  )
  await services.start()
  await services.ready()
  const world = new World(plane, chance)
  await world.prepare()
  const faults = new Faults(services, kafka, chance)
  const until = performance.now() + minutes * 60_000
  const convergedMs: number[] = []
  do {
    await oneRound(world, faults, atOnce, tell)
    const began = performance.now()
    try {
      await converge(world, services)
    } catch (error) {
      tell(await explain(services, world.left))
      throw error
    }
    convergedMs.push(Math.round(performance.now() - began))
    const last = convergedMs.at(-1)
    tell(
      `round ${convergedMs.length}: ${world.size} live, right after ${last} ms, ${faults.kills} kills`,
    )
  } while (performance.now() < until)
  await Promise.all(services.all.map((each) => each.stop()))
  return {
    rounds: convergedMs.length,
    kills: faults.kills,
    faults: Object.fromEntries(faults.counts),
    ended: faults.ended,
    living: world.size,
    record: await checkRecord(kafka, services),
    convergedMs,
  }
}

/** Changes spread over the time that the faults take. */
async function oneRound(
  world: World,
  faults: Faults,
  atOnce: number,
  tell: (line: string) => void,
): Promise<void> {
  let isOver = false
  const striking = (async () => {
    for (let left = FAULTS_PER_ROUND; left > 0; left--) {
      tell(await faults.strike(atOnce))
      await delay(FAULT_EVERY_MS)
    }
    await faults.heal()
    isOver = true
  })()
  striking.catch(() => undefined)
  for await (const _ of world.round()) if (!isOver) await delay(PACE_MS)
  await striking
}

/** Between two changes while faults are active. */
const PACE_MS = 200

async function converge(world: World, services: KinfoldServices): Promise<void> {
  await eventually(
    'the cluster holds exactly what it should',
    async () => {
      for (const each of services.all) await each.assertRunning()
      const difference = await world.difference()
      // A lost object does not come back.
      if (difference !== true && difference.startsWith('WRONG')) throw new WrongDelete(difference)
      return difference
    },
    { withinMs: CONVERGE_WITHIN_MS, everyMs: 250 },
  )
}

class WrongDelete extends Error {}
