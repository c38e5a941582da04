/**
 * What is asked about a moment is answered as it was answered then, by the same code: lives with
 * lost events, relists, uids that come back, restores, unwatched kinds, policies and forgotten
 * objects are folded by the service's own batches, and at many positions every question is asked
 * twice, once when that position is the newest and once at the end. `MOMENTS=10000` asks for so
 * many moments. A route that is added takes a moment and is asked here, or says why it takes none.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import type { Clock } from '../../../ports/clock.ts'
import { assignKey } from '../../../ports/record/control-key.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { CLUSTER } from '../../../testing/model/model-cluster.ts'
import { life } from '../../../testing/model/world-generator.ts'
import { indexOver } from '../../../testing/rig/index-rig.ts'
import { type PastAction, PastRig } from '../../../testing/rig/past-rig.ts'
import { codec } from '../../../testing/rig/task-rig.ts'
import { type Chance, seeded } from '../../../testing/seeded.ts'
import { ROUTES } from '../api/route.ts'
import { firstSince } from '../fold/retention.ts'
import { createQuestions, type Questions } from '../questions.ts'
import type { AcrossAsked } from './across/across-object.ts'
import { acrossIn } from './across/across-part.ts'
import { heldIn } from './answer/held.ts'
import type { ListedObject } from './answer/object-list.ts'
import type { Answer, Why } from './answer/query.ts'
import { stuckPage } from './answer/stuck-list.ts'
import { grown } from './answer/tree.ts'
import type { HistoryIndex } from './index/history-index.ts'
import { explained } from './rule/rule-explanation.ts'
import { placeOf, scanned } from './rule/rule-scan.ts'
import { WHOLE } from './view/sight.ts'
import type { View } from './view/view.ts'

const MOMENTS = Number(process.env['MOMENTS'] ?? 300)
/** Of a life of some forty actions one in four. */
const OF_A_LIFE = 8

/** Pauses pass at once. */
const HASTY: Clock = { ...systemClock(), sleep: async () => void (await setImmediate()) }

const REF = { name: 'test', id: CLUSTER, scope: 'test' }

interface Asking {
  readonly questions: Questions
  readonly index: HistoryIndex
  readonly view: () => View
}

/** What a process puts together over a store that the rig folds. */
async function asking(rig: PastRig, signal: AbortSignal): Promise<Asking> {
  const assignment = { type: 'Assignment', cluster: CLUSTER, partition: 0, objects: 0 } as const
  const record = { key: assignKey(CLUSTER), value: codec.encode(assignment) }
  await rig.log.append('control', 0, [record])
  const index = indexOver(rig.log, HASTY)
  // Views are made here without a look at which clusters there are.
  await index.clusters.read()
  const running = index.run(signal)
  running.catch(() => undefined)
  const partition = {
    ...{ partition: 0, store: rig.store, counts: () => undefined },
    status: () => ({ state: 'folding', position: rig.position, lagEntries: 0n }) as const,
  }
  const graph = { tasks: [partition], owners: () => new Map<number, string>() }
  const questions = createQuestions({ log: rig.log, codec, clock: HASTY, graph, index })
  const view = (): View => {
    const found = questions.clusters.view({ id: CLUSTER, partition: 0 })
    ok(found !== undefined)
    return found
  }
  return { questions, index, view }
}

async function objectsOf({ questions }: Asking, view: View): Promise<readonly ListedObject[]> {
  const asked = { kind: '', name: undefined, namespace: undefined, isGone: false, limit: 1_000 }
  const all = { ...asked, isCounted: false, hasReferences: true }
  return (await questions.objectList.page(view, REF, all, '')).answer.objects
}

/** Labels of these lives, as if Argo CD tracked by them. */
const MARKS = { tools: ['argo'], argoInstanceLabel: 'tier' } as const
const ACROSS: AcrossAsked = {
  ...{ kind: 'Application', namespace: undefined, name: 'temp', uid: undefined, limit: 1_000 },
  word: { names: ['application'], is: ({ kind }) => kind === 'Application' },
}

const STUCK = {
  ...{ olderThanMs: 0, namespace: undefined, finalizer: undefined, limit: 1_000, at: undefined },
}

