/**
 * What `/v1` answers, as schemas: each document with all its fields.
 *
 * What must stay true: a schema is the only place where its shape is written; its type is made of
 * it.
 *
 * Not here: what they have in common (part-schema.ts), routes and their parameters (route.ts).
 */
import { ACROSS_GONE, ACROSS_MANAGER, ACROSS_PART, MARKED_BY } from './across-schema.ts'
import { KUBERNETES_SCHEMAS } from './kubernetes-schema.ts'
import {
  ADMISSION,
  AS_OF,
  CLUSTER,
  COUNT_OR_NULL,
  DELETED_BY,
  DELETION,
  DELETION_FIELDS,
  DOUBT,
  EDGE,
  EVIDENCE,
  HELD_BY,
  HELD_COUNTS,
  HISTORY,
  HISTORY_FIELDS,
  HISTORY_RECORD,
  JUDGED,
  LINEAGE_RECORD,
  MISNAMED,
  MODE,
  NAMED,
  NUMBER_OR_NULL,
  OBSTACLE,
  OBSTACLE_FIELDS,
  OFFSET,
  ORPHANED,
  PARTS,
  PHASE,
  PHASES,
  PLANNED,
  PLANNED_OBJECT,
  part,
  REFERENCE,
  SHORT_VERDICT,
  STANDING,
  TREE_NODE,
  USES,
  VERDICT_TYPE,
} from './part-schema.ts'
import {
  EXPLAINED_OBJECT,
  RULE,
  RULE_COUNTS,
  RULE_OBJECT,
  RULE_OF_CLUSTER,
  RULE_WHOLE,
} from './rule-schema.ts'
import {
  COUNT,
  constant,
  type Fields,
  FLAG,
  listOf,
  oneOf,
  orNull,
  record,
  type Schema,
  say,
  TEXT,
  TIME_OR_NULL,
  type TypeOf,
} from './schema.ts'

