/** The oracle says which work a table of small servers leaves, and which deletes are wrong. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { leftovers, objection } from './model-oracle.ts'
import { object } from './notation.ts'

/**
 * Objects of a server, one a line; the work left for them, by uid. `widget` is not served, `deploy`
 * is not watched.
 */
const left = [
  ['an owner that lives', 'cm/o; pod/d <- cm/o', []],
  ['no owner at all', 'pod/d', []],
  ['an absent owner', 'pod/d <- cm/o', ['pod-d has no owner left (I16)']],
  ['an absent owner of one that is being deleted', 'pod/d <- cm/o [deleting]', []],
  [
    'an absent and a living owner',
    'cm/o; pod/d <- cm/o, job/x',
    ['pod-d names an absent owner beside a live one'],
  ],
  ['an absent owner and one of no served kind', 'pod/d <- cm/o, widget/w', []],
  ['a namespaced owner of one without namespace', 'cm/o; pv/d <- cm/o', []],
  ['an owner in another namespace', 'cm/o in b; pod/d <- cm/o', ['pod-d has no owner left (I16)']],
  ['an owner without namespace', 'pv/o; pod/d <- pv/o', []],
  ['the right name and another uid', 'cm/o@new; pod/d <- cm/o', ['pod-d has no owner left (I16)']],
  ['the right uid and another name', 'cm/o; pod/d <- cm/x@cm-o', ['pod-d has no owner left (I16)']],
  ['an owner by its kind in lower case', 'cm/o; pod/d <- _cm/o', []],
  ['the kind in lower case', 'pod/d <- _cm/o', ['pod-d has no owner left (I16)']],
  ['a version that is not served', 'pod/d <- rs.v1beta1/o', []],
  ['an owner held by a finalizer of others', 'cm/o [deleting mine]; pod/d <- cm/o', []],
  [
    'a waiting owner',
    'cm/o [deleting foreground]; pod/d <- cm/o!',
    ['pod-d has no owner left (I16)'],
  ],
  ['a waiting owner of none', 'cm/o [deleting foreground]', ['cm-o is waiting for nothing (I17)']],
  [
    'a waiting owner of one that does not block',
    'cm/o [deleting foreground]; pod/d <- cm/o [deleting mine]',
    ['cm-o is waiting for nothing (I17)'],
  ],
  [
    'a waiting owner of one that nothing can delete',
    'cm/o [deleting foreground]; pod/d <- cm/o!, widget/w',
    ['cm-o is waiting for nothing (I17)'],
  ],
  [
    'a waiting owner of one that nothing could delete, and is being deleted',
    'cm/o [deleting foreground]; pod/d <- cm/o!, widget/w [deleting mine]',
    [],
  ],
  [
    'a waiting owner of one of a kind that is not watched',
    'cm/o [deleting foreground]; deploy/d <- cm/o!',
    ['cm-o is waiting for nothing (I17)'],
  ],
  [
    'waiting owners that wait for each other',
    'cm/a <- cm/b! [deleting foreground]; cm/b <- cm/a! [deleting foreground]',
    ['cm-a is waiting for nothing (I17)', 'cm-b is waiting for nothing (I17)'],
  ],
  [
    'waiting owners that wait for each other, and for one that is held',
    'cm/a <- cm/b! [deleting foreground]; cm/b <- cm/a! [deleting foreground]; pod/d <- cm/a! [deleting mine]',
    [],
  ],
  ['an orphaning owner of none', 'cm/o [deleting orphan]', ['cm-o is orphaning for nothing (I17)']],
  [
    'an orphaning owner that is named by its uid only',
    'cm/o [deleting orphan]; pod/d <- cm/x@cm-o',
    ['cm-o is orphaning for nothing (I17)', 'pod-d has no owner left (I16)'],
  ],
  [
    'an orphaning owner',
    'cm/o [deleting orphan]; pod/d <- cm/o [deleting mine]',
    ['pod-d still names an orphaning owner'],
  ],
] as const

for (const [what, server, expected] of left) {
  test(`of ${what} is left: ${expected.join(', ') || 'nothing'}`, () => {
    const objects = new Map(read(server).map((each) => [each.uid, each]))
    const seen = leftovers(objects).map(
      ({ object: { uid }, text }) => `${uid} ${text.slice(text.indexOf(' ') + 1)}`,
    )
    deepEqual(seen, expected)
  })
}

const objections = [
  ['cm/o; pod/d', 'it has no owner references (I2)'],
  ['pod/d <- cm/o', ''],
  ['cm/o; pod/d <- cm/o', 'o lives (I1)'],
  ['cm/o; pod/d <- job/x, cm/o', 'o lives (I1)'],
  ['pod/d <- cm/o, widget/w', 'w cannot be resolved (I6)'],
  ['cm/o [deleting orphan]; pod/d <- cm/o', 'o is orphaning (I1)'],
  ['cm/o [deleting foreground]; pod/d <- cm/o', ''],
  ['cm/o [foreground]; pod/d <- cm/o', 'o lives (I1)'],
] as const

for (const [server, expected] of objections) {
  test(`to a delete of d in ${server}: ${expected || 'nothing'}`, () => {
    const objects = read(server)
    const dependent = objects.find(({ name }) => name === 'd')!
    equal(objection(objects, dependent), expected)
  })
}

function read(server: string): ReturnType<typeof object>[] {
  return server.split(';').map((line) => object(line.trim(), '1'))
}
