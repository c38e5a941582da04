/**
 * Whatever becomes of a store, what it says of a moment is what a model that forgets nothing says:
 * commits of its own, commits that came from the changelog, take-overs, filling, forgetting, a log
 * that is trimmed, and times in which nothing is remembered. In the end nothing is left of what is
 * forgotten.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import type { PackedFormers } from '../../../../ports/record/former-value.ts'
import { type Checkpoint, prefixRange, type StoreChange } from '../../../../ports/store.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { seeded } from '../../../../testing/seeded.ts'
import { WorkingSet } from '../bytes/working-set.ts'
import { changedBetween, changesBack, keysChanged, lastChangeBefore } from './changed.ts'
import { Filling } from './filling.ts'
import { type Folded, type FormerChange, formerRecords } from './former-record.ts'
import { forgottenRows, reachOf, rowsLeft, rowsOf } from './former-rows.ts'
import { RowStore } from './row-store.ts'
import { storeAt } from './store-at.ts'

/** Some begin alike, and one is no fact. */
const FACTS = [
  ...['node/c/a', 'node/c/a-b', 'node/c/b', 'owners/c/a/0.1'],
  ...['edge/c/o/p/1', 'edge/c/o/p/2', 'edge/c/o/pq/1'],
]
const KEYS = [...FACTS, 'position']
const PREFIXES = ['node/c/', 'node/c/a', 'edge/c/o/p/', 'edge/c/o/', 'owners/']
/** A record of former values closes behind some of these. */
const LONG = 'x'.repeat(9_000)
const MOMENTS = 6

interface Change {
  readonly position: number
  readonly before: string | undefined
}

interface Commit {
  readonly formers: readonly FormerChange[]
  readonly changes: readonly StoreChange[]
  readonly folded: Folded
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text)
const textOf = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined || bytes.length === 0 ? undefined : Buffer.from(bytes).toString()

/** All that ever was. */
class Model {
  readonly #now = new Map<string, string>()
  readonly #changes = new Map<string, Change[]>()

  now(key: string): string | undefined {
    return this.#now.get(key)
  }

