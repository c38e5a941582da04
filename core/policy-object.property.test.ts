/**
 * Whatever becomes of policies, of the kind they are of and of their cluster: nothing is deleted by
 * one that is not known to be there and to say so, and in the end all that is due by one is.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { check } from '../testing/model/state-check.ts'
import { World } from '../testing/model/story.ts'
import { duenessOf } from './judge/rule.ts'
import type { DeleteObject } from './model/command.ts'
import type { ObjectMeta } from './model/object.ts'
import { ENFORCE_ANNOTATION } from './model/rule/policy-content.ts'
import { ruleDigest } from './model/rule/rule.ts'

const NAMESPACES = ['ns', 'other']
const RULES = ['pod 60', 'pod 600', 'cm 60', 'pod,cm 60 when:status.phase=Failed', 'pod 60 for:30']
const MARKS = ['', ' enforced', ' enforced', ' enforced:former', ' enforced refused']

const namespace = fc.constantFrom(...NAMESPACES)
const policy = fc
  .record({
    of: fc.constantFrom('p', 'q'),
    namespace,
    uid: fc.constantFrom('1', '2'),
    rule: fc.constantFrom(...RULES),
    mark: fc.constantFrom(...MARKS),
    deleting: fc.constantFrom('', '', '', ' [deleting f]'),
  })
  .map((it) => ({ ...it, object: `cleanup/${it.of}@${it.of}-${it.namespace}-${it.uid}` }))
const object = fc
  .record({
    kind: fc.constantFrom('pod', 'cm'),
    name: fc.constantFrom('a', 'b'),
    namespace,
    phase: fc.constantFrom('', ' [field:status.phase=Failed]', ' [field:status.phase=Running]'),
  })
  .map(
    ({ kind, name, namespace, phase }) =>
      `put ${kind}/${name}-${namespace} in ${namespace}${phase}`,
  )
const step = fc.oneof(
  { weight: 6, arbitrary: object },
  {
    weight: 6,
    arbitrary: policy.map(
      (it) => `put-policy ${it.object} in ${it.namespace}${it.deleting} = ${it.rule}${it.mark}`,
    ),
  },
  { weight: 2, arbitrary: policy.map((it) => `delete ${it.object} in ${it.namespace}`) },
  { weight: 1, arbitrary: policy.map((it) => `lose ${it.object} in ${it.namespace}`) },
  { weight: 1, arbitrary: policy.map((it) => `touch ${it.object} other`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('relist cleanup', 'relist cleanup', 'relist pod', 'relist cm'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('rollback', 'restart', 'unserve cleanup', 'serve cleanup'),
  },
  { weight: 4, arbitrary: fc.constantFrom('beat 20', 'beat 60') },
)

/** What was published of policies, as a person reads the log. */
class Published {
  readonly world: World = new World()
  readonly server: Map<string, ObjectMeta> = new Map()
  readonly known: Map<string, ObjectMeta> = new Map()
  /** Seen since the cluster was restored, or its kind was served again. */
  readonly current: Set<string> = new Set()
  isServed = true
  readonly #second: Set<string> = new Set()
  #commands = 0

  constructor() {
    this.world.begin()
    for (const each of ['serve cleanup', 'relist cleanup']) this.world.step(each)
  }

  step(line: string): void {
    const [word = '', first = ''] = line.split(' ')
    const uid = first.split('@')[1] ?? ''
    if (word === 'put-policy') return this.#put(line)
    // No watcher lists a kind that is not served.
    if (line === 'relist cleanup' && !this.isServed) return
    if (word === 'rollback' || line === 'unserve cleanup') this.current.clear()
    if (line === 'unserve cleanup') this.isServed = false
    if (line === 'serve cleanup') this.isServed = true
    this.world.step(line)
    if (word === 'delete' || word === 'lose') this.server.delete(uid)
    if (word === 'delete' && this.isServed) this.known.delete(uid)
    if (line !== 'relist cleanup') return
    this.known.clear()
    for (const object of this.server.values()) this.#see(object)
  }