/** Every answer about one moment; `deleted`: objects that were there before it. */
async function answersAt(
  asking: Asking,
  view: View,
  deleted: readonly ListedObject[],
): Promise<Record<string, unknown>> {
  const { query, dependents, planner, cascades, dump } = asking.questions
  const objects = await objectsOf(asking, view)
  const held = await heldIn([view], [view.reader], query)
  const { rules } = view.facts.policy.policy
  const scope = { namespace: undefined, sight: WHOLE }
  const told: Record<string, unknown> = {
    objects,
    across: (await acrossIn([view], ACROSS, { settings: MARKS, sight: async () => WHOLE }))
      .clusters,
    rules: [...(await scanned(view, rules, scope)).counts],
    finalizers: (await stuckPage(view, { cluster: REF, query }, STUCK, '')).answer.objects.map(
      // Who asked is in a history that forgets.
      ({ uid, since, finalizers }) => [uid, since, finalizers],
    ),
    // What is not carried out is counted for now alone.
    held: { ...held, partial: '', refused: [], asOf: [] },
    graph: (await Array.fromAsync(dump.dot([view], []))).join(''),
  }
  for (const { group, kind, namespace, name, uid } of objects) {
    const of = { cluster: CLUSTER, group, kind, namespace, name, uid, at: 0 }
    // References by its uid alone are searched in an index that forgets.
    told[`tree ${uid}`] = (await grown(view, of, false)).top
    told[`owners ${uid}`] = (await grown(view, of, true)).top
    told[`why ${uid}`] = withoutDeletion(await query.why(view, of))
    const page = { limit: 100, isCounted: false, from: '' }
    const listed = await dependents.page(view, view.identityOf(of), page, WHOLE)
    told[`dependents ${uid}`] = { ...listed, answer: { ...listed.answer, misnamed: null } }
    const node = view.node(uid)
    ok(node !== undefined)
    for (const rule of rules) {
      told[`rule ${rule.name} ${uid}`] = explained(view, rule, node, WHOLE)
      told[`planned ${rule.name} ${uid}`] = placeOf(rule, node)
    }
    told[`plan ${uid}`] = await planner.plan(view, uid, 'Foreground', 100)
  }
  for (const { group, kind, namespace, name, uid } of [...objects, ...deleted]) {
    const of = { cluster: CLUSTER, group, kind, namespace, name, uid, at: 0 }
    const cascade = await cascades.cascade(view, of)
    if (cascade === undefined) continue
    // Since when it is blocked is in its history, which is forgotten.
    const blocked = cascade.answer.blocked.map((each) => ({ ...each, since: null }))
    told[`cascade ${uid}`] = { ...cascade, answer: { ...cascade.answer, blocked }, asOf: [] }
  }
  return told
}

/** What was there by the time of the last event before a position, as the log counts. */
async function sameByTime(rig: PastRig, asked: Asking, position: bigint): Promise<void> {
  const { questions, view } = asked
  const at = rig.snapshots.find((each) => each.position === position)?.at ?? 0
  const behind = await firstSince(rig.log, 'events', 0, at + 1)
  const exact = { type: 'position', partition: 0, position: behind } as const
  const byTime = await questions.open(view(), { type: 'time', at })
  deepEqual(
    await objectsOf(asked, byTime),
    await objectsOf(asked, await questions.open(view(), exact)),
  )
}

interface Moment {
  readonly deleted: readonly ListedObject[]
  readonly answers: Record<string, unknown>
}

/** Who deletes it, and what is unknown of that, is only in answers about now. */
function withoutDeletion({ answer, partial }: Answer<Why>): Answer<object> {
  const told = { ...answer, deletion: null, deletedBy: [], orphaned: null }
  return { answer: told, partial: isForgotten({ partial }) ? partial : '' }
}

/** Another object of an owner's name is found by an index that forgets names. */
function withoutNamesakes(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/; an object of that name exists[^;]*/g, '')
  if (Array.isArray(value)) return value.map(withoutNamesakes)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, withoutNamesakes(each)]),
  )
}

/** Of what was deleted long ago the history is forgotten, and that is said. */
function isForgotten(answer: unknown): boolean {
  const { partial = '' } = (answer ?? {}) as { readonly partial?: string }
  return /its history is forgotten/.test(partial)
}

const FAMILY: readonly PastAction[] = [
  ['rs', 'a', []],
  ['cm', 'a', []],
  ['pod', 'a', [0]],
  ['pod', 'b', [0]],
  ['pod', 'c', [0, 1]],
].map(([kind, name, owners]): PastAction => {
  const references = (owners as number[]).map((pick) => {
    return { flaw: 'none', pick, blocking: true } as const
  })
  const rest = { namespace: 'ns', references, finalizers: [] }
  return { type: 'create', kind: String(kind), name: String(name), ...rest }
})

const pick = fc.nat({ max: 30 })
const OTHERS: fc.Arbitrary<PastAction> = fc.oneof(
  fc.record({ type: fc.constant('again' as const), pick }),
  fc.record({ type: fc.constant('unwatch' as const), kind: fc.constantFrom('pod', 'cm') }),
  fc.record({
    type: fc.constant('rule' as const),
    rule: fc.constantFrom('pause' as const, 'guarded', 'guarded', 'resume', 'parity', 'dry-run'),
  }),
  fc.constant({ type: 'backup' } as const),
  fc.constant({ type: 'restore' } as const),
  fc.record({ type: fc.constant('pass' as const), days: fc.integer({ min: 1, max: 3 }) }),
)

function mixed(
  acts: readonly PastAction[],
  others: readonly PastAction[],
  chance: Chance,
): PastAction[] {
  const all: PastAction[] = [...FAMILY, { type: 'rule', rule: 'guarded' }, ...acts]
  for (const other of others) all.splice(chance.below(all.length + 1), 0, other)
  return all
}

