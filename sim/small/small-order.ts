/**
 * One small world, published in every order in which its watches may publish it.
 *
 * What must stay true: each order ends in the same graph and the same verdicts; no command on the
 * way would delete an object that may stay; and there is a command for each object that must be
 * deleted. Orders are visited as a tree, so their common prefixes are folded once.
 *
 * Not here: which worlds there are (small-shape.ts), commands that are carried out in between
 * (small-loop.ts).
 */
import type { DeleteObject } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { ModelCluster } from '../../testing/model/model-cluster.ts'
import { leftovers, objection } from '../../testing/model/model-oracle.ts'
import type { Leftover } from '../../testing/model/oracle.ts'
import { SmallFold } from './small-fold.ts'
import { act, kindsNamed, listedCluster, streamsOf } from './small-script.ts'
import type { Findings } from './small-verdict.ts'
import { beginning, isAsked, settle, verdicts, wholeGraph } from './small-verdict.ts'

/**
 * `listsFrom`: how many lines of the script have happened when the kinds are listed for the first
 * time; the lists are interleaved with the events after it.
 */
export function allOrders(script: readonly string[], listsFrom = 0): Findings {
  const unlisted = listsFrom > 0 ? kindsNamed(script) : []
  const { cluster, told } = listedCluster(unlisted)
  for (const line of script.slice(0, listsFrom)) act(cluster, line)
  for (const short of unlisted) cluster.relist(short, 0, false)
  for (const line of script.slice(listsFrom)) act(cluster, line)
  const fold = new SmallFold()
  beginning(fold, told)
  const orders = new Orders(script, cluster, fold)
  orders.walk(streamsOf(cluster))
  return { cases: orders.cases, folded: fold.folded, cut: 0, complaints: orders.complaints }
}

class Orders {
  cases = 0
  readonly complaints: string[] = []
  readonly #script: readonly string[]
  readonly #cluster: ModelCluster
  readonly #truth: readonly ObjectMeta[]
  readonly #leftovers: readonly Leftover[]
  readonly #fold: SmallFold
  /**
   * Whether a dangling reference next to an orphaned one is known by then depends on the order; the
   * fate of the dependent does not.
   */
  readonly #isOrphaning: boolean
  #first: string | undefined

  constructor(script: readonly string[], cluster: ModelCluster, fold: SmallFold) {
    this.#script = script
    this.#cluster = cluster
    this.#truth = [...cluster.objects.values()]
    this.#leftovers = leftovers(cluster.objects)
    this.#fold = fold
    this.#isOrphaning = script.some((line) => line.includes(' Orphan'))
  }

  walk(streams: readonly (readonly Event[])[]): void {
    const told = streams.map(() => 0)
    const down = (): void => {
      if (this.complaints.length > 0) return
      let isOver = true
      for (const [index, stream] of streams.entries()) {
        const at = told[index] ?? 0
        const event = stream[at]
        if (event === undefined) continue
        isOver = false
        const mark = this.#fold.mark()
        told[index] = at + 1
        this.#fold.fold(event)
        this.#judge(mark.commands)
        down()
        told[index] = at
        this.#fold.rollback(mark)
      }
      if (isOver) this.#end()
    }
    down()
  }

  /** All events were published: verifications are answered, and waits pass. */
  #end(): void {
    this.cases += 1
    const fold = this.#fold
    const mark = fold.mark()
    settle(fold, this.#cluster)
    this.#judge(mark.commands)
    const graph = this.#isOrphaning ? verdicts(fold) : wholeGraph(fold)
    this.#first ??= graph
    if (graph !== this.#first) this.#complain('another graph than in the first order')
    for (const { object, text } of this.#leftovers) {
      if (!fold.commands.some((command) => isAsked(command, object.uid, this.#cluster)))
        this.#complain(`${text}, and nothing was commanded`)
    }
    fold.rollback(mark)
  }

  #judge(from: number): void {
    for (let index = from; index < this.#fold.commands.length; index++) {
      const command = this.#fold.commands[index]
      const why = command?.type === 'DeleteObject' ? this.#objection(command) : ''
      if (why !== '') this.#complain(`${command?.target.uid} is commanded to go: ${why}`)
    }
  }

  /**
   * By the references it was judged by: no uid comes back, and in most worlds the propagation
   * policy of a waiting owner does not change.
   */
  #objection({ target, references, owners }: DeleteObject): string {
    if (references.length === 0) return 'it has no owner references (I2)'
    const object = this.#cluster.objects.get(target.uid)
    if (object === undefined || owners.some(({ claim }) => claim === 'waiting')) return ''
    return objection(this.#truth, { ...object, ownerReferences: references })
  }

  #complain(what: string): void {
    this.complaints.push(`${this.#script.join('; ')}: ${what}`)
  }
}
