/**
 * Which kind an owner reference means: as it is written, in lower case where one kind is written
 * so, and nothing else.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../testing/model/state-check.ts'
import { show, World } from '../../testing/model/story.ts'
import type { Event } from '../model/event.ts'
import { factsOf } from './facts.ts'

const OWNER = { group: 'apps', namespace: 'ns', name: 'web' }

function begun(): World {
  const world = new World()
  world.begin()
  return world
}

/** As `put pod/a <- rs/web`, with the kind written so. */
function putNaming(world: World, kind: string): void {
  const seen = world.put('pod/a <- rs/web') as Extract<Event, { type: 'ObjectAdded' }>
  const ownerReferences = seen.object.ownerReferences.map((each) => ({ ...each, kind }))
  world.tell({ ...seen, object: { ...seen.object, ownerReferences } })
}

function serve(world: World, kind: string): void {
  world.tell({ ...world.served('rs', true), kind, resource: `${kind}-objects` })
}

function verdictOf(world: World): string {
  world.folder.commit()
  deepEqual(check(world.folder.state), [])
  const { verdict } = factsOf(world.folder.graph, 'c').node('pod-a') ?? {}
  return `${verdict?.type}: ${verdict?.because}`
}

function dependentsOf(world: World, kind: string): number {
  return factsOf(world.folder.graph, 'c').count('rs-web', { ...OWNER, kind })?.dependents ?? 0
}

for (const kind of ['ReplicaSet', 'replicaset']) {
  test(`${kind} is the kind ReplicaSet`, () => {
    const world = begun()
    world.step('put rs/web')
    putNaming(world, kind)
    equal(verdictOf(world), `keep: ${kind} "web" exists`)
    equal(dependentsOf(world, 'ReplicaSet'), 1)
    const [command] = world.step('delete rs/web')
    equal(command, `> DeleteObject pod/a Background deleted: ${kind} "web" no longer exists`)
  })
}

for (const kind of [
  'replicaSet',
  'REPLICASET',
  'replicasets',
  'ReplicaSetList',
  'replicasetlist',
]) {
  test(`${kind} is no kind`, () => {
    const world = begun()
    world.step('put rs/web')
    putNaming(world, kind)
    deepEqual(world.step('delete rs/web'), [])
    equal(verdictOf(world), `blocked: the kind of ${kind} "web" is not served`)
  })
}

test('a kind that is written in lower case itself is meant before another', () => {
  const world = begun()
  world.step('put rs/web')
  putNaming(world, 'replicaset')
  equal(verdictOf(world), 'keep: replicaset "web" exists')
  serve(world, 'replicaset')
  const unknown = 'whether replicaset "web" exists is not known'
  equal(verdictOf(world), `verify: kind replicaset.apps is not listed yet: ${unknown}`)
  deepEqual([dependentsOf(world, 'ReplicaSet'), dependentsOf(world, 'replicaset')], [0, 1])
})

test('of two kinds that are written alike in lower case none is meant', () => {
  const world = begun()
  world.step('put rs/web')
  putNaming(world, 'replicaset')
  equal(dependentsOf(world, 'ReplicaSet'), 1)
  serve(world, 'Replicaset')
  equal(verdictOf(world), 'blocked: the kind of replicaset "web" is not served')
  equal(dependentsOf(world, 'ReplicaSet'), 0)
  deepEqual(world.step('delete rs/web'), [])
})

test('what is looked up, and asked of a server, is of the kind that is served', () => {
  const world = begun()
  putNaming(world, 'replicaset')
  const asked = world.folder.commands.map((each) => [show(each), each.target.resource])
  deepEqual(asked, [['VerifyOwner rs/web in ns', 'replicasets']])
  world.step('absent rs/web')
  const last = world.folder.commands.at(-1)
  equal(last?.type, 'DeleteObject')
  const owners = last?.type === 'DeleteObject' ? last.owners : []
  deepEqual(
    owners.map(({ kind, resource }) => `${kind} ${resource}`),
    ['ReplicaSet replicasets'],
  )
})

test('records that were lost hold it up until the kind that is meant is relisted', () => {
  const world = begun()
  for (const line of ['put rs/web', 'put pod/a <- _rs/web', 'unreadable c/ns']) world.step(line)
  deepEqual([...world.step('delete rs/web'), ...world.step('relist pod')], [])
  const [command] = world.step('relist rs')
  equal(
    command,
    '> DeleteObject pod/a Background deleted recheck: replicaset "web" no longer exists',
  )
})
