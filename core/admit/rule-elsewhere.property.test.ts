/**
 * Whatever is published of owners in other clusters, in whatever order, and whatever becomes of the
 * objects that name them: once no work is left those are due that the law says, and none is deleted
 * before an hour in which its owner's cluster was followed.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ElsewhereLaw } from '../../testing/model/elsewhere-law.ts'
import { object } from '../../testing/model/notation.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import { elsewhereOf } from '../judge/elsewhere.ts'
import { FEW_NAMERS, MOST_NAMERS } from '../model/constant.ts'
import type { Event } from '../model/event.ts'
import type { Node } from '../model/node.ts'
import type { ObjectMeta } from '../model/object.ts'

const MARKS = 'for:3600 elsewhere:north import:widget/team-a import:job/team-b'
const RULE = `far cm 0 ${MARKS} export:widget/team-a/c export:job/team-b/c`
/** Without the consent of the owner's side for one kind. */
const LESS = `far cm 0 ${MARKS} export:widget/team-a/c`

class LawfulWorld extends World {
  readonly law = new ElsewhereLaw()
  rule = RULE
  issued = 0

  override tell(event: Event): string[] {
    this.law.tell(event, this.now, this.objects())
    const before = this.folder.commands.length
    const lines = super.tell(event)
    this.folder.commit()
    this.law.keepNamed(this.objects())
    const { elsewhere } = ruleIn(this.rule)
    for (const { type, target } of this.folder.commands.slice(before)) {
      const about = this.objects().find(({ uid }) => uid === target.uid)
      if (type !== 'DeleteObject' || about === undefined || elsewhere === null) continue
      this.issued += 1
      ok(this.law.mayDelete(elsewhere, about, this.now), `${about.name} is deleted`)
    }
    return lines
  }

  nodes(): readonly Node[] {
    const values = [...this.folder.state.values()]
    return values.filter((value): value is Node => value.type === 'Node')
  }

  objects(): readonly ObjectMeta[] {
    return this.nodes().map((node) => node.object)
  }

  setRule(rule: string): void {
    this.rule = rule
    this.step(`rule ${rule}`)
    this.step('enforce-rule far')
  }
}

const OWNERS = [
  'north/example.com/Widget/team-a/w/w1',
  'north/example.com/Widget/team-a/other/w1',
  'north/example.com/Widget/team-b/w/w2',
  'north/batch/Job/team-b/j/j1',
  'west/example.com/Widget/team-a/w/w1',
  'north/Widget/w',
]
const PUBLISHED = [
  'widget/w@w1 in team-a',
  'widget/other@w1 in team-a',
  'widget/w@w2 in team-b',
  'job/j@j1 in team-b',
]
const name = fc.nat({ max: 3 }).map((number) => `cm/c${number}`)
const marks = fc.constantFrom('', ...OWNERS.map((owner) => `annotation:kinfold.io/owner=${owner}`))
const put = fc.tuple(name, fc.constantFrom('', '', '', ' <- rs/web'), marks).map((parts) => {
  const [object, owner, mark] = parts
  return `put ${object}${owner} [${mark}]`
})
const state = fc.constantFrom('deleted', 'deleted', 'deleted', 'there', 'orphaned', 'unknown')
const older = fc.constantFrom('', '', '', ' older')
const told = fc
  .tuple(state, fc.constantFrom('north', 'north', 'north', 'west'), older)
  .chain(([is, of, when]) =>
    fc.constantFrom(...PUBLISHED).map((it) => `elsewhere ${is} ${of} ${it}${when}`),
  )
const step = fc.oneof(
  { weight: 5, arbitrary: put },
  { weight: 1, arbitrary: name.map((each) => `delete ${each}`) },
  { weight: 1, arbitrary: name.map((each) => `lose ${each}`) },
  { weight: 6, arbitrary: told },
  { weight: 4, arbitrary: fc.constantFrom('followed 3660 north', 'followed 1800 north') },
  { weight: 2, arbitrary: fc.constantFrom('beat 60', 'beat 170', 'beat 190', 'beat 4000') },
  { weight: 2, arbitrary: fc.constantFrom('follow north', 'unfollow north', 'follow west') },
  { weight: 1, arbitrary: fc.constantFrom('follow north 2', 'follow north 3', 'follow north 1') },
  { weight: 1, arbitrary: fc.constantFrom('forget-cluster north', 'remember-cluster north') },
  { weight: 1, arbitrary: fc.constantFrom('relist cm', 'open cm', 'finish', 'restart') },
  { weight: 1, arbitrary: fc.constantFrom('unreadable c', 'LOST', 'RULE', 'LESS', 'put rs/web') },
)