  put(key: string, value: string | undefined, position: number): void {
    const all = this.#changes.get(key) ?? []
    this.#changes.set(key, all)
    all.push({ position, before: this.#now.get(key) })
    if (value === undefined) this.#now.delete(key)
    else this.#now.set(key, value)
  }

  at(key: string, position: number): string | undefined {
    const next = this.#of(key).find((change) => change.position >= position)
    return next === undefined ? this.#now.get(key) : next.before
  }

  /** The newest first. */
  back(key: string, begin: number, before: number): readonly Change[] {
    const all = this.#of(key).filter(({ position }) => position >= begin && position < before)
    return all.toReversed()
  }

  between(from: number, to: number): readonly string[] {
    return FACTS.flatMap((key) =>
      this.#of(key)
        .filter(({ position }) => position >= from && position < to)
        .map(({ position }) => `${position} ${key}`),
    ).sort()
  }

  #of(key: string): readonly Change[] {
    // What is no fact is as it is now, at any moment.
    return key === 'position' ? [] : (this.#changes.get(key) ?? [])
  }
}

class Life {
  readonly #log = new MemoryLog({ partitions: 1, clock: systemClock() })
  readonly #rows = new MemoryStore()
  readonly #model = new Model()
  readonly #chance: { below(limit: number): number }
  #store = new RowStore(this.#rows, codec)
  #working = new WorkingSet(this.#store, codec)
  #filling = this.#begun()
  /** Written to the changelog by another process. */
  #missed: StoreChange[][] = []
  #position = 0
  #stored = 0
  #forgetBefore = 0
  #isOn = true
  #serial = 0

  constructor(seed: number) {
    this.#chance = seeded(seed)
  }

  async own(): Promise<void> {
    const { below } = this.#chance
    const { formers, changes, folded } = this.#commit(1 + below(below(4) === 0 ? 40 : 4))
    const before = {
      get: (key: string) => this.#store.get(key),
      row: (key: string) => this.#working.rowOf(this.#working.entry(key)),
    }
    const records = this.#isOn ? await this.#logged(formers, folded) : []
    const kept = this.#isOn ? { changes: formers, records, folded } : undefined
    const rows = rowsOf(before, codec, changes, kept)
    this.#stored = this.#position
    await this.#store.writeRows(rows, this.#checkpoint)
    const keys = new Set(changes.map(([key]) => key))
    this.#working.clear(rows.filter(([key]) => keys.has(key)))
    for (let step = below(3); step > 0; step--) await this.remember()
  }

  /** Commits of another process, which this store has from the changelog. */
  async elsewhere(): Promise<void> {
    const { below } = this.#chance
    for (let left = 1 + below(5); left > 0; left--) {
      const { formers, changes, folded } = this.#commit(1 + below(4))
      await this.#logged(formers, folded)
      const page = below(2) === 0 ? undefined : this.#missed.at(-1)
      if (page === undefined) this.#missed.push([...changes])
      else page.push(...changes)
    }
    await this.#takeOver()
  }

  async restart(): Promise<void> {
    this.#forgetBefore = 0
    this.#store = new RowStore(this.#rows, codec)
    await this.#takeOver()
  }

  /** From now on, or no longer. */
  async toggle(): Promise<void> {
    this.#isOn = !this.#isOn
    await this.restart()
  }

  forget(): void {
    const { below } = this.#chance
    this.#forgetBefore = Math.max(this.#forgetBefore, below(this.#position + 1))
  }

  async trim(): Promise<void> {
    const { start, end } = await this.#log.bounds('former', 0)
    const gone = BigInt(this.#chance.below(Number(end - start) + 1))
    await this.#log.trim('former', 0, start + gone)
  }

  async remember(): Promise<void> {
    const before = BigInt(this.#forgetBefore)
    if (!this.#isOn) return await this.#write(await rowsLeft(this.#store))
    await this.#write(await this.#filling.step(before))
    await this.#write(await forgottenRows(this.#store, codec, before))
  }

  async check(): Promise<void> {
    for (const key of KEYS) equal(textOf(this.#store.get(key)), this.#model.now(key), key)
    const reach = reachOf(this.#store, codec)
    if (reach === undefined || !this.#isOn) return
    const { begin, end } = reach
    equal(end, this.#position)
    const { below } = this.#chance
    const some = Array.from({ length: MOMENTS }, () => begin + below(end - begin + 1))
    for (const position of [begin, end, ...some]) {
      await this.#checkAt(position)
      await this.#checkBefore(position, begin)
    }
    const [from = 0, to = 0] = some.toSorted((a, b) => a - b)
    const changed: string[] = []
    for await (const { key, position } of changedBetween(this.#store, codec, { from, to }, ''))
      changed.push(`${position} ${key}`)
    deepEqual(changed.sort(), this.#model.between(from, to))
  }

  /** Rows that are kept of what is forgotten. */
  async left(): Promise<readonly string[]> {
    if (!this.#isOn) await this.toggle()
    await this.own()
    this.#forgetBefore = this.#position
    while ((reachOf(this.#store, codec)?.begin ?? 0) < this.#position) await this.remember()
    const { rows } = await this.#rows.page({ gte: '|', lt: '~', limit: 1_000 })
    return rows.map(([key]) => key).filter((key) => key !== '|reach')
  }

  async #checkAt(position: number): Promise<void> {
    const then = storeAt(this.#store, codec, BigInt(position))
    const valueAt = (key: string): string | undefined => this.#model.at(key, position)
    for (const key of KEYS) equal(textOf(then.get(key)), valueAt(key), `${key} at ${position}`)
    const { below } = this.#chance
    for (const prefix of PREFIXES) {
      const take = below(2) === 0 ? 'first' : 'last'
      const range = prefixRange(prefix, 1 + below(4))
      const page = await then.page({ ...range, take })
      const all = KEYS.filter((key) => key.startsWith(prefix) && valueAt(key) !== undefined).sort()
      const keys = take === 'last' ? all.slice(-range.limit) : all.slice(0, range.limit)
      deepEqual(
        page.rows.map(([key, value]) => [key, textOf(value)]),
        keys.map((key) => [key, valueAt(key)]),
      )
      equal(page.isCut, all.length > range.limit)
    }
  }

  async #checkBefore(position: number, begin: number): Promise<void> {
    const isChanged = new Set<string>()
    for (const key of FACTS) {
      const known = this.#model.back(key, begin, position)
      if (known.length > 0) isChanged.add(key)
      const told = [...changesBack(this.#store, codec, key, position)]
      // It may know more than it has to; never a change that another one misses behind it.
      const all = this.#model.back(key, 0, position).slice(0, Math.max(known.length, told.length))
      const backs = told.map((each) => ({ position: each.position, before: textOf(each.value) }))
      deepEqual(backs, all, `${key} before ${position}`)
      const last = lastChangeBefore(this.#store, codec, key, position)
      if (known.length > 0) equal(last, known[0]?.position)
      else ok(last === undefined || last < begin)
    }
    for (const prefix of PREFIXES) {
      const told: string[] = []
      for await (const key of keysChanged(this.#store, codec, prefix, position)) told.push(key)
      deepEqual(told, [...new Set(told)].sort())
      const missed = [...isChanged].filter((key) => key.startsWith(prefix) && !told.includes(key))
      deepEqual(missed, [])
    }
  }

  #commit(events: number): Commit {
    const { below } = this.#chance
    const formers: FormerChange[] = []
    const values = new Map<string, Uint8Array | null>()
    const from = BigInt(this.#position)
    for (let event = 0; event < events; event++, this.#position++) {
      const keys = Array.from({ length: below(4) }, () => FACTS[below(2) * below(FACTS.length)]!)
      for (const key of new Set(keys)) {
        const before = this.#model.now(key)
        const after = below(4) === 0 ? undefined : `${this.#serial++}${below(6) === 0 ? LONG : ''}`
        if (before === undefined && after === undefined) continue
        const former = before === undefined ? undefined : bytesOf(before)
        const position = BigInt(this.#position)
        formers.push({ key, position, at: this.#position, before: former })
        values.set(key, after === undefined ? null : bytesOf(after))
        this.#model.put(key, after, this.#position)
      }
    }
    this.#model.put('position', `${this.#position}`, this.#position)
    values.set('position', bytesOf(`${this.#position}`))
    return { formers, changes: [...values], folded: { from, to: BigInt(this.#position) } }
  }

  async #logged(
    formers: readonly FormerChange[],
    folded: Folded,
  ): Promise<readonly PackedFormers[]> {
    const records = formerRecords(codec, 0, formers, folded)
    const entries = records.map((each) => ({ key: `${each.from}`, value: codec.encode(each) }))
    await this.#log.append('former', 0, entries)
    return records
  }

  async #takeOver(): Promise<void> {
    for (const page of this.#missed.splice(0)) await this.#store.write(page, this.#checkpoint)
    this.#stored = this.#position
    this.#working = new WorkingSet(this.#store, codec)
    this.#filling = this.#begun()
    if (!this.#isOn) return await this.remember()
    const at = BigInt(this.#position)
    const nothing = { changes: [], records: [], folded: { from: at, to: at } }
    await this.#store.writeRows(rowsOf(this.#store, codec, [], nothing), this.#checkpoint)
  }

  #begun(): Filling {
    return new Filling({ log: this.#log, codec, store: this.#store, partition: 0 })
  }

  async #write(rows: readonly StoreChange[]): Promise<void> {
    if (rows.length > 0) await this.#store.write(rows, this.#checkpoint)
  }

  get #checkpoint(): Checkpoint {
    return { changelog: 0n, position: BigInt(this.#stored) }
  }
}

const OFTEN = ['own', 'own', 'own', 'remember', 'remember', 'check'] as const
const RARELY = ['elsewhere', 'restart', 'forget', 'trim', 'toggle'] as const
const actions = fc.array(fc.constantFrom(...OFTEN, ...OFTEN, ...RARELY), {
  minLength: 20,
  maxLength: 80,
  size: 'max',
})

test('a store says of each moment what was then, whatever became of it, and leaves nothing', async () => {
  await fc.assert(
    fc.asyncProperty(actions, fc.nat(), async (all, seed) => {
      const life = new Life(seed)
      await life.restart()
      for (const action of all) await life[action]()
      await life.check()
      deepEqual(await life.left(), [])
    }),
    { numRuns: 60, endOnFailure: true },
  )
})
