/**
 * One owner in a cluster, one object in another that names it, in every order: the owner is
 * deleted, orphans, leaves unwatched, its cluster is restored, cut off, forgotten or remembered,
 * consent ends, the watcher is succeeded; what the bridge publishes of that comes late, and
 * commands are carried out late.
 *
 * What must stay true: the object is deleted only while its owner is gone by a deletion that was
 * watched in the epoch of its cluster as it is now, an hour ago at least, and while both sides
 * consent; and in the end it is deleted if that is so. No command is issued while an order forgets
 * the owner's cluster, nor within an hour afterwards.
 *
 * Not here: rules that do not ask for other clusters (small-rule.ts), the bridge itself
 * (services/watcher).
 */
import type { Command } from '../../core/model/command.ts'
import type { ClusterElsewhere, Event, OwnerElsewhere } from '../../core/model/event.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import { policyFor } from '../../core/model/policy.ts'
import { type Rule, ruleDigest, rulesOfKind } from '../../core/model/rule/rule.ts'
import { CLUSTER, settled } from '../../testing/model/model-cluster.ts'
import { object } from '../../testing/model/notation.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { SmallFold } from './small-fold.ts'
import { listedCluster } from './small-script.ts'
import type { Findings } from './small-verdict.ts'

const NORTH = 'north'
const OWNER = object('widget/w in team', '0')
const NAMES = `annotation:kinfold.io/owner=${NORTH}/example.com/Widget/team/w/${OWNER.uid}`
const RULE: Rule = ruleIn(
  `r cm 0 for:3600 elsewhere:${NORTH} import:widget/team export:widget/team/${CLUSTER}`,
)
const BEGINNING_MS = 20_000
const HOUR_MS = 3_600_000
/** Less than a bridge may be silent. */
const PULSE_MS = 170_000
const QUIET_HOURS = 3

export type Happening =
  | ('delete' | 'orphan' | 'miss' | 'restore' | 'cut' | 'heal')
  | ('off' | 'on' | 'restart' | 'hour' | 'forget' | 'remember')

export const HAPPENINGS: readonly Happening[] = [
  ...(['delete', 'orphan', 'miss', 'restore', 'cut', 'heal'] as const),
  ...(['off', 'on', 'restart', 'hour', 'forget', 'remember'] as const),
]

/** All that is so, whether it was published or not. */
interface State {
  readonly script: readonly Happening[]
  readonly owner: OwnerElsewhere['state']
  readonly ownerEpoch: number
  /** Log time of its deletion. */
  readonly leftAt: number
  readonly isReached: boolean
  readonly consents: boolean
  readonly isForgotten: boolean
  /** Log time at which it was last; 0: never. */
  readonly forgottenAt: number
  readonly epoch: number
  /** On the way from the bridge to the log, in order. */
  readonly unpublished: readonly Event[]
  readonly position: bigint
  readonly commands: readonly Command[]
  readonly isDeleted: boolean
}

type Choice = readonly [name: string, step: (state: State) => State]

/** All ways through one script. */
export function allElsewhere(script: readonly Happening[], maxCases: number): Findings {
  const ways = new Ways(maxCases)
  ways.walk(script)
  const { cases, folded, complaints } = ways
  return { cases, folded, cut: Number(ways.isCut), complaints }
}

class Ways {
  cases = 0
  isCut = false
  readonly complaints: string[] = []
  readonly #maxCases: number
  readonly #fold = new SmallFold()
  readonly #way: string[] = []

  constructor(maxCases: number) {
    this.#maxCases = maxCases
  }

  get folded(): number {
    return this.#fold.folded
  }

  walk(script: readonly Happening[]): void {
    const fold = this.#fold
    const started = { cluster: CLUSTER, name: 'test', epoch: 1, clusterEpoch: 1 }
    fold.fold({ type: 'WatcherStarted', serverTime: null, ...started }, 0)
    fold.fold(policyEvent(true))
    for (const event of listedCluster().told) fold.fold(event)
    fold.fold(beatOf(1), BEGINNING_MS)
    fold.fold({ type: 'ObjectAdded', cluster: CLUSTER, epoch: 1, sync: null, object: dependent() })
    const state: State = {
      ...{ script, owner: 'there', ownerEpoch: 1, leftAt: 0, isReached: true, consents: true },
      ...{ isForgotten: false, forgottenAt: 0 },
      ...{ epoch: 1, unpublished: [], position: 1n, commands: [], isDeleted: false },
    }
    for (const event of [following(state), factOf(state), enforcing()]) fold.fold(event)
    this.#down(state)
  }

