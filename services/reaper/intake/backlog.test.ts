/** Which command is sent next, and which is never sent. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DEFAULT_CONNECTIONS } from '../../../adapters/kubernetes/connection/connections.ts'
import type { Command } from '../../../core/model/command.ts'
import {
  deleteObject,
  orphanDependent,
  POD,
  verifyOwner,
  warnObject,
} from '../../../testing/rig/reaper.ts'
import { DEFAULT_REAPER_CONFIG } from '../config.ts'
import { Backlog, type Job, mostCalls } from './backlog.ts'

function job(command: Command, onSettled: () => void = () => {}): Job {
  return { command, moments: { appendedMs: 0, knownMs: 0 }, onSettled: [onSettled] }
}

function of(uid: string, id: string, kind = POD.kind, namespace = POD.namespace): Job {
  return job(deleteObject({ id, target: { ...POD, uid, kind, namespace } }))
}

/** For all kinds together. */
const LIMIT = 8

/** Ids of the sent commands, each finished before the next. */
function drain(backlog: Backlog): string[] {
  const ids: string[] = []
  for (let next = backlog.next(LIMIT); next !== undefined; next = backlog.next(LIMIT)) {
    ids.push(next.command.id)
    backlog.finished(next)
  }
  return ids
}

test('keeps the order of the log', () => {
  const backlog = new Backlog()
  for (const [uid, id] of [
    ['a', '0-1-0'],
    ['b', '0-2-0'],
    ['c', '0-3-0'],
  ] as const) {
    equal(backlog.add(of(uid, id)), undefined)
  }
  equal(backlog.size(), 3)
  deepEqual(drain(backlog), ['0-1-0', '0-2-0', '0-3-0'])
  equal(backlog.size(), 0)
})

test('lets a newer decision about a uid replace one that was not sent, whichever its verb', () => {
  const backlog = new Backlog()
  const old = of('u-pod', '0-1-0')
  backlog.add(old)
  equal(backlog.add(job(orphanDependent({ id: '0-2-0' }))), old)
  deepEqual(drain(backlog), ['0-2-0'])
})

test('drops an older decision that comes late, sent or not', () => {
  const backlog = new Backlog()
  backlog.add(of('a', '0-20-0'))
  const late = of('a', '0-3-0')
  equal(backlog.add(late), late)
  const sent = backlog.next(LIMIT) as Job
  equal(backlog.add(late), late)
  backlog.finished(sent)
  deepEqual(drain(backlog), [])
})

test('sends one command of a uid at a time', () => {
  const backlog = new Backlog()
  backlog.add(of('a', '0-1-0'))
  const sent = backlog.next(LIMIT) as Job
  equal(backlog.add(of('a', '0-2-0')), undefined)
  equal(backlog.next(LIMIT), undefined)
  backlog.finished(sent)
  equal(backlog.next(LIMIT)?.command.id, '0-2-0')
})

test('takes a command that is read twice for one, waiting or sent, and settles it for both', () => {
  const backlog = new Backlog()
  let settled = 0
  const again = (): Job => job(deleteObject(), () => settled++)
  backlog.add(again())
  equal(backlog.add(again()), undefined)
  const sent = backlog.next(LIMIT) as Job
  equal(backlog.add(again()), undefined)
  for (const settle of sent.onSettled) settle()
  equal(settled, 3)
  backlog.finished(sent)
  deepEqual(drain(backlog), [])
})

test('lets looks at other places, looks for other partitions and warnings stand beside a change', () => {
  const backlog = new Backlog()
  const all = [
    warnObject({ id: '0-1-0' }),
    deleteObject({ id: '0-1-1' }),
    verifyOwner({ id: '0-2-0' }),
    verifyOwner({ id: '0-3-0', target: { ...POD, name: 'elsewhere' } }),
    verifyOwner({ id: '1-3-0', partition: 1 }),
  ]
  for (const command of all) equal(backlog.add(job(command)), undefined)
  deepEqual(
    drain(backlog),
    all.map(({ id }) => id),
  )
})

/** The commands that may be sent now, by kind. */
function begun(backlog: Backlog): Job[] {
  return Array.from({ length: 100 }, () => backlog.next(LIMIT)).filter((next) => next !== undefined)
}

function addMany(backlog: Backlog, kind: string, count: number): void {
  for (let index = 0; index < count; index++) {
    const target = { ...POD, kind, uid: `${kind}-${index}` }
    backlog.add(job(deleteObject({ id: `0-${index}-0`, target })))
  }
}

const kindsOf = (jobs: readonly Job[]): string =>
  jobs.map(({ command }) => command.target.kind).join(' ')

test('lets kinds take turns, and one alone have all', () => {
  const backlog = new Backlog()
  addMany(backlog, 'A', 10)
  equal(begun(backlog).length, LIMIT)
  const shared = new Backlog()
  for (const kind of ['A', 'B', 'C']) addMany(shared, kind, 10)
  equal(kindsOf(begun(shared)), 'A B C A B C A B')
})

