/**
 * Whatever becomes of pods and config maps, in whatever order: one is due only if no pod that is
 * known, or was since so long ago, uses it, and no use can have been missed; and in the end those
 * are due that none uses.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import { isFresh, isMissing, isSynced, kindStatus } from '../graph/kind-status.ts'
import { unsureBecause } from '../judge/condition.ts'
import { relistsAwaited } from '../judge.ts'
import type { Node } from '../model/node.ts'
import type { GroupKind } from '../model/object.ts'

const SECONDS = 100
const RULE = `free cm 0 unused:${SECONDS}`
const USERS: Readonly<Record<string, GroupKind>> = {
  pod: { group: '', kind: 'Pod' },
  rs: { group: 'apps', kind: 'ReplicaSet' },
  deploy: { group: 'apps', kind: 'Deployment' },
  job: { group: 'batch', kind: 'Job' },
}

const configs = ['a', 'b', 'c']
const uses = fc.subarray(configs).map((names) => `uses:cm=${names.join(',')}`)
const pod = fc.nat({ max: 2 }).map((number) => `pod/p${number}`)
const user = fc.oneof(pod, fc.constant('rs/web'))
const put = fc
  .tuple(user, uses, fc.constantFrom('', '', '', 'deleting', 'unread'))
  .map(([each, names, mark]) => `put ${each} [${names} ${mark}]`)
const config = fc.constantFrom(...configs).map((name) => `cm/${name}`)
const ALL = ['pod', 'rs', 'deploy', 'job', 'cm']
const steps = [
  { weight: 8, arbitrary: put },
  { weight: 5, arbitrary: user.map((each) => `delete ${each}`) },
  { weight: 2, arbitrary: user.map((each) => `lose ${each}`) },
  { weight: 3, arbitrary: config.map((each) => `put ${each}`) },
  { weight: 1, arbitrary: config.map((each) => `delete ${each}`) },
  { weight: 1, arbitrary: fc.constantFrom('put cm/b <- deploy/web', 'restart') },
  { weight: 3, arbitrary: fc.constantFrom('relist pod', 'relist rs', 'open pod', 'finish') },
  { weight: 9, arbitrary: fc.constantFrom('beat 1', 'beat 60', 'beat 110') },
  { weight: 2, arbitrary: fc.constantFrom('beat 300 pod 300', 'beat 900 pod 900', 'beat 9 pod 0') },
  { weight: 2, arbitrary: fc.constantFrom('beat 110 pod 110', 'beat 110 -pod', 'beat 200 -pod') },
  { weight: 1, arbitrary: fc.constantFrom(`rule ${RULE}`, `rule ${RULE} no-label:x`) },
  { weight: 1, arbitrary: fc.constantFrom('rule more secret 0 unused:9', 'rule free cm 99999999') },
  { weight: 1, arbitrary: fc.constantFrom('rollback', 'unserve pod', 'serve pod') },
  { weight: 4, arbitrary: fc.constant('relist all') },
]
/** Then all that is there is judged, after every use was seen for so long. */
const HEALED = ['serve pod', 'finish', 'relist all', `rule ${RULE}`, 'beat 1', 'relist all']

test('what nothing uses for its time is due, and nothing else', () => {
  live(fc.constantFrom('unreadable c/ns', 'unreadable c/other', 'unreadable c/'))
})

test('nothing else is deleted', () =>
  live(fc.constantFrom('enforce-rule free', 'suspend-rule free')))

function live(more: fc.Arbitrary<string>): void {
  const step = fc.oneof(...steps, { weight: 1, arbitrary: more })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50, size: 'max' }), (steps) => {
      const model = new Model()
      for (const each of ['put deploy/web', `rule ${RULE}`]) model.take(each)
      for (const each of steps) model.take(each)
      for (const each of HEALED) model.take(each)
      for (let time = 0; time < 6; time++) model.take('beat 60')
      deepEqual(model.due, model.unused)
    }),
    { numRuns: 60 },
  )
}

/** The plain law: by the nodes that are known, and when each config map was last used by one. */
class Model {
  readonly #world = new World()
  readonly #usedAt = new Map<string, number>()
  /** When a use may last have been missed. */
  #blindAt = 0
  readonly #silentAt = new Map<string, number>()
  /** Since when heartbeats lack a kind that is listed. */
  readonly #missingAt = new Map<string, number>()
  readonly #thereAt = new Map<string, number>()
  #due: readonly string[] = []
  #isAsked = false

  constructor() {
    this.#world.begin()
  }

  take(line: string): void {
    const lines = line === 'relist all' ? ALL.map((each) => `relist ${each}`) : [line]
    for (const each of lines) this.#take(each)
  }

