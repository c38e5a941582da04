/** A mark that is taken off counts for ten minutes more, whichever way it was taken off. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { object } from '../../testing/model/notation.ts'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import { PROTECTED_FOR_MS } from '../model/constant.ts'
import type { ObjectMeta } from '../model/object.ts'
import { protectedUntilAfter } from './former-protection.ts'

const NOW = 1_000

/** The first as a copy that its controller made: what other tools' annotations say is of that. */
function copied({ ownerReferences, ...rest }: ObjectMeta): ObjectMeta {
  return { ...rest, ownerReferences: ownerReferences.map((it) => ({ ...it, controller: true })) }
}

const helm = object('rs/a <- deploy/d [annotation:helm.sh/resource-policy=keep]', '1')
const annotated = object('rs/a [annotation:kinfold.dev/protected=yes]', '1')
const labelled = object('rs/a [label:kinfold.dev/protected=yes]', '1')
const plain = object('rs/a', '2')

const changes = [
  ['its label is taken off', labelled, plain, true],
  ['its annotation is taken off', annotated, plain, true],
  [
    'its annotation has another value',
    annotated,
    object('rs/a [annotation:kinfold.dev/protected=false]', '2'),
    true,
  ],
  ['it becomes a copy', helm, copied(helm), true],
  ['only its version is another', labelled, { ...labelled, resourceVersion: '2' }, false],
  ['it gets an owner', annotated, { ...annotated, ownerReferences: helm.ownerReferences }, false],
  ['it never had one', plain, labelled, false],
] as const

for (const [what, before, after, isTakenOff] of changes) {
  test(`${what}: ${isTakenOff ? 'its protection lasts a while' : 'nothing lasts'}`, () => {
    const world = new World()
    world.begin()
    world.tell(world.policy('enforce', 'guarded'))
    const facts = factsOf(world.folder.graph, 'c')
    const until = protectedUntilAfter(facts, { object: before, protectedUntil: null }, after, NOW)
    equal(until, isTakenOff ? NOW + PROTECTED_FOR_MS : null)
  })
}
