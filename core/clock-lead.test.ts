/**
 * Log time that is behind the API server's clock, as after a start whose time nothing confirmed
 * (T17), weakens no guard that compares the two: what is older than a change of its owner's kind
 * stays so.
 */
import { deepEqual, match } from 'node:assert/strict'
import { test } from 'node:test'
import { CLUSTER } from '../testing/model/model-cluster.ts'
import { World } from '../testing/model/story.ts'
import { FolderLog } from '../testing/rig/folder-log.ts'
import type { Command } from './model/command.ts'
import type { Event } from './model/event.ts'

function absent({ id, target }: Command): Event {
  const { group, kind, namespace, name, uid } = target
  const owner = { group, kind, namespace, name }
  const about = { cluster: CLUSTER, clusterEpoch: 1, command: id, owner, uid }
  return { type: 'OwnerAbsent', ...about, how: 'NotFound', otherUid: null }
}

for (const lagSeconds of [0, 3 * 3_600]) {
  test(`an object from before its owner's kind was gone needs approval, where log time is ${lagSeconds} s behind`, () => {
    const made = new World()
    made.begin()
    made.step('policy enforce parity')
    const log = new FolderLog(made.folder)
    log.at = 1_000_000
    const issued: string[] = []
    const all = (): void => {
      for (const command of log.all()) {
        if (command.type === 'VerifyOwner') log.append(absent(command))
        else issued.push(command.type)
      }
      if (log.length > 0) all()
    }
    const told = (...events: readonly Event[]): void => {
      for (const event of events) log.append(event)
      all()
    }
    told(made.beat(990))
    // A new object of the cluster shows its server's clock.
    told(made.put(`pod/new [created:${1_000 + lagSeconds}]`))
    told(...made.events('unserve rs'))
    log.at += 60_000
    told(made.beat(60), ...made.events('serve rs'), ...made.events('relist rs'))
    log.at += 10_000
    told(made.beat(10), made.put(`pod/p <- rs/x [created:${1_000 - 600 + lagSeconds}]`))
    for (let minutes = 0; minutes < 120; minutes++) {
      log.at += 60_000
      told(made.beat(60))
    }
    deepEqual(
      issued.filter((type) => type === 'DeleteObject'),
      [],
    )
    match(made.step('why pod/p').join(), /delete bulk: .*; held by approval: /)
  })
}