  #down(state: State): void {
    if (this.complaints.length > 0 || this.isCut) return
    this.isCut = this.cases >= this.#maxCases
    let isOver = true
    for (const [name, step] of this.#choices(state)) {
      isOver = false
      const mark = this.#fold.mark()
      this.#way.push(name)
      const next = step(state)
      this.#checkIssued(next, mark.commands)
      this.#down({ ...next, commands: [...next.commands, ...this.#issued(mark.commands)] })
      this.#way.pop()
      this.#fold.rollback(mark)
    }
    if (isOver) this.#end(state)
  }

  #issued(from: number): readonly Command[] {
    return this.#fold.commands.slice(from).filter(({ type }) => type === 'DeleteObject')
  }

  /** At the moment when they are. */
  #checkIssued({ isForgotten, forgottenAt }: State, from: number): void {
    const isEarly = forgottenAt > 0 && this.#fold.nowMs < forgottenAt + HOUR_MS
    if (!isForgotten && !isEarly) return
    if (this.#issued(from).length > 0) this.#complain('a command is issued, by what was forgotten')
  }

  *#choices(state: State): Generator<Choice> {
    const [line, ...script] = state.script
    if (line !== undefined) yield [line, (before) => this.#happen({ ...before, script }, line)]
    const [event, ...unpublished] = state.unpublished
    if (event !== undefined) {
      yield ['publish', (before) => this.#published({ ...before, unpublished }, event)]
    }
    const [command, ...commands] = state.commands
    if (command === undefined) return
    yield ['carry out', (before) => this.#carriedOut({ ...before, commands }, command)]
  }

  #published(state: State, event: Event): State {
    this.#fold.fold(event)
    return state
  }

  #happen(before: State, line: Happening): State {
    const state = { ...before, position: before.position + 1n }
    const { owner, ownerEpoch, isReached } = state
    switch (line) {
      case 'delete':
      case 'orphan':
      case 'miss':
        return owner === 'there' ? this.#left(state, LEAVING[line]) : before
      case 'restore': {
        const restored = { ...state, owner: 'there', ownerEpoch: ownerEpoch + 1 } as const
        return told(restored, isReached ? [following(restored), factOf(restored)] : [])
      }
      case 'cut':
        return isReached ? told({ ...state, isReached: false }, [cutOff(state)]) : before
      case 'heal': {
        if (isReached) return before
        const healed = { ...state, isReached: true }
        return told(healed, [following(healed), factOf(healed)])
      }
      case 'off':
      case 'on':
        this.#fold.fold(policyEvent(line === 'on'))
        this.#fold.fold(enforcing())
        return { ...state, consents: line === 'on' }
      case 'restart': {
        const epoch = state.epoch + 1
        const started = { cluster: CLUSTER, name: 'test', epoch, clusterEpoch: 1 }
        this.#fold.fold({ type: 'WatcherStarted', serverTime: null, ...started })
        const again = { ...state, epoch, unpublished: [] }
        return told(again, isReached ? [following(again), factOf(again)] : [])
      }
      case 'forget':
        this.#fold.fold(orderAbout('forget-cluster'))
        return { ...state, isForgotten: true }
      case 'remember': {
        this.#fold.fold(orderAbout('remember-cluster'))
        const forgottenAt = state.isForgotten ? this.#fold.nowMs : state.forgottenAt
        return { ...state, isForgotten: false, forgottenAt }
      }
      case 'hour':
        return this.#hour(state)
    }
  }

  /** What happens while no watch reports it is found to be missing later. */
  #left(state: State, how: OwnerElsewhere['state']): State {
    const owner = state.isReached ? how : 'unknown'
    const left = { ...state, owner, leftAt: this.#fold.nowMs }
    return told(left, state.isReached ? [factOf(left)] : [])
  }

  /** The bridge says that it follows while nothing is left to be published. */
  #hour(state: State): State {
    const until = this.#fold.nowMs + HOUR_MS
    while (this.#fold.nowMs < until) {
      const now = Math.min(until, this.#fold.nowMs + PULSE_MS)
      const from = this.#fold.commands.length
      this.#fold.fold(beatOf(state.epoch), now)
      if (state.isReached && state.unpublished.length === 0) this.#fold.fold(following(state))
      if (now < until) this.#checkIssued(state, from)
    }
    return state
  }

  /** A reaper asks at the owner's cluster, in its epoch, by the rule that it knows itself. */
  #carriedOut(state: State, command: Command): State {
    if (state.isDeleted || command.type !== 'DeleteObject') return state
    const isOfEpoch = command.owners.every((each) => each.clusterEpoch === state.ownerEpoch)
    const isAsked = state.isReached && isOfEpoch && state.consents
    const isSeen = isAsked && state.owner !== 'there'
    this.#fold.fold(settled(command, isSeen ? 'done' : 'blocked', null))
    if (!isSeen) return state
    const why = this.#objection(state)
    if (why !== '') this.#complain(`${command.id} deletes the object: ${why}`)
    return { ...state, isDeleted: true }
  }

  #objection({ owner, leftAt, consents }: State): string {
    if (owner !== 'deleted') return `its owner is ${owner}`
    if (!consents) return 'no side consents'
    const agoMs = this.#fold.nowMs - leftAt
    return agoMs < HOUR_MS ? `its owner was deleted ${agoMs} ms ago` : ''
  }

  #end(before: State): void {
    this.cases += 1
    const mark = this.#fold.mark()
    let state = before
    if (!state.isReached) state = this.#happen(state, 'heal')
    if (!state.consents) state = this.#happen(state, 'on')
    for (let hours = 0; hours < QUIET_HOURS; hours++) {
      const from = this.#fold.mark()
      for (const event of state.unpublished) this.#fold.fold(event)
      state = this.#hour({ ...state, unpublished: [] })
      const commands = [...state.commands, ...this.#issued(from.commands)]
      state = { ...state, commands: [] }
      for (const command of commands) state = this.#carriedOut(state, command)
    }
    // What was issued before may have deleted it.
    const isLeft = state.isForgotten || before.isDeleted
    if (!isLeft && state.isDeleted !== (state.owner === 'deleted')) {
      this.#complain(`in the end the object is ${state.isDeleted ? '' : 'not '}deleted`)
    }
    this.#fold.rollback(mark)
  }

  #complain(what: string): void {
    this.complaints.push(`${this.#way.join('; ')}: ${what}`)
  }
}

