/**
 * What every Placement promises, shown by processes that join and leave one group.
 *
 * What must stay true: nothing here waits by the clock: it checks again, as often as the fixture
 * gives it a moment, until the promise is kept.
 *
 * Not here: how the shares are chosen (ports/share-out.test.ts), the fence (log.contract.ts).
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Placed, Placement, Role } from './placement.ts'

export interface PlacementFixture extends AsyncDisposable {
  /** Of the group's topic, and how many standbys each of them has. */
  readonly partitions: number
  readonly standbys: number
  /** Of another process of the group; it has not joined yet. */
  placement(): Promise<Placement>
  /** Lets time pass between two checks, as much as the engine needs to make progress. */
  moment(): Promise<void>
}

export interface PlacementContractOptions {
  /** Why it cannot run here. */
  readonly skip?: string | undefined
}

/** The partitions of one process, by its assignments. */
class Process {
  readonly url: string
  readonly placement: Placement
  /** The last that was given of each partition, until it is revoked. */
  readonly placed = new Map<number, Placed>()
  /** Partitions in the order in which they were given. */
  readonly told: number[] = []
  readonly #stop = new AbortController()
  readonly #ended: Promise<void>

  constructor(url: string, placement: Placement) {
    this.url = url
    this.placement = placement
    this.#ended = this.#take()
  }

  async #take(): Promise<void> {
    for await (const given of this.placement.assignments(this.url, this.#stop.signal)) {
      const { partition, revoked } = given
      if (revoked.aborted) continue
      this.placed.set(partition, given)
      this.told.push(partition)
      revoked.addEventListener('abort', () => {
        if (this.placed.get(partition) === given) this.placed.delete(partition)
      })
    }
  }

  has(role: Role): number[] {
    const all = [...this.placed.values()].filter((each) => each.role === role)
    return all.map(({ partition }) => partition).sort((x, y) => x - y)
  }

  async leave(): Promise<void> {
    this.#stop.abort(new Error('the process leaves'))
    await this.#ended
  }
}

class Group implements AsyncDisposable {
  readonly fixture: PlacementFixture
  readonly processes: Process[] = []
  #joined = 0

  constructor(fixture: PlacementFixture) {
    this.fixture = fixture
  }

  async join(): Promise<Process> {
    const url = `http://127.0.0.1:${++this.#joined}`
    const process = new Process(url, await this.fixture.placement())
    this.processes.push(process)
    return process
  }

  async leave(process: Process): Promise<void> {
    this.processes.splice(this.processes.indexOf(process), 1)
    await process.leave()
    await process.placement[Symbol.asyncDispose]()
  }

  /** Until every partition has exactly the owners it should have, and every process knows them. */
  async settled(): Promise<void> {
    while (!this.#isSettled()) await this.fixture.moment()
  }

  #isSettled(): boolean {
    const { partitions, standbys } = this.fixture
    const all = Array.from({ length: partitions }, (_, partition) => partition)
    const active = this.processes.flatMap((process) => process.has('active'))
    const standing = this.processes.flatMap((process) => process.has('standby'))
    const each = Math.min(standbys, this.processes.length - 1)
    return (
      isSame(active, all) &&
      isSame(
        standing,
        all.flatMap((partition) => Array<number>(each).fill(partition)),
      ) &&
      this.processes.every(({ placement }) => {
        const owners = placement.owners()
        return this.processes.every((process) =>
          process.has('active').every((partition) => owners.get(partition) === process.url),
        )
      })
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of [...this.processes]) await this.leave(process)
    await this.fixture[Symbol.asyncDispose]()
  }
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.toSorted((a, b) => a - b).join() === other.toSorted((a, b) => a - b).join()
}

export function placementContract(
  name: string,
  open: () => Promise<PlacementFixture>,
  options: PlacementContractOptions = {},
): void {
  const rule = (what: string, check: (group: Group) => Promise<void>): void => {
    test(`${name}: ${what}`, { skip: options.skip ?? false }, async () => {
      await using group = new Group(await open())
      await check(group)
    })
  }

  rule('one process has every partition, and no standby', async (group) => {
    const alone = await group.join()
    await group.settled()
    equal(alone.has('active').length, group.fixture.partitions)
    deepEqual(alone.has('standby'), [])
  })

  rule('several share all of them evenly, each with one active owner', async (group) => {
    for (let number = 0; number < 3; number++) await group.join()
    await group.settled()
    const sizes = group.processes.map((process) => process.has('active').length)
    ok(Math.max(...sizes) - Math.min(...sizes) <= 1, sizes.join())
  })

  rule('a standby is never where the partition is active', async (group) => {
    for (let number = 0; number < 3; number++) {
      await group.join()
      await group.settled()
      for (const process of group.processes) {
        const active = new Set(process.has('active'))
        deepEqual(
          process.has('standby').filter((partition) => active.has(partition)),
          [],
        )
      }
    }
  })

  rule('who stays keeps what it has, but for what a newcomer is given', async (group) => {
    const [first, second] = [await group.join(), await group.join()]
    await group.settled()
    const before = [first.has('active'), second.has('active')]
    const told = [first, second].map((process) => process.told.length)
    const third = await group.join()
    await group.settled()
    for (const [index, process] of [first, second].entries()) {
      const now = process.has('active')
      ok(
        now.every((partition) => before[index]?.includes(partition)),
        'it moved between the two',
      )
      const since = process.told.slice(told[index])
      deepEqual(
        now.filter((partition) => since.includes(partition)),
        [],
        'given twice',
      )
    }
    ok(third.has('active').length > 0)
  })

  rule('who leaves is replaced, by a standby if there is one', async (group) => {
    const [first, second, third] = [await group.join(), await group.join(), await group.join()]
    await group.settled()
    const before = [first, third].map((process) => ({
      process,
      had: process.has('active'),
      stood: process.has('standby'),
    }))
    const left = second.has('active')
    await group.leave(second)
    deepEqual([...second.placed.keys()], [], 'something was not revoked')
    await group.settled()
    for (const { process, had, stood } of before) {
      const now = process.has('active')
      deepEqual(
        had.filter((partition) => !now.includes(partition)),
        [],
      )
      if (group.fixture.standbys === 0) continue
      // Even shares come first, so at most one moves to a process that was not its standby.
      const cold = now.filter((partition) => left.includes(partition) && !stood.includes(partition))
      ok(cold.length <= Math.ceil(left.length / 2), `${cold.length} of ${left.length}`)
    }
  })

  rule('the last one has everything again, and who comes back gets some', async (group) => {
    const [first, second] = [await group.join(), await group.join()]
    await group.settled()
    await group.leave(first)
    await group.settled()
    equal(second.has('active').length, group.fixture.partitions)
    const back = await group.join()
    await group.settled()
    ok(back.has('active').length > 0)
  })
}
