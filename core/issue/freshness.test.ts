/**
 * A command says whether what decided it is fresh; the cause that its verdict rests on does not
 * change.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'

/** The commands about `pod/a` that the steps lead to, without their reasons. */
function commandsAfter(steps: string): readonly string[] {
  const world = new World()
  world.begin()
  const lines = steps.split('; ').flatMap((line) => world.step(line))
  return lines.flatMap((line) => /^> (\w+ pod\/a [^:]*)/.exec(line)?.[1] ?? [])
}

const NOT_YET = 'policy dry-run parity; put rs/x; put pod/a <- rs/x'
const TWO = 'put rs/x; put rs/o; put pod/a <- rs/x, rs/o; beat 11'

const rows = [
  [
    'a live watch saw the owner deleted',
    'put rs/x; put pod/a <- rs/x; delete rs/x',
    ['DeleteObject pod/a Background deleted'],
  ],
  [
    'the kind of the dependent was relisted since',
    'put rs/x; delete rs/x; open pod; put pod/a <- rs/x',
    ['DeleteObject pod/a Background deleted recheck'],
  ],
  [
    'the kind of the owner was relisted since',
    'put rs/x; delete rs/x; relist rs; put pod/a <- rs/x',
    ['DeleteObject pod/a Background deleted'],
  ],
  [
    'the watcher was restarted since',
    'put rs/x; delete rs/x; restart; put pod/a <- rs/x',
    ['DeleteObject pod/a Background deleted recheck'],
  ],
  [
    'enforce was entered since',
    `${NOT_YET}; delete rs/x; policy enforce parity`,
    ['DeleteObject pod/a Background deleted', 'DeleteObject pod/a Background deleted recheck'],
  ],
  [
    'a relist missed the owner',
    'put rs/x; put pod/a <- rs/x; lose rs/x; relist rs',
    ['DeleteObject pod/a Background missing'],
  ],
  [
    'the owner waits, and the watcher just started',
    'put rs/x; restart; put rs/w [deleting foreground]; put pod/a <- rs/w',
    ['DeleteObject pod/a Background waiting recheck'],
  ],
  [
    'one owner orphans, and another was deleted before',
    `${TWO}; delete rs/x; put rs/o [deleting orphan]`,
    ['OrphanDependent pod/a drop 0 deleted', 'OrphanDependent pod/a drop 1,0 deleted'],
  ],
  // An owner that cannot be verified must not keep the one that orphans waiting.
  [
    'one owner orphans, and another would have to be verified',
    `${TWO}; delete rs/x; relist pod; put rs/o [deleting orphan]`,
    ['OrphanDependent pod/a drop 0 deleted', 'OrphanDependent pod/a drop 1 orphaning'],
  ],
] as const

for (const [name, steps, expected] of rows) {
  test(`commands ${expected.at(-1)} when ${name}`, () => deepEqual(commandsAfter(steps), expected))
}
