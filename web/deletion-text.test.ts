/** Who deleted an object, as the page says it (C2). */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Deleter, Deletion, Orphaned } from '../cli/answer.ts'
import {
  type Attributed,
  deletedSentence,
  type Kept,
  orphanedSentence,
  whoText,
} from './deletion-text.ts'

const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector'

function object(kind: string, name: string): NonNullable<Attributed['root']> {
  return { group: '', kind, namespace: 'shop', name, uid: `${kind}-${name}` }
}

function by(user: string, more: Partial<Deleter> = {}): Deleter {
  return {
    ...{ user, impersonated: null, agent: 'kubectl/v1.33.0 (x)', isCollector: false },
    ...{ verb: 'delete', match: 'uid', others: 0, auditId: '', at: null },
    ...more,
  }
}

const web = object('Deployment', 'web')
const collector = by(COLLECTOR, { isCollector: true })
const of = (deletion: Partial<Attributed>): Attributed => ({
  ...{ by: 'others', deletedBy: null, unproven: null, root: null, rootDeletedBy: null },
  ...{ isInferred: false, isRootKnown: true, unseenSince: null, evidence: null, text: '' },
  ...deletion,
})
const followed = { root: web, isInferred: true, deletedBy: collector }
const alice = by('alice', { agent: '' })

for (const [deletion, said] of [
  [of({}), '; no audit log says by whom'],
  [of({ isRootKnown: false }), '; no audit log says by whom'],
  [of({ by: 'unknown', isRootKnown: false }), '; no audit log says by whom'],
  [
    of({ unproven: { ...alice, others: 0, at: '2026-11-26T09:13:18.123Z' } }),
    '; no audit log proves by whom: perhaps by alice, who asked to delete that name at 2026-11-26T09:13:18Z',
  ],
  [
    of({ by: 'unknown', unproven: { ...by('bob'), impersonated: 'root', others: 2 } }),
    '; no audit log proves by whom: perhaps by bob as root (kubectl/v1.33.0) (or by 2 others), who asked to delete that name',
  ],
  [of({ deletedBy: by('alice') }), ' by alice (kubectl/v1.33.0)'],
  [
    of({ by: 'kinfold', deletedBy: by('kinfold'), root: web, rootDeletedBy: by('alice') }),
    ' by Kinfold, because alice (kubectl/v1.33.0) deleted Deployment/web',
  ],
  [
    of({ by: 'kinfold', root: web }),
    ' by Kinfold, because Deployment/web was deleted; no audit log says by whom',
  ],
  [
    of({
      by: 'kinfold',
      evidence: 'rule',
      text: 'DeleteObject (real): rule old: due 72 h after it was created (t)',
    }),
    ' by Kinfold, by rule old: due 72 h after it was created (t)',
  ],
  [
    of({ by: 'kinfold', isRootKnown: false }),
    ' by Kinfold; after which owner was deleted is not known',
  ],
  [
    of({ ...followed, rootDeletedBy: alice }),
    ' by kube-controller-manager, because alice deleted Deployment/web (inferred)',
  ],
  [
    of({ ...followed, rootDeletedBy: { ...alice, match: 'name-and-time', others: 2 } }),
    ' by kube-controller-manager, because probably alice (or by 2 others) deleted Deployment/web (inferred)',
  ],
  [
    of({ ...followed, deletedBy: null }),
    ', because Deployment/web was deleted (inferred); no audit log says by whom',
  ],
  [
    of({ deletedBy: collector, isRootKnown: false }),
    ' by kube-controller-manager; after which owner was deleted is not known',
  ],
  [
    of({ ...followed, root: { ...web, name: 'hidden', uid: 'hidden' } }),
    ' by kube-controller-manager, because a Deployment that you may not see was deleted (inferred); no audit log says by whom',
  ],
  [
    of({
      deletedBy: by('bob and alice', { match: 'name-and-time', impersonated: 'root', agent: '' }),
    }),
    ', probably by "bob and alice" as root',
  ],
] as const) {
  test(`C2: who deleted it: "Deleted …${said}"`, () => {
    const at = '2026-11-26T10:13:18Z'
    const now = Date.parse('2026-11-26T10:25:18Z')
    equal(deletedSentence({ at, isOver: true }, deletion, now), `Deleted 12 min ago${said}.`)
    equal(whoText(deletion), said.replace(/^[,;]? /, ''))
  })
}

test('what was reported late says between when it was', () => {
  const late = of({ deletedBy: alice, unseenSince: '2026-11-26T10:12:48.123Z' })
  const at = '2026-11-26T10:13:18.456Z'
  equal(
    deletedSentence({ at, isOver: true }, late, 0),
    'Deleted between 2026-11-26T10:12:48Z and 2026-11-26T10:13:18Z by alice.',
  )
  equal(whoText(late), 'by alice; at some time since 2026-11-26T10:12:48Z')
})

test('a deletion that is not over says since when', () => {
  equal(
    deletedSentence({ at: null, isOver: false }, of({ deletedBy: alice }), 0),
    'Being deleted, asked for at an unknown time by alice.',
  )
})

const deletion = (part: Partial<Attributed>): Deletion => {
  return { ...of(part), evidence: null, command: null, text: '' }
}
const orphaned: Orphaned = {
  ...{ owner: web, at: '2026-11-26T10:22:19Z', since: '2026-11-26T10:22:18Z', isOver: true },
  deletion: deletion({ deletedBy: by('alice') }),
}
const free = { phase: 'observed', references: [], verdict: null } as const
const reference: Kept['references'][number] = {
  ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'x', uid: 'x', controller: null },
  ...{ blockOwnerDeletion: null, standing: 'solid', reason: '' },
}
const verdict = { type: 'keep', evidence: null, because: '', basis: [], rule: null } as const
const kept = { ...free, references: [reference], verdict }

for (const [part, now, said] of [
  [
    {},
    free,
    'Deployment/web was deleted with orphan 3 min ago by alice (kubectl/v1.33.0); it stays',
  ],
  [
    {},
    kept,
    'Deployment/web was deleted with orphan 3 min ago by alice (kubectl/v1.33.0); it stays',
  ],
  [
    {},
    { ...kept, verdict: { ...verdict, type: 'verify' } },
    'Deployment/web was deleted with orphan 3 min ago by alice (kubectl/v1.33.0)',
  ],
  [
    {},
    { ...free, phase: 'suspect' },
    'Deployment/web was deleted with orphan 3 min ago by alice (kubectl/v1.33.0)',
  ],
  [
    { isOver: false },
    free,
    'Deployment/web is being deleted with orphan, asked for 3 min ago by alice (kubectl/v1.33.0); it stays',
  ],
  [
    { deletion: deletion({}) },
    free,
    'Deployment/web was deleted with orphan 3 min ago; no audit log says by whom; it stays',
  ],
  [
    { deletion: null },
    free,
    'Deployment/web was deleted with orphan 3 min ago; by whom is not known; it stays',
  ],
  [
    { owner: { ...web, name: 'hidden', uid: 'hidden' }, deletion: null },
    free,
    'a Deployment that you may not see was deleted with orphan 3 min ago; it stays',
  ],
] as const) {
  test(`of an object that was orphaned: "${said}"`, () => {
    const at = Date.parse('2026-11-26T10:25:18Z')
    equal(orphanedSentence({ ...orphaned, ...part }, now, at), `Orphaned: ${said}.`)
  })
}
