/**
 * Objects with many owners about which nothing is known: whatever their live GETs are answered, in
 * whatever order, an object has the verdict that it would be judged to have now (`check`), though
 * it is not judged for each answer (I6, T10).
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLUSTER, settled } from '../testing/model/model-cluster.ts'
import { object } from '../testing/model/notation.ts'
import { check } from '../testing/model/state-check.ts'
import { World } from '../testing/model/story.ts'
import { factsOf } from './graph/facts.ts'
import { getsUnderWay, laneOfGets } from './graph/gets.ts'
import type { Command } from './model/command.ts'
import { GETS_OF_A_NAMESPACE } from './model/constant.ts'
import type { Event } from './model/event.ts'

const RUNS = Number(process.env['RUNS'] ?? 150)

const MARKS = { there: '', waiting: ' [deleting foreground]', orphaning: ' [deleting orphan]' }
const FATES = ['never', 'never', 'never', 'there', 'waiting', 'orphaning', 'refused'] as const
type Fate = (typeof FATES)[number]

interface Draw {
  /** Of each owner, which may be shared by the objects. */
  readonly fates: readonly Fate[]
  /** For each object the owners that it references, in order. */
  readonly objects: readonly (readonly number[])[]
  /** Which waiting GET is answered next, or what else happens. */
  readonly picks: readonly number[]
}

const draws: fc.Arbitrary<Draw> = fc.integer({ min: 9, max: 60 }).chain((owners) =>
  fc.record({
    fates: fc.array(fc.constantFrom(...FATES), { minLength: owners, maxLength: owners }),
    objects: fc.array(
      fc.array(fc.nat({ max: owners - 1 }), { minLength: 1, maxLength: 2 * owners }),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
    picks: fc.array(fc.nat({ max: 1_000 }), { minLength: 10, maxLength: 40 }),
  }),
)

/** One cluster in which the GETs are answered. */
class Play {
  readonly made = new World()
  readonly draw: Draw
  /** GETs that are not answered. */
  readonly waiting: Command[] = []
  #taken = 0
  #isGone = false

  constructor(draw: Draw) {
    this.draw = draw
    this.made.begin()
    this.made.step('policy enforce parity')
  }

  tell(event: Event): void {
    this.made.tell(event)
    const { commands, graph, state } = this.made.folder
    for (const command of commands.slice(this.#taken))
      if (command.type === 'VerifyOwner') this.waiting.push(command)
    this.#taken = commands.length
    ok(getsUnderWay(factsOf(graph, CLUSTER), laneOfGets('ns')) <= GETS_OF_A_NAMESPACE)
    this.made.folder.commit()
    deepEqual(check(state), [])
  }

  answer(pick: number): void {
    const [command] = this.waiting.splice(pick % this.waiting.length, 1)
    if (command !== undefined) this.tell(answerTo(command, this.draw.fates))
  }

  put(index: number): void {
    const owners = this.draw.objects[index % this.draw.objects.length] ?? []
    this.tell(this.made.put(`pod/many${index} <- ${owners.map(ownerText).join(', ')}`))
  }

  /** Then nothing can happen to it. */
  isGone(owner: number): boolean {
    return this.#isGone && ownerText(owner).startsWith(SOME)
  }

  /** The kind of the first owner goes, or is served again and listed. */
  turnKind(): void {
    this.#isGone = !this.#isGone
    this.tell(this.#isGone ? this.made.gone(SOME) : this.made.served(SOME, true))
    if (this.#isGone) return
    for (const event of this.made.relist(SOME)) this.made.folder.fold(event, this.made.now)
    this.tell(this.made.beat(1))
  }
}

/** The first has a kind that may go. */
const SOME = 'job'

function ownerText(index: number): string {
  return index === 0 ? `${SOME}/o${index}` : `cm/o${index}`
}

function answerTo(command: Command, fates: readonly Fate[]): Event {
  const { group, kind, namespace, name, uid } = command.target
  const fate = fates[Number(name.slice(1))] ?? 'never'
  if (fate === 'refused') return settled(command, 'blocked', null)
  const owner = { group, kind, namespace, name }
  const about = { cluster: CLUSTER, clusterEpoch: 1, command: command.id, owner, uid }
  if (fate === 'never') return { type: 'OwnerAbsent', ...about, how: 'NotFound', otherUid: null }
  const text = `${ownerText(Number(name.slice(1)))}${MARKS[fate]}`
  return { type: 'OwnerFound', ...about, object: object(text, '1') }
}

test('whatever the owners of an object turn out to be, and in whatever order, it has the verdict of now after each answer', () => {
  fc.assert(
    fc.property(draws, (draw) => {
      const play = new Play(draw)
      if (draw.picks.length % 2 === 0) play.tell(play.made.put(ownerText(0)))
      for (const index of draw.objects.keys()) play.put(index)
      for (const pick of draw.picks) {
        const owner = pick % draw.fates.length
        if (pick % 9 < 2 && play.isGone(owner)) continue
        if (pick % 9 === 0) play.tell(play.made.put(ownerText(owner)))
        else if (pick % 9 === 1) play.tell(play.made.remove(ownerText(owner)))
        else if (pick % 9 === 2) play.tell(play.made.beat(30))
        else if (pick % 9 === 3) play.put(pick % draw.objects.length)
        else if (pick % 9 === 4)
          play.tell(play.made.remove(`pod/many${pick % draw.objects.length}`))
        else if (pick % 9 === 5) play.turnKind()
        else play.answer(pick)
      }
      for (let each = 0; play.waiting.length > 0 && each < 2_000; each++) {
        const isRefused = play.waiting.every(
          ({ target }) => draw.fates[Number(target.name.slice(1))] === 'refused',
        )
        if (isRefused) break
        play.answer(0)
      }
    }),
    { numRuns: RUNS },
  )
})
