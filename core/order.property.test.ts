/**
 * Folding: twice is once (I24), any split of a batch is one, and any order across kinds leads to
 * the same (I25).
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Folder } from '../testing/model/folder.ts'
import { folder } from '../testing/model/folder.ts'
import { CLUSTER, ModelCluster, settled } from '../testing/model/model-cluster.ts'
import { normalGraph } from '../testing/model/normal-graph.ts'
import { check } from '../testing/model/state-check.ts'
import { type Action, act, life, RULES } from '../testing/model/world-generator.ts'
import type { Outcome } from './graph/outcome.ts'
import type { Command } from './model/command.ts'
import type { CommandSettled, Event } from './model/event.ts'
import { EMPTY_SET } from './model/hash.ts'
import type { Preset } from './model/policy.ts'
import { policyFor } from './model/policy.ts'
import type { Rule } from './model/rule/rule.ts'
import { ruleDigest } from './model/rule/rule.ts'

const RUNS = Number(process.env['RUNS'] ?? 400)
const OUTCOMES: readonly CommandSettled['outcome'][] = [
  'done',
  'absent',
  'would-go',
  'stale',
  'blocked',
]

/** With rules, of which all but one are enforced. */
function beginning(preset: Preset = 'parity', epoch = 1): readonly Event[] {
  const policy = { ...policyFor('enforce', preset), rules: RULES }
  return [
    {
      type: 'WatcherStarted',
      serverTime: null,
      cluster: CLUSTER,
      name: 'test',
      epoch,
      clusterEpoch: 1,
    },
    { type: 'PolicyChanged', policy, who: 'test', why: 'test' },
    ...RULES.slice(1).map(enforce),
  ]
}

function enforce(rule: Rule): Event {
  const about = { cluster: '', subject: rule.name, digest: ruleDigest(rule) }
  const by = { listed: EMPTY_SET, who: 'test', isProven: false, why: 'test' }
  return { type: 'Directive', verb: 'enforce-rule', ...about, ...by }
}

/** All events that a life makes the watches publish, a stream for each kind. */
function streamsOf(actions: readonly Action[]): { cluster: ModelCluster; streams: Event[][] } {
  const cluster = new ModelCluster()
  for (const [serial, action] of actions.entries()) act(cluster, action, serial)
  for (const [short, stream] of cluster.streams) {
    const isTold = stream.some(({ type }) => type === 'SyncFinished' || type === 'KindGone')
    if (isTold || short === 'deploy') continue
    cluster.relist(short, 0, false)
  }
  return { cluster, streams: [...cluster.streams.values()] }
}

/** One event after another; each pick says whose turn it is. */
function mixed(streams: readonly (readonly Event[])[], picks: readonly number[]): Event[] {
  const left = streams.map((stream) => [...stream])
  const mix: Event[] = []
  for (let turn = 0; left.some((stream) => stream.length > 0); turn++) {
    const ready = left.filter((stream) => stream.length > 0)
    const event = ready[(picks[turn % picks.length] ?? 0) % ready.length]?.shift()
    if (event !== undefined) mix.push(event)
  }
  return mix
}

const picks = fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 40 })
const anyLife = life({ hasOrphaning: true, hasKindsGone: true, hasRules: true, maxLength: 25 })

type Beat = { readonly at: number; readonly settle: number; readonly seconds: number }
const beats = fc.array(
  fc.record({ at: fc.nat({ max: 60 }), settle: fc.nat({ max: 4 }), seconds: fc.nat({ max: 300 }) }),
  { maxLength: 10 },
)

/** What a log may hold between sightings: time passes, and commands settle. */
function* woven(
  events: readonly Event[],
  pauses: readonly Beat[],
  commands: () => readonly Command[],
): Generator<readonly [event: Event, now: number]> {
  let now = 0
  for (const [index, event] of events.entries()) {
    yield [event, now]
    for (const { settle, seconds } of pauses.filter((pause) => pause.at === index)) {
      now += seconds * 1000
      yield [{ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] }, now]
      const command = commands().at(-1)
      if (command === undefined) continue
      yield [settled(command, OUTCOMES[settle] ?? 'stale', null), now]
    }
  }
}

function commandTexts(commands: readonly Command[]): readonly string[] {
  return commands.map(({ id, basis, ...rest }) => JSON.stringify(rest))
}

function complaints({ state, commit }: Folder): readonly string[] {
  commit()
  return check(state)
}

test('an event told twice in a row is told once', () => {
  fc.assert(
    fc.property(anyLife, picks, beats, (actions, order, pauses) => {
      const { streams } = streamsOf(actions)
      const events = [...beginning(), ...mixed(streams, order)]
      const [once, twice] = [folder(), folder()]
      for (const [event, now] of woven(events, pauses, () => once.commands)) once.fold(event, now)
      for (const [event, now] of woven(events, pauses, () => twice.commands)) {
        twice.fold(event, now)
        twice.fold(event, now)
      }
      deepEqual(normalGraph(twice.state), normalGraph(once.state))
      deepEqual(commandTexts(twice.commands), commandTexts(once.commands))
    }),
    { numRuns: RUNS },
  )
})

