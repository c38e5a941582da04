/**
 * Every record type, with every value that its TypeScript type allows, is decoded from its bytes
 * unchanged.
 *
 * What must stay true: the tables below are typed by the records themselves, so a field or word
 * that is new in core does not compile here until it is drawn, and does not pass until the schema
 * has it.
 */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type {
  CommandBase,
  CommandRule,
  CommandType,
  Outcome,
  OwnerClaim,
  RulePolicy,
  Target,
} from '../../core/model/command.ts'
import type { ClusterElsewhere, ElsewhereState, OwnerAbsent } from '../../core/model/event.ts'
import type { SetHash } from '../../core/model/hash.ts'
import type {
  Admission,
  AnsweredDeletion,
  Attempt,
  Doubt,
  EdgePlace,
  Going,
  HeldBy,
  Hold,
  Phase,
  Ruling,
  Turn,
  Verdict,
  VerdictType,
} from '../../core/model/node.ts'
import type {
  Coordinates,
  ObjectMeta,
  OwnerReference,
  Projected,
  PropagationPolicy,
  Scope,
} from '../../core/model/object.ts'
import type { KnownOwner, Look } from '../../core/model/owner.ts'
import type { BudgetClass, Budgets, Mode, Policy, Preset } from '../../core/model/policy.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Evidence, Freshness, Proof } from '../../core/model/proof.ts'
import type { HistoryChange } from '../../core/model/record.ts'
import type { Standing } from '../../core/model/reference.ts'
import type { OwnerExport, RuleElsewhere } from '../../core/model/rule/elsewhere.ts'
import type { PolicyContent } from '../../core/model/rule/policy-content.ts'
import type {
  EnforcedRule,
  KeepBy,
  Rule,
  RuleAbsent,
  RuleAnnotation,
  RuleBeside,
  RuleCase,
  RuleExpression,
  RuleKeep,
  RuleLimit,
  RuleMatch,
  Term,
  TimeSource,
  WaitSource,
} from '../../core/model/rule/rule.ts'
import type {
  CheckedList,
  DefinitionSpan,
  ElsewhereFact,
  FollowedUse,
  ForgottenCluster,
  FormerProtection,
  HeldNamespace,
  KeptRow,
  KindPhase,
  KnownPolicy,
  MinuteCounts,
  MissedTodo,
  NamespaceCount,
  Pause,
  ProtectedSubject,
  Todo,
} from '../../core/model/state.ts'
import type { RuleUnused, Use, UseException, User } from '../../core/model/use/use.ts'
import type { Writable } from '../../ports/record/codec.ts'
import type { FormerSegment } from '../../ports/record/former-value.ts'
import type {
  AddedChunk,
  ChunkName,
  Departure,
  KnownDeletion,
  KnownHold,
  KnownObject,
  Lineage,
  LineageOwner,
  LongOwners,
} from '../../ports/record/lineage.ts'
import type {
  Archived,
  Control,
  DeletionVerb,
  GapCause,
  LongNode,
} from '../../ports/record/service-record.ts'
import { deleteObject } from '../../testing/rig/reaper.ts'
import { avroTypeOf } from './avro-type.ts'
import { avroCodec, codecOf } from './codec.ts'
import { RECORD_TYPE_NAMES } from './record-type.ts'
import { canonicalForm, fingerprintOf, type Schema } from './schema.ts'
import { fileName, keepVersions, loadRecordSchema, NAMESPACE } from './schema-file.ts'

type Draw<T> = fc.Arbitrary<T>

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom(
    '',
    '__proto__',
    'constructor',
    'toString',
    '\0',
    '\u2028',
    '🧺',
    'ä'.repeat(100),
  ),
)
const number = fc.oneof(
  fc.integer({ min: -(2 ** 52), max: 2 ** 53 - 1 }),
  fc.constantFrom(0, -1, 63, 64, 2 ** 31, 2 ** 32, -(2 ** 52), 2 ** 52, Number.MAX_SAFE_INTEGER),
)
const offset = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(
    0n,
    -1n,
    2n ** 53n - 1n,
    2n ** 53n,
    -(2n ** 53n) + 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
  ),
)
const truth = fc.boolean()
const maybe = <T>(draw: Draw<T>): Draw<T | null> => fc.option(draw)
const list = <T>(draw: Draw<T>): Draw<T[]> => fc.array(draw, { maxLength: 4 })
/** All words of a union: leaving one out does not compile. */
const word = <W extends string>(words: Readonly<Record<W, 1>>): Draw<W> =>
  fc.constantFrom(...(Object.keys(words) as W[]))
const record = <T>(fields: { readonly [K in keyof T]: Draw<T[K]> }): Draw<T> =>
  fc.record(fields, { noNullPrototype: true }) as Draw<T>
