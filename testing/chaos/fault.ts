/**
 * The faults of the services and brokers while they work: in rotation, so that each is reached,
 * with a victim by chance.
 *
 * What must stay true: of three brokers at most one is away; everything that was stopped runs again
 * after `heal`.
 */
import type { Kafka } from '../kafka/broker.ts'
import type { KinfoldServices, ServiceProcess } from '../process/kinfold-services.ts'
import { SERVICES } from '../process/kinfold-services.ts'
import type { Chance } from '../seeded.ts'

const FAULTS = [
  'kill graph',
  'pause graph',
  'kill reaper',
  'kill watcher',
  'kill broker',
  'pause reaper',
  'stop graph',
  'pause watcher',
] as const

export type Fault = (typeof FAULTS)[number]

export const FAULT_KINDS: number = FAULTS.length

export class Faults {
  readonly #services: KinfoldServices
  readonly #kafka: Kafka
  readonly #chance: Chance
  readonly counts: Map<Fault, number> = new Map()
  readonly #paused = new Set<ServiceProcess>()
  /** Killed or stopped by us. */
  readonly #down = new Set<ServiceProcess>()
  #deadBroker: number | undefined
  #next = 0

  constructor(services: KinfoldServices, kafka: Kafka, chance: Chance) {
    this.#services = services
    this.#kafka = kafka
    this.#chance = chance
  }

  /**
   * Processes that ended by themselves, with their last output: a supervisor restarts them, as this
   * test does, but a restart must not hide it.
   */
  readonly ended: string[] = []

  /** How many processes were killed. */
  get kills(): number {
    return [...this.counts]
      .filter(([fault]) => fault.startsWith('kill'))
      .reduce((sum, [, count]) => sum + count, 0)
  }

  /** Does the next ones; processes that were stopped before come back first. */
  async strike(atOnce: number): Promise<string> {
    await this.#comeBack()
    const done: Fault[] = []
    for (let left = atOnce; left > 0; left--) done.push(await this.#strikeOne())
    return done.join(', ')
  }

  async #strikeOne(): Promise<Fault> {
    const fault = FAULTS[this.#next++ % FAULTS.length]!
    if (fault === 'kill broker') {
      this.#count(fault)
      this.#deadBroker = 1 + this.#chance.below(3)
      await this.#kafka.broker(this.#deadBroker).kill()
      return fault
    }
    const victim = this.#victim(fault)
    // All of them are away already.
    if (victim === undefined) return fault
    this.#count(fault)
    if (fault.startsWith('pause')) {
      victim.pause()
      this.#paused.add(victim)
      return fault
    }
    this.#down.add(victim)
    await (fault.startsWith('stop') ? victim.stop() : victim.kill())
    return fault
  }

  /** Everything runs and no fault is active. */
  async heal(): Promise<void> {
    await this.#comeBack()
  }

  async #comeBack(): Promise<void> {
    for (const paused of this.#paused) paused.resume()
    this.#paused.clear()
    if (this.#deadBroker !== undefined) await this.#kafka.broker(this.#deadBroker).start()
    this.#deadBroker = undefined
    for (const each of this.#services.all) {
      if (this.#down.has(each) || each.isRunning) continue
      this.ended.push(await each.assertRunning().then(() => '', String))
    }
    this.#down.clear()
    await this.#services.start()
  }

  #count(fault: Fault): void {
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1)
  }

  #victim(fault: Fault): ServiceProcess | undefined {
    const service = SERVICES.find((name) => fault.endsWith(name))!
    const all = this.#services
      .of(service)
      .filter((each) => !this.#down.has(each) && !this.#paused.has(each))
    return all[this.#chance.below(all.length)]
  }
}
