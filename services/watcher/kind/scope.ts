/**
 * Loops that live and die together.
 *
 * What must stay true: the first failure ends all of them, and `ended` resolves only when none runs
 * any more.
 */
export class Scope {
  readonly #controller = new AbortController()
  readonly #loops = new Set<Promise<void>>()
  #failure: { readonly error: unknown } | undefined
  readonly signal: AbortSignal

  constructor(parent: AbortSignal) {
    this.signal = AbortSignal.any([parent, this.#controller.signal])
  }

  start(loop: (signal: AbortSignal) => Promise<void>): void {
    const running = loop(this.signal)
      .catch((error: unknown) => {
        // After the end, whatever a loop was doing may fail.
        if (this.signal.aborted) return
        this.#failure = { error }
        this.end()
      })
      .finally(() => this.#loops.delete(running))
    this.#loops.add(running)
  }

  end(): void {
    this.#controller.abort(new Error('This part of the watcher has ended.'))
  }

  /** Throws the first failure. */
  async ended(): Promise<void> {
    while (this.#loops.size > 0) await Promise.all(this.#loops)
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