const just = <const T>(value: T): Draw<T> => fc.constant(value)
const cases = <T extends { readonly type: string }>(
  fields: Readonly<Record<T['type'], Readonly<Record<string, Draw<unknown>>>>>,
): Draw<T> => {
  const all = Object.entries<Readonly<Record<string, Draw<unknown>>>>(fields)
  return fc.oneof(
    ...all.map(([type, each]) => record({ type: just(type), ...each })),
  ) as unknown as Draw<T>
}

const groupKind = { group: text, kind: text }
const place = { ...groupKind, namespace: text, name: text }
const coordinates = record<Coordinates>(place)
const scope = word<Scope>({ Namespaced: 1, Cluster: 1 })
const evidence = word<Evidence>({
  orphaning: 1,
  deleted: 1,
  waiting: 1,
  missing: 1,
  'not-found': 1,
  bulk: 1,
  rule: 1,
})
const freshness = word<Freshness>({ live: 1, recheck: 1 })
const phase = word<Phase>({
  observed: 1,
  deleting: 1,
  waiting: 1,
  orphaning: 1,
  reaped: 1,
  suspect: 1,
})
const mode = word<Mode>({ observe: 1, 'dry-run': 1, enforce: 1 })
const outcome = word<Outcome>({ done: 1, absent: 1, 'would-go': 1, stale: 1, blocked: 1 })
const verb = word<CommandType>({
  DeleteObject: 1,
  AnnotateObject: 1,
  OrphanDependent: 1,
  RemoveFinalizer: 1,
  VerifyOwner: 1,
  WarnObject: 1,
})
const reference = record<OwnerReference>({
  apiVersion: text,
  kind: text,
  name: text,
  uid: text,
  controller: maybe(truth),
  blockOwnerDeletion: maybe(truth),
})
const pairs = list(record({ key: text, value: text }))
const propagation = word<PropagationPolicy>({ Background: 1, Foreground: 1, Orphan: 1 })
const terms = list(
  record<Term>({
    key: text,
    operator: word<Term['operator']>({ in: 1, 'not-in': 1, exists: 1, absent: 1 }),
    values: list(text),
  }),
)
const annotation = record<RuleAnnotation>({ key: text, value: text })
const rule = record<Rule>({
  name: text,
  match: record<RuleMatch>({
    kinds: list(record(groupKind)),
    namespaces: list(text),
    exceptNamespaces: list(text),
    labels: terms,
    annotations: terms,
    expression: maybe(
      record<RuleExpression>({
        ...{ source: text, tree: text },
        ...{ fields: list(text), labels: list(text), annotations: list(text) },
      }),
    ),
    owner: maybe(list(record(groupKind))),
    terminating: truth,
  }),
  cases: list(
    record<RuleCase>({
      fields: terms,
      since: cases<TimeSource>({
        created: {},
        deleted: {},
        field: { path: text },
        annotation: { key: text },
      }),
      after: cases<WaitSource>({
        ...{ fixed: { ms: number }, seconds: { path: text }, duration: { annotation: text } },
      }),
    }),
  ),
  propagationPolicy: propagation,
  gracePeriodSeconds: maybe(number),
  failFirst: truth,
  account: fc.option(text),
  forMs: number,
  warnMs: number,
  limit: maybe(record<RuleLimit>({ perHour: number, percent: number })),
  keep: maybe(
    record<RuleKeep>({
      newest: number,
      by: cases<KeepBy>({ owner: {}, namespace: {}, cluster: {}, label: { key: text } }),
      first: terms,
    }),
  ),
  absent: maybe(record<RuleAbsent>({ ...groupKind, field: text })),
  beside: maybe(record<RuleBeside>({ ...groupKind, field: text, when: terms })),
  unused: maybe(
    record<RuleUnused>({
      forMs: number,
      uses: list(
        record<Use>({
          ...{ used: record(groupKind), paths: list(text) },
          users: list(record<User>({ ...groupKind, at: text })),
        }),
      ),
      except: list(
        record<UseException>({
          ...groupKind,
          ...{ namespace: text, name: text, mark: text, because: text },
        }),
      ),
    }),
  ),
  elsewhere: maybe(
    record<RuleElsewhere>({
      ...{ cluster: text, kinds: list(record(groupKind)), namespaces: list(text) },
      exports: list(
        record<OwnerExport>({
          ...{ kinds: list(record(groupKind)), namespaces: list(text), to: list(text) },
        }),
      ),
    }),
  ),
  annotate: maybe(annotation),
})
const elsewhereState = word<ElsewhereState>({ there: 1, deleted: 1, orphaned: 1, unknown: 1 })
const following = word<ClusterElsewhere['state']>({ followed: 1, 'cut-off': 1 })
const policyContent = record<PolicyContent>({ rule: maybe(rule), problem: text, account: text })
const object = record<ObjectMeta>({
  ...place,
  uid: text,
  version: text,
  resource: text,
  scope,
  resourceVersion: text,
  generation: maybe(number),
  createdAt: maybe(number),
  deletedAt: maybe(number),
  graceSeconds: maybe(number),
  finalizers: list(text),
  ownerReferences: list(reference),
  labels: pairs,
  annotations: pairs,
  projected: maybe(record<Projected>({ reads: text, fields: pairs, policy: maybe(policyContent) })),
})
const proof = record<Proof>({
  class: word<Proof['class']>({ deleted: 1, missing: 1, 'not-found': 1, bulk: 1 }),
  position: offset,
  at: number,
  ageMs: number,
  clusterEpoch: number,
  versions: list(text),
  command: maybe(text),
  isOurs: truth,
  heldSince: maybe(number),
})
const turn = word<Turn>({ none: 1, asked: 1, queued: 1, called: 1, begun: 1 })
const protection = record<Policy['protection']>({
  kinds: list(record(groupKind)),
  namespaces: list(text),
  labels: list(text),
  annotations: list(text),
  othersMarks: truth,
})
const policy = record<Policy>({
  mode,
  preset: word<Preset>({ parity: 1, guarded: 1 }),
  foldVersion: number,
  holds: record<Policy['holds']>({ deletedMs: number, missingMs: number, notFoundMs: number }),
  budgets: maybe(record<Budgets>({ deleted: number, missing: number, notFound: number })),
  protection,
  approvals: number,
  rememberMs: number,
  rules: list(rule),
  mayRemove: list(text),
})
const setHash = record<SetHash>({ count: number, high: number, low: number })
const told = { cluster: text, epoch: number }
const counts = list(record<NamespaceCount>({ namespace: text, count: number }))
const minutes = list(
  record<MinuteCounts>({
    minute: number,
    namespaces: counts,
  }),
)
const claims = list(
  record<OwnerClaim>({
    ...place,
    uid: text,
    version: text,
    resource: text,
    claim: word<OwnerClaim['claim']>({
      absent: 1,
      waiting: 1,
      orphaning: 1,
      ...{ beside: 1, 'gone-elsewhere': 1 },
    }),
    ...{ cluster: text, clusterEpoch: number, createdAt: maybe(number) },
  }),
)
const commandRule = record<CommandRule>({
  ...{ name: text, digest: text },
  policy: maybe(
    record<RulePolicy>({
      ...{ kind: text, version: text, namespace: text, name: text, uid: text, account: text },
    }),
  ),
})
const command: { readonly [K in keyof CommandBase]: Draw<CommandBase[K]> } = {
  id: text,
  cluster: text,
  clusterEpoch: number,
  partition: number,
  mode: word<CommandBase['mode']>({ 'dry-run': 1, enforce: 1 }),
  target: record<Target>({
    ...place,
    version: text,
    resource: text,
    uid: text,
    resourceVersion: text,
    aggregated: truth,
  }),
  evidence,
  because: text,
  basis: list(offset),
}
const attempt = record<Attempt>({
  command: text,
  verb,
  intent: text,
  isDryRun: truth,
  finalizer: text,
  state: word<Attempt['state']>({ issued: 1, backoff: 1, 'would-go': 1, confirming: 1, done: 1 }),
  count: number,
  since: number,
  until: number,
  outcome: maybe(outcome),
  reason: text,
})
const verdictType = word<VerdictType>({
  keep: 1,
  deleting: 1,
  blocked: 1,
  verify: 1,
  drop: 1,
  delete: 1,
  annotate: 1,
  wait: 1,
  finish: 1,
})
const verdict = record<Verdict>({
  type: verdictType,
  evidence: maybe(evidence),
  because: text,
  basis: list(offset),
  rule: maybe(text),
})
const heldBy = word<HeldBy>({
  mode: 1,
  pause: 1,
  protection: 1,
  approval: 1,
  breaker: 1,
  hold: 1,
  budget: 1,
  rule: 1,
})
const admission = record<Admission>({
  by: heldBy,
  because: text,
  since: number,
  until: maybe(number),
})
const knownHold = record<KnownHold>({
  by: heldBy,
  evidence: maybe(evidence),
  what: text,
  since: number,
  until: maybe(number),
  because: text,
})
const ruled = word<Ruling['verdict']>({ approved: 1, rejected: 1 })
const hold = record<Hold>({
  by: maybe(heldBy),
  because: text,
  since: number,
  until: maybe(number),
  what: text,
  ruling: maybe(
    record<Ruling>({
      verdict: ruled,
      who: text,
      why: text,
      until: number,
      hash: text,
      what: text,
    }),
  ),
  turn,
})
const standing = word<Standing>({
  solid: 1,
  waiting: 1,
  orphaned: 1,
  dangling: 1,
  unverified: 1,
  unresolvable: 1,
})

