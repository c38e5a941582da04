/**
 * The recorded state of one owner is its true state, after any short life of it and of one
 * dependent, namespaced or cluster-scoped.
 *
 * What must stay true: no command is carried out but live GETs, so only published events settle a
 * state. While the fold is behind, or no reaper answers, nothing is expected of it; once all actors
 * run again, every recorded state becomes true.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  CLUSTER,
  MONITORED,
  ModelCluster,
  served,
  settled,
} from '../testing/model/model-cluster.ts'
import { type Ground, groundOf } from '../testing/model/model-oracle.ts'
import { kindNotation, object, shortKind } from '../testing/model/notation.ts'
import { check } from '../testing/model/state-check.ts'
import type { FoldedLog } from '../testing/rig/folded-log.ts'
import { foldedLog } from '../testing/rig/folded-log.ts'
import { factsOf } from './graph/facts.ts'
import { standingOf } from './judge/standing.ts'
import type { Command } from './model/command.ts'
import type { Event } from './model/event.ts'
import type { ObjectMeta } from './model/object.ts'
import { policyFor } from './model/policy.ts'
import type { Standing } from './model/reference.ts'

const RUNS = Number(process.env['RUNS'] ?? 1_000)
/** Without a namespace, and in the one of its dependents. */
const OWNERS = ['pv', 'rs'] as const
type OwnerKind = (typeof OWNERS)[number]

const TURNS = [
  ...['owner waits', 'owner orphans', 'owner is held', 'owner goes'],
  ...['dependent', 'blocking dependent', 'dependent lets go', 'dependent goes'],
  ...[
    'restart',
    'keep',
    'restore',
    'watch',
    'unwatch owner',
    'unwatch pod',
    'lose owner',
    'lose pod',
  ],
  ...['beat', 'tick', 'fold lags', 'no reaper', 'go on'],
] as const
type Turn = (typeof TURNS)[number]

class Life {
  readonly cluster: ModelCluster = new ModelCluster()
  readonly log: FoldedLog = foldedLog()
  readonly #owner: OwnerKind
  readonly #commands: Command[] = []
  readonly #unwatched = new Set<string>()
  #kept: ReadonlyMap<string, ObjectMeta> | undefined
  #isLagging = false
  #hasReaper = true
  #now = 0
  #epoch = 0
  #clusterEpoch = 1
  #serial = 0

  constructor(owner: OwnerKind) {
    this.#owner = owner
    this.#start()
    const policy = policyFor('enforce', 'parity')
    this.#tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    for (const short of MONITORED) this.cluster.relist(short, 0, false)
    this.#drain()
    this.cluster.create(object(`${owner}/x`, '0'))
    this.#drain()
  }

  take(turn: Turn): void {
    this.#act(turn)
    this.#drain()
  }

  /** All actors run again, for longer than any of them waits for an answer. */
  comeToRest(): void {
    this.#isLagging = false
    this.#hasReaper = true
    this.#watch()
    for (const short of MONITORED) this.cluster.relist(short, 0, false)
    this.#drain()
    for (let beats = 0; beats < 40; beats++) {
      this.#beat(60_000)
      this.#drain()
    }
    this.log.folder.commit()
  }

