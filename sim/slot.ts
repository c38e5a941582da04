/**
 * A place where a process of Kinfold runs, dies and is started again, as a supervisor does it: its
 * loops, its volume, its clock.
 *
 * What must stay true: one process at a time, and its durable state is on its disk or on the log.
 *
 * Not here: the loops of a process (process.ts).
 */
import type { Graph } from '../services/graph/graph.ts'
import type { ConnectedCluster, Reaper } from '../services/reaper/reaper.ts'
import type { Watcher } from '../services/watcher/watcher.ts'
import type { Chance } from '../testing/seeded.ts'
import type { Timeline } from './clock.ts'
import { Disk } from './disk.ts'
import type { Trap, Wall } from './incarnation.ts'
import { Incarnation } from './incarnation.ts'
import type { Trace } from './trace.ts'

export interface Roles {
  readonly watches: boolean
  readonly folds: boolean
  readonly reaps: boolean
}

/** The running process, and the outside's handles of it. */
export interface Process {
  readonly incarnation: Incarnation
  /** As a signal asks for. */
  readonly stop: AbortController
  readonly watchers: readonly Watcher[]
  readonly graph: Graph | undefined
  readonly reaper: Reaper | undefined
  /** The clusters that its reaper met, each under the name that led there then. */
  readonly connected: readonly ConnectedCluster[]
  /** Rejects with the error it died of. Never settles once it was killed. */
  readonly ended: Promise<void>
}

/** The services of the world for a slot. */
export interface Host {
  readonly time: Timeline
  readonly trace: Trace
  /** Those that were killed. */
  readonly buried: Process[]
  /** No process is started any longer. */
  readonly isOver: boolean
  startProcess(slot: Slot, incarnation: Incarnation): Process
  diedOf(slot: Slot, error: unknown): void
}

/** As a supervisor waits before it starts one again. */
const RESTART_MS = [2_000, 30_000] as const

export class Slot {
  readonly name: string
  readonly roles: Roles
  readonly disk: Disk = new Disk()
  readonly wall: Wall = { skewMs: 0, standsAt: undefined }
  process: Process | undefined
  readonly #host: Host
  readonly #time: Timeline
  readonly #chance: Chance
  /** Processes so far. */
  lives = 0
  /** While it is not zero, the slot is held down and no process is started. */
  #holds = 0

  constructor(host: Host, name: string, roles: Roles, chance: Chance) {
    this.#host = host
    this.#time = host.time
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
    const process = this.#host.startProcess(this, incarnation)
    this.process = process
    this.#host.trace.note('start', incarnation.name)
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
    this.#host.buried.push(process)
    this.#host.trace.note('kill', process.incarnation.name)
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
    // Its calls under way must not continue beside its successor.
    process.incarnation.kill()
    this.#host.buried.push(process)
    this.#host.trace.note('end', `${process.incarnation.name}: ${String(error ?? 'asked to')}`)
    if (error !== undefined) this.#host.diedOf(this, error)
    this.#startSoon()
  }

  #startSoon(): void {
    const [least, most] = RESTART_MS
    const waitMs = least + this.#chance.below(most - least)
    this.#time.at(this.#time.monotonicMs() + waitMs, () => {
      if (!this.#host.isOver) this.start()
    })
  }
}