test('a resumed watch that tells again what it told changes nothing', () => {
  const cuts = fc.array(fc.nat({ max: 12 }), { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(anyLife, picks, fc.nat({ max: 80 }), cuts, (actions, order, at, again) => {
      const { streams } = streamsOf(actions)
      const events = mixed(streams, order)
      const told = events.slice(0, at)
      const rest = events.slice(at)
      // A new watcher drops open syncs, so the story continues with a stream that has none.
      const isOpen = streams.some((stream) => syncIsOpen(stream.filter((e) => told.includes(e))))
      fc.pre(!isOpen)
      const [once, resumed] = [folder(), folder()]
      for (const event of [...beginning(), ...told]) {
        once.fold(event)
        resumed.fold(event)
      }
      const issued = once.commands.length
      const started = {
        type: 'WatcherStarted',
        serverTime: null,
        cluster: CLUSTER,
        name: 'test',
      } as const
      for (const each of [once, resumed]) each.fold({ ...started, epoch: 2, clusterEpoch: 1 })
      streams.forEach((stream, index) => {
        const live = stream.filter((event) => told.includes(event) && isLive(event))
        const count = again[index % again.length] ?? 0
        for (const event of live.slice(Math.max(0, live.length - count))) {
          resumed.fold(inEpoch(event, 2))
        }
      })
      deepEqual(normalGraph(resumed.state), normalGraph(once.state))
      deepEqual(commandTexts(resumed.commands).slice(issued), [])
      for (const event of rest) {
        once.fold(inEpoch(event, 2))
        resumed.fold(inEpoch(event, 2))
      }
      deepEqual(normalGraph(resumed.state), normalGraph(once.state))
      deepEqual(commandTexts(resumed.commands), commandTexts(once.commands))
      deepEqual(complaints(resumed), [])
    }),
    { numRuns: RUNS },
  )
})

function syncIsOpen(told: readonly Event[]): boolean {
  const last = told.findLast(({ type }) => type === 'SyncStarted' || type === 'SyncFinished')
  return last?.type === 'SyncStarted'
}

function isLive(event: Event): boolean {
  if (event.type === 'ObjectDeleted') return true
  const isSighting = event.type === 'ObjectAdded' || event.type === 'ObjectUpdated'
  return (isSighting || event.type === 'Touched') && event.sync === null
}

function inEpoch(event: Event, epoch: number): Event {
  return 'epoch' in event ? { ...event, epoch } : event
}

test('how records are split into batches changes nothing', () => {
  const sizes = [1, 2, 7, 1000]
  const continues = fc.array(fc.boolean(), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(anyLife, picks, beats, continues, (actions, order, pauses, lets) => {
      const { streams } = streamsOf(actions)
      const events = [...beginning('guarded'), ...mixed(streams, order)]
      const records: (readonly [Event, number])[] = []
      const first = folder()
      const outcomes: Outcome[] = []
      const feed = (event: Event, now: number): void => {
        records.push([event, now])
        outcomes.push(first.foldOne(event, now))
      }
      // As on a log: it comes after everything that was appended before it.
      const waiting: Event[] = []
      const noted = (): void => {
        if (outcomes.at(-1)?.continues === true) waiting.push({ type: 'Continue' })
      }
      const letOne = (now: number): void => {
        const note = waiting.shift()
        if (note !== undefined) feed(note, now)
        noted()
      }
      for (const [event, now] of woven(events, pauses, () => first.commands)) {
        feed(event, now)
        noted()
        while (waiting.length > 0 && lets[records.length % lets.length]) letOne(now)
      }
      while (waiting.length > 0) letOne(0)
      deepEqual(complaints(first), [])
      for (const size of sizes) {
        const other = folder(size)
        const others = records.map(([event, now]) => other.foldOne(event, now))
        deepEqual(others, outcomes)
        other.commit()
        deepEqual(new Map([...other.state].sort()), new Map([...first.state].sort()))
      }
    }),
    { numRuns: RUNS },
  )
})

/**
 * Two objects that wait for each other, one of them of a kind that leaves discovery before the
 * other is deleted, or after it.
 */
const RING_IN_DOUBT: readonly Action[] = [
  ...(['pod', 'job'] as const).map((kind): Action => {
    const references = kind === 'pod' ? [] : [{ flaw: 'none', pick: 0, blocking: true } as const]
    return { type: 'create', kind, name: 'a', namespace: 'other', references, finalizers: [] }
  }),
  { type: 'refer', pick: 0, references: [{ flaw: 'none', pick: 1, blocking: true }] },
  { type: 'delete', pick: 1, policy: 'Foreground' },
  { type: 'relist', kind: 'job', lost: 0, isCut: false },
  { type: 'unserve', kind: 'job' },
  { type: 'delete', pick: 0, policy: 'Foreground' },
]

test('any order across kinds leads to the same graph and the same verdicts', () => {
  // Orphaning is left out: the owner that was deleted last decides there, so the order of two
  // kinds' streams is part of the question.
  const some = { hasOrphaning: false, hasKindsGone: true, hasRules: true }
  const actions = life({ ...some, maxLength: 30 })
  fc.assert(
    fc.property(actions, picks, picks, (lived, order, other) => {
      const { cluster, streams } = streamsOf(lived)
      const graphs = [order, other].map((each) => {
        const told = folder()
        for (const event of [...beginning(), ...mixed(streams, each)]) told.fold(event, 0)
        answerAll(cluster, told)
        deepEqual(complaints(told), [])
        return normalGraph(told.state)
      })
      deepEqual(graphs[1], graphs[0])
    }),
    { numRuns: RUNS * 2, examples: [[RING_IN_DOUBT, [0], [1]]] },
  )
})

/**
 * Answers every verification by the final truth, and lets the waits for it and for rules pass;
 * nothing else is carried out.
 */
function answerAll(cluster: ModelCluster, told: Folder): void {
  let answered = 0
  for (let seconds = 0; seconds <= 240; seconds += 10) {
    told.fold({ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] }, seconds * 1000)
    for (; answered < told.commands.length; answered++) {
      const command = told.commands[answered]
      if (command?.type === 'VerifyOwner') told.fold(cluster.verify(command))
    }
  }
}