const LEAVING = { delete: 'deleted', orphan: 'orphaned', miss: 'unknown' } as const

function told(state: State, events: readonly Event[]): State {
  return { ...state, unpublished: [...state.unpublished, ...events] }
}

function following({ epoch, ownerEpoch }: State): ClusterElsewhere {
  const of = { cluster: CLUSTER, epoch, ownerCluster: NORTH, ownerEpoch }
  return { type: 'ClusterElsewhere', ...of, state: 'followed', because: '' }
}

function cutOff(state: State): ClusterElsewhere {
  return { ...following(state), state: 'cut-off', because: 'no answer' }
}

function factOf({ epoch, ownerEpoch, owner, position }: State): OwnerElsewhere {
  const { group, kind, namespace, name, uid, version, resource, createdAt } = OWNER
  return {
    ...{ type: 'OwnerElsewhere', cluster: CLUSTER, epoch, ownerCluster: NORTH, ownerEpoch },
    ...{ place: { group, kind, namespace, name }, uid, version, resource, createdAt },
    ...{ state: owner, position },
  }
}

function beatOf(epoch: number): Event {
  return { type: 'Heartbeat', cluster: CLUSTER, epoch, kinds: [] }
}

/** `consents`: that cluster exports its owners. */
function policyEvent(consents: boolean): Event {
  const { elsewhere } = RULE
  const less = elsewhere && { ...elsewhere, exports: [] }
  const rules = [consents ? RULE : { ...RULE, elsewhere: less }]
  const policy = { ...policyFor('enforce', 'parity'), rules }
  return { type: 'PolicyChanged', policy, who: 'test', why: 'test' }
}

const BY = { listed: EMPTY_SET, who: 'ann', isProven: false, why: 'test' }

function enforcing(): Event {
  const about = { verb: 'enforce-rule', cluster: '', subject: 'r', digest: ruleDigest(RULE) }
  return { type: 'Directive', ...about, ...BY }
}

function orderAbout(verb: 'forget-cluster' | 'remember-cluster'): Event {
  return { type: 'Directive', verb, cluster: CLUSTER, subject: NORTH, digest: null, ...BY }
}

function dependent(): ObjectMeta {
  const bare = object(`cm/a [${NAMES}]`, '5')
  const reads = rulesOfKind([RULE], bare)?.reads.digest ?? ''
  return { ...bare, projected: { reads, fields: [], policy: null } }
}
