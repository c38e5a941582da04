/**
 * Collecting while the cluster is restored to an earlier state, watchers are succeeded and kinds
 * are unwatched for a while: nothing is deleted that may stay, no reference to an owner that no
 * actor deletes is dropped, and nothing stays that must be deleted.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { claimsToProve } from '../services/reaper/decide/gate.ts'
import {
  CLUSTER,
  MONITORED,
  ModelCluster,
  served,
  settled,
} from '../testing/model/model-cluster.ts'
import { groundOf, leftovers, objection } from '../testing/model/model-oracle.ts'
import { shortKind } from '../testing/model/notation.ts'
import { check } from '../testing/model/state-check.ts'
import { type Action, act, life } from '../testing/model/world-generator.ts'
import type { FoldedLog } from '../testing/rig/folded-log.ts'
import { foldedLog } from '../testing/rig/folded-log.ts'
import type { Command } from './model/command.ts'
import type { CommandSettled, Event } from './model/event.ts'
import type { ObjectMeta } from './model/object.ts'
import { policyFor } from './model/policy.ts'

const RUNS = Number(process.env['RUNS'] ?? 400)
const BEAT_MS = 30_000
const BOUNDS = {
  mayRemove: [],
  commandLifeMs: 600_000,
  waitingProofAfterMs: 2_000,
  goneProofAfterMs: 5_000,
}
type Jolt =
  | { readonly type: 'keep' }
  | { readonly type: 'restore' }
  | { readonly type: 'restart' }
  | { readonly type: 'unwatch'; readonly kind: string }
  | { readonly type: 'watch' }

class Loop {
  readonly log: FoldedLog = foldedLog()
  readonly objections: string[] = []
  readonly cluster: ModelCluster
  #commands: [Command, number][] = []
  readonly #results: Event[] = []
  readonly #unwatched = new Set<string>()
  #kept: ReadonlyMap<string, ObjectMeta> | undefined
  #now = 0
  #epoch = 1
  #clusterEpoch = 1

  readonly #isLate: boolean

  /** `isLate`: the fold takes its turn like all others, and is behind the watches. */
  constructor(isLate: boolean) {
    this.#isLate = isLate
    const onRemoved = (object: ObjectMeta, command: Command | null): void => {
      const why = command === null ? '' : objection(this.cluster.objects.values(), object)
      if (why !== '') this.objections.push(`${object.uid} goes: ${why}`)
    }
    this.cluster = new ModelCluster(onRemoved, () => {})
    this.#start()
    const policy = policyFor('enforce', 'parity')
    this.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    for (const short of MONITORED) this.cluster.relist(short, 0, false)
  }

  #start(): void {
    const about = { cluster: CLUSTER, name: 'test', epoch: this.#epoch }
    this.tell({
      type: 'WatcherStarted',
      serverTime: null,
      ...about,
      clusterEpoch: this.#clusterEpoch,
    })
  }

  tell(event: Event): void {
    this.log.append('epoch' in event ? { ...event, epoch: this.#epoch } : event, this.#now)
    if (!this.#isLate) this.#fold()
  }

  #fold(): void {
    const outcome = this.log.foldNext()
    for (const { kind } of outcome?.relists ?? []) this.#relist(shortKind(kind.group, kind.kind))
    for (const command of outcome?.commands ?? []) this.#commands.push([command, this.#now])
  }

  #relist(short: string): void {
    if (!this.#unwatched.has(short)) this.cluster.relist(short, 0, false)
  }

  turn(choice: number): void {
    if (choice === 0 || (this.#isLate && choice % 2 === 0)) this.#fold()
    if (choice === 0) return
    if (choice === 1) return this.#result()
    if (choice === 2) return this.#carryOut(false)
    if (choice === 3) return this.#carryOut(true)
    if (choice === 4) return this.beat(BEAT_MS / 10)
    const streams = [...this.cluster.streams]
    const [short, stream] = streams[choice % streams.length] ?? ['', []]
    const event = stream.shift()
    if (event !== undefined && !this.#unwatched.has(short)) this.tell(event)
  }

  #result(): void {
    const event = this.#results.shift()
    if (event !== undefined) this.tell(event)
  }

  #carryOut(isRefused: boolean): void {
    const [command, at] = this.#commands.shift() ?? []
    if (command === undefined || at === undefined || command.type === 'WarnObject') return
    const isOld = command.clusterEpoch !== this.#clusterEpoch || command.evidence === 'bulk'
    const result =
      isRefused || isOld
        ? settled(command, 'blocked', null)
        : command.type === 'VerifyOwner'
          ? this.cluster.verify(command)
          : this.#effect(command, at)
    this.#results.push({ ...result, clusterEpoch: command.clusterEpoch })
  }

  #effect(
    command: Exclude<Command, { type: 'VerifyOwner' | 'WarnObject' }>,
    at: number,
  ): CommandSettled {
    const facts = { newsMs: this.#now - at, isUnbroken: true }
    for (const claim of claimsToProve(command, facts, BOUNDS)) {
      const found = this.cluster.at(claim)
      const isSame = found?.uid === claim.uid
      const isWaiting = isSame && found.deletedAt !== null
      if (isSame && (claim.claim === 'absent' || !isWaiting)) return settled(command, 'stale', null)
    }
    const object = this.cluster.objects.get(command.target.uid)
    const result = this.cluster.carryOut(command)
    if (command.type === 'OrphanDependent' && result.outcome === 'done' && object !== undefined) {
      for (const index of command.drop) {
        const reference = command.references[index]
        if (reference === undefined) continue
        const owner = this.cluster.objects.get(reference.uid)
        const isLive = groundOf(this.cluster.objects.values(), object, reference) === 'live'
        if (isLive && owner?.deletedAt === null)
          this.objections.push(
            `${object.uid} loses ${reference.uid}, which nobody deletes (${command.evidence})`,
          )
      }
    }
    return result
  }

  beat(ms: number): void {
    this.#now += ms
    this.tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] })
  }

  jolt(jolt: Jolt): void {
    switch (jolt.type) {
      case 'keep':
        this.#kept = new Map(this.cluster.objects)
        return
      case 'restore': {
        if (this.#kept === undefined) return
        this.cluster.objects.clear()
        for (const [uid, object] of this.#kept) this.cluster.objects.set(uid, object)
        this.#clusterEpoch += 1
        return this.#restart()
      }
      case 'restart':
        return this.#restart()
      case 'unwatch': {
        if (this.#unwatched.has(jolt.kind)) return
        this.#unwatched.add(jolt.kind)
        this.cluster.streams.set(jolt.kind, [])
        return this.tell(served(jolt.kind, false))
      }
      case 'watch':
        for (const short of [...this.#unwatched]) this.#watch(short)
    }
  }

  #watch(short: string): void {
    this.#unwatched.delete(short)
    this.cluster.streams.set(short, [])
    this.tell(served(short, true))
    this.cluster.relist(short, 0, false)
  }

  #restart(): void {
    this.#epoch += 1
    for (const [short] of this.cluster.streams) this.cluster.streams.set(short, [])
    this.#start()
    for (const short of MONITORED) {
      this.tell(served(short, !this.#unwatched.has(short)))
      this.#relist(short)
    }
    this.tell(served('deploy', false))
  }

  quiet(count: number): void {
    this.jolt({ type: 'watch' })
    for (const short of MONITORED) this.cluster.relist(short, 0, false)
    for (let beats = 0; beats < count; beats++) {
      this.beat(BEAT_MS)
      for (let rounds = 0; this.#isBusy(); rounds++) {
        if (rounds === 1_000) throw new Error('the loop goes round and round')
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

const anyTurns = fc.array(fc.array(fc.nat({ max: 19 }), { maxLength: 12 }), {
  minLength: 1,
  maxLength: 12,
})
const kind = fc.constantFrom('rs', 'pv', 'node', 'pod')
const calm: fc.Arbitrary<Jolt> = fc.oneof(
  fc.constant({ type: 'restart' as const }),
  fc.record({ type: fc.constant('unwatch' as const), kind }),
  fc.constant({ type: 'watch' as const }),
)
const wild: fc.Arbitrary<Jolt> = fc.oneof(
  calm,
  fc.constant({ type: 'keep' as const }),
  fc.constant({ type: 'restore' as const }),
)

function joltsOf(jolt: fc.Arbitrary<Jolt>): fc.Arbitrary<readonly (Jolt | null)[]> {
  return fc.array(fc.option(jolt, { freq: 3 }), { minLength: 1, maxLength: 15 })
}

function run(
  actions: readonly Action[],
  turns: readonly (readonly number[])[],
  jolts: readonly (Jolt | null)[],
  isLate: boolean,
): Loop {
  const loop = new Loop(isLate)
  for (const [serial, action] of actions.entries()) {
    act(loop.cluster, action, serial)
    const jolt = jolts[serial % jolts.length] ?? null
    if (jolt !== null) loop.jolt(jolt)
    for (const choice of turns[serial % turns.length] ?? []) loop.turn(choice)
  }
  loop.quiet(200)
  loop.log.folder.commit()
  return loop
}

/** The effects of a restore are seen best where users orphan, and most references are good. */
function orphaning(actions: readonly Action[]): readonly Action[] {
  return actions.map((action, index): Action => {
    if (action.type === 'delete' && index % 2 === 0) return { ...action, policy: 'Orphan' }
    if (action.type !== 'create') return action
    const references = action.references.map((each) => ({ ...each, flaw: 'none' as const }))
    return { ...action, references }
  })
}

test('nothing wrong goes while watchers and watches come and go, and what must go goes', () => {
  const lives = life({ hasOrphaning: true, hasKindsGone: false, maxLength: 30 })
  fc.assert(
    fc.property(lives, anyTurns, joltsOf(calm), fc.boolean(), (actions, turns, jolts, isLate) => {
      const loop = run(actions, turns, jolts, isLate)
      deepEqual(loop.objections, [])
      deepEqual(leftovers(loop.cluster.objects), [])
      deepEqual(check(loop.log.folder.state), [])
    }),
    { numRuns: RUNS },
  )
})

test('nothing wrong goes, and nothing loses an owner that nobody deletes, when a cluster is restored', () => {
  const lives = life({ hasOrphaning: true, hasKindsGone: false, maxLength: 30 }).map(orphaning)
  fc.assert(
    fc.property(lives, anyTurns, joltsOf(wild), fc.boolean(), (actions, turns, jolts, isLate) => {
      const loop = run(actions, turns, jolts, isLate)
      deepEqual(loop.objections, [])
      deepEqual(check(loop.log.folder.state), [])
    }),
    { numRuns: RUNS },
  )
})
