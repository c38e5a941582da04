/**
 * The Lease in a cluster: the port's promises over an API server in this process, and its state
 * after failures.
 */
import { deepEqual, equal, match, notEqual, ok, rejects, throws } from 'node:assert/strict'
import { describe, test } from 'node:test'
import { leaseContract } from '../../../ports/lease.contract.ts'
import type { HeldLease, LeaseWait } from '../../../ports/lease.ts'
import { type Candidate, LEASE_PATH, LeaseRig } from '../../../testing/rig/lease-rig.ts'
import { answered } from '../../../testing/rig/watcher-rig.ts'
import { SleepingClock } from '../../../testing/sleeping-clock.ts'
import { ManualClock } from '../../memory/clock.ts'

const NEVER = new AbortController().signal
const NOBODY = (): void => undefined

leaseContract('a Lease object', async () => {
  const rig = new LeaseRig()
  return {
    candidate: () => rig.candidate().lease,
    until: (promise) => rig.until(promise),
    pass: () => rig.clock.advance(60_000),
    revoke: () => rig.edit({ holderIdentity: 'somebody' }),
    [Symbol.asyncDispose]: async () => undefined,
  }
})

async function held(rig: LeaseRig, candidate: Candidate): Promise<HeldLease> {
  return await rig.until(candidate.lease.acquire(NOBODY, NEVER))
}

interface Waiting {
  readonly waits: LeaseWait[]
  readonly taken: Promise<HeldLease>
  isTaken: boolean
}

function waiting(candidate: Candidate): Waiting {
  const waits: LeaseWait[] = []
  const taken = candidate.lease.acquire((wait) => waits.push(wait), NEVER)
  const state: Waiting = { waits, taken, isTaken: false }
  void taken.then(() => {
    state.isTaken = true
  })
  return state
}

