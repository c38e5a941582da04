/**
 * Runs scenarios against one collector on one control plane: those that stop it alone and first,
 * the others side by side.
 *
 * What must stay true: every scenario is reported, whatever the result of the others; one that is
 * reported as better may fail against upstream only.
 */
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts'
import { CLUSTER_ROLE, CONFIG_MAP } from '../process/objects.ts'
import { canary } from './canary.ts'
import { type Collector, type CollectorName, collectorOf, type Engine } from './collector.ts'
import { defineAll, REALM, WIDGET } from './kinds.ts'
import { isPicked, type Scenario } from './scenario.ts'
import { BACKGROUND } from './scenarios/background.ts'
import { FOREGROUNDS } from './scenarios/foreground.ts'
import { IDENTITIES } from './scenarios/identity.ts'
import { KINDS } from './scenarios/kind.ts'
import { LOADS } from './scenarios/load.ts'
import { ORPHANS } from './scenarios/orphan.ts'
import { REFUSALS } from './scenarios/refusal.ts'
import { RESTARTS } from './scenarios/restart.ts'
import { RINGS } from './scenarios/ring.ts'
import { makeWorld } from './world.ts'

/**
 * Kinds that are added and deleted come first: they take the longest, and wait most of the time.
 */
export const SCENARIOS: readonly Scenario[] = [
  ...RESTARTS,
  ...KINDS,
  ...LOADS,
  ...BACKGROUND,
  ...FOREGROUNDS,
  ...RINGS,
  ...ORPHANS,
  ...IDENTITIES,
  ...REFUSALS,
]

export interface SuiteOptions {
  readonly collector: CollectorName
  readonly partitions?: number
  readonly engine?: Engine
  /** SIGKILL and a new start when half of the scenarios side by side have given it work. */
  readonly kill?: boolean
  readonly only?: string
  /** For R2: the server reads from etcd instead of from its own cache. */
  readonly withoutWatchCache?: boolean
  readonly withinMs?: number
  readonly tell?: (result: Result) => void
}

export interface Result {
  readonly scenario: Scenario
  /** `weaker`: it failed where upstream may. */
  readonly outcome: 'passed' | 'failed' | 'weaker'
  readonly ms: number
  readonly error?: string
}

/**
 * Two busy cores; a kind that was just defined is watched at upstream's next look, up to 30 s
 * later.
 */
const WITHIN_MS = 90_000
/** Where upstream is expected to fail, the wait is short. */
const WEAKER_WITHIN_MS = 10_000
/** Side by side; more only wait in the server. */
const AT_ONCE = 12

export async function runSuite(options: SuiteOptions): Promise<Result[]> {
  const { collector: name, partitions = 1, engine, withoutWatchCache = false } = options
  const scenarios = SCENARIOS.filter((each) => isPicked(each, options.only))
  const apiserverArgs = withoutWatchCache ? ['--watch-cache=false'] : []
  await using plane = await startControlPlane({ apiserverArgs })
  await defineAll(plane)
  await using collector = collectorOf(name, plane, { partitions, ...(engine && { engine }) })
  await collector.start()
  const places = [CONFIG_MAP, CLUSTER_ROLE, WIDGET, REALM]
  await canary(
    plane,
    places.map((kind) => ({ kind, namespace: 'default' })),
  )
  return await runAll(scenarios, plane, collector, options)
}

async function runAll(
  scenarios: readonly Scenario[],
  plane: ControlPlane,
  collector: Collector,
  { kill = false, withinMs = WITHIN_MS, tell = () => {} }: SuiteOptions,
): Promise<Result[]> {
  const results: Result[] = []
  const beside = scenarios.filter(({ alone }) => !alone)
  const killing = kill ? killerOf(collector, Math.ceil(beside.length / 2)) : undefined
  const run = async (scenario: Scenario): Promise<void> => {
    const name = `s-${scenarios.indexOf(scenario)}`
    const onAct = scenario.alone ? undefined : killing?.onAct
    const patience = patienceFor(scenario, collector, withinMs)
    const result = await runOne(scenario, async () => {
      const options = { plane, collector, name, withinMs: patience, ...(onAct && { onAct }) }
      await scenario.run(await makeWorld(options))
    })
    const isExcused = result.outcome === 'failed' && mayFail(scenario, collector)
    const told: Result = isExcused ? { ...result, outcome: 'weaker' } : result
    results.push(told)
    tell(told)
  }
  for (const scenario of scenarios.filter(({ alone }) => alone)) {
    await run(scenario)
    // It may have failed while the collector was away.
    await collector.start()
  }
  const left = beside.values()
  const worker = async (): Promise<void> => {
    for (const scenario of left) await run(scenario)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  await killing?.done()
  return results
}

function mayFail({ better }: Scenario, { name }: Collector): boolean {
  return name === 'upstream' && better !== undefined
}

function patienceFor(scenario: Scenario, collector: Collector, withinMs: number): number {
  return mayFail(scenario, collector) ? Math.min(withinMs, WEAKER_WITHIN_MS) : withinMs
}

async function runOne(scenario: Scenario, work: () => Promise<void>): Promise<Result> {
  const began = performance.now()
  const result = (outcome: 'passed' | 'failed', error?: string): Result => ({
    scenario,
    outcome,
    ms: Math.round(performance.now() - began),
    ...(error !== undefined && { error }),
  })
  try {
    await work()
    return result('passed')
  } catch (error) {
    return result('failed', error instanceof Error ? error.message : String(error))
  }
}

/** Kills the collector once, when the `at`th scenario gives it work, and starts it again. */
function killerOf(
  collector: Collector,
  at: number,
): { readonly onAct: () => void; readonly done: () => Promise<void> } {
  let acted = 0
  let killed: Promise<void> | undefined
  const restart = async (): Promise<void> => {
    await collector.kill()
    await collector.start()
  }
  return {
    onAct: () => {
      acted += 1
      if (acted >= at) killed ??= restart()
    },
    async done() {
      if (killed === undefined) throw new Error('the collector was never killed: too few scenarios')
      await killed
    },
  }
}