test('I21: lets one of each other kind go when what one has under way hangs, and more as that ends', () => {
  const backlog = new Backlog()
  addMany(backlog, 'A', 20)
  const hung = begun(backlog)
  equal(hung.length, LIMIT)
  addMany(backlog, 'B', 5)
  addMany(backlog, 'C', 5)
  const beside = begun(backlog)
  equal(kindsOf(beside), 'B C')
  backlog.finished(beside[0] as Job)
  equal(kindsOf(begun(backlog)), 'B')
  for (const each of hung.slice(0, 4)) backlog.finished(each)
  equal(kindsOf(begun(backlog)), 'C B')
})

test('no more calls are under way than there are connections', () => {
  const { maxConcurrency } = DEFAULT_REAPER_CONFIG
  ok(DEFAULT_CONNECTIONS.writeConnections >= mostCalls(maxConcurrency))
})

test('replaces a look by a later one at the same place', () => {
  const backlog = new Backlog()
  const first = job(verifyOwner({ id: '0-1-0' }))
  backlog.add(first)
  equal(backlog.add(job(verifyOwner({ id: '0-2-0' }))), first)
})

const LOOKS = 1_000

/**
 * Fills all slots with live GETs, adds one DELETE elsewhere, and says how many calls it waits for.
 */
function slotsUntilDeleted(looks: readonly Command[], deletion: Command): number {
  const backlog = new Backlog()
  for (const look of looks) backlog.add(job(look))
  const underWay = begun(backlog)
  backlog.add(job(deletion))
  for (let slots = 1; slots <= looks.length; slots++) {
    backlog.finished(underWay.shift() as Job)
    const next = backlog.next(LIMIT)
    if (next?.command === deletion) return slots
    if (next !== undefined) underWay.push(next)
  }
  return Number.POSITIVE_INFINITY
}

function looksOf(
  namespace: string,
  more: (index: number) => Partial<Command['target']>,
): Command[] {
  return Array.from({ length: LOOKS }, (_, index) => {
    const target = { ...POD, namespace, name: `o${index}`, uid: `never-${index}`, ...more(index) }
    return verifyOwner({ id: `0-${index}-0`, target })
  })
}

test('I36: a DELETE waits for one call of each other namespace, however many looks those have waiting', () => {
  const deletion = deleteObject({ id: `0-${LOOKS}-0` })
  const inCluster = deleteObject({ id: `0-${LOOKS}-0`, target: { ...POD, namespace: '' } })
  for (const [looks, change] of [
    [looksOf('evil', () => ({})), deletion],
    [looksOf('evil', (index) => ({ kind: `K${index % 50}` })), deletion],
    // Of the very uid that is deleted: the author of a reference may name any.
    [looksOf('evil', () => ({ uid: POD.uid })), deletion],
    // Of cluster-scoped owners, together with the deletion of an object that has a namespace, and
    // of one that has none.
    [looksOf('', () => ({})), deletion],
    [looksOf('', () => ({})), inCluster],
  ] as const) {
    const slots = slotsUntilDeleted(looks, change)
    ok(slots <= 2, `it waited for ${slots} slots`)
  }
})

test('I36: namespaces take turns, each in the order of the log', () => {
  const backlog = new Backlog()
  const add = (namespace: string, count: number): void => {
    for (let index = 0; index < count; index++) {
      const target = { ...POD, namespace, uid: `${namespace}${index}` }
      backlog.add(job(deleteObject({ id: `0-${index}-0`, target })))
    }
  }
  add('a', 5)
  add('b', 2)
  add('c', 1)
  const taken: string[] = []
  for (let next = backlog.next(1); next !== undefined; next = backlog.next(1)) {
    taken.push(next.command.target.uid)
    backlog.finished(next)
  }
  deepEqual(taken, ['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3', 'a4'])
})

test('sends or names as superseded every command exactly once, never two of a uid at once', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({
        add: fc.constantFrom('a', 'b', 'c', 'd'),
        kind: fc.constantFrom('A', 'B'),
      }),
      fc.constant('next' as const),
      fc.constant('finish' as const),
    ),
    { maxLength: 200, size: 'max' },
  )
  fc.assert(
    fc.property(steps, (all) => {
      const backlog = new Backlog()
      const underWay: Job[] = []
      const ended: Job[] = []
      let added = 0
      const send = (next: Job | undefined): void => {
        if (next === undefined) return
        ok(!underWay.some((other) => other.command.target.uid === next.command.target.uid))
        underWay.push(next)
        ended.push(next)
      }
      for (const step of all) {
        if (step === 'next') send(backlog.next(LIMIT))
        else if (step === 'finish') {
          const first = underWay.shift()
          if (first !== undefined) backlog.finished(first)
        } else {
          // Each uid is of one namespace, of which there are two.
          const namespace = step.add < 'c' ? 'one' : 'other'
          const superseded = backlog.add(of(step.add, `0-${added++}-0`, step.kind, namespace))
          if (superseded !== undefined) ended.push(superseded)
        }
      }
      while (underWay.length > 0 || backlog.size() > 0) {
        const first = underWay.shift()
        if (first !== undefined) backlog.finished(first)
        send(backlog.next(LIMIT))
      }
      deepEqual([...new Set(ended.map(({ command }) => command.id))].length, added)
      equal(ended.length, added)
    }),
  )
})
