/** Who deleted an object, as the page says it (C2). */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { DeletedBy } from '../cli/answer.ts'
import { type Deletion, deletedPhrases, phrasesText } from './deletion-text.ts'

const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector'

function object(kind: string, name: string): DeletedBy['object'] {
  return { group: '', kind, namespace: 'shop', name, uid: `${kind}-${name}` }
}

function by(of: DeletedBy['object'], user: string, more: Partial<DeletedBy> = {}): DeletedBy {
  return {
    ...{ object: of, isInferred: false, user, impersonated: null, agent: 'kubectl/v1.33.0 (x)' },
    ...{ verb: 'delete', match: 'uid', others: 0, auditId: '', at: null },
    ...more,
  }
}

const [web, pod] = [object('Deployment', 'web'), object('Pod', 'a')]
const of = (row: Partial<Deletion>): Deletion =>
  ({ by: 'others', root: null, isInferred: false, deletedBy: null, ...row }) as Deletion

for (const [row, told, said] of [
  [of({}), [], '; no audit log says by whom'],
  [undefined, [], '; no audit log says by whom'],
  [of({ root: pod }), [by(pod, 'alice')], ' by alice (kubectl/v1.33.0)'],
  [
    of({ by: 'kinfold', root: web }),
    [by(pod, 'kinfold'), by(web, 'alice')],
    ' by Kinfold, because alice (kubectl/v1.33.0) deleted Deployment/web',
  ],
  [
    of({ by: 'kinfold', root: web }),
    [],
    ' by Kinfold, because Deployment/web was deleted; no audit log says by whom',
  ],
  [
    of({ root: web, isInferred: true }),
    [by(pod, COLLECTOR), by(web, 'alice', { isInferred: true, agent: '' })],
    ' by kube-controller-manager, because alice deleted Deployment/web (inferred)',
  ],
  [
    of({ root: web, isInferred: true }),
    [],
    ', because Deployment/web was deleted (inferred); no audit log says by whom',
  ],
  [
    undefined,
    [by(pod, 'bob and alice', { match: 'name-and-time', impersonated: 'root', agent: '' })],
    ', probably by "bob and alice" as root',
  ],
] as const) {
  test(`C2: who deleted it: "Deleted …${said}"`, () => {
    equal(phrasesText(deletedPhrases(pod.uid, row, told)), said)
  })
}