/** A record is lost, and all that names an owner is listed again. */
const LOST = ['unreadable c', 'relist cm', 'relist rs', 'relist cm']

test('what is due is what the law says, and nothing is deleted before an hour', () => {
  let issued = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const world = new LawfulWorld()
      world.begin()
      world.setRule(RULE)
      world.step('put rs/web')
      world.step('follow north')
      for (const each of steps) {
        if (each === 'RULE') world.setRule(RULE)
        else if (each === 'LESS') world.setRule(LESS)
        else for (const line of each === 'LOST' ? LOST : [each]) world.step(line)
        deepEqual(check(world.folder.state), [], each)
      }
      for (const each of ['finish', 'relist cm', 'relist rs', 'relist cm', 'beat 60']) {
        world.step(each)
      }
      deepEqual(check(world.folder.state), [])
      deepEqual(...dueAndMeant(world))
      issued += world.issued
    }),
    { numRuns: 200 },
  )
  ok(issued > 0, 'none was ever deleted')
})

function dueAndMeant(world: LawfulWorld): [readonly string[], readonly string[]] {
  const { elsewhere } = ruleIn(world.rule)
  if (elsewhere === null) throw new Error('no such rule')
  const maps = world.nodes().filter((node) => node.object.kind === 'ConfigMap')
  const due = maps.filter(({ verdict }) => verdict?.rule === 'far')
  const meant = maps.filter((node) => world.law.isDue(elsewhere, node.object))
  return [due.map(nameOf).sort(), meant.map(nameOf).sort()]
}

function nameOf({ object: { name } }: Node): string {
  return name
}

test('nothing is known in a namespace with too many objects that name such owners', () => {
  const world = new World()
  world.begin()
  world.step(`rule ${RULE}`)
  const [owner = ''] = OWNERS
  for (let number = 0; number < MOST_NAMERS; number++) {
    world.step(`put cm/c${number} [annotation:kinfold.io/owner=${owner}]`)
  }
  world.step('follow north')
  world.step('elsewhere deleted north widget/w@w1 in team-a')
  const isDue = (): boolean => factsOf(world.folder.graph, 'c').node('cm-c7')?.verdict !== null
  equal(isDue(), true)
  world.step(`put cm/more [annotation:kinfold.io/owner=${owner}]`)
  equal(isDue(), false)
  world.step(`put cm/there in other [annotation:kinfold.io/owner=${owner}]`)
  equal(factsOf(world.folder.graph, 'c').node('cm-there')?.verdict?.rule, 'far')
  // One more or less at the bound judges none anew.
  world.step('delete cm/more')
  equal(isDue(), false)
  for (let number = FEW_NAMERS; number < MOST_NAMERS; number++) world.step(`delete cm/c${number}`)
  equal(isDue(), true)
})

test('what is said of an owner that is not shared is the same, whatever is known of it', () => {
  const said = (events: readonly string[], owner: string): unknown => {
    const world = new World()
    world.begin()
    world.step(`rule ${RULE}`)
    const about = `put cm/c [annotation:kinfold.io/owner=${owner}]`
    for (const each of ['follow north', about, ...events]) world.step(each)
    const facts = factsOf(world.folder.graph, 'c')
    return elsewhereOf(facts, ruleIn(RULE), facts.node('cm-c')?.object ?? object('cm/c', '0'))
  }
  for (const owner of OWNERS.slice(1)) {
    if (owner.includes('/j1')) continue
    const nothing = said([], owner)
    for (const each of ['there', 'deleted', 'orphaned', 'unknown']) {
      const all = PUBLISHED.filter((it) => !it.includes('other')).map(
        (it) => `elsewhere ${each} north ${it}`,
      )
      deepEqual(said(all, owner), nothing, `${owner} ${each}`)
    }
  }
})
