/** Whose commands are kept, against the plainest model: a list of each namespace. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ShareBounds, Shares, type Turn } from './share.ts'

const BOUNDS: ShareBounds = { window: 40, few: 4 }
const PAGE = 5

type Step = { readonly what: 'read'; readonly of: number } | { readonly what: 'settle' | 'again' }

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ what: fc.constant('read' as const), of: fc.nat(14) }) },
    { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('settle' as const, 'again') }) },
  ) as fc.Arbitrary<Step>,
  { maxLength: 400, size: 'max' },
)

const turnOf = (namespace: string): Turn => ({ cluster: `c-${namespace.at(-1)}`, namespace })

/** What is kept and put off, by namespace, as tickets. */
class Model {
  readonly shares = new Shares(BOUNDS)
  readonly kept = new Map<string, number[]>()
  readonly later = new Map<string, number[]>()
  #ticket = 0
  #left = 0

  get size(): number {
    return [...this.kept.values()].flat().length
  }

  /** The next of a page; there has to be room for all of it, and then others are kept as well. */
  read(namespace: string): void {
    if (this.#left === 0 && !this.shares.hasRoom(PAGE)) return
    this.#left = (this.#left === 0 ? PAGE : this.#left) - 1
    const had = this.kept.get(namespace) ?? []
    const ticket = this.#ticket++
    if (this.shares.keep(turnOf(namespace))) {
      equal(this.later.get(namespace) ?? 0, 0, 'an earlier one is put off')
      this.kept.set(namespace, [...had, ticket])
      return
    }
    const isScarce = this.size >= (BOUNDS.window * 7) / 8
    const isFull = this.size === BOUNDS.window
    const few = isScarce ? this.#ofCluster(namespace) >= BOUNDS.few * 4 : false
    ok(isFull || few || had.length >= BOUNDS.few || this.later.has(namespace), 'it has few')
    this.shares.putOff(turnOf(namespace), ticket)
    this.later.set(namespace, [...(this.later.get(namespace) ?? []), ticket])
  }

  settle(at: number): void {
    const all = [...this.kept]
    const [namespace, tickets] = all[at % Math.max(1, all.length)] ?? []
    if (namespace === undefined || tickets === undefined) return
    const [, ...left] = tickets
    if (left.length === 0) this.kept.delete(namespace)
    else this.kept.set(namespace, left)
    this.shares.release(turnOf(namespace))
  }

  again(): void {
    const turn = this.shares.next
    if (turn === undefined) return
    const { namespace } = turn
    const before = this.size
    for (let count = 0; count < PAGE; count++) {
      const ticket = this.shares.firstOf(turn)
      const [first, ...rest]: readonly number[] = this.later.get(namespace) ?? []
      equal(ticket, first)
      if (ticket === undefined || !this.shares.keepFirst(turn)) break
      this.kept.set(namespace, [...(this.kept.get(namespace) ?? []), ticket])
      if (rest.length === 0) this.later.delete(namespace)
      else this.later.set(namespace, rest)
    }
    this.shares.passTurn(turn)
    ok(this.size > before, 'what there is no room for is read again')
  }

  #ofCluster(namespace: string): number {
    const { cluster } = turnOf(namespace)
    const own = [...this.kept].filter(([each]) => turnOf(each).cluster === cluster)
    return own.flatMap(([, tickets]) => tickets).length
  }
}

test('of a namespace in order, never more than the window, and each is kept in the end', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const model = new Model()
      const order = new Map<string, number>()
      all.forEach((step, index) => {
        if (step.what === 'read') model.read(`ns-${step.of}`)
        else if (step.what === 'settle') model.settle(index)
        else model.again()
        ok(model.size <= BOUNDS.window, `${model.size} are kept`)
        for (const [namespace, tickets] of model.kept) {
          deepEqual(
            tickets,
            tickets.toSorted((a, b) => a - b),
          )
          const last = tickets.at(-1) ?? -1
          ok(last >= (order.get(namespace) ?? -1))
          order.set(namespace, last)
        }
      })
      for (let turns = 0; model.kept.size + model.later.size > 0; turns++) {
        ok(turns < 3_000, 'some are never kept')
        model.again()
        model.settle(turns)
      }
    }),
  )
})

test('a namespace with few has room beside one with very many', () => {
  const shares = new Shares({ window: 10_000, few: 50 })
  const [many, few] = [
    { cluster: 'c', namespace: 'many' },
    { cluster: 'c', namespace: 'few' },
  ]
  let kept = 0
  for (let ticket = 0; ticket < 100_000; ticket++) {
    if (shares.keep(many)) kept++
    else shares.putOff(many, ticket)
  }
  equal(kept, 7_500)
  ok(shares.hasRoom(250))
  for (let count = 0; count < 50; count++) ok(shares.keep(few))
  equal(shares.keep(few), false)
  shares.putOff(few, 100_000)
  equal(shares.next, undefined, 'both have enough')
  for (let count = 0; count < 25; count++) shares.release(few)
  equal(shares.next, few)
})

test('a cluster with few has room beside one with very many namespaces', () => {
  const shares = new Shares({ window: 10_000, few: 50 })
  for (let ticket = 0; ticket < 100_000; ticket++) {
    const turn = { cluster: 'slow', namespace: `team-${ticket % 1_000}` }
    if (!shares.keep(turn)) shares.putOff(turn, ticket)
  }
  equal(shares.next, undefined, 'it has enough')
  ok(shares.hasRoom(250))
  const other = { cluster: 'other', namespace: 'app' }
  for (let count = 0; count < 50; count++) ok(shares.keep(other))
  equal(shares.keep(other), false)
  shares.putOff(other, 100_000)
  for (let count = 0; count < 25; count++) shares.release(other)
  equal(shares.next, other)
})
