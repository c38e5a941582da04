/**
 * Cases that no world has: too many bytes, too many live GETs, an owner by uid alone (I37, I38,
 * I1).
 */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { emptyOutcome } from '../../core/graph/outcome.ts'
import type { Command } from '../../core/model/command.ts'
import { COMMAND_LIFE_MS } from '../../core/model/constant.ts'
import type { Event } from '../../core/model/event.ts'
import type { Topic } from '../../ports/log.ts'
import { object } from '../../testing/model/notation.ts'
import { CLAIM, CLUSTER, deleteObject, OWNER, verifyOwner } from '../../testing/rig/reaper.ts'
import { draw } from '../options.ts'
import { TENANT } from '../workload.ts'
import { WholeWorld } from '../world.ts'
import { byteCheckers } from './byte-checkers.ts'

const CONFIG_MAPS = `/api/v1/namespaces/${TENANT}/configmaps`
const CONTINUE: Event = { type: 'Continue' }

/**
 * A tenant's object: what the checkers say of bytes under keys of it, and one more dependent of it.
 */
function written(): { write: (topic: Topic, bytes: number) => string; name: () => void } {
  const world = new WholeWorld(draw(1, []), byteCheckers)
  const site = world.sites[0]!
  site.user('POST', '/api/v1/namespaces', { metadata: { name: TENANT } })
  site.user('POST', CONFIG_MAPS, { metadata: { name: 'a', annotations: { a: 'x'.repeat(1_000) } } })
  const uid = site.server.object('', 'configmaps', TENANT, 'a')?.metadata.uid ?? ''
  const append = (topic: Topic, key: string, value: Uint8Array): string => {
    const appended = { topic, partition: 0, records: [{ key, value }], by: 'graph' }
    return byteCheckers.map((checker) => checker.appended?.(world, appended) ?? '').join('')
  }
  const write = (topic: Topic, bytes: number): string => {
    const key = topic === 'changelog' ? `owners/${site.id}/${uid}/1.0` : `${site.id}/${uid}`
    return append(topic, key, new Uint8Array(bytes - key.length))
  }
  let dependents = 0
  const name = (): void => {
    const dependent = `d${++dependents}`
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid }]
    site.user('POST', CONFIG_MAPS, { metadata: { name: dependent, ownerReferences } })
    const seen = site.server.object('', 'configmaps', TENANT, dependent)
    const event: Event = {
      ...{ type: 'ObjectAdded', cluster: site.id, epoch: 1, sync: null },
      object: {
        ...object(`cm/${dependent} in ${TENANT} <- cm/a in ${TENANT}`, '1'),
        uid: seen?.metadata.uid ?? '',
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: 'a',
            uid,
            controller: null,
            blockOwnerDeletion: null,
          },
        ],
      },
    }
    append('events', `${site.id}/${TENANT}`, world.codec.encode(event))
  }
  return { write, name }
}

/** Folds commands, one record for all; returns the objections. */
function folds(): (commands: readonly Command[], event?: Event, timestamp?: number) => string {
  const world = new WholeWorld(draw(1, []), byteCheckers)
  let position = 0n
  return (commands, event = CONTINUE, timestamp = 0) => {
    const at = { partition: 0, partitions: 1, position: position++, timestamp }
    const outcome = { ...emptyOutcome(), commands: [...commands] }
    return byteCheckers.map(({ folded }) => folded?.(world, { event, at, outcome }) ?? '').join('')
  }
}

function questions(count: number): Command[] {
  const { target, ...rest } = verifyOwner()
  return Array.from({ length: count }, (_, i) => {
    return { ...rest, id: `0-0-${i}`, target: { ...target, namespace: TENANT, uid: `never-${i}` } }
  })
}

/** Of the first of them. */
const ANSWER: Event = {
  type: 'OwnerAbsent',
  cluster: CLUSTER,
  clusterEpoch: 1,
  owner: { group: '', kind: 'Secret', namespace: TENANT, name: 'never' },
  uid: 'never-0',
  how: 'NotFound',
  otherUid: null,
  command: '0-0-0',
}

test('I37: more than 20 bytes for each byte sent, and 16 KiB a cause, are objected to (T9)', () => {
  const { write } = written()
  equal(write('changelog', 20_000), '')
  equal(write('history', 10_000), '')
  equal(write('lineage', 6_000), '')
  match(
    write('changelog', 3_000),
    /^cluster-1 .* bytes on the log for .* sent and 1 causes \(I37\)$/,
  )
})

test('I37: requests for dependents are causes of an owner that waits for them', () => {
  const { write, name } = written()
  for (let each = 0; each < 3; each++) name()
  equal(write('history', 40_000), '')
  match(write('history', 60_000), / sent and 4 causes \(I37\)$/)
})

test('I38: GETs that no reaper makes any more are not under way', () => {
  const fold = folds()
  fold(questions(32))
  const again = questions(32).map((each) => ({ ...each, id: `again ${each.id}` }))
  equal(fold(again, CONTINUE, COMMAND_LIFE_MS + 1), '')
})

test('I38: a 33rd live GET for owners that never were is objected to (T10)', () => {
  equal(folds()(questions(32)), '')
  match(folds()(questions(33)), /^33 live GETs under way for owners that never were \(I38\)$/)
})

test('I38: an answer to an earlier question about an owner is one to the later, too', () => {
  const fold = folds()
  const all = questions(33)
  const { group, kind, namespace, name } = all[0]!.target
  fold(all.slice(0, 1).map((each) => ({ ...each, id: 'earlier' })))
  fold(all.slice(0, 32))
  const answer = { ...ANSWER, owner: { group, kind, namespace, name }, command: 'earlier' }
  equal(fold(all.slice(32), answer), '')
})

test('I38: an answer makes room for one more', () => {
  const fold = folds()
  fold(questions(32))
  equal(fold(questions(33).slice(32), ANSWER), '')
})

test('I1: a command by an owner elsewhere that bears the uid is objected to (T4, T5)', () => {
  const command = deleteObject({ references: [OWNER], owners: [CLAIM] })
  equal(folds()([command]), '')
  for (const other of [{ namespace: 'other' }, { name: 'other' }, { group: 'other' }]) {
    const owners = [{ ...CLAIM, ...other }]
    match(folds()([{ ...command, owners }]), /^DeleteObject of pod rests on a uid \(I1\)$/)
  }
})