const DIGEST: Schema<string> = { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' }
const DIGEST_OR_NULL = orNull(DIGEST)
const COMMAND = oneOf([
  ...([
    'DeleteObject',
    'AnnotateObject',
    'OrphanDependent',
    'RemoveFinalizer',
    'VerifyOwner',
    'WarnObject',
  ] as const),
])

const ORDERED = { who: TEXT, why: TEXT }
const STATE_THEN = record({
  phase: oneOf(PHASES),
  deletionTimestamp: TIME_OR_NULL,
  owners: listOf(record(REFERENCE)),
})

const ENTRY = {
  partition: COUNT,
  offset: OFFSET,
  key: say('CLUSTER/UID.', TEXT),
}
const BOUND = {
  earliest: say(
    'Since when all is known; null where there is no bound, or none that is known: `because` says it.',
    TIME_OR_NULL,
  ),
  because: TEXT,
}

/** Of answers about the past. */
const PAST = {
  since: say(
    'From when on it answers; null where nothing is recorded yet, or `from` was asked for.',
    TIME_OR_NULL,
  ),
  until: say('Null: up to now.', TIME_OR_NULL),
  hidden: say('0: what who asks may not list is left out, and not counted (`partial`).', COUNT),
  continue: say('For the next page; null on the last one.', orNull(TEXT)),
  horizon: say('May be null but on the first page.', orNull(record(BOUND))),
}
const FRESH_FIRST = {
  asOf: say(
    'How fresh it is: of each partition that it rests on. May be empty but on the first page.',
    listOf(AS_OF),
  ),
}

const CLUSTER_STATUS = record({
  mode: MODE,
  preset: oneOf(['parity', 'guarded']),
  heartbeatAgeMs: say(
    'Since the last sign of life of its watcher; null before it.',
    NUMBER_OR_NULL,
  ),
  monitored: say('Kinds that are watched.', COUNT),
  synced: say('Those of them that were listed whole.', COUNT),
  lagEntries: say('Events of its partition that are not folded yet.', COUNT),
  isPaused: FLAG,
  pauses: say(
    'The orders that pause it: each takes a resume of its own.',
    listOf(record({ isOfAll: FLAG, who: TEXT, why: TEXT })),
  ),
  openBreakers: say('Of the cluster and of its namespaces.', COUNT),
  held: say(
    'Objects, by what holds them; null while they are counted.',
    orNull(record(HELD_COUNTS)),
  ),
  rules: say(
    'Rules of the policy; null where it has none.',
    orNull(
      record({
        dryRun: say('Those that no order enforces.', COUNT),
        enforced: COUNT,
        overLimit: say('Enforced ones whose limit holds all of them.', COUNT),
        due: say(
          'Objects that a rule has deleted, or would; null while they are counted.',
          NUMBER_OR_NULL,
        ),
      }),
    ),
  ),
  cutOff: say(
    'Clusters of which rules import owners, and which are not followed from here; without those that an order forgets.',
    listOf(record({ ownerCluster: CLUSTER, because: say('As a clause.', TEXT) })),
  ),
  forgotten: say(
    'Clusters of which rules import owners, and which an order forgets here: nothing is due by an owner in them.',
    listOf(record({ ownerCluster: CLUSTER, ...ORDERED, since: TIME_OR_NULL })),
  ),
  refused: say(
    'Objects that the cluster refuses to change; null while they are counted.',
    NUMBER_OR_NULL,
  ),
  overdue: say(
    'Objects that exist over 10 minutes after their deletion was asked for, and their grace period was over; null while they are counted.',
    orNull(
      record({
        objects: COUNT,
        since: say('Of the one that waits longest.', TIME_OR_NULL),
        example: say(
          'That one; null where it is not known by name.',
          orNull(record({ ...NAMED, phase: PHASE, because: say('What it waits for.', TEXT) })),
        ),
      }),
    ),
  ),
})

const CLUSTER_OR_NULL = say('Null for all clusters.', orNull(CLUSTER))

const FRESH = {
  asOf: say('How fresh it is: of each partition that it rests on.', listOf(AS_OF)),
}
const ABOUT_ONE = { cluster: CLUSTER, ...FRESH }

function document<const K extends string, F extends Fields>(
  kind: K,
  description: string,
  fields: F,
) {
  const envelope = {
    apiVersion: constant('kinfold/v1'),
    kind: constant(kind),
    partial: say('Why the answer may be incomplete; empty when it is complete.', TEXT),
  }
  return part(kind, description, { ...envelope, ...fields })
}

export const TREE = document('Tree', 'Dependents of an object, level by level, or its owners.', {
  ...ABOUT_ONE,
  root: say(
    'Of a deleted one the tree is that before its deletion, with each object as it is now, and what references it since.',
    TREE_NODE,
  ),
  deletion: say(
    'Who deleted it, or is deleting it; null of one that is there, and at a moment of the past.',
    orNull(DELETION),
  ),
  deletedAt: say('When that was over or, where it is not, had begun.', TIME_OR_NULL),
  misnamed: say('Of the root; none where owners are asked for.', MISNAMED),
  uses: say('Of the root, where that is asked for.', orNull(USES)),
})
export type Tree = TypeOf<typeof TREE>

export const ACROSS = document(
  'Across',
  'What the marks of tools name as managed by an object, in all clusters, and what names it as its owner in another cluster. Nothing of it is an owner reference: its tool decides what is deleted with it, or a rule.',
  {
    ...FRESH,
    asked: record({ kind: TEXT, namespace: orNull(TEXT), name: TEXT }),
    text: say('The numbers, as one sentence.', TEXT),
    managers: say('Objects that are watched, and may be the manager.', listOf(ACROSS_MANAGER)),
    marked: say('Objects with a mark of it.', COUNT),
    kept: say('Of those, objects that their tool keeps, by another mark.', COUNT),
    dependents: say('Objects that those own that are not kept, and so on.', COUNT),
    parts: listOf(ACROSS_PART),
    along: say(
      'The same of the objects that `along` names; in no other number or list of this answer.',
      listOf(ACROSS_PART),
    ),
    gone: say('By cluster and rule; empty unless `goneSince` asks for it.', listOf(ACROSS_GONE)),
  },
)
export type Across = TypeOf<typeof ACROSS>

export const DEPENDENT_LIST = document(
  'DependentList',
  'One page of the direct dependents of an object. One that who asks may not get is called hidden.',
  {
    ...ABOUT_ONE,
    owner: record(NAMED),
    objects: listOf(
      record({
        ...NAMED,
        phase: PHASE,
        ...{ createdAt: TIME_OR_NULL, deletionTimestamp: TIME_OR_NULL },
        ...JUDGED,
        edge: say('Of its reference to the owner.', record(EDGE)),
      }),
    ),
    count: say('Dependents of this page.', COUNT),
    continue: say('For the next page; null on the last one.', orNull(TEXT)),
    misnamed: say('Of the owner; on the first page only.', MISNAMED),
  },
)
export type DependentList = TypeOf<typeof DEPENDENT_LIST>

export const WHY = document(
  'Why',
  'Why an object exists, is being deleted or was deleted: its state and history.',
  {
    ...ABOUT_ONE,
    object: record({ ...NAMED, at: say('Of the last event about it.', TIME_OR_NULL) }),
    phase: say(
      'Null once it is deleted. `reaped` and `suspect` are deprecated: `deletion.isGone` and `doubt` say it.',
      orNull(oneOf([...PHASES, 'unknown'])),
    ),
    doubt: DOUBT,
    managers: say(
      'Of other tools, as its marks name them; empty where none is read (`across`).',
      listOf(MARKED_BY),
    ),
    references: listOf(
      record({
        ...REFERENCE,
        standing: say('Null at a moment of the past.', orNull(STANDING)),
        reason: say('Empty at a moment of the past.', TEXT),
      }),
    ),
    elsewhere: say(
      'What is known of the owner in another cluster that its annotation names, for each rule that asks for one; empty where none does.',
      listOf(
        record({
          rule: TEXT,
          owner: say(
            'As the annotation names it; its cluster by its id alone to who may not see the whole graph.',
            record({ cluster: CLUSTER, ...NAMED }),
          ),
          state: say(
            '`refused`: not imported, or not exported to this cluster. `forgotten`: its cluster is, by an order.',
            oneOf(['refused', 'forgotten', 'unknown', 'there', 'orphaned', 'deleted']),
          ),
          because: TEXT,
        }),
      ),
    ),
    verdict: orNull(
      record({
        ...{ type: VERDICT_TYPE, evidence: orNull(EVIDENCE), because: TEXT },
        basis: say('Offsets of the events and of the policy that it rests on.', listOf(TEXT)),
        rule: say('The rule that decided; null where owners did.', orNull(TEXT)),
      }),
    ),
    admission: ADMISSION,
    attempt: say(
      'The command that was sent last.',
      orNull(
        record({
          ...{ command: TEXT, verb: COMMAND, isDryRun: FLAG, finalizer: TEXT },
          state: oneOf(['issued', 'backoff', 'would-go', 'confirming', 'done']),
          ...{ count: COUNT, since: TIME_OR_NULL, until: TIME_OR_NULL, reason: TEXT },
          outcome: orNull(oneOf(['done', 'absent', 'would-go', 'stale', 'blocked'])),
        }),
      ),
    ),
    obstacle: say('What prevents what the verdict asks for.', orNull(OBSTACLE)),
    asOwner: say(
      'What is known of it as an owner, where it is not watched or is deleted.',
      orNull(
        record({
          state: oneOf(['unknown', 'absent', 'found']),
          phase: orNull(oneOf(PHASES)),
          orphanedAt: TIME_OR_NULL,
          proof: orNull(record({ evidence: EVIDENCE, at: TIME_OR_NULL, position: OFFSET })),
        }),
      ),
    ),
    history: listOf(HISTORY),
    deletion: say(
      'Who deleted it, or is deleting it; null of one that is there, and at a moment of the past.',
      orNull(DELETION),
    ),
    deletedBy: say(
      "Who asked for its deletion, and for that of its owners that are deleted, as the cluster's audit log says; the object first. Empty where nobody can say.",
      listOf(DELETED_BY),
    ),
    orphaned: say(
      'Of one that exists: the owner whose deletion with orphan removed the reference that it had, where the record proves that; null where it has got an owner since, and at a moment of the past.',
      orNull(ORPHANED),
    ),
    restored: say(
      'Of one that exists: the uids that it had, and when it was created, by the annotation that `kinfold restore` writes on what it makes, as other clients might; null where it has none.',
      orNull(record({ from: listOf(TEXT), at: TIME_OR_NULL })),
    ),
    restoredAs: say(
      'Of a deleted one: what exists in its place now, and by that annotation was restored from it; null where there is none, and at a moment of the past.',
      orNull(record({ uid: TEXT, at: TIME_OR_NULL })),
    ),
    others: say(
      'Other objects that have or had its name, the latest first.',
      listOf(record({ cluster: CLUSTER, uid: TEXT, isThere: FLAG, at: TIME_OR_NULL })),
    ),
  },
)
export type Why = TypeOf<typeof WHY>

export const CASCADE = document('Cascade', 'Progress of a deletion.', {
  ...ABOUT_ONE,
  root: record({ ...NAMED, phase: TEXT }),
  since: say('When its deletion was observed; null where that is not known.', TIME_OR_NULL),
  done: say('Dependents that are deleted, or lost the reference.', COUNT),
  kept: say('Of `done`, those that exist without the reference, as when it orphaned them.', COUNT),
  remaining: COUNT,
  hidden: say(
    'Of those, objects that who asks may not get: `kinds`, `blocked` and `waiting` are not about them.',
    COUNT,
  ),
  progress: record({
    reaping: COUNT,
    blocked: COUNT,
    waiting: COUNT,
    queued: COUNT,
    unknown: COUNT,
  }),
  kinds: listOf(record({ group: TEXT, kind: TEXT, done: COUNT, remaining: COUNT })),
  blocked: listOf(record({ ...NAMED, ...OBSTACLE_FIELDS })),
  waiting: listOf(
    record({ ...NAMED, phase: TEXT, because: TEXT, dependents: COUNT, blocking: COUNT }),
  ),
  deletion: say('Who deleted the owner, or is deleting it.', orNull(DELETION)),
  deletedAt: say('When that was over or, where it is not, had begun.', TIME_OR_NULL),
  isOver: say('It is deleted, and no dependent remains.', FLAG),
  isFinal: say('Nothing will change any more.', FLAG),
})
export type Cascade = TypeOf<typeof CASCADE>

export const PLAN = document('Plan', 'What would be deleted with an object.', {
  ...ABOUT_ONE,
  root: PLANNED_OBJECT,
  cascade: oneOf(['background', 'foreground', 'orphan']),
  counts: listOf(record({ group: TEXT, kind: TEXT, effect: PLANNED.effect, count: COUNT })),
  total: say('Null where it cannot be known.', COUNT_OR_NULL),
  hidden: say(
    'Objects that who asks may not get: `counts` and `objects` are not about them.',
    COUNT,
  ),
  objects: listOf(PLANNED_OBJECT),
  holds: say('What the present policy would prevent or delay, in words.', listOf(TEXT)),
  digest: say('Null where the plan is incomplete, or part of it is hidden.', DIGEST_OR_NULL),
  notes: say(
    'What is no part of it by choice, such as the objects of kinds that are left out; empty where nothing is.',
    TEXT,
  ),
})
export type Plan = TypeOf<typeof PLAN>

export const HELD_PLAN = document('HeldPlan', 'What waits for approval in a cluster.', {
  ...ABOUT_ONE,
  total: COUNT,
  objects: listOf(
    record({
      ...NAMED,
      verdict: SHORT_VERDICT,
      admission: ADMISSION,
      by: say('Deprecated: `admission.by`.', HELD_BY),
      evidence: TEXT,
      what: say('What would be done.', TEXT),
      because: say('Of the verdict, and of what holds it.', TEXT),
      since: say('Deprecated: `admission.since`.', TIME_OR_NULL),
      until: say('Deprecated: `admission.until`.', TIME_OR_NULL),
    }),
  ),
  digest: say('What an approval names; null where it cannot be read for certain.', DIGEST_OR_NULL),
  approvals: say('How many people have to approve.', COUNT),
  first: orNull(record({ ...ORDERED, until: TIME_OR_NULL })),
})
export type HeldPlan = TypeOf<typeof HELD_PLAN>

export const HELD = document('Held', 'What would be deleted and is held, and by what.', {
  ...FRESH,
  mode: say(
    'Null where this process has no partition, and at a moment before the first policy.',
    orNull(MODE),
  ),
  pauses: listOf(record({ cluster: CLUSTER_OR_NULL, ...ORDERED })),
  protections: listOf(record({ cluster: CLUSTER_OR_NULL, subject: TEXT, ...ORDERED })),
  breakers: listOf(
    record({
      cluster: CLUSTER,
      namespace: say('Empty for the breaker of the cluster.', TEXT),
      since: TIME_OR_NULL,
      because: TEXT,
    }),
  ),
  refused: listOf(
    record({
      cluster: CLUSTER,
      ...{ objects: COUNT, since: TIME_OR_NULL, tries: COUNT, nextTry: TIME_OR_NULL },
      example: TEXT,
    }),
  ),
  clock: say('Why holds last longer than by the wall clock; empty while that is believed.', TEXT),
  total: COUNT,
  hidden: say('0: what who asks may not list is left out, and not counted (`partial`).', COUNT),
  counts: listOf(
    record({
      cluster: CLUSTER,
      ...{ by: HELD_BY, evidence: TEXT, group: TEXT, kind: TEXT, namespace: TEXT },
      ...{ count: COUNT, since: TIME_OR_NULL, until: TIME_OR_NULL, because: TEXT },
    }),
  ),
})
export type Held = TypeOf<typeof HELD>

export const RULE_LIST = document('RuleList', 'Rules of the policy, and what each is about.', {
  ...FRESH,
  rules: listOf(
    record({
      rule: RULE,
      clusters: say('Empty where nothing is counted.', listOf(RULE_OF_CLUSTER)),
    }),
  ),
})
export type RuleList = TypeOf<typeof RULE_LIST>

export const RULE_PLAN = document(
  'RulePlan',
  'One page of what a rule deletes, or would: by the time when each is due.',
  {
    ...ABOUT_ONE,
    rule: RULE,
    counts: say('Of all pages together.', RULE_COUNTS),
    hidden: say('0: what who asks may not list is left out, and not counted (`partial`).', COUNT),
    objects: listOf(RULE_OBJECT),
    continue: say('For the next page; null on the last one.', orNull(TEXT)),
  },
)
export type RulePlan = TypeOf<typeof RULE_PLAN>

export const RULE_EXPLANATION = document(
  'RuleExplanation',
  'A rule whole, and what it says of an object.',
  {
    cluster: say('Of the object, and of the policy; null before any was watched.', orNull(CLUSTER)),
    ...FRESH,
    rule: RULE,
    ...RULE_WHOLE,
    object: say('Null where none is asked about.', EXPLAINED_OBJECT),
  },
)
export type RuleExplanation = TypeOf<typeof RULE_EXPLANATION>

export const CLUSTER_LIST = document(
  'ClusterList',
  'Clusters that were ever watched, and how each stands.',
  {
    clusters: listOf(
      record({
        cluster: CLUSTER,
        partition: COUNT,
        status: say(
          'Null where the process that has it cannot be asked, or is still restoring it.',
          orNull(CLUSTER_STATUS),
        ),
      }),
    ),
  },
)
export type ClusterList = TypeOf<typeof CLUSTER_LIST>

export const OBJECT_LIST = document('ObjectList', 'One page of objects.', {
  ...FRESH,
  objects: listOf(
    record(
      {
        ...{ cluster: CLUSTER, ...NAMED, phase: TEXT },
        ...{ createdAt: TIME_OR_NULL, deletionTimestamp: TIME_OR_NULL, goneAt: TIME_OR_NULL },
        ...JUDGED,
        owners: say('Uids; of a deleted object with more than 64 the first 16.', listOf(TEXT)),
        moreOwners: say('How many owners there are behind those in owners.', COUNT),
      },
      {
        references: say(
          'With the parameter of that name; null of a deleted object.',
          orNull(listOf(record(REFERENCE))),
        ),
      },
    ),
  ),
  count: say('Objects of this page.', COUNT),
  continue: say('For the next page; null on the last one.', orNull(TEXT)),
  kinds: say('Kinds of its cluster that the question means; empty where all are.', listOf(TEXT)),
})
export type ObjectList = TypeOf<typeof OBJECT_LIST>

const SINCE_STUCK = say(
  'Since when only finalizers hold it: when its grace period was over, in the time of the log.',
  TIME_OR_NULL,
)

export const FINALIZER_LIST = document(
  'FinalizerList',
  'One page of objects that are being deleted and held by finalizers.',
  {
    ...FRESH,
    objects: listOf(
      record({
        ...{ cluster: CLUSTER, ...NAMED, phase: PHASE, resourceVersion: TEXT },
        deletionTimestamp: TIME_OR_NULL,
        since: SINCE_STUCK,
        finalizers: listOf(
          record({
            name: TEXT,
            by: say('Who removes it; empty where that is not known.', TEXT),
            once: say(
              'What has to hold before; null where nothing has to, or it is not known.',
              orNull(TEXT),
            ),
          }),
        ),
        because: say('What it waits for, as a sentence without its subject.', TEXT),
        deletion: say(
          'Who asked for its deletion; null at a moment of the past.',
          orNull(DELETION),
        ),
        blocks: say(
          'What waits for it: owners that are deleted in the foreground or with orphan, at most 20, and its namespace (whose uid is not known here).',
          listOf(record({ ...NAMED, by: oneOf(['foreground', 'orphan', 'namespace']) })),
        ),
      }),
    ),
    continue: say('For the next page; null on the last one.', orNull(TEXT)),
  },
)
export type FinalizerList = TypeOf<typeof FINALIZER_LIST>

export const FINALIZER_PLAN = document(
  'FinalizerPlan',
  'What removing one finalizer of an object means.',
  {
    ...ABOUT_ONE,
    object: record({ ...NAMED, phase: PHASE }),
    ...{ resourceVersion: TEXT, since: SINCE_STUCK },
    ...{ finalizers: listOf(TEXT), finalizer: say('The one to be removed.', TEXT) },
    refused: say('Why an order is refused; empty where it is not.', TEXT),
    paused: say('Why nothing is sent now; empty where it is.', TEXT),
    mode: MODE,
    means: say('What follows from it; empty where it is refused.', TEXT),
    call: say('What is sent; empty where it is refused.', TEXT),
    subject: say('What an order names.', TEXT),
    digest: say('What an order names; null where it is refused.', DIGEST_OR_NULL),
  },
)
export type FinalizerPlan = TypeOf<typeof FINALIZER_PLAN>

export const FORGET_PLAN = document(
  'ForgetPlan',
  'What an order that forgets a cluster means for objects of others that name owners there.',
  {
    ...FRESH,
    ownerCluster: say('The one that is to be forgotten.', CLUSTER),
    clusters: say(
      'Those with objects that name owners there, or where it is forgotten: each takes an order of its own.',
      listOf(
        record({
          cluster: CLUSTER,
          followed: say('Why it is not followed from there; empty where it is.', TEXT),
          forgottenBy: say(
            'The order that forgets it there; null where none does.',
            orNull(record({ ...ORDERED, since: TIME_OR_NULL })),
          ),
          named: say('Objects that name an owner there, whether a rule asks or not.', COUNT),
          rules: say(
            'Those that import its owners: what the order ends.',
            listOf(
              record({
                rule: TEXT,
                objects: say('Whose time has come, and whose owner is shared.', COUNT),
                due: say('Of those, objects whose owner is known to be deleted.', COUNT),
              }),
            ),
          ),
          objects: listOf(
            record({
              ...NAMED,
              owner: record(NAMED),
              rule: TEXT,
              isDue: say('Its owner is known to be deleted: the order keeps it.', FLAG),
              because: say('What is known of its owner, as a sentence.', TEXT),
            }),
          ),
          refused: say('Why an order is refused; empty where it is not.', TEXT),
          digest: say('What an order names; null where it is refused.', DIGEST_OR_NULL),
        }),
      ),
    ),
  },
)
export type ForgetPlan = TypeOf<typeof FORGET_PLAN>

export const CHANGE_LIST = document('ChangeList', 'One page of what happened, the oldest first.', {
  ...FRESH_FIRST,
  ...PAST,
  object: say(
    'Which one is meant; null where more than one is asked about.',
    orNull(record({ cluster: CLUSTER, ...NAMED })),
  ),
  changes: listOf(record({ cluster: CLUSTER, ...HISTORY_FIELDS, at: TIME_OR_NULL })),
  resume: say(
    'What `from` of /v1/history takes to go on behind the last page; null but on the first one.',
    orNull(TEXT),
  ),
})
export type ChangeList = TypeOf<typeof CHANGE_LIST>

export const DELETION_LIST = document('DeletionList', 'One page of deletions, the oldest first.', {
  ...FRESH_FIRST,
  ...PAST,
  deletions: listOf(
    record({
      ...{ cluster: CLUSTER, ...NAMED, at: TIME_OR_NULL },
      ...{ partition: COUNT, position: OFFSET },
      observed: say('How it was learnt.', orNull(EVIDENCE)),
      ...DELETION_FIELDS,
      text: say('One sentence.', TEXT),
    }),
  ),
  resume: say(
    'What `from` takes to list what comes behind the last page, as that of /v1/history does; null but on the first one.',
    orNull(TEXT),
  ),
})
export type DeletionList = TypeOf<typeof DELETION_LIST>

export const DIFF = document(
  'Diff',
  'One page of what differs between two moments: of one cluster.',
  {
    ...FRESH_FIRST,
    from: say('The earlier moment, of the cluster of this page.', orNull(AS_OF)),
    to: say('The later one.', orNull(AS_OF)),
    differences: listOf(
      record({
        ...{ cluster: CLUSTER, ...NAMED },
        change: oneOf(['added', 'deleted', 'changed']),
        at: say('Append time of its last change before the later moment.', TIME_OR_NULL),
        createdAt: TIME_OR_NULL,
        from: say('Null where it was not there.', orNull(STATE_THEN)),
        to: say('Null where it was not there any more.', orNull(STATE_THEN)),
        deletion: say('Of a deleted one.', orNull(DELETION)),
      }),
    ),
    kinds: say(
      "Kinds of this page's cluster that `kind` means; empty where all are.",
      listOf(TEXT),
    ),
    continue: say('For the next page; null on the last one.', orNull(TEXT)),
  },
)
export type Diff = TypeOf<typeof DIFF>

export const HORIZON = document('Horizon', 'How far back each question reaches, and why.', {
  ...FRESH,
  bounds: listOf(
    record({
      source: oneOf(['history', 'index', 'moments', 'actors', 'events', 'remember']),
      questions: say('In words of the command line.', listOf(TEXT)),
      ...BOUND,
      partitions: listOf(
        record({
          partition: COUNT,
          first: say(
            'Offset of the first entry that is kept, or was indexed; of moments, of the earliest one as a position.',
            OFFSET,
          ),
          ...BOUND,
        }),
      ),
    }),
  ),
})
export type Horizon = TypeOf<typeof HORIZON>

export const SHADOW = document(
  'Shadow',
  'Where another collector and Kinfold agree, and where they differ.',
  {
    since: say('Null while nothing is compared.', TIME_OR_NULL),
    mode: orNull(MODE),
    patienceMs: COUNT,
    clusters: listOf(
      record({
        cluster: CLUSTER,
        ...{ agreed: COUNT, theirs: COUNT, ours: COUNT, unclear: COUNT, pending: COUNT },
        ...{ medianLagMs: NUMBER_OR_NULL, p99LagMs: NUMBER_OR_NULL },
      }),
    ),
    cases: listOf(
      record({
        cluster: CLUSTER,
        agreement: oneOf(['theirs', 'ours', 'unclear']),
        ...NAMED,
        because: TEXT,
        evidence: orNull(EVIDENCE),
        at: TIME_OR_NULL,
      }),
    ),
  },
)
export type Shadow = TypeOf<typeof SHADOW>

export const DIRECTIVE_RESULT = document('DirectiveResult', 'What became of an order.', {
  verb: TEXT,
  cluster: CLUSTER_OR_NULL,
  about: say('In words: what was paused, protected and so on.', TEXT),
  who: TEXT,
  effective: say('For people.', TEXT),
  partitions: COUNT,
  folded: say('Partitions of this process that have folded it.', COUNT),
})
export type DirectiveResult = TypeOf<typeof DIRECTIVE_RESULT>

export const AUDIT_EVENTS_RESULT = document(
  'AuditEventsResult',
  "What became of events of a cluster's audit log.",
  {
    cluster: CLUSTER,
    received: COUNT,
    kept: say('Those that attribute a deletion; all others are forgotten.', COUNT),
    overShare: say("Those that do, and are above their user's share of a day.", COUNT),
    unreadable: say('Those that are no audit events.', COUNT),
  },
)
export type AuditEventsResult = TypeOf<typeof AUDIT_EVENTS_RESULT>

export const FIREHOSE_RESULT = part(
  'FirehoseResult',
  'The same, to a request with the header X-Amz-Firehose-Request-Id: as Data Firehose expects it.',
  { requestId: TEXT, timestamp: say('Milliseconds since 1970.', COUNT) },
)
export type FirehoseResult = TypeOf<typeof FIREHOSE_RESULT>

export const LINEAGE_ENTRY = part('LineageEntry', 'One line of the stream.', {
  topic: constant('lineage'),
  ...ENTRY,
  value: say('Null: the object is forgotten.', orNull(LINEAGE_RECORD)),
})
export type LineageEntry = TypeOf<typeof LINEAGE_ENTRY>

export const HISTORY_ENTRY = part('HistoryEntry', 'One line of the stream.', {
  topic: constant('history'),
  ...ENTRY,
  value: HISTORY_RECORD,
})
export type HistoryEntry = TypeOf<typeof HISTORY_ENTRY>

/** All of `components/schemas`. */
export const SCHEMAS: Readonly<Record<string, Schema>> = { ...PARTS, ...KUBERNETES_SCHEMAS }
