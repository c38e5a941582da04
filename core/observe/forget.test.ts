/** A deleted object is forgotten after its time, and its lineage with it. */
import { deepEqual, equal } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { type Preset, policyFor } from '../model/policy.ts'

const DAY_MS = 24 * 3_600_000

/** What a heartbeat, so many days after the story began, causes to be forgotten. */
function forgotten(world: World, days: number): string[] {
  return world.folder.fold(world.beat(0), days * DAY_MS).flatMap((outcome) => outcome.forgotten)
}

test('an owner that went is forgotten after thirty days, once no reference names it', () => {
  const world = new World()
  world.begin()
  world.step('put rs/web')
  world.step('put pod/a <- rs/web')
  world.step('delete rs/web')
  deepEqual(forgotten(world, 31), [])
  world.step('delete pod/a')
  equal(forgotten(world, 70).includes('c/rs-web'), true)
})

/** A world whose policy remembers for so many days. */
function remembering(days: number, preset: Preset = 'parity'): World {
  const world = new World()
  world.begin()
  const policy = { ...policyFor('enforce', preset), rememberMs: days * DAY_MS }
  world.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  return world
}

function steps(world: World, ...lines: readonly string[]): string[] {
  return lines.flatMap((line) => world.step(line))
}

function pass(world: World, days: number): void {
  for (let day = 0; day < days; day++) world.step(`beat ${DAY_MS / 1_000}`)
}

test('what is remembered for a week only is forgotten after a week, a reference to it or not as before', () => {
  const world = remembering(7)
  steps(world, 'put rs/web', 'put pod/a <- rs/web', 'delete rs/web')
  deepEqual(forgotten(world, 6), [])
  deepEqual(forgotten(world, 8), [])
  world.step('delete pod/a')
  equal(forgotten(world, 10).includes('c/rs-web'), true)
  deepEqual(forgotten(world, 14), [])
  deepEqual(forgotten(world, 16), ['c/pod-a'])
})

test('what is remembered for longer is, and so is a mark', () => {
  const world = remembering(60)
  steps(world, 'put rs/web', 'put rs/web [deleting orphan]', 'delete rs/web')
  steps(world, 'put cm/a', 'delete cm/a')
  deepEqual(forgotten(world, 59), [])
  deepEqual(forgotten(world, 61), ['c/cm-a', 'c/rs-web'])
})

test('what is referenced from a namespace only is remembered for as long as it is, and then nothing of it is left', () => {
  const world = remembering(1)
  const keysOf = (...types: readonly string[]): string[] => {
    world.folder.commit()
    return [...world.folder.state].flatMap(([key, { type }]) =>
      types.includes(type) && key.includes('/pv-y') ? [key] : [],
    )
  }
  steps(world, 'put pv/y', 'put pod/a <- pv/y [h.io/x]', 'delete pv/y')
  equal(keysOf('Owner').length, 1)
  pass(world, 5)
  equal(keysOf('Owner').length, 1)
  world.step('delete pod/a')
  pass(world, 5)
  deepEqual(keysOf('Owner', 'Edge', 'Count', 'Due', 'Wait'), [])
})

suite('that an owner let its dependents go is remembered for thirty days, however short the rest', () => {
  test('of one that was seen to go', () => {
    const world = remembering(1)
    steps(world, 'put rs/web', 'put rs/web [deleting orphan]', 'delete rs/web')
    deepEqual(forgotten(world, 29), [])
    deepEqual(forgotten(world, 31), ['c/rs-web'])
  })

  const drops = [
    '= observed, drop orphaning: Deployment "x" is deleted with its dependents orphaned',
  ]

  test('of one that looks found, and then did not', () => {
    const world = remembering(1)
    world.tell(world.served('deploy', false))
    steps(world, 'put pod/a <- deploy/x', 'found deploy/x [deleting orphan]', 'beat 700')
    steps(world, 'absent deploy/x', 'put pod/a')
    pass(world, 28)
    steps(world, 'put pod/b <- deploy/x')
    deepEqual(world.step('why pod/b'), drops)
  })

  test('of one whose kind is watched no more', () => {
    const world = remembering(1)
    steps(world, 'put deploy/x', 'put pod/a <- deploy/x', 'put deploy/x [deleting orphan h.io/x]')
    world.step('put pod/a')
    world.tell(world.served('deploy', false))
    pass(world, 28)
    steps(world, 'put pod/b <- deploy/x', 'absent deploy/x')
    deepEqual(world.step('why pod/b'), drops)
  })
})

suite('that a person has to be asked is remembered, however short the rest:', () => {
  const held = (what: string): string[] => [
    `= observed, delete bulk: ${what} no longer exists; held by approval: a bulk deletion needs approval`,
  ]

  test('of owners that a relist missed with a mass', () => {
    const world = remembering(1)
    world.tell(world.served('cm', false))
    steps(world, 'many 400 rs/r#', 'relist rs', 'beat 5', 'lose-many 200 rs/r#', 'relist rs')
    pass(world, 3)
    steps(world, 'serve cm', 'put cm/late <- rs/r1', 'relist cm', 'beat 60')
    deepEqual(world.step('why cm/late'), held('ReplicaSet "r1"'))
  })

  test('of one that went with its definition, which was made again at once', () => {
    const world = remembering(1, 'guarded')
    steps(world, 'serve crd', 'relist crd', 'serve widget', 'relist widget')
    world.tell(world.served('cm', false))
    const definition = 'crd/widgets.example.com'
    steps(world, `put ${definition}`, 'put widget/w', `put ${definition} [deleting h.io/x]`)
    steps(world, 'delete widget/w', `delete ${definition}`, `put ${definition}@again`, 'beat 5')
    pass(world, 3)
    steps(world, 'serve cm', 'put cm/late <- widget/w', 'relist cm', 'beat 60')
    steps(world, 'absent widget/w', 'beat 5')
    deepEqual(world.step('why cm/late'), held('Widget "w"'))
  })
})
