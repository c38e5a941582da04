/**
 * One small world with a rule, as a closed loop in every order: users, orders, watches, commands,
 * their answers and time take turns in all ways, with one fault on each way.
 *
 * What must stay true: what a rule deletes is due by it at just that version, in the moment in
 * which it takes effect (testing/model/rule-oracle.ts); in the end what is due by an enforced rule
 * is deleted, and nothing else. What stays of the newest is counted when a command is issued: one
 * that another client deletes later is no mistake, nor one whose deletion was not published by
 * then.
 *
 * Not here: the worlds (small-rule-world.ts), objects that are deleted for their owners
 * (small-loop.ts).
 */
import type { Command, DeleteObject } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { ruleDigest, rulesOfKind } from '../../core/model/rule/rule.ts'
import {
  CLUSTER,
  MONITORED,
  type ModelCluster,
  settled,
} from '../../testing/model/model-cluster.ts'
import { objection } from '../../testing/model/model-oracle.ts'
import { kindNotation, object, shortKind } from '../../testing/model/notation.ts'
import { policyIn, ruleIn } from '../../testing/model/rule-notation.ts'
import { dueMsOf } from '../../testing/model/rule-oracle.ts'
import { ruledOf } from '../../testing/model/rule-state-check.ts'
import { check } from '../../testing/model/state-check.ts'
import { isBeyond, isEnforcedBy, namesNoNode } from './small-beyond.ts'
import { SmallFold } from './small-fold.ts'
import type { RuleWorld } from './small-rule-world.ts'
import { listedCluster } from './small-script.ts'
import { beat, type Findings } from './small-verdict.ts'

/** A rule of this name is that of a policy, and is enforced by its annotation. */
const OF_POLICY = 'ns/old'
const POLICY = { ...kindNotation('cleanup'), namespace: 'ns', name: 'old' }

const BEGINNING_MS = 20_000
/** Ten minutes. */
const SILENT_MS = 600_000
const QUIET_BEATS = 60
const QUIET_BEAT_MS = 30_000
const BUSY_TURNS = 200

interface State {
  readonly cluster: ModelCluster
  readonly lines: readonly string[]
  /** Orders on the log that the fold has not read. */
  readonly orders: readonly Event[]
  /** What reapers read of the order. */
  readonly isEnforced: boolean
  readonly commands: readonly Command[]
  readonly results: readonly Event[]
  /** The kind whose watch is silent: nothing of it is published. Empty for none. */
  readonly silent: string
  /** The fault on the way here; empty while there was none. */
  readonly fault: string
}

export function allWays(world: RuleWorld, maxCases: number): Findings {
  const ways = new Ways(world, maxCases)
  ways.walk()
  const { cases, folded, complaints } = ways
  return { cases, folded, cut: Number(ways.isCut), complaints }
}

type How = 'once' | 'lost' | 'twice' | 'unanswered'

type Choice = readonly [name: string, step: (state: State) => State]

class Ways {
  cases = 0
  isCut = false
  readonly complaints: string[] = []
  readonly #world: RuleWorld
  readonly #rule: Rule
  readonly #maxCases: number
  readonly #fold = new SmallFold()
  readonly #way: string[] = []

  constructor(world: RuleWorld, maxCases: number) {
    this.#world = world
    this.#rule = ruleIn(world.rule)
    this.#maxCases = maxCases
  }

  get folded(): number {
    return this.#fold.folded
  }

