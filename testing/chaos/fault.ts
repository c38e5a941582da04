/**
 * What is done to the services and brokers while they work: in rotation, so that each is reached, with a victim by chance.
 *
 * What must stay true: of three brokers at most one is away; everything that was stopped runs again after `heal`.
 */
import type { Kafka } from '../kafka/broker.ts'
import type { KinfoldServices, ServiceProcess } from '../kinfold-services.ts'
import { SERVICES } from '../kinfold-services.ts'
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

export class Faults {
  readonly #services: KinfoldServices
  readonly #kafka: Kafka
  readonly #chance: Chance
  readonly counts: Map<Fault, number> = new Map()
  readonly #paused = new Set<ServiceProcess>()
  /** Killed or stopped by us. */
  #down: ServiceProcess | undefined
  #deadBroker: number | undefined
  #next = 0

  constructor(services: KinfoldServices, kafka: Kafka, chance: Chance) {
    this.#services = services
    this.#kafka = kafka
    this.#chance = chance
  }

  /** Who ended by himself, and what he said: a supervisor starts him again, as we do here, but a new start must not hide it. */
  readonly ended: string[] = []

  /** How many processes were killed. */
  get kills(): number {
    return [...this.counts]
      .filter(([fault]) => fault.startsWith('kill'))
      .reduce((sum, [, count]) => sum + count, 0)
  }

  /** Does the next one; what was away before comes back first, in part. */
  async strike(): Promise<Fault> {
    const fault = FAULTS[this.#next++ % FAULTS.length]!
    await this.#comeBack()
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1)
    if (fault === 'kill broker') {
      this.#deadBroker = 1 + this.#chance.below(3)
      await this.#kafka.broker(this.#deadBroker).kill()
      return fault
    }
    const victim = this.#victim(fault)
    if (fault.startsWith('pause')) {
      victim.pause()
      this.#paused.add(victim)
      return fault
    }
    this.#down = victim
    await (fault.startsWith('stop') ? victim.stop() : victim.kill())
    return fault
  }

  /** Everything runs and nothing stands in the way. */
  async heal(): Promise<void> {
    await this.#comeBack()
  }

  async #comeBack(): Promise<void> {
    for (const paused of this.#paused) paused.resume()
    this.#paused.clear()
    if (this.#deadBroker !== undefined) await this.#kafka.broker(this.#deadBroker).start()
    this.#deadBroker = undefined
    for (const each of this.#services.all) {
      if (each === this.#down || each.isRunning) continue
      this.ended.push(await each.assertRunning().then(() => '', String))
    }
    this.#down = undefined
    await this.#services.start()
  }

  #victim(fault: Fault): ServiceProcess {
    const service = SERVICES.find((name) => fault.endsWith(name))!
    const all = this.#services.of(service)
    return all[this.#chance.below(all.length)]!
  }
}
