/**
 * One life of one process, as seen by every part that it calls: it may be killed or frozen at every
 * call, on the way there and on the way back.
 *
 * What must stay true: after a kill it gets no answer to its calls, and no further call of it
 * happens. While it is frozen, what it asked for happens and its answers wait; what it would say
 * next waits, too. Calls pass in the order in which they came.
 *
 * Not here: the loops of a process (process.ts).
 */
import type { Clock } from '../ports/clock.ts'

/** What is asked of the outside, by a name that faults can aim at. */
export type Crossing =
  | 'sleep'
  | 'request'
  | 'chunk'
  | 'append'
  | 'read'
  | 'save'
  | 'ask'
  | 'open-task'
  | 'commit'
  | 'store-write'
  | 'store-read'

/**
 * Dies at the crossing of that name after so many; `isBack`: on its way back, so that it took
 * effect.
 */
export interface Trap {
  readonly crossing: Crossing | 'any'
  left: number
  readonly isBack: boolean
  readonly sprung: () => void
}

export class Incarnation {
  readonly name: string
  readonly #dead = new AbortController()
  readonly #waiting: (() => void)[] = []
  #phase: 'alive' | 'frozen' | 'dead' = 'alive'
  #trap: Trap | undefined
  readonly #onStill = new Set<(isStill: () => boolean) => void>()
  #thaws = 0
  /** It was, at some time: it could not notice events of that time. */
  wasFrozen = false

  constructor(name: string) {
    this.name = name
  }

  get isAlive(): boolean {
    return this.#phase === 'alive'
  }

  get isDead(): boolean {
    return this.#phase === 'dead'
  }

  /** Only for the outside: resources of a process end with it. */
  get dead(): AbortSignal {
    return this.#dead.signal
  }

  setTrap(trap: Trap | undefined): void {
    this.#trap = trap
  }

  /** Every call to the outside passes here. */
  async call<T>(crossing: Crossing, ask: () => T | Promise<T>): Promise<T> {
    await this.#pass(crossing, false)
    let outcome: { readonly value: T } | { readonly error: unknown }
    try {
      outcome = { value: await ask() }
    } catch (error) {
      outcome = { error }
    }
    await this.#pass(crossing, true)
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }

  /** The outside notifies it: now, when it thaws, or never. */
  tell(news: () => void): void {
    if (this.#phase === 'alive') news()
    else if (this.#phase === 'frozen') this.#waiting.push(news)
  }

  /**
   * Called whenever it falls silent, frozen or dead, with what says whether it still is. The answer
   * takes the call back.
   */
  whenStill(callback: (isStill: () => boolean) => void): () => void {
    this.#onStill.add(callback)
    if (!this.isAlive) callback(this.#silence())
    return () => this.#onStill.delete(callback)
  }

  freeze(): void {
    if (this.#phase !== 'alive') return
    this.#phase = 'frozen'
    this.wasFrozen = true
    for (const each of this.#onStill) each(this.#silence())
  }

  thaw(): void {
    if (this.#phase !== 'frozen') return
    this.#phase = 'alive'
    this.#thaws++
    for (const go of this.#waiting.splice(0)) go()
  }

  kill(): void {
    const wasAlive = this.isAlive
    this.#phase = 'dead'
    this.#waiting.length = 0
    if (wasAlive) for (const each of this.#onStill) each(this.#silence())
    this.#dead.abort(new Error(`${this.name} was killed`))
  }

  #silence(): () => boolean {
    const thaws = this.#thaws
    return () => !this.isAlive && this.#thaws === thaws
  }

  #pass(crossing: Crossing, isBack: boolean): Promise<void> | undefined {
    const trap = this.#trap
    if (trap !== undefined && this.#phase === 'alive' && isCaught(trap, crossing, isBack)) {
      if (--trap.left < 0) {
        this.#trap = undefined
        trap.sprung()
      }
    }
    if (this.#phase === 'alive') return undefined
    // No caller is left that could get the answer.
    if (this.#phase === 'dead') return new Promise(() => undefined)
    return new Promise((go) => this.#waiting.push(go))
  }
}

function isCaught(trap: Trap, crossing: Crossing, isBack: boolean): boolean {
  if (trap.crossing === 'any') return crossing !== 'store-read'
  return trap.crossing === crossing && trap.isBack === isBack
}

/** A machine's clock: its wall time is off, or has stopped. */
export interface Wall {
  skewMs: number
  /** Undefined while the clock runs. */
  standsAt: number | undefined
}

export function clockOf(time: Clock, incarnation: Incarnation, wall: Wall): Clock {
  return {
    now: () => Math.floor(wall.standsAt ?? time.now() + wall.skewMs),
    monotonicMs: () => time.monotonicMs(),
    sleep: (ms, signal) => incarnation.call('sleep', () => time.sleep(ms, signal)),
  }
}
