/**
 * Objects that a relist has missed are processed in pages, and a cluster may be restored between
 * two of them.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { object } from '../../testing/model/notation.ts'
import { World } from '../../testing/model/story.ts'
import { ToldLog } from '../../testing/rig/told-log.ts'
import { factsOf } from '../graph/facts.ts'
import type { Event } from '../model/event.ts'
import type { ObjectMeta } from '../model/object.ts'
import { policyFor } from '../model/policy.ts'

test('what a relist of an earlier epoch had begun to look for misses nothing of the next one', () => {
  const world = new World()
  world.begin()
  const { folder } = world
  const foldToEnd = (event: Event): void => {
    for (let next = event; folder.foldOne(next).continues; ) next = { type: 'Continue' }
  }
  // More than the pages of one record.
  for (let each = 0; each < 700; each++) world.step(`put pod/a${1_000 + each}`)
  world.step('put pod/zz')
  ok(world.remove('pod/a1000'))
  const listed = world
    .relist('pod')
    .filter((event) => !('object' in event && event.object?.uid === 'pod-zz'))
  // Newer than the list, and published by the watch before the list is complete.
  const later = world.put('pod/zz [h.io/x]')
  let isLeft = false
  for (const event of [...listed.slice(0, -1), later, ...listed.slice(-1)])
    isLeft = folder.foldOne(event).continues
  ok(isLeft)
  const started = [world.restart(2), ...world.relist('pod')]
  for (const event of started.slice(0, 2)) folder.foldOne(event)
  foldToEnd({ type: 'Continue' })
  ok(factsOf(folder.graph, 'c').node('pod-zz'))
  for (const event of started.slice(2)) foldToEnd(event)
  ok(factsOf(folder.graph, 'c').node('pod-zz'))
})

test('what a relist of an earlier epoch had begun to look for misses nothing that was made in the next one', () => {
  const world = new World()
  world.begin()
  const { folder } = world
  world.step('many 3000 pod/a#')
  world.step('put rs/old')
  world.step('put rs/kept')
  const policy = policyFor('enforce', 'parity')
  // Everything is to be judged before the objects that the list misses are searched for.
  folder.foldOne({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  world.remove('rs/old')
  for (const event of world.relist('rs')) {
    // The restore takes the versions back.
    const isLast = event.type === 'SyncFinished'
    folder.foldOne(isLast ? { ...event, resourceVersion: '1000000' } : event)
  }
  folder.foldOne(world.restart(2))
  for (const event of world.relist('rs')) folder.foldOne(event)
  const made = object('rs/made', '900000')
  folder.foldOne({ type: 'ObjectAdded', cluster: 'c', epoch: 2, sync: null, object: made })
  ok(factsOf(folder.graph, 'c').node(made.uid))
  for (let each = 0; each < 100; each++) folder.foldOne({ type: 'Continue' })
  ok(factsOf(folder.graph, 'c').node(made.uid))
})

test('what could not be read of a whole cluster counts though something of a namespace could not be read before', () => {
  const world = new World()
  world.begin()
  world.step('policy enforce parity')
  world.step('put rs/x')
  world.step('put pod/a <- rs/x')
  world.tell({ type: 'Unreadable', home: 'c/ns', reason: 'garbage' })
  world.step('relist pod')
  world.step('relist rs')
  world.tell({ type: 'Unreadable', home: 'c', reason: 'garbage' })
  world.step('delete rs/x')
  deepEqual(world.folder.commands, [])
  world.step('relist pod')
  world.step('relist rs')
  deepEqual(
    world.folder.commands.map(({ type }) => type),
    ['DeleteObject'],
  )
})

/** Dependents of so many owners in each of two namespaces, of which the second has much to do. */
class TwoNamespaces extends ToldLog {
  readonly families: readonly (readonly { owner: ObjectMeta; dependent: ObjectMeta }[])[]

  constructor() {
    super(policyFor('enforce', 'guarded'))
    this.families = ['n1', 'n2'].map((namespace) =>
      Array.from({ length: 90 }, (_, each) => ({
        owner: this.put(`rs/${namespace}-${each} in ${namespace}`),
        dependent: this.put(`pod/${namespace}-${each} in ${namespace} <- rs/${namespace}-${each}`),
      })),
    )
    this.relist('rs', this.left(0))
    for (let each = 0; each < 6_000; each++) this.put(`pod/x${each} in n2 <- rs/n2-89`)
    this.foldAll()
    // Everything is to be judged before the objects that a list misses are searched for.
    const policy = policyFor('enforce', 'guarded')
    this.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  }

  /** But so many of each. */
  left(gone: number): ObjectMeta[] {
    return this.families.flatMap((family) => family.slice(gone).map(({ owner }) => owner))
  }

  /** Of the first dependent in each. */
  verdicts(): string[] {
    return this.families.map(([first]) => this.verdictOf(first?.dependent ?? { uid: '' }))
  }
}

test('what a relist misses is counted over all namespaces, though the next relist is told before it is looked for', () => {
  const told = new TwoNamespaces()
  told.relist('rs', told.left(60))
  told.relist('rs', told.left(61))
  told.foldAll()
  deepEqual(told.verdicts(), ['delete bulk held', 'delete bulk held'])
})

test('a mass is one of what its own relist listed', () => {
  const told = new TwoNamespaces()
  told.relist('rs', told.left(60))
  const more = Array.from({ length: 400 }, (_, each) => told.put(`rs/more${each} in n1`))
  told.relist('rs', [...told.left(60), ...more])
  told.foldAll()
  deepEqual(told.verdicts(), ['delete bulk held', 'delete bulk held'])
})