type Of<T extends Writable['type']> = Extract<Writable, { readonly type: T }>
/** Draws for all fields but `type`. */
type Fields<T extends Writable['type']> = {
  readonly [K in Exclude<keyof Of<T>, 'type'>]: Draw<Of<T>[K]>
}

const sighting = { ...told, sync: maybe(number), object }

const chunkName = record<ChunkName>({ name: text, count: number })

const node: Fields<'Node'> = {
  object,
  hash: text,
  doubt: maybe(word<Doubt>({ content: 1, unserved: 1 })),
  deletion: maybe(record<AnsweredDeletion>({ isAccepted: truth, isGone: truth })),
  position: offset,
  places: list(maybe(record<EdgePlace>({ kind: text, namespace: text }))),
  namedAt: list(number),
  orphanedAt: maybe(number),
  isFreed: truth,
  letGoAt: maybe(number),
  going: maybe(word<Going>({ whole: 1, part: 1, orphaning: 1 })),
  ringed: truth,
  protectedUntil: maybe(number),
  isWarned: truth,
  warnedAt: list(number),
  dueBy: text,
  verdict: maybe(verdict),
  hold: maybe(hold),
  attempt: maybe(attempt),
}

const checkedList = record<CheckedList>({
  ...{ sync: number, resourceVersion: text, clusterEpoch: number },
  ...{ listed: number, ours: number, others: number },
})
/** All cases: leaving one out does not compile. */
const todo: Draw<Todo> = cases<Todo>({
  subject: { uid: text },
  verify: { uid: text },
  turns: {},
  dependents: { owner: text, place: text },
  waits: { kind: record(groupKind) },
  missing: { kind: record(groupKind), list: checkedList },
  missed: {
    kind: record(groupKind),
    list: checkedList,
    evidence: word<MissedTodo['evidence']>({ missing: 1, bulk: 1 }),
  },
  suspects: { kind: record(groupKind) },
  forget: { kind: record(groupKind) },
  timers: {},
  verdicts: {},
  relist: {},
  rulings: {},
  policies: { kind: record(groupKind) },
  'rule-end': { rule: text },
  ruled: { kind: record(groupKind), namespace: text },
  ring: { root: text },
  'ring-end': { root: text, first: maybe(number) },
  tickets: {
    budget: word<BudgetClass>({ deleted: 1, missing: 1, 'not-found': 1 }),
    isAgain: truth,
  },
  keep: { rule: text, group: text, isAgain: truth },
  uses: { kind: record(groupKind), table: text },
})

