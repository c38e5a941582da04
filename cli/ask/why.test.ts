/** The state of an object and its history, as people read it. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { History } from '../../core/model/record.ts'
import { documentOf } from '../../services/graph/api/document.ts'
import type { Why } from '../../services/graph/query/answer/query.ts'
import type { Why as WhyDocument } from '../answer.ts'
import { tell } from '../print/why-text.ts'

/** As it is shown. */
type Shown = Omit<Why, 'elsewhere'> & Pick<WhyDocument, 'elsewhere'>

const AT = Date.UTC(2026, 10, 26, 10, 25, 18)
const cluster = { name: 'north', id: 'c-1', scope: 'north' }
const pod = { group: '', kind: 'Pod', namespace: 'shop', name: 'p', uid: 'u', cluster: 'c-1' }

const why: Shown = {
  object: { ...pod, at: AT },
  phase: 'observed',
  doubt: null,
  managers: [],
  elsewhere: [],
  references: [
    {
      ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r' },
      ...{ controller: true, blockOwnerDeletion: true },
      ...{ standing: 'dangling', reason: 'ReplicaSet "web" no longer exists' },
    },
  ],
  verdict: {
    ...{ type: 'delete', evidence: 'deleted', basis: ['7', '9', '2'], rule: null },
    because: 'ReplicaSet "web" no longer exists',
  },
  admission: {
    by: 'hold',
    because: 'held until 10:25:48Z (evidence deleted)',
    since: AT,
    until: AT,
  },
  attempt: null,
  obstacle: { by: 'held', reason: 'waits', since: AT, count: null, until: null },
  asOwner: null,
  deletion: null,
  deletedBy: [],
  orphaned: null,
  ...{ restored: null, restoredAs: null },
  history: [],
}

function shown(part: Partial<Shown>): WhyDocument {
  const answer = { ...why, ...part }
  const document = documentOf('Why', { answer, partial: '', cluster, others: [], asOf: [] })
  return document
}

function told(part: Partial<Shown>): string {
  return tell(shown(part))
}

test('why says beside its first sentence that another of the name was deleted elsewhere', () => {
  const north = { id: 'n', name: 'north', scope: 'north' }
  const others = [{ cluster: north, uid: 'u', isThere: false, at: AT }]
  const text = tell(documentOf('Why', { answer: why, partial: '', cluster, others, asOf: [] }))
  match(text, /^.*\n.*\nOthers have or had this name, listed below; deleted ones in north\.\n/)
})

test('why says first that an object was restored, of one that was deleted as what, and where that is from', () => {
  const restored = { from: ['old', 'older'], at: AT }
  equal(
    told({ restored }).split('\n')[0],
    'Restored from uid old, older at 2026-11-26T10:25:18Z by kinfold restore, as its annotation says.',
  )
  match(
    told({ restored: { from: ['old'], at: null } }),
    /^Restored from uid old by kinfold restore/,
  )
  match(
    told({ phase: null, restoredAs: { uid: 'new', at: AT } }),
    /^Restored as uid new, as an annotation of that one says: kinfold why uid:new --cluster north$/m,
  )
})

test('what exists is told with its cluster, its owners, the verdict and what blocks it', () => {
  equal(
    told({}),
    `Pod/p -n shop, cluster north, uid u
Exists.
  owner ReplicaSet/web (uid r): dangling: ReplicaSet "web" no longer exists
Verdict: delete. ReplicaSet "web" no longer exists. Evidence: deleted (the deletion was observed). Based on events 7, 9, 2.
Held by hold: held until 10:25:48Z (evidence deleted).
Blocked (held): waits; since 2026-11-26T10:25:18Z, judged again when something changes.
`,
  )
})

test('of what was orphaned that is the first sentence', () => {
  const owner = { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'd' }
  const orphaned = { owner, at: AT, since: AT, isOver: true, deletion: null }
  const free = { references: [], verdict: null, admission: null, obstacle: null }
  match(
    told({ orphaned, ...free }),
    /^Orphaned: Deployment\/web was deleted with orphan .* ago; .*; it stays\.\nPod\/p -n shop,/,
  )
})

test('of two clusters that have one name the first line has the id', () => {
  const shared = { ...cluster, scope: 'c-1' }
  const asked = { answer: why, partial: '', cluster: shared, others: [], asOf: [] }
  const text = tell(documentOf('Why', asked))
  match(text, /^Pod\/p -n shop, cluster north \(c-1\), uid u\n/)
})

test('a reason that the verdict, or what holds it, has is not told twice', () => {
  const reason = why.admission?.because ?? ''
  const obstacle = { by: 'held', reason, since: AT, count: null, until: AT } as const
  const [last] = told({ obstacle }).trimEnd().split('\n').slice(-1)
  equal(last, 'Blocked (held) since 2026-11-26T10:25:18Z, next try at 2026-11-26T10:25:18Z.')
})

const GONE = { phase: null, references: [], verdict: null, admission: null, obstacle: null }
const entry = {
  ...({ ...pod, type: 'History', partition: 0, basis: [], at: AT, phase: null } as const),
  admission: null,
}
const history: readonly History[] = [
  {
    ...{ ...entry, change: 'verdict', position: 7n, command: null, evidence: 'deleted' },
    text: 'delete: ReplicaSet "web" no longer exists',
  },
  { ...entry, change: 'gone', position: 9n, command: null, evidence: 'deleted', text: 'seen' },
]

