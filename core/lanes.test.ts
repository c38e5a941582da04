/** What the order of works must not change although lanes take turns: facts are written before anything is judged by them, and all have asked before the first one goes. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { FolderLog } from '../testing/folder-log.ts'
import { check } from '../testing/state-check.ts'
import { World } from '../testing/story.ts'
import { policyFor } from './model/policy.ts'

/** More than a page of keys. */
const MANY = 640

test('an object of which a relist misses all owners is decided once, however many pages they are on', () => {
  const made = new World()
  made.begin()
  for (const line of [`many ${MANY} rs/m#`, 'put rs/a', 'put rs/z', 'put pod/x <- rs/a, rs/z']) {
    made.step(line)
  }
  for (const line of ['lose rs/a', 'lose rs/z']) made.step(line)
  const commands = made.step('relist rs').filter((line) => line.includes('pod/x'))
  deepEqual(
    commands.map((line) => line.split(' ')[1]),
    ['DeleteObject'],
  )
})

for (const isBusy of [false, true]) {
  test(`what is not watched any more is not deleted, though its owner goes before it is forgotten${isBusy ? ', and all is judged again before' : ''}`, () => {
    const made = new World()
    made.begin()
    for (const line of [
      'serve widget',
      'relist widget',
      'put rs/o',
      'many 2000 widget/m# <- rs/o',
    ]) {
      made.step(line)
    }
    const log = new FolderLog(made.folder)
    if (isBusy) log.append(made.policy('enforce', 'parity'))
    log.append(made.served('widget', false), made.remove('rs/o'))
    deepEqual(
      log.all().filter(({ type }) => type === 'DeleteObject'),
      [],
    )
    // It is watched again, and then they go.
    log.append(made.served('widget', true), ...made.relist('widget'))
    const deleted = log.all().filter(({ type }) => type === 'DeleteObject')
    deepEqual(deleted.length, 2_000)
    made.folder.commit()
    deepEqual(check(made.folder.state), [])
  })
}

test('what is watched again before it is forgotten is judged then', () => {
  const made = new World()
  made.begin()
  for (const line of ['serve widget', 'relist widget', 'put rs/o', 'many 2000 widget/m# <- rs/o']) {
    made.step(line)
  }
  const log = new FolderLog(made.folder)
  log.append(made.served('widget', false), made.remove('rs/o'))
  for (let i = 0; i < 3; i++) log.next()
  log.append(made.served('widget', true), ...made.relist('widget'))
  const deleted = log.all().filter(({ type }) => type === 'DeleteObject')
  deepEqual(deleted.length, 2_000)
  made.folder.commit()
  deepEqual(check(made.folder.state), [])
})

test('what is not served any more is not deleted, though its owner goes, and all is judged again, before it is in doubt', () => {
  const made = new World()
  made.begin()
  for (const line of ['serve widget', 'relist widget', 'put rs/o', 'many 2000 widget/m# <- rs/o']) {
    made.step(line)
  }
  const log = new FolderLog(made.folder)
  log.append(made.policy('enforce', 'parity'), made.gone('widget'), made.remove('rs/o'))
  deepEqual(
    log.all().filter(({ type }) => type === 'DeleteObject'),
    [],
  )
})

const NINE = Array.from({ length: 9 }, (_, each) => `rs/o${each}`).join(', ')
const NO_HOLDS = { deletedMs: 0, missingMs: 0, notFoundMs: 0 }

for (const [what, holds, dependents, end] of [
  ['at once', NO_HOLDS, ['many 2000 pod/p# <- rs/o0'], 'beat 30'],
  ['after their hold', null, [`many 2000 pod/p# <- ${NINE}`], 'beat 601'],
  [
    'after their hold, few with one owner and many with nine',
    null,
    ['many 100 pod/s# <- rs/o0', `many 2000 pod/p# <- ${NINE}`],
    'beat 601',
  ],
] as const) {
  test(`a burst of deletions that are due ${what} opens the breaker before the first of them goes`, () => {
    const made = new World()
    made.begin()
    const guarded = policyFor('enforce', 'guarded')
    const policy = holds === null ? guarded : { ...guarded, holds }
    made.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    for (const line of ['many 9 rs/o#', ...dependents, 'lose-many 9 rs/o#']) made.step(line)
    const told = ['relist rs', end, 'beat 60', 'beat 60'].flatMap((line) => made.step(line))
    deepEqual(
      told.filter((line) => line.includes('DeleteObject')),
      [],
    )
    made.folder.commit()
    ok([...made.folder.state].some(([key]) => key.startsWith('breaker/')))
  })
}