test('every question about a moment is answered as it was answered then', async (t) => {
  const counted: Record<string, number> = {}
  let moments = 0
  await fc.assert(
    fc.asyncProperty(
      life({ hasOrphaning: true, hasKindsGone: true, maxLength: 30 }),
      fc.array(OTHERS, { minLength: 2, maxLength: 12 }),
      fc.nat(),
      async (acts, others, seed) => {
        const chance = seeded(seed)
        const rig = await PastRig.begin()
        const stop = new AbortController()
        const asked = await asking(rig, stop.signal)
        try {
          const then = new Map<bigint, Moment>()
          const seen = new Map<string, ListedObject>()
          for (const action of mixed(acts, others, chance)) {
            await rig.act(action)
            await rig.drain(chance.below(6))
            if (chance.below(4) === 0) await rig.beat(chance.below(60_000))
            if (chance.below(4) !== 0) continue
            await rig.commit()
            while ((await asked.index.lagEntries()) > 0n) await setImmediate()
            const there = new Set<string>()
            for (const object of await objectsOf(asked, asked.view())) {
              seen.set(object.uid, object)
              there.add(object.uid)
            }
            const deleted = [...seen.values()].filter(({ uid }) => !there.has(uid))
            then.set(rig.position, {
              deleted,
              answers: await answersAt(asked, asked.view(), deleted),
            })
          }
          await rig.drain(200)
          await rig.beat(1_000)
          await rig.commit()
          while ((await asked.index.lagEntries()) > 0n) await setImmediate()
          for (const [position, { answers, deleted }] of then) {
            moments += 1
            const at = { type: 'position', partition: 0, position } as const
            const view = await asked.questions.open(asked.view(), at)
            const again = await answersAt(asked, view, deleted)
            for (const [question, answer] of Object.entries(answers)) {
              const [kind = ''] = question.split(' ')
              counted[kind] = (counted[kind] ?? 0) + 1
              if (isForgotten(again[question])) continue
              const known = withoutNamesakes(again[question])
              deepEqual(known, withoutNamesakes(answer), `${question} at ${position}`)
            }
            deepEqual(Object.keys(again), Object.keys(answers))
            await sameByTime(rig, asked, position)
          }
        } finally {
          stop.abort()
        }
      },
    ),
    { numRuns: Math.ceil(MOMENTS / OF_A_LIFE), endOnFailure: true },
  )
  t.diagnostic(`${moments} moments: ${JSON.stringify(counted)}`)
  for (const question of Object.values(ASKED)) ok((counted[question] ?? 0) > 0, question)
  ok(moments >= MOMENTS / 2, `${moments} moments`)
})

/** Of routes with a moment: what the property asks of each. */
const ASKED: Readonly<Record<string, string>> = {
  '/v1/tree': 'tree',
  '/v1/dependents': 'dependents',
  '/v1/across': 'across',
  '/v1/why': 'why',
  '/v1/cascade': 'cascade',
  '/v1/plan': 'plan',
  '/v1/held': 'held',
  '/v1/objects': 'objects',
  '/debug/graph': 'graph',
  '/v1/rules': 'rules',
  '/v1/rules/{rule}': 'rule',
  '/v1/rules/{rule}/plan': 'planned',
  '/v1/finalizers': 'finalizers',
}

/** Of all others: why they have none. */
const NO_MOMENT: readonly (readonly [path: RegExp, why: string])[] = [
  [/^\/v1\/diff$/, 'both of its moments are arguments: record/diff.test.ts'],
  [/^\/v1\/plan\/held$/, 'an approval is given to what waits now'],
  [/^\/v1\/plan\/finalizer$/, 'an order is given to an object as it is now'],
  [/^\/v1\/plan\/forget-cluster$/, 'an order is given to what names owners there now'],
  [/^\/v1\/clusters$/, 'it says how watchers, reapers and partitions are now'],
  [/^\/v1\/shadow$/, 'what differed is a list of cases with their times'],
  [/^\/v1\/(lineage|history)$/, 'a stream of the log, from a position on'],
  [/^\/v1\/(changes|deletions)$/, 'what happened, between two times'],
  [/^\/v1\/horizon$/, 'it says which moments can be asked now'],
  [/^\/apis?(\/|$)/, 'kubectl has no word for a moment'],
  [/^\/clusters\//, 'kubectl has no word for a moment'],
  [/^\/(livez|readyz|healthz|metrics|version|openapi\.json)$/, 'of the process'],
]

test('every route that reads has a moment that is asked about above, or a reason for having none', () => {
  for (const { method, path, parameters } of ROUTES) {
    if (method !== 'get') continue
    const hasMoment = parameters.some(({ name }) => name === 'at')
    const why = NO_MOMENT.find(([pattern]) => pattern.test(path))
    ok(hasMoment !== (why !== undefined), `${path}: ${why?.[1] ?? 'neither at nor a reason'}`)
    if (hasMoment) ok(ASKED[path] !== undefined, `${path} is not asked about any moment`)
  }
})
