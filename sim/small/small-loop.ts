/**
 * One small world as a closed loop, in every order: actions of users, events of watches, commands
 * and their answers are interleaved in all ways.
 *
 * What must stay true: the server objects to a removal in the moment in which it takes effect; in
 * the end nothing is left over. Once on each way one fault may happen: an event is lost or
 * published twice, a command is lost, refused or carried out twice, an answer is lost or published
 * twice.
 *
 * Not here: the reaper's own gate (services/reaper; crashes of the real loops are in
 * small-crash.ts).
 */
import type { Command } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import {
  CLUSTER,
  MONITORED,
  type ModelCluster,
  settled,
} from '../../testing/model/model-cluster.ts'
import { leftovers, objection } from '../../testing/model/model-oracle.ts'
import { shortKind } from '../../testing/model/notation.ts'
import { SmallFold } from './small-fold.ts'
import { act, asHappened, listedCluster } from './small-script.ts'
import { beat, beginning, type Findings } from './small-verdict.ts'

/** Enough for a command whose answer was lost to be given up and repeated. */
const QUIET_BEATS = 60
const QUIET_BEAT_MS = 30_000
/** For one heartbeat; a world of four objects comes to rest long before. */
const BUSY_TURNS = 200
/** Commands that a reaper may take in another order than they were issued in. */
const IN_FLIGHT = 2

interface State {
  readonly cluster: ModelCluster
  readonly lines: readonly string[]
  readonly commands: readonly Command[]
  readonly results: readonly Event[]
  /** The fault on the way here; empty while there was none. */
  readonly fault: string
}

export interface LoopOptions {
  /** Whether some ways contain a fault. */
  readonly hasFaults: boolean
  /** Of ways; a world with more is abandoned after so many. */
  readonly maxCases: number
}

export function allLoops(script: readonly string[], options: LoopOptions): Findings {
  const loops = new Loops(script, options)
  loops.walk()
  const { cases, folded, complaints } = loops
  return { cases, folded, cut: Number(loops.isCut), complaints }
}

class Loops {
  cases = 0
  isCut = false
  readonly complaints: string[] = []
  readonly #script: readonly string[]
  readonly #options: LoopOptions
  readonly #fold = new SmallFold()
  readonly #way: string[] = []

  constructor(script: readonly string[], options: LoopOptions) {
    this.#script = script
    this.#options = options
  }

  get folded(): number {
    return this.#fold.folded
  }

