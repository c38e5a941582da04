/**
 * What the order of works must not change although lanes take turns: facts are written before
 * anything is judged by them, and all have asked before the first one is deleted.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../testing/model/state-check.ts'
import { World } from '../testing/model/story.ts'
import { FolderLog } from '../testing/rig/folder-log.ts'
import type { Event } from './model/event.ts'
import { type Policy, policyFor } from './model/policy.ts'

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
    // It is watched again, and then they are deleted.
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
    made.tell(policyOf('enforce', holds))
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

function policyOf(mode: 'observe' | 'enforce', holds: Policy['holds'] | null): Event {
  const guarded = policyFor(mode, 'guarded')
  const policy = holds === null ? guarded : { ...guarded, holds }
  return { type: 'PolicyChanged', policy, who: 'test', why: 'test' }
}

test('whoever enters enforce with a burst that is held opens the breaker before the first of them goes', () => {
  const made = new World()
  made.begin()
  made.tell(policyOf('observe', null))
  for (const line of [
    'many 9 rs/o#',
    'many 2000 pod/p# <- rs/o0',
    'lose-many 9 rs/o#',
    'relist rs',
  ]) {
    made.step(line)
  }
  for (let i = 0; i < 30; i++) made.step('beat 60')
  const told = made.tell(policyOf('enforce', null))
  for (let i = 0; i < 20; i++) told.push(...made.step('beat 60'))
  deepEqual(
    told.filter((line) => line.includes('DeleteObject')),
    [],
  )
})

test('news behind which older work is queued does not let a burst go before all of it has asked', () => {
  const made = new World()
  made.begin()
  made.tell(policyOf('enforce', NO_HOLDS))
  const nine = Array.from({ length: 9 }, (_, each) => `rs/z${each}`)
  for (const line of [
    ...['put rs/a', 'many 100 pod/a# <- rs/a', 'put rs/f', 'many 2000 pod/f# <- rs/f [deleting]'],
    ...nine.map((owner) => `put ${owner}`),
    `many 2000 pod/p# <- ${nine.join(', ')}`,
    ...[0, 1, 2].flatMap((each) => [`put deploy/x${each}`, `put pod/x${each} <- deploy/x${each}`]),
    ...['lose rs/a', 'lose rs/f', ...nine.map((owner) => `lose ${owner}`)],
  ]) {
    made.step(line)
  }
  const log = new FolderLog(made.folder)
  log.append(...made.relist('rs'), ...[0, 1, 2].map((each) => made.remove(`deploy/x${each}`)))
  deepEqual(
    log.all().filter(({ type, target }) => type === 'DeleteObject' && !target.name.startsWith('x')),
    [],
  )
})

test('who waits for a budget in one namespace lets nobody of another go before all have asked there', () => {
  const made = new World()
  made.begin()
  made.tell(policyOf('enforce', NO_HOLDS))
  const nine = (short: string, where = ''): string =>
    Array.from({ length: 9 }, (_, each) => `${short}${each}${where}`).join(', ')
  for (const line of [
    ...['many 9 rs/o# in other', 'many 5 pod/oa# in other <- rs/o0', 'put rs/z in other'],
    `many 50 pod/op# in other <- ${nine('rs/o')}`,
    'many 4000 pod/f# in other <- rs/z [deleting]',
    ...[
      'many 9 deploy/q#',
      'many 100 pod/a# <- deploy/q0',
      `many 2000 pod/p# <- ${nine('deploy/q')}`,
    ],
    'lose rs/z in other',
    ...Array.from({ length: 9 }, (_, each) => [
      `lose deploy/q${each}`,
      `lose rs/o${each} in other`,
    ]).flat(),
  ]) {
    made.step(line)
  }
  const log = new FolderLog(made.folder)
  log.append(...made.relist('rs'))
  while (log.continues < 1) log.next()
  log.append(...made.relist('deploy'))
  deepEqual(
    log.all().filter(({ type, target }) => type === 'DeleteObject' && target.namespace !== 'other'),
    [],
  )
})
