/**
 * An orphan that kept another owner goes with that one, also when nobody saw it go: if it was found since the orphan was let go of. Where nobody knows, the
 * orphan stays.
 */
import { deepEqual, match } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { PARTITIONS, PartitionWorld } from '../testing/partition-world.ts'
import { World } from '../testing/story.ts'
import { READ_LATE_MS } from './constant.ts'

const ORPHANED = ['put rs/x', 'put rs/y', 'put pod/a <- rs/x, rs/y', 'beat 5', 'relist rs']
const LET_GO = ['put rs/x [deleting orphan]', 'put pod/a <- rs/y', 'delete rs/x']
const LISTED_SINCE = [`beat ${READ_LATE_MS / 1_000}`, 'beat 5', 'beat 5', 'relist rs']
const MISSED = ['lose rs/y', 'relist rs']
const NAMES_UNWATCHED = ['put rs/x', 'put pod/a <- rs/x, deploy/y']
const UNWATCHED_LET_GO = ['put rs/x [deleting orphan]', 'put pod/a <- deploy/y', 'delete rs/x']
const LOOKS = Array.from({ length: 5 }, () => ['beat 660', 'found deploy/y']).flat()
const STAYS = '= observed, drop E2: ReplicaSet "y" is gone, maybe before another owner let it go'

function told(world: World, lines: readonly string[]): string {
  for (const line of lines) world.step(line)
  return world.step('why pod/a').join()
}

function begun(): World {
  const world = new World()
  world.begin()
  return world
}

suite('an orphan goes with the owner that it kept', () => {
  test('which a relist since then listed, and a later one misses', () => {
    const lines = [...ORPHANED, ...LET_GO, ...LISTED_SINCE, ...MISSED]
    deepEqual(told(begun(), lines), '= observed, reap E2: ReplicaSet "y" is gone')
  })

  test('which nobody watches, and looks since then found', () => {
    const world = begun()
    world.tell(world.served('deploy', false))
    const looked = [...NAMES_UNWATCHED, 'found deploy/y', ...UNWATCHED_LET_GO, ...LOOKS]
    const all = [...looked, 'beat 660', 'absent deploy/y']
    deepEqual(told(world, all), '= observed, reap E3: Deployment "y" is gone')
  })

  test('which did so after another owner took its request back', () => {
    const lines = ['put rs/y', 'put pod/a <- rs/y', 'put rs/y [deleting orphan h.io/x]']
    const all = [...lines, 'put rs/y [deleting h.io/x]', ...LISTED_SINCE, ...MISSED]
    deepEqual(told(begun(), all), '= observed, reap E2: ReplicaSet "y" is gone')
  })

  for (const partitions of [1, PARTITIONS]) {
    test(`which is cluster-scoped: ${partitions} partitions`, () => {
      const world = new PartitionWorld([], partitions)
      for (const text of ['rs/x', 'pv/y', 'pod/a <- rs/x, pv/y']) world.put(text)
      world.put('rs/x [deleting orphan]')
      world.put('pod/a <- pv/y')
      for (const seconds of [READ_LATE_MS / 1_000, 5, 5]) world.beat(seconds)
      world.relist('pv', ['pv/y'])
      world.relist('pv', [])
      match(world.why('pod/a'), /observed, reap E2: PersistentVolume "y" is gone/)
    })
  }
})

suite('an orphan stays where the owner that it kept may have gone before', () => {
  test('which was listed for the last time then', () => {
    deepEqual(told(begun(), [...ORPHANED, ...LET_GO, 'beat 6000', ...MISSED]), STAYS)
  })

  test('which was listed so soon after that the list may be from before', () => {
    const soon = ['beat 5', 'beat 5', `beat ${READ_LATE_MS / 1_000 - 20}`, 'beat 5', 'relist rs']
    deepEqual(told(begun(), [...ORPHANED, ...LET_GO, ...soon, ...MISSED]), STAYS)
  })

  test('which was listed before, by a list that waited for the log', () => {
    const world = begun()
    const fold = (line: string, seconds: number): void => {
      for (const event of world.events(line)) world.folder.fold(event, seconds * 1_000)
    }
    for (const line of ORPHANED) fold(line, 20)
    // From here on the watcher's records wait, and the reaper's do not.
    for (const line of LET_GO) fold(line, 100)
    const late = 100 + (2 * READ_LATE_MS) / 1_000
    for (const line of ['beat 0', 'relist rs', 'lose rs/y', 'relist rs']) fold(line, late)
    deepEqual(told(world, []), STAYS)
  })

  test('which no list has held', () => {
    const unlisted = ['put rs/x', 'put rs/y', 'put pod/a <- rs/x, rs/y', 'beat 5']
    const lines = [...unlisted, ...LET_GO, ...LISTED_SINCE.slice(0, -1), ...MISSED]
    deepEqual(told(begun(), lines), STAYS)
  })

  test('which was listed in another epoch of the cluster', () => {
    const world = begun()
    const lines = [...ORPHANED, ...LET_GO, ...LISTED_SINCE]
    told(world, lines)
    world.tell(world.restart(2))
    const shown = told(world, ['relist pod', ...MISSED])
    match(shown, /held E4: ReplicaSet "y" is gone, maybe before another owner let it go;/)
  })

  test('which looks found in another epoch of the cluster', () => {
    const world = begun()
    world.tell(world.served('deploy', false))
    for (const line of [...NAMES_UNWATCHED, ...UNWATCHED_LET_GO, ...LOOKS]) world.step(line)
    world.tell(world.restart(2))
    const shown = told(world, ['relist pod', 'relist rs', 'beat 660', 'absent deploy/y'])
    match(shown, /held E4: Deployment "y" is gone, maybe before another owner let it go;/)
  })

  for (const [times, how] of [
    [1, 'late'],
    [2, 'late, and twice'],
  ] as const) {
    test(`which a look found that was asked for before, and answered ${how}`, () => {
      const world = begun()
      world.tell(world.served('deploy', false))
      for (const line of NAMES_UNWATCHED) world.step(line)
      const [found] = world.events('found deploy/y')
      for (const line of UNWATCHED_LET_GO) world.step(line)
      world.step(`beat ${READ_LATE_MS / 1_000 + 40}`)
      for (let each = 0; each < times; each++) if (found !== undefined) world.tell(found)
      const shown = told(world, ['beat 660', 'absent deploy/y'])
      match(shown, /drop E3: Deployment "y" is gone, maybe before another owner let it go/)
    })
  }
})