  #take(line: string): void {
    const before = this.#used()
    const there = this.#there()
    this.#noteSilence(false)
    const unseen = Object.keys(USERS).filter((each) => this.#isUnseen(USERS[each]!))
    const answers = this.#world.step(line)
    this.#world.folder.commit()
    deepEqual(check(this.#world.folder.state), [], line)
    this.#noteSilence(line.startsWith('beat'))
    const now = this.#world.now
    for (const name of [...before, ...this.#used()]) this.#usedAt.set(name, now)
    for (const name of this.#there()) if (!there.includes(name)) this.#thereAt.set(name, now)
    const [, listed = ''] = /^(?:relist|open) (\w+)/.exec(line) ?? []
    const isAfterSilence = now < (this.#silentAt.get(listed) ?? Number.NEGATIVE_INFINITY) + 600_000
    if (isAfterSilence || !this.#isAsked || this.#isBlind()) this.#blindAt = now
    if (isAfterSilence) this.#silentAt.delete(listed)
    // What was missed before a list that begins anew counts no more.
    const isAnew = isAfterSilence || unseen.includes(listed)
    if (isAnew && this.#missingAt.has(listed)) this.#missingAt.set(listed, now)
    const { isAsked } = this.#facts()
    if (!isAsked) for (const each of [this.#silentAt, this.#missingAt]) each.clear()
    this.#isAsked = isAsked
    for (const name of this.due) if (!this.#due.includes(name)) this.#checkDue(name, line)
    const deleted = answers.flatMap(
      (each) => /^> DeleteObject cm\/(\w) .*: rule free: due after/.exec(each)?.[1] ?? [],
    )
    for (const name of deleted) this.#checkDue(name, line)
    this.#due = this.due
    const used = this.#used()
    deepEqual(
      this.#due.filter((name) => used.includes(name)),
      [],
      `${line}: one that is due is used`,
    )
  }

  #checkDue(name: string, line: string): void {
    const at = [this.#usedAt.get(name), this.#thereAt.get(name)].map((each) => each ?? 0)
    const since = Math.max(this.#blindAt, ...at)
    ok(this.#world.now >= since + SECONDS * 1_000, `${line}: ${name} is due too early`)
    // Perhaps a list is to follow.
    const silentAt = Math.max(0, ...this.#silentAt.values())
    ok(silentAt === 0 || this.#world.now >= silentAt + 600_000, `${line}: just after a silence`)
    const { state, kind } = this.#facts()
    const hung = Object.values(USERS).filter((each) => {
      return state !== undefined && isSynced(kind(each), state) && !isFresh(state, each)
    })
    deepEqual(hung, [], `${line}: no sign of life`)
  }

  /** About which a rule has decided so, and no doubt holds it. */
  get due(): readonly string[] {
    const facts = factsOf(this.#world.folder.graph, 'c')
    const rule = facts.rules.find(({ name }) => name === 'free')
    if (rule === undefined) return []
    return this.#nodes('ConfigMap')
      .filter(({ verdict }) => verdict?.rule === 'free')
      .filter((node) => relistsAwaited(facts, node)?.length === 0)
      .filter(({ object }) => unsureBecause(facts, rule, object) === '')
      .map(({ object }) => object.name)
      .sort()
  }

  #there(): readonly string[] {
    return this.#nodes('ConfigMap').map(({ object }) => object.name)
  }

  get unused(): readonly string[] {
    const used = this.#used()
    return this.#nodes('ConfigMap')
      .filter(({ object }) => object.ownerReferences.length === 0 && object.deletedAt === null)
      .map(({ object }) => object.name)
      .filter((name) => !used.includes(name))
      .sort()
  }

  #used(): readonly string[] {
    const names = [...this.#nodes('Pod'), ...this.#nodes('ReplicaSet')].flatMap((node) => {
      const read = node.object.projected?.fields.find(({ key }) => key.startsWith('uses/ConfigMap'))
      return read === undefined || node.doubt !== null ? configs : read.value.split(',')
    })
    return configs.filter((name) => names.includes(name))
  }

  #nodes(kind: string): readonly Node[] {
    const all = [...this.#world.folder.state.values()]
    return all.filter((value) => value.type === 'Node' && value.object.kind === kind) as Node[]
  }

  #isBlind(): boolean {
    return Object.values(USERS).some((each) => this.#isUnseen(each))
  }

  #isUnseen(user: GroupKind): boolean {
    const { state, kind, lostAt } = this.#facts()
    const known = kind(user)
    if (known === undefined || state === undefined) return true
    // Since a record was lost it was not listed.
    const isLost = known.syncedAt <= lostAt
    return known.phase !== 'unserved' && (isLost || !isSynced(known, state))
  }

  /** A heartbeat says what it lacks. */
  #noteSilence(isHeartbeat: boolean): void {
    const { state, kind } = this.#facts()
    // What asks is 15 minutes at least (ports/rule): by then lists show what was before it asked.
    if (state === undefined || !this.#isAsked) return
    for (const [short, each] of Object.entries(USERS)) {
      const now = this.#world.now
      const status = kindStatus(kind(each), each, { ...state, now }).type
      const missingAt = this.#missingAt.get(short) ?? now
      if (status === 'silent' || now > missingAt + 180_000) this.#silentAt.set(short, now)
      if (!isMissing(kind(each), each, state)) this.#missingAt.delete(short)
      else if (isHeartbeat) this.#missingAt.set(short, missingAt)
    }
  }

  #facts() {
    const facts = factsOf(this.#world.folder.graph, 'c')
    const isAsked = facts.using?.used.some(({ kind }) => kind === 'ConfigMap') === true
    const kind = (each: GroupKind) => facts.kind(each)
    return { state: facts.state, kind, isAsked, lostAt: facts.unreadableAt('ns') }
  }
}