describe('a Lease object', () => {
  test('tells people who holds it and since when, and keeps what others wrote', async () => {
    const rig = new LeaseRig()
    await using mine = await held(rig, rig.candidate())
    await rig.edit({ strategy: null, preferredHolder: 'x' })
    equal(await rig.until(mine.nextEpoch(6, NEVER)), 7)
    const { holderIdentity, acquireTime, renewTime, ...rest } = rig.spec ?? {}
    match(String(holderIdentity), /^host-1_[0-9a-f]{16}$/)
    for (const time of [acquireTime, renewTime]) match(String(time), /^2023-.*T.*\.\d{6}Z$/)
    deepEqual(rest, { leaseDurationSeconds: 15, leaseTransitions: 7, preferredHolder: 'x' })
  })

  test('costs one call a renewal', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    await using _mine = await held(rig, candidate)
    candidate.requests.length = 0
    await rig.clock.advance(20_000)
    deepEqual(
      candidate.requests,
      Array.from({ length: 10 }, () => `PUT ${LEASE_PATH}`),
    )
  })

  test('passes at once when it is given up, and after its duration when the holder is killed', async () => {
    const rig = new LeaseRig()
    const first = await held(rig, rig.candidate())
    const second = rig.candidate()
    const wait = waiting(second)
    await rig.clock.advance(5_000)
    await rig.until(first[Symbol.asyncDispose]())
    await rig.clock.advance(4_400)
    ok(wait.isTaken)
    const next = waiting(rig.candidate())
    await rig.clock.advance(5_000)
    second.kill()
    await rig.clock.advance(12_900)
    ok(!next.isTaken)
    await rig.clock.advance(6_600)
    ok(next.isTaken)
    ok((await wait.taken).lost.aborted)
    await rig.until((await next.taken)[Symbol.asyncDispose]())
  })

  test('is taken by one of two who write at the same moment', async () => {
    for (const exists of [true, false]) {
      const rig = new LeaseRig()
      if (exists) await rig.until((await held(rig, rig.candidate()))[Symbol.asyncDispose]())
      const both = [rig.candidate(), rig.candidate()]
      const gate = Promise.withResolvers<void>()
      let writing = 0
      for (const candidate of both) {
        candidate.break = async ({ method }) => {
          if (method !== 'PUT') return undefined
          if (++writing === 2) gate.resolve()
          await gate.promise
          return undefined
        }
      }
      const waits = both.map(waiting)
      await rig.clock.advance(60_000)
      equal(waits.filter(({ isTaken }) => isTaken).length, 1, `exists: ${exists}`)
    }
  })

  test('is lost at the deadline while a call hangs, and before anybody can take it', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    const mine = await held(rig, candidate)
    await rig.clock.advance(4_000)
    const wait = waiting(rig.candidate())
    candidate.break = () => new Promise(() => undefined)
    await rig.clock.advance(9_900)
    ok(!mine.lost.aborted)
    await rig.clock.advance(100)
    ok(mine.lost.aborted)
    match(String(mine.lost.reason), /not renewed for 10000 ms: PUT .* took longer than 5000 ms/)
    ok(!wait.isTaken)
    // Giving up does not hang either.
    await rig.until(mine[Symbol.asyncDispose]())
    await rig.clock.advance(20_000)
    ok(wait.isTaken)
  })

  test('outlives an API server that is slow, throttles or is away for less than the deadline', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    const mine = await held(rig, candidate)
    const spell = async (answer: Candidate['break'], ms: number): Promise<void> => {
      candidate.break = answer
      await rig.clock.advance(ms)
      candidate.break = async () => undefined
      await rig.clock.advance(6_000)
      ok(!mine.lost.aborted, String(mine.lost.reason))
    }
    await spell(async () => {
      await rig.clock.sleep(4_000)
      return undefined
    }, 60_000)
    await spell(async () => answered(429, { kind: 'Status', apiVersion: 'v1' }), 6_000)
    await spell(async () => answered(500, 'out of luck'), 6_000)
    await spell(async () => answered(200, '{"kind":'), 6_000)
    mine.check()
  })

  test('keeps a write whose answer was lost', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    let lost = 0
    candidate.break = async (request) => {
      if (request.method !== 'PUT' || lost++ % 3 !== 0) return undefined
      const headers = { ...request.headers }
      await rig.server.handle({ ...request, headers }, NEVER)
      return answered(503, 'the answer was lost')
    }
    const mine = await held(rig, candidate)
    await rig.clock.advance(60_000)
    ok(!mine.lost.aborted)
    const [first, second] = [
      await rig.until(mine.nextEpoch(0, NEVER)),
      await rig.until(mine.nextEpoch(0, NEVER)),
    ]
    ok(second > first)
    equal(rig.spec?.['leaseTransitions'], second)
  })

  test('counts from when a renewal was sent, however late its answer comes', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    const mine = await held(rig, candidate)
    candidate.break = async () => {
      // The one at 2 s is answered at 6 s; all after it hang.
      candidate.break = () => new Promise(() => undefined)
      await rig.clock.sleep(4_000)
      return undefined
    }
    await rig.clock.advance(11_900)
    mine.check()
    await rig.clock.advance(100)
    ok(mine.lost.aborted)
  })

  test('gives an epoch only when it is written', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    const mine = await held(rig, candidate)
    candidate.break = async () => answered(500, 'out of luck')
    let epoch = 0
    void mine.nextEpoch(7, NEVER).then((given) => {
      epoch = given
    })
    await rig.clock.advance(6_000)
    equal(epoch, 0)
    candidate.break = async () => undefined
    await rig.clock.advance(2_000)
    deepEqual([epoch, rig.spec?.['leaseTransitions']], [8, 8])
  })

  test('that was taken by a write whose answer was lost is had at the next look', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    candidate.break = async (request) => {
      if (request.method !== 'PUT') return undefined
      candidate.break = async () => undefined
      await rig.server.handle(request, NEVER)
      return answered(503, 'the answer was lost')
    }
    const wait = waiting(candidate)
    await rig.clock.advance(4_400)
    ok(wait.isTaken)
  })

  test('is judged by what the holder who slept sees first, before its timers', async () => {
    const clock = new ManualClock()
    const server = new LeaseRig(clock).server
    // The sleeper's own clock: its timers stop while its monotonic time continues.
    const sleeper = new SleepingClock(clock)
    const rig = new LeaseRig(clock, server)
    const others = new LeaseRig(clock, server)
    const asleep = rig.candidate(sleeper)
    const mine = await others.until(asleep.lease.acquire(NOBODY, NEVER))
    await others.until(mine.nextEpoch(0, NEVER))
    const wait = waiting(others.candidate())
    await clock.advance(1_000)
    sleeper.pause()
    await clock.advance(30_000)
    ok(wait.isTaken)
    ok(!mine.lost.aborted)
    throws(() => mine.check(), /not renewed/)
    ok(mine.lost.aborted)
    await rejects(mine.nextEpoch(0, NEVER), /not renewed/)
    sleeper.resume()
    await others.until(mine[Symbol.asyncDispose]())
    ;(await wait.taken).check()
  })

  test('that somebody deletes is put back by its holder, and nobody takes it meanwhile', async () => {
    const rig = new LeaseRig()
    const mine = await held(rig, rig.candidate())
    const epoch = await rig.until(mine.nextEpoch(4, NEVER))
    const wait = waiting(rig.candidate())
    await rig.clock.advance(6_000)
    for (let round = 0; round < 5; round++) {
      await rig.delete()
      await rig.clock.advance(7_300)
      mine.check()
    }
    ok(!wait.isTaken)
    equal(rig.spec?.['leaseTransitions'], epoch)
  })

  test('that somebody deletes with its holder gone gives epochs above those that were seen', async () => {
    const rig = new LeaseRig()
    const first = rig.candidate()
    const mine = await held(rig, first)
    const epoch = await rig.until(mine.nextEpoch(4, NEVER))
    const wait = waiting(rig.candidate())
    await rig.clock.advance(6_000)
    first.kill()
    await rig.delete()
    const next = await rig.until(wait.taken)
    ok((await rig.until(next.nextEpoch(0, NEVER))) > epoch)
  })

  test('is lost when it was deleted and somebody else made another', async () => {
    const rig = new LeaseRig()
    const mine = await held(rig, rig.candidate())
    await rig.clock.advance(2_500)
    await rig.delete()
    const other = await held(rig, rig.candidate())
    await rig.clock.advance(2_500)
    ok(mine.lost.aborted)
    other.check()
  })

  const spoilt: [string, object, 'held' | 'lost'][] = [
    ['emptied', { holderIdentity: '' }, 'held'],
    ['without a holder', { holderIdentity: null }, 'held'],
    [
      'without any of its fields',
      { holderIdentity: null, leaseTransitions: null, renewTime: null, acquireTime: null },
      'held',
    ],
    ['with no time left', { leaseDurationSeconds: 1, renewTime: null }, 'held'],
    ['with times of another age', { renewTime: '1999-01-01T00:00:00.000000Z' }, 'held'],
    ['counted back', { leaseTransitions: 0 }, 'held'],
    ['counted beyond all measure', { leaseTransitions: 2_147_483_647 }, 'held'],
    ['counted up', { leaseTransitions: 1_000 }, 'lost'],
    ['given to somebody who does not exist', { holderIdentity: 'ghost' }, 'lost'],
  ]
  for (const [what, spec, expected] of spoilt) {
    test(`that a user left ${what} is ${expected}, and works on`, async () => {
      const rig = new LeaseRig()
      const mine = await held(rig, rig.candidate())
      const epoch = await rig.until(mine.nextEpoch(0, NEVER))
      await rig.edit(spec)
      await rig.clock.advance(4_000)
      equal(mine.lost.aborted, expected === 'lost')
      await rig.until(mine[Symbol.asyncDispose]())
      const next = await held(rig, rig.candidate())
      ok((await rig.until(next.nextEpoch(0, NEVER))) > epoch)
      await rig.until(next[Symbol.asyncDispose]())
    })
  }

  test('that may not be written is waited for, with a sentence that says what to grant', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    candidate.break = async ({ method }) =>
      method === 'PUT'
        ? answered(403, { kind: 'Status', apiVersion: 'v1', message: 'no' })
        : undefined
    const wait = waiting(candidate)
    await rig.clock.advance(10_000)
    const [first] = wait.waits
    ok(first?.type === 'Failing')
    match(
      first.reason,
      /grant get, create and update on leases\.coordination\.k8s\.io named kinfold-watcher in namespace kube-system/,
    )
    candidate.break = async () => undefined
    await rig.clock.advance(10_000)
    ok(wait.isTaken)
  })

  test('is asked for under another name each time', async () => {
    const rig = new LeaseRig()
    const candidate = rig.candidate()
    const mine = await held(rig, candidate)
    const first = rig.spec?.['holderIdentity']
    const again = waiting(candidate)
    await rig.clock.advance(60_000)
    ok(!again.isTaken)
    deepEqual(again.waits.at(-1), { type: 'HeldBy', holder: first })
    await rig.until(mine[Symbol.asyncDispose]())
    await rig.until(again.taken)
    notEqual(rig.spec?.['holderIdentity'], first)
  })
})
