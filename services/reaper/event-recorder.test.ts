/** Which Kubernetes Events are written about results of commands, and how many at most. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import type { Command, DeleteObject, OwnerClaim, Target } from '../../core/model/command.ts'
import {
  type Cluster,
  ClusterError,
  type ClusterEvent,
  type ReapAnswer,
} from '../../ports/cluster.ts'
import { Cuts } from '../../runtime/shares/cuts.ts'
import { object } from '../../testing/model/notation.ts'
import { settled } from './decide/result.ts'
import { EventRecorder } from './event-recorder.ts'

const CHANGED: ReapAnswer = { type: 'Changed', code: 201, object: object('rs/web', '7') }

interface Rig extends AsyncDisposable {
  readonly clock: ManualClock
  readonly recorder: EventRecorder
  readonly written: (ClusterEvent & { readonly about: string })[]
  answer: () => ReapAnswer
}

function start(): Rig {
  const clock = new ManualClock()
  const stop = new AbortController()
  const written: Rig['written'] = []
  const rig = { answer: () => CHANGED }
  const cluster: Pick<Cluster, 'writeEvent'> = {
    async writeEvent({ kind, namespace, name }, event) {
      const answer = made.answer()
      written.push({ ...event, about: `${kind} ${namespace}/${name}` })
      return answer
    },
  }
  const recorder = new EventRecorder({
    clusters: (id) => (id === 'c' ? { id, cluster: cluster as Cluster } : undefined),
    clock,
    cuts: new Cuts(clock),
  })
  const running = recorder.run(stop.signal)
  const made: Rig = Object.assign(rig, {
    ...{ clock, recorder, written },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await clock.advance(1)
      await running
    },
  })
  return made
}

function target(name: string, namespace = 'shop'): Target {
  return {
    ...{ group: '', version: 'v1', kind: 'Pod', resource: 'pods', namespace, name },
    ...{ uid: `u-${name}`, resourceVersion: '7', aggregated: false },
  }
}

const OWNER: OwnerClaim = {
  ...{ group: 'apps', version: 'v1', kind: 'ReplicaSet', resource: 'replicasets' },
  ...{
    namespace: 'shop',
    name: 'web',
    uid: 'u-web',
    claim: 'absent',
    cluster: '',
    clusterEpoch: 0,
    createdAt: null,
  },
}

function deletion(name: string, rest: Partial<DeleteObject> = {}): DeleteObject {
  return {
    ...{ type: 'DeleteObject', id: `id-${name}`, cluster: 'c', clusterEpoch: 1, partition: 0 },
    ...{ mode: 'enforce', target: target(name), evidence: 'deleted', because: '', basis: [] },
    ...{ propagationPolicy: 'Background', references: [], finalizers: [], owners: [OWNER] },
    ...{ freshness: 'seen', approvedBy: '', decidedAt: 0 },
    ...rest,
  } as DeleteObject
}

function end(
  { recorder }: Pick<Rig, 'recorder'>,
  command: Command,
  outcome: 'done' | 'blocked' | 'absent' | 'would-go',
  code: number | null = 200,
  reason = '',
): void {
  const how = { type: 'Settle', outcome, reason, code, object: null } as const
  recorder.settled(command, settled(command, how, 1))
}

test('deletes of one owner’s dependents within seconds are one Event about the owner', async () => {
  await using rig = start()
  for (let each = 0; each < 12; each++) end(rig, deletion(`web-${each}`), 'done')
  await rig.clock.advance(9_999)
  deepEqual(rig.written, [])
  await rig.clock.advance(1)
  deepEqual(rig.written, [
    {
      ...{ type: 'Normal', reason: 'Collected', about: 'ReplicaSet shop/web' },
      message:
        'deleted 12 dependents, since no owner is left: Pod/web-0, Pod/web-1, Pod/web-2, Pod/web-3, Pod/web-4, and 7 more',
    },
  ])
  await rig.clock.advance(60_000)
  equal(rig.written.length, 1)
})

test('one that no owner is known of has an Event of its own', async () => {
  await using rig = start()
  end(rig, deletion('lone', { owners: [] }), 'done')
  await rig.clock.advance(10_000)
  deepEqual(
    rig.written.map(({ about, message }) => [about, message]),
    [['Pod shop/lone', 'deleted 1 dependent, since no owner is left: Pod/lone']],
  )
})

test('what the server refuses is a warning about the object, and what we hold ourselves is none', async () => {
  await using rig = start()
  end(rig, deletion('stuck'), 'blocked', 403, '403 Forbidden: no')
  end(rig, deletion('paused'), 'blocked', null, 'paused by ann')
  end(rig, deletion('tried'), 'would-go')
  end(rig, deletion('late'), 'absent', 404)
  await rig.clock.advance(10_000)
  deepEqual(rig.written, [
    {
      ...{ type: 'Warning', reason: 'Blocked', about: 'Pod shop/stuck' },
      message: 'it cannot be deleted now: 403 Forbidden: no',
    },
  ])
})

test('there are few in a minute, of one namespace fewer; what is too much is counted', async () => {
  await using rig = start()
  const refused = (name: string, namespace: string): void => {
    end(rig, deletion(name, { target: target(name, namespace) }), 'blocked', 403, 'no')
  }
  for (let each = 0; each < 40; each++) refused(`a-${each}`, 'greedy')
  for (let each = 0; each < 40; each++) refused(`b-${each}`, `n-${each}`)
  await rig.clock.advance(10_000)
  const of = (part: string): number => rig.written.filter((it) => it.about.includes(part)).length
  // The first of each namespace goes before the second of any.
  deepEqual([of('greedy/'), of('/b-')], [1, 40])
  deepEqual([...rig.recorder.counts()].sort(), [
    ['left out', 39],
    ['written', 41],
  ])
  await rig.clock.advance(60_000)
  refused('again', 'greedy')
  await rig.clock.advance(10_000)
  equal(of('again'), 1)
  for (let each = 0; each < 40; each++) refused(`c-${each}`, 'alone')
  await rig.clock.advance(10_000)
  equal(of('alone/'), 5)
})

test('gathering has an end, too', async () => {
  await using rig = start()
  for (let each = 0; each < 3_000; each++) end(rig, deletion(`p-${each}`), 'blocked', 403, 'no')
  equal(rig.recorder.counts().get('left out'), 2_000)
})

test('T22: what one namespace or cluster has in ten seconds leaves the others theirs', async () => {
  await using rig = start()
  const refused = (name: string, namespace: string, cluster = 'c'): void => {
    const its = { target: target(name, namespace), cluster }
    end(rig, deletion(name, its), 'blocked', 403, 'no')
  }
  for (let each = 0; each < 3_000; each++) refused(`d-${each}`, `d-${each % 50}`, 'd')
  for (let each = 0; each < 3_000; each++) refused(`g-${each}`, 'greedy')
  for (let each = 0; each < 20; each++) refused(`b-${each}`, `n-${each}`)
  await rig.clock.advance(10_000)
  equal(rig.written.filter((it) => it.about.includes('/b-')).length, 20)
  equal(rig.written.filter((it) => it.about.includes('/g-')).length, 5)
})

test('a cluster that is away, or refuses it, stops nothing', async () => {
  await using rig = start()
  rig.answer = () => {
    throw new ClusterError('UNREACHABLE', 'nobody there')
  }
  end(rig, deletion('one', { owners: [] }), 'done')
  end(rig, deletion('elsewhere', { cluster: 'd' }), 'done')
  await rig.clock.advance(10_000)
  rig.answer = () => ({ type: 'Refused', code: 403, reason: 'it is being terminated' })
  end(rig, deletion('two', { owners: [] }), 'done')
  await rig.clock.advance(10_000)
  rig.answer = () => CHANGED
  end(rig, deletion('three', { owners: [] }), 'done')
  await rig.clock.advance(10_000)
  deepEqual([...rig.recorder.counts()].sort(), [
    ['left out', 1],
    ['refused', 2],
    ['written', 1],
  ])
  match(rig.written.at(-1)?.message ?? '', /Pod\/three$/)
})

test('a cluster that is silent holds up the Events of no other (T15)', async () => {
  const clock = new ManualClock()
  const stop = new AbortController()
  const written: string[] = []
  let asked = 0
  const clusters: Readonly<Record<string, Pick<Cluster, 'writeEvent'>>> = {
    silent: {
      writeEvent(_target, _event, signal) {
        asked++
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
      },
    },
    c: {
      async writeEvent({ name }) {
        written.push(name)
        return CHANGED
      },
    },
  }
  const recorder = new EventRecorder({
    clusters: (id) => ({ id, cluster: clusters[id] as Cluster }),
    clock,
    cuts: new Cuts(clock),
  })
  const running = recorder.run(stop.signal)
  for (const round of ['one', 'two']) {
    for (const cluster of ['silent', 'c']) {
      const owners = [{ ...OWNER, name: round, uid: `u-${round}` }]
      end({ recorder }, deletion(round, { cluster, owners }), 'done')
    }
    await clock.advance(10_000)
  }
  deepEqual(written, ['one', 'two'])
  equal(asked, 1, 'its own wait for each other')
  stop.abort()
  await clock.advance(1)
  await running
})