  get #isOfPolicy(): boolean {
    return this.#rule.name === OF_POLICY
  }

  walk(): void {
    const { cluster, told } = listedCluster()
    const fold = this.#fold
    const rules = this.#isOfPolicy ? [] : [this.#rule]
    const policy = { ...policyFor('enforce', 'parity'), rules }
    const started = { cluster: CLUSTER, name: 'test', epoch: 1, clusterEpoch: 1 }
    fold.fold({ type: 'WatcherStarted', serverTime: null, ...started }, 0)
    fold.fold({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    for (const event of told) fold.fold(event)
    beat(fold, BEGINNING_MS)
    const none = { orders: [], commands: [], results: [], fault: '', silent: '' }
    this.#down({ cluster, lines: this.#world.script, ...none, isEnforced: false })
  }

  #down(state: State): void {
    if (this.complaints.length > 0 || this.isCut) return
    this.isCut = this.cases >= this.#maxCases
    let isOver = true
    for (const [name, step] of this.#choices(state)) {
      isOver = false
      const mark = this.#fold.mark()
      this.#way.push(name)
      const next = step({ ...state, cluster: this.#copy(state.cluster) })
      this.#down(this.#gathered(next, mark.commands, mark.relists))
      this.#way.pop()
      this.#fold.rollback(mark)
    }
    if (isOver) this.#end(state)
  }

  *#choices(state: State): Generator<Choice> {
    const mayFail = state.fault === ''
    const [line, ...lines] = state.lines
    if (line !== undefined) yield [line, (before) => this.#happen({ ...before, lines }, line)]
    const [order, ...orders] = state.orders
    if (order !== undefined) yield ['read order', (before) => this.#told(before, order, { orders })]
    for (const [short, stream] of state.cluster.streams) {
      if (stream.length === 0 || short === state.silent) continue
      yield [`tell ${short}`, (before) => this.#tell(before, short, 1)]
      if (!mayFail) continue
      const lost = `lose ${short}`
      yield [lost, (before) => ({ ...this.#tell(before, short, 0), fault: lost })]
      const twice = `tell ${short} twice`
      yield [twice, (before) => ({ ...this.#tell(before, short, 2), fault: twice })]
    }
    const [command, ...commands] = state.commands
    if (command !== undefined) {
      const name = `${command.type} ${command.target.uid}`
      yield [name, (before) => this.#carriedOut({ ...before, commands }, command, 'once')]
      for (const how of mayFail ? (['lost', 'twice', 'unanswered'] as const) : []) {
        const fault = `${name} ${how}`
        yield [
          fault,
          (before) => ({ ...this.#carriedOut({ ...before, commands }, command, how), fault }),
        ]
      }
    }
    const [result, ...results] = state.results
    if (result !== undefined) yield ['answer', (before) => this.#told(before, result, { results })]
  }

  /**
   * `+ OBJECT` creates, `= OBJECT` changes its labels and annotations, `- UID` deletes, `~ UID`
   * writes a status; `enforce` and `suspend` are orders, `wait SECONDS` is log time. `policy` has
   * the policy with its rule, `policy enforced` with the annotation as well. `silent KIND` and
   * `heard KIND`: so it is reported of its watch.
   */
  #happen(state: State, line: string): State {
    const { cluster } = state
    const [word = '', rest = ''] = [line.split(' ')[0], line.slice(line.indexOf(' ') + 1)]
    switch (word) {
      case '+':
        cluster.create(this.#read(rest))
        return state
      case '=': {
        const { uid, labels, annotations } = this.#read(rest)
        cluster.update(uid, { labels, annotations })
        return state
      }
      case '-':
        cluster.delete(rest, 'Background')
        return state
      case '~':
        cluster.touch(rest)
        return state
      case 'silent':
      case 'heard':
        return this.#hear(state, rest, word === 'silent')
      case 'policy':
        this.#setPolicy(cluster, rest)
        return state
      case 'wait':
        beat(this.#fold, Number(rest) * 1_000)
        return state
      default: {
        const isEnforced = word === 'enforce'
        return { ...state, isEnforced, orders: [...state.orders, this.#order(isEnforced)] }
      }
    }
  }

  #read(text: string): ObjectMeta {
    const bare = object(text, '')
    const reads = rulesOfKind([this.#rule], bare)?.reads.digest
    const fields = bare.projected?.fields ?? []
    return reads === undefined ? bare : { ...bare, projected: { reads, fields, policy: null } }
  }

  #hear(state: State, short: string, isSilent: boolean): State {
    const { group, kind } = kindNotation(short)
    beat(this.#fold, 0, [{ group, kind, ageMs: isSilent ? SILENT_MS : 0 }])
    return { ...state, silent: isSilent ? short : '' }
  }

  #setPolicy(cluster: ModelCluster, words: string): void {
    const [, ...rule] = this.#world.rule.replace(/ namespace:\S+/, '').split(' ')
    const isEnforced = words === 'enforced' ? 'enforced' : ''
    const bare = object(`cleanup/old@policy-${cluster.departed.length} in ns`, '')
    const read = policyIn(bare, `${rule.join(' ')} ${isEnforced}`)
    const { annotations, projected } = read
    const known = cluster.at(POLICY)
    if (known === undefined) cluster.create(read)
    else cluster.update(known.uid, { annotations, projected })
  }

  #order(isEnforced: boolean): Event {
    const verb = isEnforced ? 'enforce-rule' : 'suspend-rule'
    const digest = isEnforced ? ruleDigest(this.#rule) : null
    const about = { verb, cluster: '', subject: this.#rule.name, digest, listed: EMPTY_SET }
    return { type: 'Directive', ...about, who: 'ann', isProven: false, why: 'test' }
  }

  #tell(state: State, short: string, times: number): State {
    const event = state.cluster.streams.get(short)?.shift()
    for (let time = 0; time < times; time++) if (event !== undefined) this.#fold.fold(event)
    return state
  }

  #told(state: State, event: Event, left: Partial<State>): State {
    this.#fold.fold(event)
    return { ...state, ...left }
  }

  #gathered(state: State, commands: number, relists: number): State {
    for (const command of this.#fold.commands.slice(commands)) this.#checkIssued(state, command)
    for (const { kind } of this.#fold.relists.slice(relists))
      state.cluster.relist(shortKind(kind.group, kind.kind), 0, false)
    return { ...state, commands: [...state.commands, ...this.#fold.commands.slice(commands)] }
  }

  /** By what was published. What is lost on a watch shows in the next list only. */
  #checkIssued({ cluster, fault, silent }: State, command: Command): void {
    if (command.type !== 'DeleteObject' || command.rule === null || fault.startsWith('lose')) return
    const { uid, group, kind } = command.target
    const { keep, absent } = this.#rule
    const counted = keep === null ? '' : shortKind(group, kind)
    const named = absent === null ? '' : shortKind(absent.group, absent.kind)
    if (silent !== '' && [counted, named].includes(silent))
      this.#complain(`${uid} is to be deleted while the watch of ${silent} is silent`)
    const object = cluster.objects.get(uid)
    const streams = [...cluster.streams.values()].flat()
    const unpublished = streams.flatMap((event) =>
      event.type === 'ObjectDeleted' ? event.object : [],
    )
    const known = [...cluster.objects.values(), ...unpublished]
    if (object !== undefined && !isBeyond(this.#rule, object, known))
      this.#complain(`${uid} is to be deleted, and is among the newest that stay`)
    if (!this.#isOfPolicy || cluster.streams.get('cleanup')?.length !== 0) return
    if (!isEnforcedBy(cluster.at(POLICY), this.#rule))
      this.#complain(`${uid} is to be deleted by a policy that is not enforced`)
  }

  /** A reaper refuses what no order enforces, and no policy, and looks for the Node. */
  #carriedOut(state: State, command: Command, how: How): State {
    const { cluster } = state
    if (how === 'lost' || command.type === 'WarnObject') return state
    if (command.type === 'VerifyOwner')
      return { ...state, results: [...state.results, cluster.verify(command)] }
    const isRuled = command.type === 'DeleteObject' && command.rule !== null
    const carry = (): Event =>
      isRuled && !this.#mayBeCarriedOut(state, command)
        ? settled(command, 'blocked', null)
        : cluster.carryOut(command)
    const results = how === 'twice' ? [carry(), carry()] : [carry()]
    return { ...state, results: [...state.results, ...(how === 'unanswered' ? [] : results)] }
  }

  #mayBeCarriedOut(state: State, { owners }: DeleteObject): boolean {
    const { cluster } = state
    const named = owners.filter(({ claim, uid }) => claim === 'absent' && uid === '')
    return this.#isEnforced(state) && named.every((each) => cluster.at(each) === undefined)
  }

  #isEnforced({ cluster, isEnforced }: State): boolean {
    if (!this.#isOfPolicy) return isEnforced
    return isEnforcedBy(cluster.at(POLICY), this.#rule)
  }

  #copy(cluster: ModelCluster): ModelCluster {
    const copy: ModelCluster = cluster.copy((removed, command) => {
      if (command === null) return
      const why = this.#objection(copy, removed, command)
      if (why !== '') this.#complain(`${removed.uid} is deleted by ${command.id}: ${why}`)
    })
    return copy
  }

  #objection(cluster: ModelCluster, removed: ObjectMeta, { rule }: DeleteObject): string {
    if (rule === null) return objection(cluster.objects.values(), removed)
    const dueMs = dueMsOf(this.#rule, ruledOf(removed))
    if (dueMs === undefined) return 'the rule is not about it'
    if (!namesNoNode(this.#rule, removed, cluster)) return 'its Node is there'
    const leftMs = dueMs + this.#rule.forMs - this.#fold.nowMs
    return leftMs > 0 ? `it is due in ${leftMs} ms` : ''
  }

  /** From here on no fault happens, and time passes. */
  #end(before: State): void {
    this.cases += 1
    const mark = this.#fold.mark()
    let state: State = { ...before, cluster: this.#copy(before.cluster) }
    if (state.silent !== '') state = this.#hear(state, state.silent, false)
    // The hourly relist finds the lost events.
    if (state.fault.startsWith('lose'))
      for (const short of MONITORED) state.cluster.relist(short, 0, false)
    for (let beats = 0; beats < QUIET_BEATS; beats++) {
      state = this.#quieted(state)
      const from = this.#fold.mark()
      beat(this.#fold, QUIET_BEAT_MS)
      state = this.#gathered(state, from.commands, from.relists)
    }
    for (const text of this.#leftIn(state)) this.#complain(text)
    for (const text of check(this.#fold.state)) this.#complain(text)
    this.#fold.rollback(mark)
  }

  /** With a limit all or none of what became due together is left. */
  #leftIn(state: State): readonly string[] {
    const { cluster } = state
    const all = [...cluster.objects.values()]
    const due = all.filter((each) => {
      const isDue = dueMsOf(this.#rule, ruledOf(each)) !== undefined && each.deletedAt === null
      const isOver = isBeyond(this.#rule, each, all) && namesNoNode(this.#rule, each, cluster)
      return isDue && isOver
    })
    if (!this.#isEnforced(state) || due.length === 0) return []
    const isHeld = [...this.#fold.state.values()].some(
      (value) => value.type === 'RuleRun' && value.heldAt > 0,
    )
    return isHeld ? [] : due.map(({ uid }) => `in the end ${uid} is due, and left`)
  }

  #quieted(before: State): State {
    let state = before
    for (let turn = 0; turn < BUSY_TURNS; turn++) {
      const [choice] = [...this.#choices({ ...state, fault: 'none' })]
      if (choice === undefined) return state
      const mark = this.#fold.mark()
      state = this.#gathered(choice[1](state), mark.commands, mark.relists)
    }
    this.#complain('it never comes to rest')
    return state
  }

  #complain(what: string): void {
    const { rule, script } = this.#world
    const way = this.#way.join(', ')
    this.complaints.push(`${rule}: ${script.join('; ')}: ${what}; on the way ${way}`)
  }
}