const look = record<Look>({
  ...{ command: text, clusterEpoch: number, count: number, since: number, until: number },
  state: word<Look['state']>({ issued: 1, backoff: 1, answered: 1 }),
  reason: text,
  askedFor: text,
})
const mark = maybe(number)
/** All cases: leaving one out does not compile. */
const known: Draw<KnownOwner> = cases<KnownOwner>({
  absent: { proof, orphanedAt: mark, turn, leasedAt: number },
  found: { phase, orphanedAt: mark, lastKnown: offset, times: number, look: maybe(look) },
  asked: { look },
  trace: { orphanedAt: mark, lastKnown: offset, look: maybe(look) },
})

const FIELDS: { readonly [T in Writable['type']]: Fields<T> } = {
  ObjectAdded: sighting,
  ObjectUpdated: sighting,
  ObjectEdited: {
    ...sighting,
    base: text,
    hash: text,
    edits: list(record({ from: number, count: number, added: list(reference) })),
  },
  ObjectDeleted: { ...told, object, ageMs: number },
  Touched: {
    ...groupKind,
    ...told,
    sync: maybe(number),
    entries: list(record({ uid: text, hash: text, resourceVersion: text })),
  },
  OwnerFound: {
    cluster: text,
    clusterEpoch: number,
    owner: coordinates,
    uid: text,
    object,
    command: text,
  },
  OwnerAbsent: {
    cluster: text,
    clusterEpoch: number,
    owner: coordinates,
    uid: text,
    how: word<OwnerAbsent['how']>({ NotFound: 1, OtherUid: 1 }),
    otherUid: maybe(text),
    command: text,
  },
  CommandSettled: {
    cluster: text,
    clusterEpoch: number,
    command: text,
    verb,
    uid: text,
    place: coordinates,
    outcome,
    reason: text,
    code: maybe(number),
    object: maybe(object),
    calls: number,
    list: maybe(record({ hash: text, dropped: list(number) })),
  },
  Continue: {},
  WatcherStarted: { ...told, name: text, clusterEpoch: number, serverTime: maybe(number) },
  SyncStarted: { ...groupKind, ...told, sync: number },
  SyncFinished: {
    ...groupKind,
    ...told,
    sync: number,
    resourceVersion: text,
    listed: setHash,
  },
  KindServed: {
    ...groupKind,
    ...told,
    resource: text,
    scope,
    versions: list(text),
    monitored: truth,
    reason: text,
    ambiguous: truth,
    aggregated: truth,
  },
  KindGone: { ...groupKind, ...told, resource: text },
  Heartbeat: { ...told, kinds: list(record({ ...groupKind, ageMs: number })) },
  PolicyChanged: { policy, who: text, why: text },
  Directive: {
    verb: text,
    cluster: text,
    subject: text,
    digest: maybe(text),
    listed: setHash,
    who: text,
    isProven: truth,
    why: text,
  },

  DeleteObject: {
    ...command,
    propagationPolicy: propagation,
    gracePeriodSeconds: maybe(number),
    references: list(reference),
    listDigest: maybe(text),
    finalizers: list(text),
    owners: claims,
    freshness,
    approvedBy: text,
    decidedAt: number,
    rule: maybe(commandRule),
  },
  AnnotateObject: {
    ...command,
    annotation,
    owners: claims,
    freshness,
    decidedAt: number,
    rule: commandRule,
  },
  OrphanDependent: {
    ...command,
    references: list(reference),
    listDigest: maybe(text),
    drop: list(number),
    owners: claims,
    freshness,
    approvedBy: text,
    decidedAt: number,
  },
  RemoveFinalizer: { ...command, finalizer: text, finalizers: list(text), deletedAt: number },
  VerifyOwner: command,
  WarnObject: { ...command, reason: text, message: text },

  Lineage: {
    ...place,
    cluster: text,
    clusterName: text,
    uid: text,
    version: text,
    scope,
    phase: fc.oneof(phase, just('gone')) as Draw<Lineage['phase']>,
    owners: list(
      record<LineageOwner>({
        apiVersion: text,
        kind: text,
        name: text,
        uid: text,
        controller: truth,
        blocking: truth,
        standing,
      }),
    ),
    createdAt: maybe(number),
    deletedAt: maybe(number),
    why: text,
    doubt: maybe(word<Doubt | 'unwatched'>({ content: 1, unserved: 1, unwatched: 1 })),
    deletion: maybe(
      record<KnownDeletion>({
        by: word<'kinfold' | 'others'>({ kinfold: 1, others: 1 }),
        isGone: truth,
      }),
    ),
    verdict: maybe(verdictType),
    admission: maybe(admission),
    heldBy: maybe(heldBy),
    held: maybe(knownHold),
    evidence: maybe(evidence),
    position: offset,
    at: number,
    moreOwners: number,
    resource: text,
    departure: maybe(
      record<Departure>({
        evidence: word<Departure['evidence']>({ deleted: 1, missing: 1, 'not-found': 1, bulk: 1 }),
        ...{ isWatched: truth, isOrphaning: truth, clusterEpoch: number },
      }),
    ),
  },
  History: {
    ...place,
    cluster: text,
    uid: text,
    change: word<HistoryChange>({
      created: 1,
      references: 1,
      phase: 1,
      verdict: 1,
      command: 1,
      result: 1,
      owner: 1,
      gone: 1,
    }),
    text,
    phase: maybe(phase),
    evidence: maybe(evidence),
    admission: maybe(admission),
    command: maybe(text),
    partition: number,
    position: offset,
    basis: list(offset),
    at: number,
    object: maybe(
      record<KnownObject>({
        phase: maybe(phase),
        createdAt: maybe(number),
        deletedAt: maybe(number),
        owners: list(reference),
        held: maybe(knownHold),
        long: maybe(
          record<LongOwners>({
            chunks: list(chunkName),
            added: list(record<AddedChunk>({ name: text, references: list(reference) })),
          }),
        ),
      }),
    ),
  },

  Control: {
    verb: word<Control['verb']>({
      pause: 1,
      resume: 1,
      relist: 1,
      epoch: 1,
      protect: 1,
      unprotect: 1,
    }),
    cluster: text,
    kind: maybe(record(groupKind)),
    number,
    connected: truth,
    mode: maybe(mode),
    protection: maybe(protection),
    who: text,
    why: text,
  },
  OrderGiven: { offset, digest: text },
  RuleBook: { rules: list(rule), who: text },
  MarkBook: { labels: list(text), annotations: list(text), who: text },
  RuleOrder: { name: text, digest: text, who: text, why: text },
  PolicyStatus: {
    ...{ cluster: text, partition: number, kind: text, version: text, namespace: text, name: text },
    ...{ uid: text, generation: fc.option(number), digest: text, problem: text, isEnforced: truth },
    ...{ matched: number, due: number, held: number, note: text },
  },
  Assignment: { cluster: text, partition: number, objects: number },
  ClusterName: { cluster: text, name: text },
  Watermark: {
    ...groupKind,
    ...told,
    clusterEpoch: number,
    resource: text,
    resourceVersion: text,
    sync: number,
    projection: text,
    partition: number,
    shortNames: list(text),
  },
  FormerChain: { records: list(number), older: maybe(number) },
  LastChange: { position: number, records: list(number), older: maybe(number) },
  FormerReach: {
    begin: number,
    end: number,
    isFilled: truth,
    older: maybe(record<FormerSegment>({ begin: number, end: number })),
  },
  PackedFormers: { partition: number, from: number, to: number, packed: fc.uint8Array() },
  FormerValues: {
    keys: list(text),
    positions: list(number),
    times: list(number),
    values: list(fc.uint8Array()),
  },
  Digest: { partition: number, position: offset, state: text, outputs: text, foldVersion: number },
  Snapshot: {
    partition: number,
    position: offset,
    state: text,
    outputs: text,
    chunk: number,
    last: truth,
    keys: list(text),
    values: list(fc.uint8Array()),
  },
  DeadLetter: {
    topic: text,
    partition: number,
    position: offset,
    key: text,
    reason: text,
    digest: text,
  },
  Archived: {
    ...place,
    cluster: text,
    uid: text,
    version: text,
    resource: text,
    resourceVersion: text,
    ownerReferences: list(reference),
    command: text,
    rule: text,
    createdAt: maybe(number),
    ownerElsewhere: text,
    at: number,
    content: word<Archived['content']>({ whole: 1, metadata: 1 }),
    keyId: text,
    nonce: fc.uint8Array(),
    digest: text,
    chunk: number,
    last: truth,
    piece: fc.uint8Array(),
  },
  ArchiveGap: { cluster: text, namespace: text, from: number, to: number, count: number },
  Actor: {
    cluster: text,
    auditId: text,
    verb: word<DeletionVerb>({ delete: 1, deletecollection: 1, evict: 1 }),
    group: text,
    resource: text,
    namespace: text,
    name: text,
    uid: maybe(text),
    user: text,
    impersonated: maybe(text),
    agent: text,
    mayBeDryRun: truth,
    isBodyKnown: truth,
    from: number,
    at: number,
  },
  ActorGap: {
    cluster: text,
    namespace: maybe(text),
    user: maybe(text),
    cause: word<GapCause>({ share: 1, unreadable: 1 }),
    from: number,
    to: number,
  },

  Node: node,
  LongNode: { node: record<LongNode['node']>(node), chunks: list(chunkName) },
  OwnerChunk: {
    references: list(reference),
    places: node.places,
    namedAt: node.namedAt,
  },
  Seen: { resourceVersion: text, sync: number, clusterEpoch: number },
  Edge: {},
  Count: {
    dependents: number,
    blocking: number,
    waiting: number,
    unserved: number,
  },
  Owner: { known },
  Members: { set: setHash },
  KindName: { kinds: list(text) },
  Kind: {
    phase: word<KindPhase>({ unserved: 1, unmonitored: 1, unsynced: 1, synced: 1 }),
    resource: text,
    scope,
    versions: list(text),
    ambiguous: truth,
    aggregated: truth,
    reason: text,
    since: number,
    clusterEpoch: number,
    openSync: number,
    relistedAt: offset,
    syncedAt: offset,
    blockers: list(record(groupKind)),
    goneAt: list(number),
    scopedAt: number,
    listedBy: number,
    listedAt: number,
  },
  ClusterState: {
    name: text,
    epoch: number,
    clusterEpoch: number,
    startedAt: offset,
    epochAt: offset,
    startedTime: number,
    monitored: number,
    synced: number,
    now: number,
    nextDue: number,
    pulses: list(record({ ...groupKind, aliveAt: number })),
    clockLeadMs: number,
  },
  PolicyState: {
    policy,
    position: offset,
    enforcedAt: offset,
    former: maybe(record<FormerProtection>({ protection, until: number })),
  },
  Directives: {
    pauses: list(record<Pause>({ cluster: text, who: text, why: text })),
    protections: list(
      record<ProtectedSubject>({
        cluster: text,
        subject: text,
        who: text,
        why: text,
        liftedAt: maybe(number),
      }),
    ),
    rules: list(
      record<EnforcedRule>({ name: text, digest: text, who: text, why: text, at: number }),
    ),
    forgotten: list(
      record<ForgottenCluster>({
        cluster: text,
        owner: text,
        who: text,
        why: text,
        at: number,
      }),
    ),
    resumedAt: offset,
  },
  Wait: {},
  Due: {},
  Queued: { isWhole: truth },
  Verification: { witness: number, next: number, isQueued: truth },
  Gets: { count: number, clusterEpoch: number },
  Work: { cluster: text, namespace: text, number, cursor: text, todo },
  Ring: { current: text, visited: number, again: truth },
  RingVisit: { index: number, low: number, from: text, cursor: text },
  Agenda: { head: number, tail: number },
  LaneTurn: { cluster: text, namespace: text, owed: number },
  Lane: {
    head: number,
    tail: number,
    newest: number,
    oldest: number,
    until: number,
    isParked: truth,
  },
  HeldNode: { by: heldBy, position: offset },
  HeldPlan: { set: setHash },
  Ticket: { uid: text, coordinates: maybe(coordinates), number },
  Budget: { asked: minutes, begun: minutes, next: number, dueAt: number },
  Ending: {},
  Definition: {
    spans: list(record<DefinitionSpan>({ since: number, until: maybe(number) })),
  },
  Breaker: { openedAt: number, closedAt: number, because: text },
  Pace: { minute: number, settled: number, refused: number },
  Share: { minutes },
  RuleRun: {
    ...{ digest: text, due: minutes, heldAt: number, because: text },
    heldIn: list(record<HeldNamespace>({ namespace: text, heldAt: number, because: text })),
  },
  RuleTurns: { underWay: counts, waiting: number, freed: number, cursor: text },
  RuleTurn: {},
  RuleOwner: { deletedAt: number, deleted: number, replaced: number },
  ClusterRules: { uids: list(text), isOver: truth, changedAt: offset },
  PolicyRule: {
    policy: record<KnownPolicy>({
      ...{ uid: text, namespace: text, name: text, version: text, createdAt: number },
      ...{ rule, account: text, enforcedAt: number },
    }),
  },
  KeepGroup: { newest: number, count: number, beyond: number, upTo: text, isAgain: truth },
  Kept: {},
  Keeps: {
    rows: list(record<KeptRow>({ rule: text, group: text, order: text, newest: number })),
    waits: list(record(groupKind)),
  },
  Named: { uids: list(text) },
  Using: {
    ...{ table: text, kinds: list(record(groupKind)), lostAt: offset },
    used: list(record<FollowedUse>({ ...groupKind, table: text, since: number })),
  },
  UseKind: { table: text, since: number, silentAt: number, missingAt: number },
  Uses: { places: list(text) },
  Usage: {
    ...{ objects: list(text), thereAt: number, users: number },
    ...{ firstAt: number, lastAt: number, last: text },
  },
  UserRow: { since: number },
  Keeping: { count: number, lostAt: offset },
  OwnerElsewhere: {
    ...{ cluster: text, epoch: number, ownerCluster: text, ownerEpoch: number },
    ...{ place: coordinates, uid: text, version: text, resource: text },
    ...{ createdAt: maybe(number), state: elsewhereState, position: offset },
  },
  ClusterElsewhere: {
    ...{ cluster: text, epoch: number, ownerCluster: text, ownerEpoch: number },
    ...{ state: following, because: text },
  },
  Elsewhere: {
    namers: number,
    fact: maybe(
      record<ElsewhereFact>({
        ...{ state: elsewhereState, since: number, ownerEpoch: number, position: offset },
        ...{ place: coordinates, version: text, resource: text, createdAt: maybe(number) },
      }),
    ),
  },
  ElsewhereCluster: {
    ...{ state: following, because: text, epoch: number, ownerEpoch: number },
    ...{ since: number, heardAt: number, position: offset },
  },
  ElsewhereNamespace: { namers: number, isOver: truth },
  FirstApproval: { set: setHash, who: text, why: text, until: number },
  PlanRuling: { verdict: ruled, who: text, why: text, until: number, position: offset },
  UnreadableHome: { position: offset, reason: text },
  Position: {
    partition: number,
    partitions: number,
    position: offset,
    state: text,
    outputs: text,
    foldVersion: number,
    last: text,
    inForce: fc.array(text, { maxLength: 3 }),
  },
}

