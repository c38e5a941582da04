/**
 * The effect on others of a tenant who may write objects in its own namespace: their cascades
 * continue, and a record's work stays bounded.
 *
 * What must stay true: work is counted in references judged (`Outcome.work`), never in seconds.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { CLUSTER, settled } from '../testing/model/model-cluster.ts'
import { kindNotation, object as objectOf } from '../testing/model/notation.ts'
import { check } from '../testing/model/state-check.ts'
import { World } from '../testing/model/story.ts'
import { FolderLog as Log } from '../testing/rig/folder-log.ts'
import type { Command } from './model/command.ts'
import {
  GETS_OF_A_NAMESPACE,
  LONG_LIST,
  REFERENCES_OF_A_TURN,
  REFERENCES_PER_RECORD,
} from './model/constant.ts'
import type { Event, OwnerAbsent } from './model/event.ts'
import type { ObjectMeta, OwnerReference } from './model/object.ts'

const MANY = 1_000
/** The most that one record may judge: its limit, and one subject beyond. */
const MOST_OF_A_RECORD = REFERENCES_PER_RECORD + MANY + 1

/**
 * How often a reference whose owner never was is judged: with its object before and after the GETs,
 * when its GET is made, and as the witness of its object.
 */
const MOST_FOR_A_REFERENCE = 6

/** Verdicts that are in the history. */
function judgements(log: Log): number {
  const changes = log.outcomes.flatMap(({ history }) => history.map(({ change }) => change))
  return changes.filter((change) => change === 'verdict').length
}

function world(): World {
  const made = new World()
  made.begin()
  made.step('policy enforce parity')
  return made
}

/** One object that references one uid by so many names. */
function naming(made: World, text: string, short: string, uid: string, count: number): Event {
  const event = made.put(text)
  if (event.type !== 'ObjectAdded' && event.type !== 'ObjectUpdated') throw new Error(event.type)
  const { group, kind, version } = kindNotation(short)
  const apiVersion = group === '' ? version : `${group}/${version}`
  const ownerReferences = Array.from({ length: count }, (_, i): OwnerReference => {
    return { apiVersion, kind, name: `x${i}`, uid, controller: null, blockOwnerDeletion: null }
  })
  return { ...event, object: { ...event.object, ownerReferences } }
}

function absent({ id, target }: Command): OwnerAbsent {
  const { group, kind, namespace, name, uid } = target
  const about = { cluster: CLUSTER, clusterEpoch: 1, command: id }
  const owner = { group, kind, namespace, name }
  return { type: 'OwnerAbsent', ...about, owner, uid, how: 'NotFound', otherUid: null }
}

test('an object that references one uid by 1,000 names delays the cascade of another namespace by a few records, and is deleted itself', () => {
  const made = world()
  for (const line of ['put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web']) made.step(line)
  const log = new Log(made.folder)
  log.append(naming(made, 'cm/attack', 'pv', 'stranger', MANY))
  const others: number[] = []
  let isDeleted = false
  const taken: Command[] = []
  for (let turn = 0; turn < 10_000 && !isDeleted; turn++) {
    // The other tenant's owner is deleted while the live GETs of the attack are answered.
    if (turn === 20) log.append(made.remove('rs/web'))
    for (const command of log.next() ?? []) {
      taken.push(command)
      if (command.type === 'VerifyOwner') log.append(absent(command))
      if (command.type !== 'DeleteObject') continue
      if (command.target.name === 'attack') isDeleted = true
      else others.push(turn)
    }
  }
  ok(isDeleted, 'the object is decided as the collector of upstream does')
  equal(taken.filter(({ type }) => type === 'VerifyOwner').length, MANY)
  equal(others.length, 2)
  ok(Math.max(...others) <= 20 + 40, `others waited until record ${Math.max(...others)}`)
  ok(Math.max(...log.outcomes.map(({ work }) => work)) <= MOST_OF_A_RECORD)
  ok(log.work <= MOST_FOR_A_REFERENCE * (MANY + 1) + 100, `${log.work} references were judged`)
})

for (const count of [2_000, 6_000]) {
  test(`an object with ${count} owners that never were is judged when all are verified, and is deleted`, () => {
    const made = world()
    const log = new Log(made.folder)
    log.append(naming(made, 'cm/many', 'pv', 'stranger', count))
    const { looks, others } = answered(log)
    equal(looks, count)
    deepEqual(
      others.map(({ type, target }) => `${type} ${target.name}`),
      ['DeleteObject many'],
    )
    ok(log.work <= MOST_FOR_A_REFERENCE * (count + 1), `${log.work} references were judged`)
    equal(judgements(log), 2)
  })
}

