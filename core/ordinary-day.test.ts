/** Ordinary days open no breaker, and one tenant's burst holds that tenant's namespace at most. */
import { equal, match, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { World } from '../testing/model/story.ts'
import { openBreakerOf } from './admit/breaker.ts'
import { factsOf } from './graph/facts.ts'

const MINUTES = 10

function guarded(): World {
  const made = new World()
  made.begin()
  for (const short of ['widget', 'namespace']) {
    made.step(`serve ${short}`)
    made.step(`relist ${short}`)
  }
  made.step('policy enforce guarded')
  return made
}

function isOpen({ folder }: World, namespace = ''): boolean {
  return openBreakerOf(factsOf(folder.graph, 'c'), namespace) !== undefined
}

suite('no breaker opens:', () => {
  test('11 CronJobs that keep three finished Jobs each, a run a minute', () => {
    const made = guarded()
    const jobs = Array.from({ length: 11 }, (): string[] => [])
    for (let cron = 0; cron < 11; cron++) made.step(`put widget/cron${cron}`)
    for (let minute = 0; minute < 3 * MINUTES; minute++) {
      for (const [cron, kept] of jobs.entries()) {
        const name = `c${cron}m${minute}`
        made.step(`put rs/${name} <- widget/cron${cron}`)
        made.step(`put pod/${name} <- rs/${name}`)
        kept.push(name)
        // The controller deletes ReplicaSets beyond its history limit, in the background.
        if (kept.length > 3) made.step(`delete rs/${kept.shift()}`)
      }
      made.step('beat 60')
    }
    ok(!isOpen(made) && !isOpen(made, 'ns'))
    ok(made.folder.commands.length > 200, 'their pods are deleted')
  })

  test('Jobs without an owner that are deleted when their time to live is over', () => {
    const made = guarded()
    for (let i = 0; i < 150; i++) made.step(`put job/j${i}`)
    for (let i = 0; i < 150; i++) made.step(`put pod/p${i} <- job/j${i}`)
    made.step('delete-many 150 job/j#')
    made.step('beat 40')
    ok(!isOpen(made) && !isOpen(made, 'ns'))
  })

  test('a Deployment of 5,000 pods that a user deletes', () => {
    const made = guarded()
    made.step('put deploy/web')
    made.step('put rs/web <- deploy/web')
    made.step('many 5000 pod/p# <- rs/web')
    made.step('delete deploy/web')
    made.step('beat 40')
    made.step('delete rs/web')
    made.step('beat 40')
    made.step('delete-many 5000 pod/p#')
    made.step('beat 60')
    ok(!isOpen(made) && !isOpen(made, 'ns'))
    equal(made.folder.commands.filter(({ type }) => type === 'DeleteObject').length, 5_001)
  })

  test('a namespace of 10,000 objects that a user deletes', () => {
    const made = guarded()
    made.step('put namespace/ns')
    made.step('many 2000 rs/r#')
    for (let i = 0; i < 2_000; i++) made.step(`put pod/p${i} <- rs/r${i}`)
    made.step('many 6000 cm/c#')
    made.step('put namespace/ns [deleting]')
    made.step('delete-many 2000 rs/r#')
    made.step('delete-many 6000 cm/c#')
    made.step('beat 40')
    ok(!isOpen(made) && !isOpen(made, 'ns'))
  })
})

test('102 rare objects that one tenant deletes hold its own namespace, and no other', () => {
  const made = guarded()
  made.step('put rs/web in shop')
  made.step('put pod/web in shop <- rs/web')
  made.step('many 102 widget/w# in evil')
  for (let i = 0; i < 102; i++) made.step(`put cm/c${i} in evil <- widget/w${i}`)
  for (let i = 0; i < 102; i++) made.tell(made.remove(`widget/w${i} in evil`))
  ok(isOpen(made, 'evil'))
  ok(!isOpen(made))
  match(made.step('why cm/c0 in evil').join(), /the breaker of namespace evil is open/)
  made.tell(made.remove('rs/web in shop'))
  made.step('beat 40')
  match(made.step('why pod/web in shop').join(), /reap deleted/)
})

test('160 objects whose owner never was, in one namespace, use up nothing of another', () => {
  const made = guarded()
  made.step('budgets 1000 200 50')
  for (let i = 0; i < 160; i++) made.step(`put cm/c${i} in evil <- widget/never${i}`)
  made.step('put cm/honest in shop <- widget/none')
  for (const { type, target, id } of [...made.folder.commands]) {
    if (type !== 'VerifyOwner') continue
    const { group, kind, namespace, name, uid } = target
    const owner = { group, kind, namespace, name }
    const about = { cluster: 'c', clusterEpoch: 1, command: id, owner, uid }
    made.tell({ type: 'OwnerAbsent', ...about, how: 'NotFound', otherUid: null })
  }
  // Their hold: an hour.
  for (let minute = 0; minute < 62; minute++) made.step('beat 60')
  ok(!isOpen(made))
  match(made.step('why cm/honest in shop').join(), /reap not-found/)
})

test('what five namespaces do together opens the breaker of the cluster', () => {
  const made = guarded()
  for (let space = 0; space < 6; space++) {
    for (let i = 0; i < 40; i++) made.step(`put rs/r${i}s${space} in n${space}`)
    for (let i = 0; i < 40; i++) {
      made.step(`put pod/p${i}s${space} in n${space} <- rs/r${i}s${space}`)
    }
  }
  for (let space = 0; space < 6; space++) {
    for (let i = 0; i < 40; i++) made.tell(made.remove(`rs/r${i}s${space} in n${space}`))
  }
  ok(isOpen(made))
})
