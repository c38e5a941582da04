/**
 * What two partitions believe of one cluster-scoped owner, after any short life of it and of one dependent elsewhere: what is so.
 *
 * What must stay true: nothing is carried out but looks, so nothing but what was told settles a belief; while a partition lags, or no reaper answers,
 * nothing is believed of it, and once all goes on every belief comes round.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Folders } from '../testing/folders.ts'
import { folders } from '../testing/folders.ts'
import { CLUSTER, MONITORED, ModelCluster, served, settled } from '../testing/model-cluster.ts'
import { type Ground, groundOf } from '../testing/model-oracle.ts'
import { kindNotation, object, shortKind } from '../testing/notation.ts'
import { check } from './check.ts'
import type { Command } from './command.ts'
import type { Event } from './event.ts'
import { nodeOf } from './graph.ts'
import type { ObjectMeta } from './object.ts'
import { partitionOfObject } from './partition.ts'
import { policyFor } from './policy.ts'
import type { Standing } from './reference.ts'
import { standingOf } from './standing.ts'

const RUNS = Number(process.env['RUNS'] ?? 2_000)
const PARTITIONS = 2
const OWNER = 'pv-x'
const HOME = partitionOfObject(CLUSTER, '', PARTITIONS)
const AWAY = 1 - HOME
const NAMESPACE = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'].find(
  (each) => partitionOfObject(CLUSTER, each, PARTITIONS) === AWAY,
) as string

const TURNS = [
  ...['owner waits', 'owner orphans', 'owner is held', 'owner goes'],
  ...['dependent', 'blocking dependent', 'dependent lets go', 'dependent goes'],
  ...['restart', 'keep', 'restore', 'watch', 'unwatch pv', 'unwatch pod', 'lose pv', 'lose pod'],
  ...['beat', 'tick', 'home lags', 'others lag', 'no reaper', 'go on'],
] as const
type Turn = (typeof TURNS)[number]

class Life {
  readonly cluster: ModelCluster = new ModelCluster(undefined, undefined, PARTITIONS)
  readonly folders: Folders = folders(PARTITIONS, () => '')
  readonly #commands: Command[] = []
  readonly #lagging = new Set<number>()
  readonly #unwatched = new Set<string>()
  #kept: ReadonlyMap<string, ObjectMeta> | undefined
  #hasReaper = true
  #now = 0
  #epoch = 0
  #clusterEpoch = 1
  #serial = 0

  constructor() {
    this.#start()
    const policy = policyFor('enforce', 'parity')
    this.#tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    for (const short of MONITORED) this.cluster.relist(short, 0, false)
    this.#drain()
    this.cluster.create(object('pv/x', '0'))
    this.#drain()
  }

  take(turn: Turn): void {
    this.#act(turn)
    this.#drain()
  }

  /** All goes on, for longer than anybody waits for an answer. */
  comeToRest(): void {
    this.#lagging.clear()
    this.#hasReaper = true
    this.#watch()
    for (const short of MONITORED) this.cluster.relist(short, 0, false)
    this.#drain()
    for (let beats = 0; beats < 40; beats++) {
      this.#beat(60_000)
      this.#drain()
    }
    for (const each of this.folders.all) each.commit()
  }

  #act(turn: Turn): void {
    switch (turn) {
      case 'owner waits':
        return this.cluster.update(OWNER, { deletedAt: 1, finalizers: ['foregroundDeletion'] })
      case 'owner orphans':
        return this.cluster.update(OWNER, { deletedAt: 1, finalizers: ['orphan'] })
      case 'owner is held':
        return this.cluster.update(OWNER, { deletedAt: 1, finalizers: ['example.com/held'] })
      case 'owner goes':
        return this.cluster.update(OWNER, { deletedAt: 1, finalizers: [] })
      case 'dependent':
        return this.#name(' <- pv/x')
      case 'blocking dependent':
        return this.#name(' <- pv/x!')
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
      case 'unwatch pv':
        return this.#unwatch('pv', served('pv', false))
      case 'unwatch pod':
        return this.#unwatch('pod', served('pod', false))
      case 'lose pv':
        return this.#unwatch('pv', gone('pv'))
      case 'lose pod':
        return this.#unwatch('pod', gone('pod'))
      case 'beat':
        return this.#beat(30_000)
      case 'tick':
        return this.#beat(3_000)
      case 'home lags':
        this.#lagging.add(HOME)
        return
      case 'others lag':
        this.#lagging.add(AWAY)
        return
      case 'no reaper':
        this.#hasReaper = false
        return
      case 'go on':
        this.#lagging.clear()
        this.#hasReaper = true
    }
  }

  #dependent(): ObjectMeta | undefined {
    return [...this.cluster.objects.values()].find(({ kind }) => kind === 'Pod')
  }

  #name(owners: string): void {
    const wanted = object(`pod/p in ${NAMESPACE}${owners}`, '0')
    const former = this.#dependent()
    if (former === undefined) this.cluster.create({ ...wanted, uid: `p-${this.#serial++}` })
    else this.cluster.update(former.uid, { ownerReferences: wanted.ownerReferences })
  }

  #start(): void {
    this.#epoch += 1
    const about = { cluster: CLUSTER, name: 'test', epoch: this.#epoch }
    this.#tell({ type: 'WatcherStarted', ...about, clusterEpoch: this.#clusterEpoch })
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
    this.folders.append('epoch' in event ? { ...event, epoch: this.#epoch } : event, this.#now)
  }

  /** Until nothing more comes of it. */
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
    for (let partition = 0; partition < PARTITIONS; partition++) {
      if (this.#lagging.has(partition)) continue
      for (
        let outcome = this.folders.foldNext(partition);
        outcome !== undefined;
        outcome = this.folders.foldNext(partition)
      ) {
        came++
        this.#commands.push(...outcome.commands)
        for (const { kind } of outcome.relists) {
          const short = shortKind(kind.group, kind.kind)
          if (!this.#unwatched.has(short)) this.cluster.relist(short, 0, false)
        }
      }
    }
    return came
  }

  /** What is to be changed is refused; what is to be looked at is. */
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

/** What is believed of an owner that stands so. Once it orphaned, its mark may count whatever became of it since. */
const BELIEFS: Readonly<Record<Ground, Standing>> = {
  live: 'solid',
  waiting: 'waiting',
  orphaning: 'orphaned',
  absent: 'dangling',
  unresolvable: 'unresolvable',
}

function wrongIn({ cluster, folders: { all } }: Life, hasOrphaned: boolean): string[] {
  const wrong = all.flatMap(({ state }) => check(state))
  const objects = [...cluster.objects.values()]
  for (const dependent of objects.filter(({ kind }) => kind === 'Pod')) {
    const graph = all[AWAY]?.graph
    if (graph === undefined || nodeOf(graph, CLUSTER, dependent.uid) === undefined) {
      wrong.push(`${dependent.uid} is not known`)
      continue
    }
    for (const reference of dependent.ownerReferences) {
      const ground = groundOf(objects, dependent, reference)
      const { standing } = standingOf(graph, CLUSTER, dependent, reference)
      const mayBeMarked = hasOrphaned && standing === 'orphaned'
      if (standing !== BELIEFS[ground] && !mayBeMarked)
        wrong.push(`${OWNER} is ${ground}, and ${standing} to ${dependent.uid}`)
    }
  }
  return wrong
}

test('what partitions believe of an owner comes round to what is so', () => {
  const turns = fc.array(fc.constantFrom(...TURNS), { minLength: 1, maxLength: 15 })
  fc.assert(
    fc.property(turns, (taken) => {
      const life = new Life()
      for (const turn of taken) life.take(turn)
      life.comeToRest()
      deepEqual(wrongIn(life, taken.includes('owner orphans')), [])
    }),
    { numRuns: RUNS },
  )
})
