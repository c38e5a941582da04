/**
 * One life of a process, as all that it calls sees it: counted calls, and a death at one of them.
 *
 * What must stay true: after its death it gets no answer to its calls, and no further call of it
 * happens.
 *
 * Not here: which process dies when (small-crash.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { Exchange, ExchangeRequest, ExchangeResponse } from '../../ports/exchange.ts'
import type { Log, TaskLog } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'

export class Life {
  calls = 0
  #isDead = false
  #last = Number.POSITIVE_INFINITY
  #isBack = false

  get isDead(): boolean {
    return this.#isDead
  }

  dieAt(call: number, isBack: boolean): void {
    this.#last = call
    this.#isBack = isBack
  }

  die(): void {
    this.#isDead = true
  }

  /** Every call to the outside passes here. */
  async call<T>(ask: () => T | Promise<T>): Promise<T> {
    this.calls += 1
    const isLast = this.calls === this.#last
    if (isLast && !this.#isBack) this.die()
    if (this.#isDead) return await never()
    let end: { readonly value: T } | { readonly error: unknown }
    try {
      end = { value: await ask() }
    } catch (error) {
      end = { error }
    }
    if (isLast) this.die()
    if (this.#isDead) return await never()
    if ('error' in end) throw end.error
    return end.value
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}

export function clockOf(clock: Clock, life: Life): Clock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    async sleep(ms, signal) {
      await clock.sleep(ms, signal)
      // No call: time passes by itself.
      if (life.isDead) await never()
    },
  }
}

export function exchangeOf(
  send: (request: ExchangeRequest, signal: AbortSignal) => Promise<ExchangeResponse>,
  life: Life,
): Exchange {
  return {
    async request(request, signal) {
      const { body, ...head } = await life.call(() => send(request, signal))
      return { ...head, body: bodyOf(body, life) }
    },
    async [Symbol.asyncDispose]() {},
  }
}

async function* bodyOf(body: AsyncIterable<Uint8Array>, life: Life): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  for (;;) {
    const next = await life.call(() => chunks.next())
    if (next.done === true) return
    yield next.value
  }
}

export function logOf(log: Log, life: Life): Log {
  return {
    partitions: (topic) => log.partitions(topic),
    append: (...args) => life.call(() => log.append(...args)),
    read: (...args) => life.call(() => log.read(...args)),
    bounds: (...args) => life.call(() => log.bounds(...args)),
    end: (...args) => life.call(() => log.end(...args)),
    wholeFrom: (...args) => life.call(() => log.wholeFrom(...args)),
    latest: (...args) => life.call(() => log.latest(...args)),
    loadPosition: (...args) => life.call(() => log.loadPosition(...args)),
    savePosition: (...args) => life.call(() => log.savePosition(...args)),
    trim: (...args) => life.call(() => log.trim(...args)),
    openTask: (...args) => life.call(async () => taskOf(await log.openTask(...args), life)),
    [Symbol.asyncDispose]: () => log[Symbol.asyncDispose](),
  }
}

function taskOf(task: TaskLog, life: Life): TaskLog {
  return {
    partition: task.partition,
    fence: task.fence,
    commit: (commit) => life.call(() => task.commit(commit)),
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  }
}

export function storeOf(store: Store, life: Life): Store {
  return {
    checkpoint: () => store.checkpoint(),
    get: (key) => store.get(key),
    page: (range) => life.call(() => store.page(range)),
    view: () => store.view(),
    write: (...args) => life.call(() => store.write(...args)),
    wipe: () => life.call(() => store.wipe()),
    verify: (signal) => life.call(() => store.verify(signal)),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}