const codec = avroCodec()
const directory = fileURLToPath(new URL('../../schemas/', import.meta.url))

for (const [type, fields] of Object.entries(FIELDS)) {
  test(`${type} comes back from its bytes as it was`, () => {
    const draw = record({ type: just(type), ...fields }) as unknown as Draw<Writable>
    fc.assert(
      fc.property(draw, (value) => {
        deepEqual(codec.decode(codec.encode(value)), value)
      }),
      { numRuns: 60 },
    )
  })
}

test('every schema file is a record type, or is used by one', () => {
  const used = new Set<string>()
  for (const name of RECORD_TYPE_NAMES) {
    const text = JSON.stringify(loadRecordSchema(directory, name).current)
    for (const [, type] of text.matchAll(/"name":"([A-Z]\w*)"/g)) used.add(fileName(type!))
  }
  const files = readdirSync(directory).filter((file) => file.endsWith('.avsc'))
  deepEqual(
    files.filter((file) => !used.has(file)),
    [],
  )
})

test('every named type is in our namespace, under one definition', () => {
  const definitions = new Map<string, string>()
  for (const name of RECORD_TYPE_NAMES) {
    const { current } = loadRecordSchema(directory, name)
    const form = canonicalForm(current)
    for (const [, type] of form.matchAll(/"name":"([^"]+)","type":"(?:record|enum)"/g)) {
      ok(type!.startsWith(`${NAMESPACE}.`), type)
    }
    for (const [definition, type] of form.matchAll(/\{"name":"([^"]+)","type":"enum"[^}]*\}/g)) {
      ok((definitions.get(type!) ?? definition) === definition, `${type} is defined twice`)
      definitions.set(type!, definition)
    }
  }
})