  walk(): void {
    const { cluster, told } = listedCluster()
    const begun = beginningOf(this.#script)
    for (const line of this.#script.slice(0, begun)) act(cluster, line)
    beginning(this.#fold, told)
    const made = [...cluster.streams.values()].flatMap((stream) => stream.splice(0))
    for (const event of asHappened(made)) this.#fold.fold(event)
    const commands = [...this.#fold.commands]
    const lines = this.#script.slice(begun)
    this.#down({ cluster, lines, commands, results: [], fault: '' })
  }

  #down(state: State): void {
    if (this.complaints.length > 0 || this.isCut) return
    if (this.cases >= this.#options.maxCases) {
      this.isCut = true
      return
    }
    let isOver = true
    for (const [name, step] of this.#choices(state)) {
      isOver = false
      const mark = this.#fold.mark()
      this.#way.push(name)
      const cluster = this.#copy(state.cluster)
      const next = step({ ...state, cluster })
      const commands = [...next.commands, ...this.#fold.commands.slice(mark.commands)]
      for (const { kind } of this.#fold.relists.slice(mark.relists))
        cluster.relist(shortKind(kind.group, kind.kind), 0, false)
      this.#down({ ...next, commands })
      this.#way.pop()
      this.#fold.rollback(mark)
    }
    if (isOver) this.#end(state)
  }

  *#choices(state: State): Generator<readonly [name: string, step: (state: State) => State]> {
    const mayFail = this.#options.hasFaults && state.fault === ''
    const [line, ...lines] = state.lines
    if (line !== undefined) {
      yield [
        line,
        (before) => {
          act(before.cluster, line)
          return { ...before, lines }
        },
      ]
    }
    for (const [short, stream] of state.cluster.streams) {
      if (stream.length === 0) continue
      yield [`tell ${short}`, (before) => this.#tell(before, short, 1)]
      if (!mayFail) continue
      for (const [times, fault] of [
        [0, `lose ${short}`],
        [2, `tell ${short} twice`],
      ] as const)
        yield [fault, (before) => ({ ...this.#tell(before, short, times), fault })]
    }
    for (let index = 0; index < Math.min(IN_FLIGHT, state.commands.length); index++) {
      const name = `${state.commands[index]?.type} ${state.commands[index]?.target.uid}`
      yield [name, (before) => carriedOut(before, index, 'once')]
      if (!mayFail) continue
      for (const how of ['lost', 'twice', 'unanswered', 'refused'] as const) {
        const fault = `${name} ${how}`
        yield [fault, (before) => ({ ...carriedOut(before, index, how), fault })]
      }
    }
    const [result, ...results] = state.results
    if (result === undefined) return
    yield ['answer', (before) => this.#answer(before, result, results, 1)]
    if (mayFail) {
      const fault = 'answer twice'
      yield [fault, (before) => ({ ...this.#answer(before, result, results, 2), fault })]
    }
  }

  #tell(state: State, short: string, times: number): State {
    const event = state.cluster.streams.get(short)?.shift()
    for (let time = 0; time < times; time++) if (event !== undefined) this.#fold.fold(event)
    return state
  }

  #answer(state: State, result: Event, results: readonly Event[], times: number): State {
    for (let time = 0; time < times; time++) this.#fold.fold(result)
    return { ...state, results }
  }

  #copy(cluster: ModelCluster): ModelCluster {
    const copy: ModelCluster = cluster.copy((object, command) => {
      if (command === null) return
      const why = objection(copy.objects.values(), object)
      if (why !== '') this.#complain(`${object.uid} goes by ${command.id}: ${why}`)
    })
    return copy
  }

  /**
   * Everything to do has been done; from here on no fault happens, and time passes until nothing is
   * left over.
   */
  #end(before: State): void {
    this.cases += 1
    const mark = this.#fold.mark()
    let state: State = { ...before, cluster: this.#copy(before.cluster) }
    // The hourly relist finds the lost events.
    if (state.fault.startsWith('lose'))
      for (const short of MONITORED) state.cluster.relist(short, 0, false)
    for (let beats = 0; beats < QUIET_BEATS; beats++) {
      state = this.#quieted(state)
      if (leftovers(state.cluster.objects).length === 0) break
      const from = this.#fold.mark()
      beat(this.#fold, QUIET_BEAT_MS)
      state = this.#gathered(state, from.commands, from.relists)
    }
    const left = leftovers(state.cluster.objects)
    if (left.length > 0) this.#complain(`in the end ${left.map(({ text }) => text).join(', ')}`)
    this.#fold.rollback(mark)
  }

  #quieted(before: State): State {
    let state = before
    for (let turn = 0; turn < BUSY_TURNS; turn++) {
      const mark = this.#fold.mark()
      const short = [...state.cluster.streams].find(([, stream]) => stream.length > 0)?.[0]
      const [result, ...results] = state.results
      if (short !== undefined) state = this.#tell(state, short, 1)
      else if (result !== undefined) state = this.#answer(state, result, results, 1)
      else if (state.commands.length > 0) state = carriedOut(state, 0, 'once')
      else return state
      state = this.#gathered(state, mark.commands, mark.relists)
    }
    this.#complain('it goes round and round')
    return state
  }

  #gathered(state: State, commands: number, relists: number): State {
    for (const { kind } of this.#fold.relists.slice(relists))
      state.cluster.relist(shortKind(kind.group, kind.kind), 0, false)
    return { ...state, commands: [...state.commands, ...this.#fold.commands.slice(commands)] }
  }

  #complain(what: string): void {
    this.complaints.push(`${this.#script.join('; ')}: ${what}; on the way ${this.#way.join(', ')}`)
  }
}

/** Objects that are created before anything else happens exist, and are published. */
function beginningOf(script: readonly string[]): number {
  const first = script.findIndex((line) => !line.startsWith('+'))
  return first < 0 ? script.length : first
}

function carriedOut(
  state: State,
  index: number,
  how: 'once' | 'lost' | 'twice' | 'unanswered' | 'refused',
): State {
  const { cluster } = state
  const command = state.commands[index]
  if (command === undefined || command.cluster !== CLUSTER) return state
  const commands = state.commands.filter((each) => each !== command)
  if (how === 'lost') return { ...state, commands }
  const results = [...state.results]
  if (how === 'refused') results.push(settled(command, 'blocked', null))
  else if (command.type === 'VerifyOwner') results.push(cluster.verify(command))
  else if (command.type !== 'WarnObject') results.push(cluster.carryOut(command))
  if (how === 'twice' && command.type !== 'VerifyOwner' && command.type !== 'WarnObject')
    results.push(cluster.carryOut(command))
  if (how === 'unanswered') results.pop()
  return { ...state, commands, results }
}
