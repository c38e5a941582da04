/** One uid named at more places than anybody means: what is held of it stays small, and agrees with the nodes. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../adapters/avro/codec.ts'
import { World } from '../testing/story.ts'
import { check } from './check.ts'
import type { Event } from './event.ts'
import { isNamedAt } from './graph.ts'
import type { ObjectMeta } from './object.ts'

const OBJECTS = 5
const NAMES = 200
const UID = 'one-uid'

function naming(object: ObjectMeta, names: readonly string[]): ObjectMeta {
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', uid: UID, controller: null }
  const ownerReferences = names.map((name) => ({
    ...reference,
    name: `${name}-`.padEnd(250, 'x'),
    blockOwnerDeletion: true,
  }))
  return { ...object, ownerReferences }
}

test('what counts the dependents of one uid stays small, and none is forgotten', () => {
  const world = new World()
  world.begin()
  const codec = avroCodec()
  const { folder } = world
  let at = 1_000_000
  const put = (index: number, names: readonly string[]): void => {
    const told = world.put(`cm/a${index}`)
    if (told.type !== 'ObjectAdded' && told.type !== 'ObjectUpdated') throw new Error(told.type)
    folder.fold({ ...told, object: naming(told.object, names) }, at++)
  }
  const counts = () => [...folder.state].filter(([key]) => key.startsWith('count/'))
  const namesOf = (index: number, most: number): string[] =>
    Array.from({ length: most }, (_, i) => `${index}-${i}`)

  for (let index = 0; index < OBJECTS; index++) put(index, namesOf(index, NAMES))
  const [[, value] = []] = counts()
  ok(value?.type === 'Count' && codec.encode(value).length < 256 * 1_024)
  equal(value.uncounted + value.places.length, OBJECTS * NAMES)
  deepEqual(check(folder.state), [])
  // Nobody can say of another place that nothing names it there, so what is known of it is kept.
  const place = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'elsewhere' }
  const graph = { get: (key: string) => folder.state.get(key) }
  ok(isNamedAt(graph, 'c', UID, place))

  for (let index = 0; index < OBJECTS; index++) put(index, namesOf(index, 3))
  deepEqual(check(folder.state), [])
  for (let index = 0; index < OBJECTS; index++) folder.fold(world.remove(`cm/a${index}`), at++)
  deepEqual(check(folder.state), [])
  deepEqual(counts(), [])
})

test('an owner goes in the end, whoever names its uid at however many other places', () => {
  const world = new World()
  world.begin()
  const { folder } = world
  let at = 1_000_000
  const fold = (event: Event): string[] => {
    at += 10
    return folder
      .fold(event, at)
      .flatMap(({ commands }) => commands)
      .map(({ type, target }) => `${type} ${target.name}`)
  }
  const owner = world.put('rs/web')
  if (owner.type !== 'ObjectAdded') throw new Error(owner.type)
  const { uid } = owner.object
  const many = world.put('cm/many')
  if (many.type !== 'ObjectAdded') throw new Error(many.type)
  const names = Array.from({ length: 300 }, (_, i) => `${i}`)
  const { ownerReferences } = naming(many.object, names)
  const elsewhere = ownerReferences.map((each) => ({ ...each, uid }))
  fold({ ...many, object: { ...many.object, ownerReferences: elsewhere } })
  fold(owner)
  for (const line of ['pod/d1 <- rs/web!', 'pod/d2 <- rs/web', 'pod/d3 <- rs/web'])
    fold(world.put(line))
  deepEqual(check(folder.state), [])
  const said = fold(world.put('rs/web [deleting foreground]'))
  for (const name of ['d1', 'd2', 'd3']) said.push(...fold(world.remove(`pod/${name}`)))
  ok(said.includes('RemoveFinalizer web'), said.join())
  fold(world.remove('rs/web'))
  deepEqual(check(folder.state), [])
})
