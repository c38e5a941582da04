/**
 * Collecting, the whole loop against a model of an API server: nothing is deleted that may stay,
 * and nothing stays that must be deleted.
 *
 * The server objects to a removal while it takes effect, with full knowledge (I1, I2, I6); when all
 * is quiet the oracle names the objects left over (I16). Watches lag, break and lose events; calls
 * are refused; users write in between.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLUSTER, MONITORED, ModelCluster, settled } from '../testing/model/model-cluster.ts'
import { leftovers, objection } from '../testing/model/model-oracle.ts'
import { shortKind } from '../testing/model/notation.ts'
import { check } from '../testing/model/state-check.ts'
import { type Action, act, life } from '../testing/model/world-generator.ts'
import type { FoldedLog } from '../testing/rig/folded-log.ts'
import { foldedLog } from '../testing/rig/folded-log.ts'
import type { Outcome } from './graph/outcome.ts'
import type { Command, DeleteObject } from './model/command.ts'
import type { Event } from './model/event.ts'
import { nodePhase } from './model/node.ts'
import type { ObjectMeta } from './model/object.ts'
import { policyFor } from './model/policy.ts'

const RUNS = Number(process.env['RUNS'] ?? 400)
/** Enough for every growing wait to end several times. */
const QUIET_BEATS = 200
const BEAT_MS = 30_000
/** A relist of all there is, and its consequences, end long before. */
const BUSY_ROUNDS = 1_000

/** Server, watches, fold and reaper; each `turn` lets one of them go on. */
class Loop {
  readonly log: FoldedLog = foldedLog()
  readonly objections: string[] = []
  readonly cluster: ModelCluster
  readonly #commands: Command[] = []
  readonly #results: Event[] = []
  #now = 0
  readonly #isLate: boolean

  /** `isLate`: the fold takes its turn like all others, and is behind the watches. */
  constructor(isLate = false) {
    this.#isLate = isLate
    const onRemoved = (object: ObjectMeta, command: DeleteObject | null): void => {
      if (command === null) return
      const why = objection(this.cluster.objects.values(), object)
      if (why !== '') this.objections.push(`${object.uid} goes by ${command.id}: ${why}`)
    }
    this.cluster = new ModelCluster(onRemoved, () => {})
    const policy = policyFor('enforce', 'parity')
    const cluster = { cluster: CLUSTER, name: 'test', epoch: 1, clusterEpoch: 1 }
    this.tell({ type: 'WatcherStarted', serverTime: null, ...cluster })
    this.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    for (const short of MONITORED) this.cluster.relist(short, 0, false)
  }

  tell(event: Event): void {
    this.log.append(event, this.#now)
    if (!this.#isLate) this.#fold()
  }

  #fold(): void {
    const outcome = this.log.foldNext()
    if (outcome !== undefined) this.#gather(outcome)
  }

  #gather({ commands, relists }: Outcome): void {
    this.#commands.push(...commands)
    for (const { kind } of relists) this.cluster.relist(shortKind(kind.group, kind.kind), 0, false)
    for (const command of commands) this.#object(command)
  }

  /**
   * A uid is never used again, so an object that is judged by the absence of its owner can be
   * objected to at once.
   */
  #object(command: Command): void {
    if (command.type !== 'DeleteObject') return
    const { target, references } = command
    const object = this.cluster.objects.get(target.uid)
    // An owner that waits may be turned to orphan, or be deleted: that is checked when the command
    // is carried out.
    if (object === undefined || command.owners.some(({ claim }) => claim === 'waiting')) return
    const why = objection(this.cluster.objects.values(), { ...object, ownerReferences: references })
    if (why !== '') this.objections.push(`${target.uid} is commanded to go: ${why}`)
  }

  /**
   * 0 to 4: Continue, a result, a command, time; other choices let one kind's watch publish an
   * event.
   */
  turn(choice: number): void {
    if (choice === 0 || (this.#isLate && choice % 2 === 0)) this.#fold()
    if (choice === 0) return
    if (choice === 1) return this.#result()
    if (choice === 2) return this.#carryOut(false)
    if (choice === 3) return this.#carryOut(true)
    if (choice === 4) return this.beat(BEAT_MS / 10)
    const streams = [...this.cluster.streams.values()]
    const event = streams[choice % streams.length]?.shift()
    if (event !== undefined) this.tell(event)
  }

  #result(): void {
    const event = this.#results.shift()
    if (event !== undefined) this.tell(event)
  }

  #carryOut(isRefused: boolean): void {
    const command = this.#commands.shift()
    if (command === undefined) return
    if (isRefused) this.#results.push(settled(command, 'blocked', null))
    else if (command.type === 'VerifyOwner') this.#results.push(this.cluster.verify(command))
    else if (command.type !== 'WarnObject') this.#results.push(this.cluster.carryOut(command))
  }

  beat(ms: number): void {
    this.#now += ms
    this.tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] })
  }

  quiet(count: number = QUIET_BEATS): void {
    for (let beats = 0; beats < count; beats++) {
      this.beat(BEAT_MS)
      for (let rounds = 0; this.#isBusy(); rounds++) {
        if (rounds === BUSY_ROUNDS) throw new Error('the loop goes round and round')
        for (let choice = 0; choice < 40; choice++)
          if (choice !== 3 && choice !== 4) this.turn(choice)
      }
    }
  }

  #isBusy(): boolean {
    const isTelling = [...this.cluster.streams.values()].some((stream) => stream.length > 0)
    return isTelling || this.log.waiting + this.#results.length + this.#commands.length > 0
  }
}