test('every version in history lies under its fingerprint, and is read as today', () => {
  for (const name of RECORD_TYPE_NAMES) {
    const { current, former } = loadRecordSchema(directory, name)
    const today = avroTypeOf(current)
    for (const schema of former) {
      today.createResolver(avroTypeOf(schema))
      const type = fileName(name).replace('.avsc', '')
      const path = `history/${type}/${fingerprintOf(schema)}.avsc`
      ok(existsSync(directory + path), `${path} is missing`)
    }
  }
})

test('records from when evidence was a letter and a number are read by its name', () => {
  /** As the version that was kept last writes it. */
  const asBefore = (record: { readonly type: string }): Uint8Array => {
    const former = loadRecordSchema(directory, record.type).former.at(-1)
    ok(former !== undefined, `no former version of ${record.type}`)
    const writer = codecOf([{ name: record.type, current: former, former: [] }])
    return writer.encode(record as unknown as Writable)
  }
  const names = {
    O: 'orphaning',
    E1: 'deleted',
    W: 'waiting',
    E2: 'missing',
    E3: 'not-found',
    E4: 'bulk',
  }
  for (const [evidence, name] of Object.entries(names)) {
    const { freshness: _, ...command } = deleteObject()
    const expected = { ...command, evidence: name, freshness: 'recheck' }
    deepEqual(codec.decode(asBefore({ ...command, evidence } as never)), expected)
  }
  const policy = policyFor('enforce', 'guarded')
  const event = { type: 'PolicyChanged', policy, who: 'a', why: 'b' } as const
  const holds = { e1Ms: 1, e2Ms: 2, e3Ms: 3 }
  const budgets = { e1: 4, e2: 5, e3: 6 }
  deepEqual(codec.decode(asBefore({ ...event, policy: { ...policy, holds, budgets } } as never)), {
    ...event,
    policy: {
      ...policy,
      holds: { deletedMs: 1, missingMs: 2, notFoundMs: 3 },
      budgets: { deleted: 4, missing: 5, notFound: 6 },
    },
  })
})