  #act(turn: Turn): void {
    const owner = `${this.#owner}-x`
    switch (turn) {
      case 'owner waits':
        return this.cluster.update(owner, { deletedAt: 1, finalizers: ['foregroundDeletion'] })
      case 'owner orphans':
        return this.cluster.update(owner, { deletedAt: 1, finalizers: ['orphan'] })
      case 'owner is held':
        return this.cluster.update(owner, { deletedAt: 1, finalizers: ['example.com/held'] })
      case 'owner goes':
        return this.cluster.update(owner, { deletedAt: 1, finalizers: [] })
      case 'dependent':
        return this.#name(` <- ${this.#owner}/x`)
      case 'blocking dependent':
        return this.#name(` <- ${this.#owner}/x!`)
      case 'dependent lets go':
        return this.#name('')
      case 'dependent goes': {
        const dependent = this.#dependent()
        if (dependent !== undefined) this.cluster.delete(dependent.uid, 'Background')
        return
      }
      case 'restart':
        return this.#restart()
      case 'keep':
        this.#kept = new Map(this.cluster.objects)
        return
      case 'restore':
        return this.#restore()
      case 'watch':
        return this.#watch()
      case 'unwatch owner':
        return this.#unwatch(this.#owner, served(this.#owner, false))
      case 'unwatch pod':
        return this.#unwatch('pod', served('pod', false))
      case 'lose owner':
        return this.#unwatch(this.#owner, gone(this.#owner))
      case 'lose pod':
        return this.#unwatch('pod', gone('pod'))
      case 'beat':
        return this.#beat(30_000)
      case 'tick':
        return this.#beat(3_000)
      case 'fold lags':
        this.#isLagging = true
        return
      case 'no reaper':
        this.#hasReaper = false
        return
      case 'go on':
        this.#isLagging = false
        this.#hasReaper = true
    }
  }

  #dependent(): ObjectMeta | undefined {
    return [...this.cluster.objects.values()].find(({ kind }) => kind === 'Pod')
  }

  #name(owners: string): void {
    const wanted = object(`pod/p${owners}`, '0')
    const former = this.#dependent()
    if (former === undefined) this.cluster.create({ ...wanted, uid: `p-${this.#serial++}` })
    else this.cluster.update(former.uid, { ownerReferences: wanted.ownerReferences })
  }

  #start(): void {
    this.#epoch += 1
    const about = { cluster: CLUSTER, name: 'test', epoch: this.#epoch }
    this.#tell({
      type: 'WatcherStarted',
      serverTime: null,
      ...about,
      clusterEpoch: this.#clusterEpoch,
    })
  }

  #restart(): void {
    for (const [short] of this.cluster.streams) this.cluster.streams.set(short, [])
    this.#start()
    for (const short of MONITORED) {
      if (this.#unwatched.has(short)) continue
      this.#tell(served(short, true))
      this.cluster.relist(short, 0, false)
    }
    this.#tell(served('deploy', false))
  }

  #restore(): void {
    if (this.#kept === undefined) return
    this.cluster.objects.clear()
    for (const [uid, each] of this.#kept) this.cluster.objects.set(uid, each)
    this.#clusterEpoch += 1
    this.#restart()
  }

  #unwatch(short: string, event: Event): void {
    if (this.#unwatched.has(short)) return
    this.#unwatched.add(short)
    this.cluster.streams.set(short, [])
    this.#tell(event)
  }

  #watch(): void {
    for (const short of this.#unwatched) {
      this.#unwatched.delete(short)
      this.cluster.streams.set(short, [])
      this.#tell(served(short, true))
      this.cluster.relist(short, 0, false)
    }
  }

  #beat(ms: number): void {
    this.#now += ms
    this.#tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: this.#epoch, kinds: [] })
  }

  #tell(event: Event): void {
    this.log.append('epoch' in event ? { ...event, epoch: this.#epoch } : event, this.#now)
  }

  /** Until it has no further result. */
  #drain(): void {
    for (let rounds = 0; rounds < 1_000; rounds++) {
      const came = this.#takeStreams() + this.#fold() + this.#look()
      if (came === 0) return
    }
    throw new Error('it goes round and round')
  }

  #takeStreams(): number {
    let came = 0
    for (const [short, stream] of this.cluster.streams) {
      for (const event of stream.splice(0)) {
        if (this.#unwatched.has(short)) continue
        this.#tell(event)
        came++
      }
    }
    return came
  }

  #fold(): number {
    let came = 0
    while (!this.#isLagging && this.log.waiting > 0) {
      const outcome = this.log.foldNext()
      came++
      this.#commands.push(...(outcome?.commands ?? []))
      for (const { kind } of outcome?.relists ?? []) {
        const short = shortKind(kind.group, kind.kind)
        if (!this.#unwatched.has(short)) this.cluster.relist(short, 0, false)
      }
    }
    return came
  }

  /** Commands that change something are refused; live GETs are answered. */
  #look(): number {
    if (!this.#hasReaper) return 0
    const commands = this.#commands.splice(0)
    for (const command of commands) {
      const isOld = command.clusterEpoch !== this.#clusterEpoch
      const result =
        command.type === 'VerifyOwner' && !isOld
          ? this.cluster.verify(command)
          : command.type === 'WarnObject'
            ? undefined
            : settled(command, 'blocked', null)
      if (result !== undefined) this.#tell({ ...result, clusterEpoch: command.clusterEpoch })
    }
    return commands.length
  }
}

function gone(short: string): Event {
  const { group, kind, resource } = kindNotation(short)
  return { type: 'KindGone', cluster: CLUSTER, epoch: 1, group, kind, resource }
}

/**
 * What is recorded of an owner in this state. Once it orphaned its dependents, its mark may count
 * whatever happened to it since.
 */
const BELIEFS: Readonly<Record<Ground, Standing>> = {
  live: 'solid',
  waiting: 'waiting',
  orphaning: 'orphaned',
  absent: 'dangling',
  unresolvable: 'unresolvable',
}

function wrongIn({ cluster, log: { folder } }: Life, hasOrphaned: boolean): string[] {
  const wrong = [...check(folder.state)]
  const { graph } = folder
  const objects = [...cluster.objects.values()]
  for (const dependent of objects.filter(({ kind }) => kind === 'Pod')) {
    if (factsOf(graph, CLUSTER).node(dependent.uid) === undefined) {
      wrong.push(`${dependent.uid} is not known`)
      continue
    }
    for (const reference of dependent.ownerReferences) {
      const ground = groundOf(objects, dependent, reference)
      const { standing } = standingOf(factsOf(graph, CLUSTER), dependent, reference)
      const mayBeMarked = hasOrphaned && standing === 'orphaned'
      if (standing !== BELIEFS[ground] && !mayBeMarked)
        wrong.push(`${reference.uid} is ${ground}, and ${standing} to ${dependent.uid}`)
    }
  }
  return wrong
}

for (const owner of OWNERS) {
  test(`what is believed of an owner of kind ${owner} comes round to what is so`, () => {
    const turns = fc.array(fc.constantFrom(...TURNS), { minLength: 1, maxLength: 15 })
    fc.assert(
      fc.property(turns, (taken) => {
        const life = new Life(owner)
        for (const turn of taken) life.take(turn)
        life.comeToRest()
        deepEqual(wrongIn(life, taken.includes('owner orphans')), [])
      }),
      { numRuns: RUNS },
    )
  })
}