  /** Its name has one object at a time: the former one was deleted, which is not published yet. */
  #put(line: string): void {
    const [, stem = '', uid = '', within = ''] = /^put-policy (\S*-)(\d) in (\S+)/.exec(line) ?? []
    if (uid === '1' && this.#second.has(stem)) return
    if (uid === '2') {
      this.#second.add(stem)
      this.world.step(`lose ${stem}1 in ${within}`)
      this.server.delete(`${stem}1`.split('@')[1] ?? '')
    }
    const [event] = this.world.events(line)
    ok(event !== undefined && 'object' in event && event.object !== null)
    const { object } = event
    this.world.tell(event)
    this.server.set(object.uid, object)
    if (this.isServed) this.#see(object)
  }

  #see(object: ObjectMeta): void {
    this.known.set(object.uid, object)
    this.current.add(object.uid)
  }

  /** Commands since the last call. */
  issued(): readonly DeleteObject[] {
    const { commands } = this.world.folder
    const issued = commands.slice(this.#commands)
    this.#commands = commands.length
    return issued.flatMap((each) => (each.type === 'DeleteObject' ? [each] : []))
  }
}

function isEnforced({ annotations, deletedAt, projected }: ObjectMeta): boolean {
  const rule = projected?.policy?.rule
  const named = annotations.find(({ key }) => key === ENFORCE_ANNOTATION)?.value
  return rule != null && deletedAt === null && named === ruleDigest(rule)
}

/** Empty where the command says what is known of its policy. */
function objection({ known, current }: Published, { rule, target }: DeleteObject): string {
  const policy = rule?.policy
  if (rule === null || policy == null) return 'it is of no policy'
  const object = known.get(policy.uid)
  if (object === undefined || !isEnforced(object)) return 'its policy is not in force'
  if (ruleDigest(object.projected!.policy!.rule!) !== rule.digest) return 'the rule is another'
  if (target.namespace !== object.namespace) return 'it is in another namespace'
  return current.has(policy.uid) ? '' : 'it is not known whether the policy is there'
}

test('nothing is deleted by a policy that is not known to say so, and no state is left of one', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const run = new Published()
      for (const line of steps) {
        run.step(line)
        for (const command of run.issued()) deepEqual([objection(run, command), line], ['', line])
        run.world.folder.commit()
        deepEqual(check(run.world.folder.state), [], line)
      }
    }),
    { numRuns: 1_500 },
  )
})

test('in the end all that is due by an enforced one is deleted', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const run = new Published()
      const objects = new Map<string, ObjectMeta>()
      for (const line of steps) {
        if (line.startsWith('put ')) {
          const [event] = run.world.events(line)
          ok(event !== undefined && 'object' in event && event.object !== null)
          objects.set(event.object.uid, event.object)
          run.world.tell(event)
        } else run.step(line)
      }
      for (const line of ['serve cleanup', 'relist cleanup', 'relist pod', 'relist cm'])
        run.step(line)
      for (let each = 0; each < 12; each++) run.step('beat 60')
      run.step('relist pod')
      run.step('relist cm')
      const issued = run.world.folder.commands.flatMap((each) =>
        each.type === 'DeleteObject' ? [each.target.uid] : [],
      )
      for (const policy of run.server.values()) {
        const rule = policy.projected?.policy?.rule
        if (rule == null || !isEnforced(policy)) continue
        for (const object of objects.values()) {
          const isAbout = rule.match.kinds.some(({ kind }) => kind === object.kind)
          const dueness = isAbout ? duenessOf(rule, object, run.world.now) : null
          if (dueness !== null) ok(issued.includes(object.uid), `${object.uid} by ${rule.name}`)
        }
      }
    }),
    { numRuns: 1_500 },
  )
})