function run(
  actions: readonly Action[],
  turns: readonly (readonly number[])[],
  isLate = false,
): Loop {
  const loop = new Loop(isLate)
  for (const [serial, action] of actions.entries()) {
    act(loop.cluster, action, serial)
    for (const choice of turns[serial % turns.length] ?? []) loop.turn(choice)
  }
  // The hourly relist finds the events that the watches lost.
  for (const short of MONITORED) loop.cluster.relist(short, 0, false)
  loop.quiet()
  loop.log.folder.commit()
  return loop
}

const anyLife = life({ hasOrphaning: true, hasKindsGone: false, maxLength: 30 })
const turns = fc.array(fc.array(fc.nat({ max: 19 }), { maxLength: 12 }), {
  minLength: 1,
  maxLength: 12,
})

test('what goes may go, and what must go goes', () => {
  fc.assert(
    fc.property(anyLife, turns, (actions, each) => {
      const loop = run(actions, each)
      deepEqual(loop.objections, [])
      deepEqual(leftovers(loop.cluster.objects), [])
      deepEqual(check(loop.log.folder.state), [])
    }),
    { numRuns: RUNS },
  )
})

test('what goes may go, and what must go goes, by a fold that is behind', () => {
  fc.assert(
    fc.property(anyLife, turns, (actions, each) => {
      const loop = run(actions, each, true)
      deepEqual(loop.objections, [])
      deepEqual(leftovers(loop.cluster.objects), [])
      deepEqual(check(loop.log.folder.state), [])
    }),
    { numRuns: RUNS },
  )
})

/** One owner orphaned it, another was deleted before, and a third cannot be resolved. */
const LET_GO_BESIDE_UNRESOLVABLE: Action[] = [
  { type: 'create', kind: 'pv', name: 'a', namespace: 'ns', references: [], finalizers: [] },
  {
    type: 'create',
    kind: 'pod',
    name: 'a',
    namespace: 'other',
    references: [],
    finalizers: ['orphan'],
  },
  { type: 'delete', pick: 0, policy: 'Background' },
  { type: 'delete', pick: 0, policy: 'Orphan' },
  { type: 'create', kind: 'pod', name: 'a', namespace: 'ns', references: [], finalizers: [] },
  {
    type: 'create',
    kind: 'pod',
    name: 'a',
    namespace: 'other',
    references: [
      { flaw: 'departed', pick: 0, blocking: false },
      { flaw: 'departed', pick: 9, blocking: false },
      { flaw: 'version', pick: 0, blocking: false },
    ],
    finalizers: [],
  },
  { type: 'release', pick: 0 },
]

test('a fold that is behind leads to what one at once leads to', () => {
  const anyLife = life({
    hasOrphaning: true,
    hasKindsGone: false,
    hasHolds: false,
    maxLength: 30,
  })
  fc.assert(
    fc.property(anyLife, (actions) => {
      const [one, late] = [false, true].map((isLate) => {
        const loop = new Loop(isLate)
        loop.quiet(1)
        for (const [serial, action] of actions.entries()) {
          act(loop.cluster, action, serial)
          loop.quiet(1)
        }
        loop.quiet()
        return [...loop.cluster.objects.values()].map(
          ({ uid, ownerReferences, finalizers, deletedAt }) =>
            [uid, ownerReferences, finalizers, deletedAt !== null] as const,
        )
      })
      deepEqual(late, one)
    }),
    { numRuns: Math.ceil(RUNS / 3), examples: [[LET_GO_BESIDE_UNRESOLVABLE]] },
  )
})

test('the graph holds at the end what the server holds', () => {
  fc.assert(
    fc.property(anyLife, turns, (actions, each) => {
      const { cluster, log } = run(actions, each)
      const nodes = [...log.folder.state.values()].filter((value) => value.type === 'Node')
      const held = nodes.map((node) => `${node.object.uid} ${nodePhase(node) === 'reaped'}`)
      const watched = [...cluster.objects.values()].filter(({ kind }) => kind !== 'Deployment')
      deepEqual(held.sort(), watched.map(({ uid }) => `${uid} false`).sort())
    }),
    { numRuns: Math.ceil(RUNS / 3) },
  )
})

test('nobody is asked twice what nothing changed', () => {
  fc.assert(
    fc.property(anyLife, turns, (actions, each) => {
      const loop = run(actions, each)
      const issued = loop.log.folder.commands.length
      for (const event of [...loop.log.folder.state.values()].slice(0, 5)) {
        if (event.type === 'Node') loop.cluster.touch(event.object.uid)
      }
      for (let choice = 0; choice < 40; choice++) if (choice % 20 > 4) loop.turn(choice % 20)
      equal(loop.log.folder.commands.length, issued)
    }),
    { numRuns: Math.ceil(RUNS / 3) },
  )
})