test('an object with 6,000 owners, of which one is there, keeps that one and loses the others, as many at a time as a patch may', () => {
  const made = world()
  const log = new Log(made.folder)
  made.step('put pv/there')
  const event = naming(made, 'cm/many', 'pv', 'stranger', 6_000)
  if (event.type !== 'ObjectAdded') throw new Error(event.type)
  const { ownerReferences: strangers } = event.object
  const there = { ...(strangers[0] as OwnerReference), name: 'there', uid: 'pv-there' }
  let ownerReferences = [...strangers.slice(0, 3_000), there, ...strangers.slice(3_000)]
  let object: ObjectMeta = { ...event.object, ownerReferences }
  log.append({ ...event, object })
  const dropped: number[] = []
  for (let version = 0; ownerReferences.length > 1; version++) {
    const [command, ...rest] = answered(log).others
    deepEqual(rest, [])
    if (command?.type !== 'OrphanDependent') throw new Error(`no drop but ${command?.type}`)
    dropped.push(command.drop.length)
    equal(command.owners.length, command.drop.length)
    const isDropped = new Set(command.drop)
    ownerReferences = ownerReferences.filter((_, index) => !isDropped.has(index))
    object = { ...object, ownerReferences, resourceVersion: `${900_000 + version}` }
    log.append({ type: 'ObjectUpdated', cluster: CLUSTER, epoch: 1, sync: null, object })
    log.append(settled(command, 'done', object))
  }
  deepEqual(answered(log).others, [])
  deepEqual(dropped, [4_000, 2_000])
  deepEqual(ownerReferences, [there])
})

/** Folds everything there is; a live GET finds no owner. */
function answered(log: Log): { readonly looks: number; readonly others: readonly Command[] } {
  const others: Command[] = []
  let looks = 0
  for (let next = log.next(); next !== undefined; next = log.next()) {
    for (const command of next) {
      if (command.type !== 'VerifyOwner') others.push(command)
      else {
        looks++
        log.append(absent(command))
      }
    }
  }
  return { looks, others }
}

test('T10: an object with many owners that is written all the time gets no second command before the first is settled, and then after a growing wait', () => {
  const made = world()
  const log = new Log(made.folder)
  log.append(naming(made, 'cm/many', 'pv', 'stranger', LONG_LIST + 2))
  const [first] = answered(log).others
  equal(first?.type, 'DeleteObject')
  const write = (count: number): void =>
    log.append(naming(made, 'cm/many', 'pv', 'stranger', count))
  const asked: number[] = []
  for (let change = 0; change < 40; change++) {
    write(LONG_LIST + 1 + (change % 2))
    const [command, ...rest] = answered(log).others
    deepEqual(rest, [])
    if (command !== undefined) {
      asked.push(change)
      log.append(settled(command, 'stale', null))
    }
    if (change === 0 && first !== undefined) log.append(settled(first, 'stale', null))
    log.at += 1_000
    log.append(made.beat(1))
  }
  ok(asked.length >= 3, `it is asked for again: after changes ${asked.join()}`)
  ok(
    asked.length <= 6,
    `40 changes lead to ${asked.length} commands: after changes ${asked.join()}`,
  )
})

test('1,000 owners deleted at once cost their shared dependent a few judgements, and it is deleted', () => {
  const made = world()
  const { folder } = made
  const uids = Array.from({ length: MANY }, (_, i) => {
    made.step(`put rs/r${i}`)
    return `rs-r${i}`
  })
  const event = made.put('pod/shared')
  if (event.type !== 'ObjectAdded') throw new Error(event.type)
  const { group, kind, version } = kindNotation('rs')
  const apiVersion = `${group}/${version}`
  const ownerReferences = uids.map((uid, i): OwnerReference => {
    return { apiVersion, kind, name: `r${i}`, uid, controller: null, blockOwnerDeletion: null }
  })
  const shared: ObjectMeta = { ...event.object, ownerReferences }
  folder.fold({ ...event, object: shared })
  const log = new Log(folder)
  for (let i = 0; i < MANY; i++) log.append(made.remove(`rs/r${i}`))
  const deleted = log.all().filter(({ type }) => type === 'DeleteObject')
  deepEqual(
    deleted.map(({ target }) => target.name),
    ['shared'],
  )
  ok(log.work <= 40 * MANY, `${log.work} references were judged`)
  folder.commit()
  deepEqual(check(folder.state), [])
})

