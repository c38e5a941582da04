/**
 * What every Lease promises, as tests that each adapter runs.
 *
 * What must stay true: nothing here knows an adapter, and time passes only as the fixture moves it:
 * on a real server it passes by itself.
 *
 * Not here: the effect of an unreachable server, a paused holder or a deleted object on a lease in
 * a cluster (adapters/kubernetes).
 */
import { deepEqual, equal, notEqual, ok, rejects, throws } from 'node:assert/strict'
import { test } from 'node:test'
import type { Lease, LeaseWait } from './lease.ts'

export interface LeaseFixture extends AsyncDisposable {
  /** Of one thing; a candidate in another process, where the adapter knows processes. */
  candidate(): Lease
  /** Lets time pass until `promise` settles. */
  until<T>(promise: PromiseLike<T>): Promise<T>
  /** Lets as much time pass as candidates need to check again. */
  pass(): Promise<void>
  /**
   * Another process becomes the holder without the holder's knowledge, or the adapter reports so.
   */
  revoke(): Promise<void>
}

export interface LeaseContractOptions {
  readonly skip?: string | undefined
}

const NEVER = new AbortController().signal
const NOBODY = (): void => undefined
/** A lease waits through failures: a test that would wait for ever must end. */
const TEST_MS = 60_000

export function leaseContract(
  name: string,
  open: () => Promise<LeaseFixture>,
  options: LeaseContractOptions = {},
): void {
  const contract = (what: string, body: (fixture: LeaseFixture) => Promise<void>): void => {
    test(`${name} ${what}`, { skip: options.skip ?? false, timeout: TEST_MS }, async () => {
      await using fixture = await open()
      await body(fixture)
    })
  }

  contract('gives epochs that grow, within a holding and from one to the next', async (fixture) => {
    const epochs: number[] = []
    for (let round = 0; round < 3; round++) {
      const held = await fixture.until(fixture.candidate().acquire(NOBODY, NEVER))
      epochs.push(await fixture.until(held.nextEpoch(0, NEVER)))
      epochs.push(await fixture.until(held.nextEpoch(0, NEVER)))
      await fixture.until(held[Symbol.asyncDispose]())
    }
    deepEqual(epochs, [...new Set(epochs)].sort(ascending))
  })

  contract('gives epochs above what is known, and never goes back below', async (fixture) => {
    const first = await fixture.until(fixture.candidate().acquire(NOBODY, NEVER))
    equal(await fixture.until(first.nextEpoch(41, NEVER)), 42)
    await fixture.until(first[Symbol.asyncDispose]())
    const second = await fixture.until(fixture.candidate().acquire(NOBODY, NEVER))
    ok((await fixture.until(second.nextEpoch(7, NEVER))) > 42)
    await fixture.until(second[Symbol.asyncDispose]())
  })

  contract('has one holder, and tells who waits of it', async (fixture) => {
    const held = await fixture.until(fixture.candidate().acquire(NOBODY, NEVER))
    const waits: LeaseWait[] = []
    let isTaken = false
    const second = fixture
      .candidate()
      .acquire((wait) => waits.push(wait), NEVER)
      .then((mine) => {
        isTaken = true
        return mine
      })
    await fixture.pass()
    equal(isTaken, false)
    ok(waits.length > 0 && waits.every((wait) => wait.type === 'HeldBy' && wait.holder !== ''))
    held.check()
    await fixture.until(held[Symbol.asyncDispose]())
    const mine = await fixture.until(second)
    mine.check()
    await fixture.until(mine[Symbol.asyncDispose]())
  })

  contract('lets a waiting one give up without barring the next', async (fixture) => {
    const held = await fixture.until(fixture.candidate().acquire(NOBODY, NEVER))
    const impatient = new AbortController()
    const second = fixture.candidate().acquire(NOBODY, impatient.signal)
    const third = fixture.candidate().acquire(NOBODY, NEVER)
    await fixture.pass()
    impatient.abort(new Error('enough'))
    await rejects(fixture.until(second), /enough/)
    await fixture.until(held[Symbol.asyncDispose]())
    const mine = await fixture.until(third)
    notEqual(mine, held)
    await fixture.until(mine[Symbol.asyncDispose]())
  })

  contract('refuses whoever has given up before', async (fixture) => {
    const aborted = AbortSignal.abort(new Error('enough'))
    await rejects(fixture.until(fixture.candidate().acquire(NOBODY, aborted)), /enough/)
  })

  contract('tells a holder that it is lost, and gives it no more epochs', async (fixture) => {
    await using held = await fixture.until(fixture.candidate().acquire(NOBODY, NEVER))
    await fixture.until(held.nextEpoch(0, NEVER))
    const lost = once(held.lost)
    await fixture.revoke()
    await fixture.until(lost)
    throws(() => held.check(), /lease/)
    await rejects(fixture.until(held.nextEpoch(0, NEVER)), /lease/)
    await fixture.until(held[Symbol.asyncDispose]())
  })
}

function once(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function ascending(a: number, b: number): number {
  return a - b
}