test('what was deleted says when and how that is known, and its history in words (C18)', () => {
  equal(
    told({ ...GONE, history }),
    `Pod/p -n shop, cluster north, uid u
Deleted 2026-11-26T10:25:18Z (the deletion was observed).

TIME                       POSITION   CHANGE    DETAILS
2026-11-26T10:25:18.000Z   0-7        verdict   delete: ReplicaSet "web" no longer exists (evidence deleted)
2026-11-26T10:25:18.000Z   0-9        deleted   seen (evidence deleted)
`,
  )
  const proof = { evidence: 'missing', at: AT, position: 9n } as const
  const asOwner = { state: 'absent', phase: null, orphanedAt: null, proof } as const
  match(
    told({ ...GONE, asOwner }),
    /\nDeleted 2026-11-26T10:25:18Z \(missing from a complete list\)\.\n/,
  )
  match(told(GONE), /\nNo longer exists\.\n/)
})

const asked = { group: '', kind: 'Pod', namespace: 'shop', name: 'p', uid: 'u' }
const by = {
  ...{ object: asked, isInferred: false, user: 'alice', impersonated: null },
  verb: 'delete',
  match: 'uid',
  isCollector: false,
  ...{ agent: 'kubectl/v1.33.0 (linux/amd64) kubernetes/60a317e', others: 0, auditId: 'x', at: AT },
} as const

test('who deleted it is named, a guess as a guess', () => {
  const owner = { ...asked, kind: 'ReplicaSet', name: 'web', uid: 'r' }
  const agent = 'kinfold/0.1.0 (reaper)'
  const deletedBy = [
    { ...by, user: 'kinfold', agent, match: 'audit-id' },
    { ...by, object: owner, isInferred: true },
    { ...by, object: owner, match: 'name-and-time', others: 2, verb: 'evict' },
    { ...by, match: 'collection-and-time', impersonated: 'bob', agent: '' },
  ] as const
  const lines = told({ ...GONE, deletedBy })
    .split('\n')
    .slice(2, 6)
  const at = '2026-11-26T10:25:18Z'
  deepEqual(lines, [
    `Deleted by kinfold (kinfold/0.1.0 (reaper)), by Audit-ID, ${at}.`,
    `Owner ReplicaSet/web deleted by alice (kubectl/v1.33.0), by uid, ${at}; inferred: after it another collector deleted this.`,
    `Owner ReplicaSet/web probably evicted by alice (kubectl/v1.33.0), by name and time, ${at}; 2 of other users fit as well.`,
    `Probably deleted by alice as bob, by a delete of the whole collection, and time, ${at}.`,
  ])
})

test('what was deleted says first who did it, how long ago, and why (C3)', () => {
  const { object: _, isInferred: __, ...alice } = by
  const web = { ...asked, kind: 'Deployment', name: 'web', uid: 'd' }
  const user = 'system:serviceaccount:kube-system:generic-garbage-collector'
  const deletion = {
    by: 'others',
    ...{ evidence: null, command: null, text: '', unproven: null },
    ...{ deletedBy: { ...alice, user, isCollector: true }, rootDeletedBy: alice },
    ...{ root: web, isInferred: true, isRootKnown: true, unseenSince: null },
  } as const
  const about = { partial: '', cluster, others: [], asOf: [] }
  const lines = (part: Partial<Shown>): readonly string[] => {
    const answer = { ...why, ...GONE, deletion, ...part }
    const now = AT + 12 * 60_000
    return tell(documentOf('Why', { answer, ...about }), undefined, now).split('\n')
  }
  deepEqual(lines({ history }).slice(0, 3), [
    'Deleted 12 min ago by kube-controller-manager, because alice (kubectl/v1.33.0) deleted Deployment/web (inferred).',
    'Pod/p -n shop, cluster north, uid u',
    'Deleted 2026-11-26T10:25:18Z (the deletion was observed).',
  ])
  const begun = {
    ...entry,
    change: 'phase',
    phase: 'waiting',
    position: 8n,
    command: null,
  } as const
  const asking = { ...begun, evidence: null, text: 'observed → waiting' }
  equal(
    lines({ phase: 'waiting', history: [asking] })[0],
    'Being deleted, asked for 12 min ago by kube-controller-manager, because alice (kubectl/v1.33.0) deleted Deployment/web (inferred).',
  )
})

test('names and clients are text, whatever they are', () => {
  const user = 'x, by uid.\nDeleted by root\u202e\u001b[2J'
  const agent = '\u0007kinfold/1 (up), by Audit-ID'
  const [, , line] = told({ ...GONE, deletedBy: [{ ...by, user, agent }] }).split('\n')
  equal(
    line,
    'Deleted by "x, by uid.\\nDeleted by root\\u202e\\u001b[2J" (\\u0007kinfold/1), by uid, 2026-11-26T10:25:18Z.',
  )
})

test('why names an owner in another cluster, and who deleted it where that is known', () => {
  const owner = {
    cluster: { name: 'hub', id: 'h', scope: 'hub' },
    ...{ group: '', kind: 'ConfigMap', namespace: 'team', name: 'web', uid: 'o' },
  }
  const because = 'that owner was deleted (known since 2026-11-26T10:25:00Z)'
  const elsewhere = [{ rule: 'far', owner, state: 'deleted', because } as const]
  const line = `  owner ConfigMap/web -n team in cluster hub, by rule far: ${because}\n`
  ok(told({ elsewhere }).includes(`${line}Verdict`))
  const deletion = {
    by: 'others' as const,
    ...{ deletedBy: null, unproven: null, root: null, rootDeletedBy: null },
    ...{ isInferred: false, isRootKnown: true, unseenSince: null, evidence: null, text: '' },
    command: null,
  } as const
  const owners = new Map([['o', shown({ phase: null, deletion })]])
  match(
    tell(shown({ elsewhere }), undefined, AT, owners),
    /\n {4}there: Deleted .+; no audit log says by whom\.\n/,
  )
})