test('a record written before its schema was edited is read after it, once the version was kept', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-schemas-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const write = (name: string, ...fields: readonly object[]) => {
    const schema = { type: 'record', name, namespace: NAMESPACE, fields }
    writeFileSync(join(directory, fileName(name)), JSON.stringify(schema))
  }
  const load = () => codecOf([loadRecordSchema(directory, 'TopRecord')])
  write('TopRecord', { name: 'part', type: 'SharedPart' })
  write('SharedPart', { name: 'a', type: 'string' })
  keepVersions(directory, ['TopRecord'])
  const value = { type: 'TopRecord', part: { a: 'x' } } as unknown as Writable
  const bytes = load().encode(value)

  write(
    'SharedPart',
    { name: 'b', type: ['null', 'string'], default: null },
    { name: 'a', type: 'string' },
  )
  deepEqual(load().decode(bytes), { type: 'TopRecord', part: { a: 'x', b: null } })
  keepVersions(directory, ['TopRecord'])
  keepVersions(directory, ['TopRecord'])
  equal(readdirSync(join(directory, 'history', 'top-record')).length, 2)
  deepEqual(load().decode(bytes), { type: 'TopRecord', part: { a: 'x', b: null } })
})

test('one of several cases is read after cases were added and reordered', () => {
  const named = (name: string, word: string, ...fields: readonly object[]) => {
    return { type: 'record', name, word, fields }
  }
  const one = named('OneCase', 'one', { name: 'a', type: 'string' })
  const two = named('TwoCase', 'two-b', { name: 'b', type: 'long' })
  const three = named('ThreeCase', 'three')
  const top = (...cases: readonly object[]) => {
    const fields = [{ name: 'which', type: cases }]
    return { type: 'record', name: 'Top', namespace: NAMESPACE, fields } as unknown as Schema
  }
  const former = top(one, two)
  const current = top(three, two, one)
  const before = codecOf([{ name: 'Top', current: former, former: [] }])
  const after = codecOf([{ name: 'Top', current, former: [former] }])
  for (const which of [
    { type: 'one', a: 'x' },
    { type: 'two-b', b: 2 ** 50 },
  ]) {
    const value = { type: 'Top', which } as unknown as Writable
    deepEqual(after.decode(before.encode(value)), value)
    deepEqual(after.decode(after.encode(value)), value)
  }
  const unknown = { type: 'Top', which: { type: 'three' } } as unknown as Writable
  deepEqual(after.decode(after.encode(unknown)), unknown)
  throws(() => before.encode(unknown), /which is an object/)
})
