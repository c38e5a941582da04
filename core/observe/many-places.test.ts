/**
 * One uid named at more coordinates than any user means: each is counted by itself, and none
 * changes what is done at the coordinates of the owner.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../testing/model/state-check.ts'
import { show, World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import { ALL_COUNTS_PREFIX } from '../graph/key.ts'
import type { Event } from '../model/event.ts'
import type { ObjectMeta } from '../model/object.ts'

const OBJECTS = 5
const NAMES = 200
const UID = 'one-uid'

/** With a reference to that uid by each of these names. */
function naming(object: ObjectMeta, uid: string, names: readonly string[]): ObjectMeta {
  const reference = { apiVersion: 'apps/v1', kind: 'ReplicaSet', uid, controller: null }
  const ownerReferences = names.map((name) => ({
    ...reference,
    name: `${name}-`.padEnd(250, 'x'),
    blockOwnerDeletion: true,
  }))
  return { ...object, ownerReferences }
}

/** A world, and a function that creates an object there that names that uid so. */
function worldOf(): {
  readonly world: World
  readonly put: (text: string, uid: string, names: readonly string[]) => void
} {
  const world = new World()
  world.begin()
  const put = (text: string, uid: string, names: readonly string[]): void => {
    const seen = world.put(text) as Extract<Event, { type: 'ObjectAdded' | 'ObjectUpdated' }>
    world.tell({ ...seen, object: naming(seen.object, uid, names) })
  }
  return { world, put }
}

function complaintsOf({ folder }: World): readonly string[] {
  folder.commit()
  return check(folder.state)
}

test('all are counted, however many, and agree with what names them', () => {
  const { world, put } = worldOf()
  const { folder } = world
  const countsOf = (): number =>
    [...folder.state.keys()].filter((key) => key.startsWith(ALL_COUNTS_PREFIX)).length
  const namesOf = (index: number, most: number): string[] =>
    Array.from({ length: most }, (_, i) => `${index}-${i}`)

  for (let index = 0; index < OBJECTS; index++) put(`cm/a${index}`, UID, namesOf(index, NAMES))
  deepEqual(complaintsOf(world), [])
  equal(countsOf(), OBJECTS * NAMES)
  const place = { group: 'apps', kind: 'ReplicaSet', namespace: 'ns' }
  const first = naming({} as ObjectMeta, UID, namesOf(0, 1)).ownerReferences[0]?.name ?? ''
  equal(factsOf(folder.graph, 'c').isNamed(UID, { ...place, name: first }), true)
  equal(factsOf(folder.graph, 'c').isNamed(UID, { ...place, name: 'elsewhere' }), false)

  for (let index = 0; index < OBJECTS; index++) put(`cm/a${index}`, UID, namesOf(index, 3))
  deepEqual(complaintsOf(world), [])
  equal(countsOf(), OBJECTS * 3)
  for (let index = 0; index < OBJECTS; index++) world.tell(world.remove(`cm/a${index}`))
  deepEqual(complaintsOf(world), [])
  equal(countsOf(), 0)
})

for (const strangers of [0, 256]) {
  const beside = `beside ${strangers} names of its uid in another namespace`

  test(`an owner waits in the foreground for what blocks it, and is deleted after it, ${beside}`, () => {
    const { world, put } = worldOf()
    const names = Array.from({ length: strangers }, (_, i) => `${i}`)
    put('cm/many in theirs', 'rs-web', names)
    for (const line of ['rs/web', 'pod/d1 <- rs/web!', 'pod/d2 <- rs/web'])
      world.step(`put ${line}`)
    deepEqual(complaintsOf(world), [])
    const from = world.folder.commands.length
    const asked = (): string[] =>
      world.folder.commands.slice(from).flatMap((command) => {
        const isTheirs = command.target.namespace === 'theirs'
        return isTheirs ? [] : [show(command).split(':')[0] ?? '']
      })
    world.step('put rs/web [deleting foreground]')
    equal(world.step('why rs/web').join(), '= waiting, wait: dependents block it')
    const deletes = [
      'DeleteObject pod/d1 Background waiting',
      'DeleteObject pod/d2 Background waiting',
    ]
    deepEqual(asked().sort(), deletes)
    world.step('delete pod/d2')
    equal(world.step('why rs/web').join(), '= waiting, wait: dependents block it')
    world.step('delete pod/d1')
    deepEqual(asked().slice(2), ['RemoveFinalizer rs/web foregroundDeletion'])
    world.step('delete rs/web')
    deepEqual(complaintsOf(world), [])
  })

  test(`what references a deleted owner is collected, ${beside}`, () => {
    const { world, put } = worldOf()
    const names = Array.from({ length: strangers }, (_, i) => `${i}`)
    world.step('put rs/web')
    put('cm/many in theirs', 'rs-web', names)
    for (let each = 0; each < 3; each++) world.step(`put pod/d${each} <- rs/web`)
    const from = world.folder.commands.length
    world.step('delete rs/web')
    const asked = world.folder.commands.slice(from).map((each) => `${each.type} ${each.target.uid}`)
    deepEqual(asked, ['DeleteObject pod-d0', 'DeleteObject pod-d1', 'DeleteObject pod-d2'])
    deepEqual(complaintsOf(world), [])
  })
}
