/**
 * A place where a process of Kinfold runs, dies and is started again, as a supervisor does it: what it runs, its volume, its clock.
 *
 * What must stay true: one process at a time, and what it leaves behind is on its disk or on the log.
 */
import type { Chance } from '../testing/seeded.ts'
import type { Timeline } from './clock.ts'
import { Disk } from './disk.ts'
import type { Trap, Wall } from './incarnation.ts'
import { Incarnation } from './incarnation.ts'
import type { Process } from './process.ts'
import { startProcess } from './process.ts'
import type { WholeWorld } from './world.ts'

export interface Roles {
  readonly watches: boolean
  readonly folds: boolean
  readonly reaps: boolean
}

/** As a supervisor waits before it starts one again. */
const RESTART_MS = [2_000, 30_000] as const

export class Slot {
  readonly name: string
  readonly roles: Roles
  readonly disk: Disk = new Disk()
  readonly wall: Wall = { skewMs: 0, standsAt: undefined }
  process: Process | undefined
  readonly #world: WholeWorld
  readonly #time: Timeline
  readonly #chance: Chance
  /** Processes so far. */
  lives = 0
  /** Holds it down; nobody starts it until it is zero. */
  #holds = 0

  constructor(world: WholeWorld, name: string, roles: Roles, chance: Chance) {
    this.#world = world
    this.#time = world.time
    this.name = name
    this.roles = roles
    this.#chance = chance
  }

  get isRunning(): boolean {
    return this.process !== undefined
  }

  start(): void {
    if (this.process !== undefined || this.#holds > 0) return
    const incarnation = new Incarnation(`${this.name}.${++this.lives}`)
    const process = startProcess(this.#world, this, incarnation)
    this.process = process
    this.#world.trace.note('start', incarnation.name)
    process.ended.then(
      () => this.#over(process, undefined),
      (error: unknown) => this.#over(process, error),
    )
  }

  /** As kill -9, at any moment. */
  kill(): void {
    const { process } = this
    if (process === undefined) return
    this.process = undefined
    process.incarnation.kill()
    this.#world.buried.push(process)
    this.#world.trace.note('kill', process.incarnation.name)
    this.#startSoon()
  }

  /** The next crossing of that kind is its last. */
  arm(trap: Omit<Trap, 'sprung'>, sprung: () => void): void {
    const { process } = this
    process?.incarnation.setTrap({
      ...trap,
      sprung: () => {
        sprung()
        if (this.process === process) this.kill()
      },
    })
  }

  disarm(): void {
    this.process?.incarnation.setTrap(undefined)
  }

  /** As a signal asks for: it ends by itself and is started again. */
  terminate(): void {
    this.process?.stop.abort(new Error('asked to end'))
  }

  /** Until the answer is called it stays down. */
  holdDown(): () => void {
    this.#holds++
    this.kill()
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holds--
      this.start()
    }
  }

  #over(process: Process, error: unknown): void {
    if (this.process !== process) return
    this.process = undefined
    // What it left under way must not go on beside its successor.
    process.incarnation.kill()
    this.#world.buried.push(process)
    this.#world.trace.note('end', `${process.incarnation.name}: ${String(error ?? 'asked to')}`)
    if (error !== undefined) this.#world.diedOf(this, error)
    this.#startSoon()
  }

  #startSoon(): void {
    const [least, most] = RESTART_MS
    const waitMs = least + this.#chance.below(most - least)
    this.#time.at(this.#time.monotonicMs() + waitMs, () => {
      if (!this.#world.isOver) this.start()
    })
  }
}
