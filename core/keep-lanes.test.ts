/**
 * What rules keep, while objects that changed wait on the agenda to be judged: one that is leaving,
 * or has left its group, counts no more from the record that says so.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../testing/model/state-check.ts'
import { World } from '../testing/model/story.ts'
import { FolderLog } from '../testing/rig/folder-log.ts'

/** More than are judged at once: such an object waits its turn in its namespace. */
const OWNERS = Array.from({ length: 12 }, (_, index) => `rs/o${index}`).join(', ')
/** More than some records judge. */
const MANY = 600

const leaves = {
  'is being deleted': '[created:2 deleting:40 graced:30 label:app=x]',
  'is of another group': '[created:2 label:app=y]',
}

for (const [what, marks] of Object.entries(leaves)) {
  test(`the last but one stays while the newest, that ${what}, waits to be judged`, () => {
    const world = new World()
    world.begin()
    for (const owner of OWNERS.split(', ')) world.step(`put ${owner}`)
    world.step(`many ${MANY} pod/m# <- ${OWNERS}`)
    world.step('rule history pod 0 keep:1 by:label=app for:60')
    world.step('enforce-rule history')
    world.step(`put pod/z <- ${OWNERS} [created:2 label:app=x]`)
    world.step('put pod/a in other [created:1 label:app=x]')
    const log = new FolderLog(world.folder)
    log.at = world.now
    log.append(
      world.policy('enforce', 'parity'),
      ...world.events(`put pod/z <- ${OWNERS} ${marks}`),
    )
    while (log.length > 1) log.next()
    log.append(...world.events('beat 60'))
    log.at = world.now
    deepEqual(log.all(), [])
    world.folder.commit()
    deepEqual(check(world.folder.state), [])
  })
}