/** With few of both, for a quick answer: the work that grows with their product shows in either. */
for (const [objects, count] of [
  [20, MANY],
  [6, 200],
] as const) {
  test(`${objects} objects that share ${count} owners cost a few judgements each when these go, and another namespace a few records`, () => {
    const made = world()
    const log = new Log(made.folder)
    const owners = Array.from({ length: count }, (_, i) => `cm/r${i}`)
    for (const owner of owners) log.append(made.put(owner))
    for (let i = 0; i < objects; i++) log.append(made.put(`pod/heavy${i} <- ${owners.join(', ')}`))
    log.append(made.put('rs/web in other'), made.put('pod/web in other <- rs/web'))
    log.all()
    const workBefore = log.work
    for (const owner of owners) log.append(made.remove(owner))
    log.append(made.remove('rs/web in other'))
    let records = 0
    let at = 0
    const deleted = new Set<string>()
    for (let next = log.next(); next !== undefined; next = log.next()) {
      records++
      for (const { target } of next) deleted.add(target.name)
      if (at === 0 && deleted.has('web')) at = records
    }
    equal(deleted.size, objects + 1)
    ok(at - count <= 100, `the other namespace waited for ${at - count} records`)
    const work = log.work - workBefore
    ok(work <= 4 * objects * (count + 1), `${work} references were judged`)
  })
}

for (const [what, owner] of [
  ['of their namespace', (i: number) => `cm/r${i}`],
  ['of no namespace', (i: number) => `pv/r${i}`],
] as const) {
  test(`100 objects that share 60 owners ${what}, of which none is there, do not fill the agenda: another namespace waits for few records`, () => {
    const made = world()
    const log = new Log(made.folder)
    const owners = Array.from({ length: 60 }, (_, i) => owner(i))
    for (let i = 0; i < 100; i++) log.append(made.put(`pod/many${i} <- ${owners.join(', ')}`))
    log.append(made.put('rs/web in other'), made.put('pod/web in other <- rs/web'))
    const looks = log.all().filter(({ type }) => type === 'VerifyOwner')
    ok(looks.length > 0)
    for (const look of looks) log.append(absent(look))
    log.append(made.remove('rs/web in other'))
    const workBefore = log.work
    const waited = continuesUntil(log, 'web')
    ok(waited <= 3, `the other namespace waited for ${waited} records`)
    log.all()
    const work = log.work - workBefore
    ok(work <= 4 * 100 * 61, `${work} references were judged`)
    made.folder.commit()
    deepEqual(check(made.folder.state), [])
  })
}

/** How many `Continue` are folded until a command is about it. */
function continuesUntil(log: Log, name: string, meanwhile = (): void => undefined): number {
  const before = log.continues
  while (log.continues - before < 1_000) {
    const { continues } = log
    const commands = log.next()
    if (commands === undefined) break
    if (commands.some(({ target }) => target.name === name)) return log.continues - before
    if (log.continues > continues) meanwhile()
  }
  throw new Error(`nothing is decided about ${name}`)
}

/** More references than a record may judge. */
const HEAVY = REFERENCES_PER_RECORD + 76

test('a tenant that touches one large object for each record holds up nobody', () => {
  const made = world()
  const log = new Log(made.folder)
  log.append(made.put('pv/x0'), made.put('rs/web in b'), made.put('pod/web in b <- rs/web'))
  for (let i = 0; i < 5; i++) log.append(naming(made, `cm/heavy${i} in a`, 'pv', 'pv-x0', HEAVY))
  log.all()
  let touches = 0
  const touch = (): void => {
    const text = `cm/heavy${touches % 5} in a [label:x=${touches}]`
    log.append(naming(made, text, 'pv', 'pv-x0', HEAVY))
    touches++
  }
  for (let i = 0; i < 5; i++) touch()
  log.append(made.remove('rs/web in b'))
  const waited = continuesUntil(log, 'web', touch)
  ok(waited <= 3, `the other namespace waited for ${waited} records`)
})

