/**
 * One small world, published with a single event lost, repeated, or late: each event, each of the
 * three, at each later place.
 *
 * What must stay true: whatever the graph then commands, nothing is deleted that may stay; a
 * repeated event changes nothing; and the next relist corrects the effect of a lost or late event.
 *
 * Not here: orders in which nothing is amiss (small-order.ts).
 */
import type { Event } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { ModelCluster } from '../../testing/model/model-cluster.ts'
import { leftovers, objection } from '../../testing/model/model-oracle.ts'
import type { Leftover } from '../../testing/model/oracle.ts'
import { SmallFold } from './small-fold.ts'
import { act, asHappened, listedCluster, streamsOf } from './small-script.ts'
import type { Findings } from './small-verdict.ts'
import { beginning, isAsked, settle, verdicts, wholeGraph } from './small-verdict.ts'

export function allFaults(script: readonly string[]): Findings {
  const { cluster, told } = listedCluster()
  for (const line of script) act(cluster, line)
  const streams = streamsOf(cluster)
  const fold = new SmallFold()
  beginning(fold, told)
  const faults = new Faults(script, cluster, fold)
  for (const order of ordersOf(streams)) faults.of(order)
  return { cases: faults.cases, folded: fold.folded, cut: 0, complaints: faults.complaints }
}

/** As it happened; and kind by kind, first those that happened last. */
function ordersOf(streams: readonly (readonly Event[])[]): readonly (readonly Event[])[] {
  const happened = asHappened(streams.flat())
  const reversed = [...streams].reverse().flat()
  return happened.every((event, index) => event === reversed[index])
    ? [happened]
    : [happened, reversed]
}

class Faults {
  cases = 0
  readonly complaints: string[] = []
  readonly #script: readonly string[]
  readonly #cluster: ModelCluster
  readonly #truth: readonly ObjectMeta[]
  readonly #leftovers: readonly Leftover[]
  readonly #relists: readonly Event[]
  readonly #fold: SmallFold

  constructor(script: readonly string[], cluster: ModelCluster, fold: SmallFold) {
    this.#script = script
    this.#cluster = cluster
    this.#truth = [...cluster.objects.values()]
    this.#leftovers = leftovers(cluster.objects)
    this.#fold = fold
    const listed = cluster.copy()
    for (const stream of listed.streams.values()) stream.length = 0
    for (const [short, stream] of cluster.streams)
      if (stream.length > 0 && short !== 'deploy') listed.relist(short, 0, false)
    this.#relists = [...listed.streams.values()].flat()
  }

  of(order: readonly Event[]): void {
    const fold = this.#fold
    const start = fold.mark()
    const right = this.#ends([], order, 'nothing')
    for (const [index, event] of order.entries()) {
      const rest = order.slice(index + 1)
      this.#fault(`${nameOf(event)} lost`, [], rest, right.repaired)
      for (let later = 0; later <= rest.length; later++) {
        const [soon, then] = [rest.slice(0, later), rest.slice(later)]
        this.#again(`${nameOf(event)} again after ${later} more`, event, soon, then, right.graph)
        if (later > 0)
          this.#fault(`${nameOf(event)} late by ${later}`, [...soon, event], then, right.repaired)
      }
      fold.fold(event)
    }
    fold.rollback(start)
  }

  #again(
    what: string,
    event: Event,
    soon: readonly Event[],
    then: readonly Event[],
    right: string,
  ): void {
    const { graph } = this.#ends([event, ...soon, event], then, what)
    if (graph !== right) this.#complain(`${what}: another graph than without`)
  }

  #fault(what: string, first: readonly Event[], rest: readonly Event[], right: string): void {
    const { repaired, isAllAsked } = this.#ends(first, rest, what)
    if (repaired !== right) this.#complain(`${what}: other verdicts after the relist`)
    if (isAllAsked !== '')
      this.#complain(`${what}: ${isAllAsked}, and after a relist nobody is asked`)
  }

  /** Publishes these, and checks the end before a relist of all kinds and after it. */
  #ends(
    first: readonly Event[],
    rest: readonly Event[],
    what: string,
  ): { readonly graph: string; readonly repaired: string; readonly isAllAsked: string } {
    this.cases += 1
    const fold = this.#fold
    const mark = fold.mark()
    for (const event of first) fold.fold(event)
    for (const event of rest) fold.fold(event)
    settle(fold, this.#cluster)
    const graph = wholeGraph(fold)
    for (const event of this.#relists) fold.fold(event)
    settle(fold, this.#cluster)
    this.#judge(mark.commands, what)
    const repaired = verdicts(fold)
    const left = this.#leftovers.find(
      ({ object }) => !fold.commands.some((command) => isAsked(command, object.uid, this.#cluster)),
    )
    fold.rollback(mark)
    return { graph, repaired, isAllAsked: left?.text ?? '' }
  }

  /** The possible effects of each command if it is carried out now, within its guards. */
  #judge(from: number, what: string): void {
    for (let index = from; index < this.#fold.commands.length; index++) {
      const command = this.#fold.commands[index]
      if (command?.type !== 'DeleteObject') continue
      const cluster = this.#cluster.copy((object, by) => {
        if (by === null) return
        const why = objection(this.#truth, object)
        if (why !== '') this.#complain(`${what}: ${object.uid} goes: ${why}`)
      })
      cluster.carryOut(command)
    }
  }

  #complain(what: string): void {
    this.complaints.push(`${this.#script.join('; ')}: ${what}`)
  }
}

function nameOf(event: Event): string {
  const uid = 'object' in event ? event.object?.uid : ''
  return `${event.type} ${uid}`
}