test('one object with more references than a record may judge does not make others take a record for each of their deletions', () => {
  const made = world()
  const log = new Log(made.folder)
  log.append(made.put('pv/x0'))
  for (let i = 0; i < 300; i++) {
    log.append(made.put(`rs/w${i} in b`), made.put(`pod/p${i} in b <- rs/w${i}`))
  }
  log.append(naming(made, 'cm/heavy in a', 'pv', 'pv-x0', HEAVY))
  for (let i = 0; i < 200; i++) log.append(made.put(`cm/x${i} in c <- rs/big`))
  log.append(made.put('rs/big in c'))
  log.all()
  // So that there is work before it arrives.
  log.append(made.policy('enforce', 'parity'))
  for (let i = 0; i < 300; i++) log.append(made.remove(`rs/w${i} in b`))
  log.append(naming(made, 'cm/heavy in a [label:x=y]', 'pv', 'pv-x0', HEAVY))
  const before = log.continues
  const deleted = log.all().filter(({ type }) => type === 'DeleteObject')
  equal(deleted.length, 300)
  ok(log.continues - before <= 20, `it took ${log.continues - before} records`)
})

test('a hold ends for a namespace while another one has much to be judged for owners of no namespace', () => {
  const made = new World()
  made.begin()
  made.step('budgets 1000 1000 1000')
  const log = new Log(made.folder)
  log.at = 10_000
  const owners = Array.from({ length: 60 }, (_, i) => `pv/o${i}`)
  log.append(made.put('rs/web in b'), made.put('pod/web in b <- rs/web'))
  for (const owner of owners) log.append(made.put(owner))
  for (let i = 0; i < 200; i++) log.append(made.put(`cm/x${i} in a <- ${owners.join(', ')}`))
  log.all()
  log.append(made.remove('rs/web in b'))
  log.all()
  log.at += 29_000
  log.append(made.beat(29))
  log.all()
  for (const owner of owners) log.append(made.remove(owner))
  log.at += 5_000
  log.append(made.beat(5))
  const waited = continuesUntil(log, 'web')
  ok(waited <= 5, `the other namespace waited for ${waited} records`)
})

test('256 names of a stranger’s uid change nothing for that stranger', () => {
  const made = world()
  made.step('put rs/web')
  const log = new Log(made.folder)
  const attack = naming(made, 'cm/attack', 'rs', 'rs-web', 256)
  log.append(attack)
  log.all()
  for (const name of ['a', 'b', 'c']) made.step(`put pod/${name} <- rs/web! [h.io/x]`)
  made.step('put rs/web [deleting foreground]')
  equal(made.step('why rs/web').join(), '= waiting, wait: dependents block it')
  for (const name of ['a', 'b', 'c']) {
    const command = made.folder.commands.findLast(({ target }) => target.name === name)
    ok(command !== undefined, `pod/${name} is deleted with its owner`)
    made.tell(settled(command, 'done', null))
    made.step(`delete pod/${name}`)
  }
  const last = made.folder.commands.at(-1)
  equal(`${last?.type} ${last?.target.name}`, 'RemoveFinalizer web')
})

test('T10: eight objects with 1,000 owners each that never were cost a few judgements a reference, and the GETs of their namespace are few at any time', () => {
  const made = world()
  const log = new Log(made.folder)
  for (let i = 0; i < 8; i++) log.append(naming(made, `cm/many${i}`, 'pv', `stranger${i}`, MANY))
  const gets = new GetsOf(log)
  gets.answerAll()
  equal(gets.made, 8 * MANY)
  ok(gets.most <= GETS_OF_A_NAMESPACE, `${gets.most} GETs were under way`)
  equal(gets.others.filter(({ type }) => type === 'DeleteObject').length, 8)
  const most = MOST_FOR_A_REFERENCE * 8 * (MANY + 1)
  ok(log.work <= most, `${log.work} references were judged, at most ${most} may be`)
  equal(judgements(log), 16)
  made.folder.commit()
  deepEqual(check(made.folder.state), [])
})

test('T10: 600 objects with 16 owners that never were have few GETs under way, and another namespace waits for no more answers than that', () => {
  const made = world()
  const log = new Log(made.folder)
  for (const line of ['put rs/web in b', 'put pod/web in b <- rs/web']) made.step(line)
  const owners = (i: number): string => Array.from({ length: 16 }, (_, j) => `cm/x${i}-${j}`).join()
  for (let i = 0; i < 600; i++) log.append(made.put(`cm/many${i} in a <- ${owners(i)}`))
  const gets = new GetsOf(log)
  gets.fold()
  for (let each = 0; each < 40; each++) gets.answer()
  log.append(made.remove('rs/web in b'))
  const before = log.outcomes.length
  while (!gets.others.some(({ target }) => target.name === 'web')) gets.answer()
  const waited = log.outcomes.length - before
  ok(waited <= GETS_OF_A_NAMESPACE + 4, `the other namespace waited for ${waited} records`)
  gets.answerAll()
  ok(gets.most <= GETS_OF_A_NAMESPACE, `${gets.most} GETs were under way`)
  equal(gets.others.filter(({ type }) => type === 'DeleteObject').length, 601)
  made.folder.commit()
  deepEqual(check(made.folder.state), [])
})

test('T10: an owner that is found orphaning orphans an object at once, though thousands of its owners are not verified yet', () => {
  const made = world()
  const log = new Log(made.folder)
  log.append(naming(made, 'cm/many', 'pv', 'stranger', 2_000))
  const gets = new GetsOf(log)
  gets.fold()
  const command = gets.waiting[5]
  if (command === undefined) throw new Error('no GET')
  const { group, kind, namespace, name, uid } = command.target
  const owner = { group, kind, namespace, name }
  const found = objectOf(`pv/${name}@${uid} [deleting orphan]`, '1')
  const about = { cluster: CLUSTER, clusterEpoch: 1, command: command.id, owner, uid }
  log.append({ type: 'OwnerFound', ...about, object: found })
  gets.fold()
  const drops = gets.others.flatMap((each) => (each.type === 'OrphanDependent' ? [each.drop] : []))
  deepEqual(drops, [[5]])
})

test('T10: a namespace whose objects have many references leaves as many turns to others as that costs', () => {
  const made = world()
  const log = new Log(made.folder)
  log.append(made.put('pv/x0'))
  const touch = (i: number, x: number): Event =>
    naming(made, `cm/heavy${i} in a [label:x=${x}]`, 'pv', 'pv-x0', 4 * REFERENCES_OF_A_TURN)
  for (let i = 0; i < 6; i++) log.append(touch(i, 0))
  for (let i = 0; i < 6; i++)
    log.append(made.put(`rs/w${i} in b`), made.put(`pod/p${i} in b <- ${rsOf(40)}`))
  log.all()
  // So that there is work before they arrive, and all of it waits on the agenda.
  log.append(made.policy('enforce', 'parity'))
  for (let i = 0; i < 6; i++) log.append(touch(i, 1))
  for (let i = 0; i < 6; i++) log.append(made.put(`pod/p${i} in b [label:x=y] <- ${rsOf(40)}`))
  const works: number[] = []
  while (log.next() !== undefined) works.push(log.outcomes.at(-1)?.work ?? 0)
  const heavy = 4 * REFERENCES_OF_A_TURN
  const [first = -1, second = -1] = works.flatMap((work, index) => (work >= heavy ? [index] : []))
  ok(first >= 0 && second > first)
  const between = works.slice(first, second).reduce((sum, work) => sum + work, 0) - heavy
  // Four turns: each takes at least one. Where no turns are owed there are two.
  ok(between >= 4, `${between} references of others were judged between two of one namespace`)
})

function rsOf(count: number): string {
  return Array.from({ length: count }, (_, i) => `rs/x${i}`).join()
}

/**
 * The live GETs that a log's commands ask for, each answered with nothing there, in their order.
 */
class GetsOf {
  readonly waiting: Command[] = []
  readonly others: Command[] = []
  made = 0
  most = 0
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** One record; or where there is none, one answer. */
  answer(): boolean {
    const commands = this.#log.next()
    for (const command of commands ?? []) {
      if (command.type !== 'VerifyOwner') this.others.push(command)
      else this.waiting.push(command)
      if (command.type === 'VerifyOwner') this.made++
    }
    this.most = Math.max(this.most, this.waiting.length)
    if (commands !== undefined) return true
    const command = this.waiting.shift()
    if (command !== undefined) this.#log.append(absent(command))
    return command !== undefined
  }

  /** Without answers. */
  fold(): void {
    const { waiting } = this
    for (let left = this.#log.length; left > 0; left = this.#log.length) this.answer()
    this.most = Math.max(this.most, waiting.length)
  }

  answerAll(): void {
    while (this.answer());
  }
}
