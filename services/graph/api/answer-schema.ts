/**
 * What `/v1` answers, as schemas: each document with all its fields.
 *
 * What must stay true: answer.test.ts compares them with what a server sends.
 *
 * Not here: routes and their parameters (route.ts).
 */
import { KUBERNETES_SCHEMAS } from './kubernetes-schema.ts'
import {
  COUNT,
  FLAG,
  listOf,
  oneOf,
  orNull,
  record,
  ref,
  type Schema,
  say,
  TEXT,
  TIME_OR_NULL,
} from './schema.ts'

const NAMED = { group: TEXT, kind: TEXT, namespace: TEXT, name: TEXT, uid: TEXT }
const NUMBER_OR_NULL: Schema = { type: ['number', 'null'] }
const COUNT_OR_NULL: Schema = { type: ['integer', 'null'] }
const DIGEST_OR_NULL: Schema = orNull({ type: 'string', pattern: '^sha256:[0-9a-f]{64}$' })
const OFFSET: Schema = say('Offset of an entry of the log.', COUNT)

const PHASES = ['observed', 'deleting', 'waiting', 'orphaning', 'reaped', 'suspect']
const STANDING = oneOf([
  ...['solid', 'waiting', 'orphaned', 'dangling', 'unverified', 'unresolvable'],
])
const EVIDENCE = oneOf(['orphaning', 'deleted', 'waiting', 'missing', 'not-found', 'bulk'])
const VERDICT_TYPE = oneOf([
  ...['keep', 'deleting', 'blocked', 'verify', 'drop', 'reap', 'held', 'wait', 'finish'],
])
const HELD_BY = oneOf(['mode', 'pause', 'protection', 'approval', 'breaker', 'hold', 'budget'])
const MODE = oneOf(['observe', 'dry-run', 'enforce'])

const DELETER = {
  user: say('Who proved to be it to the API server.', TEXT),
  impersonated: say('As whom that user asked; null for themselves.', orNull(TEXT)),
  agent: say('User agent: what the client says of itself.', TEXT),
  isCollector: say(
    "Kubernetes' own garbage collector, by its account or by the end of its agent.",
    FLAG,
  ),
  verb: oneOf(['delete', 'deletecollection', 'evict']),
  match: say(
    'How the request was found. `audit-id`: of a command about this object; `uid`: it says the uid. The others are guesses: a request about this name, or about all of its kind in its namespace, within seconds of the deletion.',
    oneOf(['audit-id', 'uid', 'name-and-time', 'collection-and-time']),
  ),
  others: say('Of a guess: requests of other users that fit as well.', COUNT),
  auditId: TEXT,
  at: say("When the request was answered, by the API server's clock.", TIME_OR_NULL),
}
const OBSTACLE_BY = oneOf([
  ...['refused', 'stale', 'unresolvable', 'unverified', 'held', 'unconfirmed', 'finalizers'],
  ...['doubt', 'dry-run'],
])
const COMMANDS = [
  ...['DeleteObject', 'OrphanDependent', 'RemoveFinalizer', 'VerifyOwner', 'WarnObject'],
]

const SHORT_VERDICT = orNull(record({ type: VERDICT_TYPE, because: TEXT }))

const EDGE = { standing: STANDING, controller: FLAG, blocking: FLAG }

const OBSTACLE = {
  by: OBSTACLE_BY,
  reason: TEXT,
  since: TIME_OR_NULL,
  count: say('Tries so far; null when there is nothing to try.', COUNT_OR_NULL),
  until: say('When it is tried again; null when only a change can help.', TIME_OR_NULL),
}

const PLANNED = {
  ...NAMED,
  resourceVersion: TEXT,
  effect: oneOf(['deleted', 'stuck', 'kept', 'orphaned', 'blocked']),
  because: TEXT,
  owners: say('What owns it afterwards, as KIND/NAME.', listOf(TEXT)),
  finalizers: listOf(TEXT),
}

const ORDERED = { who: TEXT, why: TEXT }
const CLUSTER_OR_NULL = say('Null for all clusters.', orNull(ref('Cluster')))

const HISTORY = {
  ...{ uid: TEXT, group: TEXT, kind: TEXT, namespace: TEXT, name: TEXT },
  type: { const: 'History' },
  change: oneOf([
    ...['created', 'references', 'phase', 'verdict', 'command', 'result', 'owner', 'gone'],
  ]),
  text: say('One sentence.', TEXT),
  phase: orNull(oneOf(PHASES)),
  evidence: orNull(EVIDENCE),
  command: say('Id of the command.', orNull(TEXT)),
  partition: COUNT,
  position: OFFSET,
  basis: say('Offsets of the events and of the policy that it rests on.', listOf(OFFSET)),
}

const BY = say(
  '`others`: by anybody but Kinfold; `unknown`: it is not recorded, or not any more.',
  oneOf(['kinfold', 'others', 'unknown']),
)
/** Of each answer that names a deletion. */
const DELETION = {
  by: BY,
  evidence: say('What the delete of Kinfold rested on.', orNull(EVIDENCE)),
  command: say('Id of the command of Kinfold.', orNull(TEXT)),
  deletedBy: say(
    "Who asked for it, as the cluster's audit log says; null where nobody can say.",
    orNull(ref('Deleter')),
  ),
  root: say(
    'The owner by whose deletion it was deleted, perhaps through others: one that no collector deleted. Null where that is not known, and of what a user or a controller deleted.',
    orNull(record(NAMED)),
  ),
  rootDeletedBy: say(
    'Who asked for the deletion of `root`; null where nobody can say.',
    orNull(ref('Deleter')),
  ),
  isInferred: say(
    'Another collector deleted it, or an owner of it, and the record has that `root` was why.',
    FLAG,
  ),
  isRootKnown: say(
    'False: it may have followed from the deletion of an owner, of which one is not known.',
    FLAG,
  ),
  unseenSince: say(
    'It was deleted between then and the time of its record: nothing was seen of its cluster. Null: it was reported at once, as far as is known.',
    TIME_OR_NULL,
  ),
}
const REFERENCE = {
  ...{ apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT },
  ...{ controller: orNull(FLAG), blockOwnerDeletion: orNull(FLAG) },
}
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
const MILLISECONDS = say('Milliseconds since 1970.', { type: 'integer' })
const MILLISECONDS_OR_NULL = say('Milliseconds since 1970.', { type: ['integer', 'null'] })

const KNOWN_HOLD = say(
  'What holds it; null for nothing, and in mode observe.',
  orNull(
    record({
      by: HELD_BY,
      evidence: orNull(EVIDENCE),
      what: say('What would be done.', TEXT),
      since: MILLISECONDS,
      until: say('When it may be done; null when only an event can help.', MILLISECONDS_OR_NULL),
      because: TEXT,
    }),
  ),
)

function entry(fields: Readonly<Record<string, Schema>> & { readonly topic: Schema }): Schema {
  return record(fields)
}

function document(
  kind: string,
  fields: Readonly<Record<string, Schema>>,
  description: string,
): Schema {
  const envelope = {
    apiVersion: { const: 'kinfold/v1' },
    kind: { const: kind },
    partial: say('Why the answer may be incomplete; empty when it is complete.', TEXT),
  }
  return say(description, record({ ...envelope, ...fields }))
}

const FRESH = {
  asOf: say('How fresh it is: of each partition that it rests on.', listOf(ref('AsOf'))),
}
const ABOUT_ONE = { cluster: ref('Cluster'), ...FRESH }

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
    listOf(ref('AsOf')),
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
    orNull(
      record({
        ...{ mode: COUNT, pause: COUNT, protection: COUNT, approval: COUNT },
        ...{ breaker: COUNT, hold: COUNT, budget: COUNT },
      }),
    ),
  ),
  refused: say(
    'Objects that the cluster refuses to change; null while they are counted.',
    NUMBER_OR_NULL,
  ),
})

const OWNER_REFERENCE = record({
  ...{ apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT },
  ...{ controller: orNull(FLAG), blockOwnerDeletion: orNull(FLAG) },
})
const LONG_OWNERS = record({
  chunks: say(
    'All together they are the list, in this order.',
    listOf(record({ name: TEXT, count: COUNT })),
  ),
  added: say(
    'Those that no entry about this object has had since it was created.',
    listOf(record({ name: TEXT, references: listOf(OWNER_REFERENCE) })),
  ),
})

const PARTS: Readonly<Record<string, Schema>> = {
  Cluster: say(
    'A cluster, by name and id.',
    record({
      name: TEXT,
      id: say('Uid of its namespace kube-system.', TEXT),
      scope: say(
        'What the parameter `cluster` takes: its name, or its id where two clusters have that name.',
        TEXT,
      ),
    }),
  ),
  AsOf: record({
    partition: COUNT,
    position: say(
      'Everything in the topic `events` before this offset is in the answer; null where a moment was asked by its time.',
      COUNT_OR_NULL,
    ),
    time: say('Log time of the cluster by then; the moment that was asked.', TIME_OR_NULL),
  }),
  TreeNode: record({
    ...NAMED,
    phase: say(
      'Of an object: observed, deleting, waiting, orphaning, reaped, suspect; of an owner that is not watched: absent, found, unknown; gone, once it is deleted.',
      TEXT,
    ),
    createdAt: say('Null where the record does not have it, as of a deleted one.', TIME_OR_NULL),
    edge: say(
      'Of the reference between this object and the one above it; null for the root.',
      orNull(record({ ...EDGE, standing: say('Null at a moment of the past.', orNull(STANDING)) })),
    ),
    verdict: SHORT_VERDICT,
    repeated: say('It is elsewhere in the tree, with its dependents.', FLAG),
    children: listOf(ref('TreeNode')),
  }),
  Misnamed: say(
    'What bears the uid of the object in a reference that names other coordinates: another namespace, kind or name. It is no dependent, and nothing else of the answer is about it.',
    record({
      references: listOf(
        record({
          ...NAMED,
          reference: say(
            'As it is written; its uid is that of the object that was asked for.',
            record({ apiVersion: TEXT, kind: TEXT, name: TEXT }),
          ),
        }),
      ),
      hidden: say('Who asks may not get these.', COUNT),
      isCut: say('There may be more.', FLAG),
    }),
  ),
  Obstacle: record(OBSTACLE),
  DeletedBy: record({
    object: record(NAMED),
    isInferred: say(
      'Of an owner: another collector deleted what it owned, and the record has that this was why.',
      FLAG,
    ),
    ...DELETER,
  }),
  Deleter: record(DELETER),
  Deletion: record({
    ...DELETION,
    text: say('Why Kinfold deleted it; empty where it did not.', TEXT),
  }),
  PlannedObject: record(PLANNED),
  History: record({ ...HISTORY, at: TIME_OR_NULL }),
  HistoryRecord: say(
    'A record of the log, as it is.',
    record({
      ...HISTORY,
      cluster: TEXT,
      at: MILLISECONDS,
      object: say(
        'What is known of the object from then on: of created, references, phase and gone, and of others that changed it; null in the rest.',
        orNull(
          record({
            phase: say(
              'Null once it is deleted, or of a kind that is not watched.',
              orNull(oneOf(PHASES)),
            ),
            createdAt: MILLISECONDS_OR_NULL,
            deletedAt: MILLISECONDS_OR_NULL,
            owners: say('Of more than 64 the first 16.', listOf(OWNER_REFERENCE)),
            held: KNOWN_HOLD,
            long: say(
              'Where there are more than 64 owners: all of them, in chunks.',
              orNull(LONG_OWNERS),
            ),
          }),
        ),
      ),
    }),
  ),
  LineageRecord: say(
    'A record of the log, as it is.',
    record({
      ...NAMED,
      type: { const: 'Lineage' },
      cluster: TEXT,
      clusterName: TEXT,
      version: TEXT,
      scope: oneOf(['Namespaced', 'Cluster']),
      phase: oneOf([...PHASES, 'gone']),
      owners: listOf(
        record({
          ...{ apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT },
          ...{ controller: FLAG, blocking: FLAG, standing: STANDING },
        }),
      ),
      createdAt: MILLISECONDS_OR_NULL,
      deletedAt: MILLISECONDS_OR_NULL,
      why: TEXT,
      verdict: orNull(VERDICT_TYPE),
      heldBy: orNull(HELD_BY),
      held: KNOWN_HOLD,
      evidence: orNull(EVIDENCE),
      position: OFFSET,
      at: MILLISECONDS,
      moreOwners: say('How many owners there are behind those in owners.', COUNT),
    }),
  ),
  Problem: say(
    'RFC 9457. `detail` is one sentence that says what to do.',
    record({
      type: { const: 'about:blank' },
      title: say('The phrase of the status.', TEXT),
      status: { type: 'integer' },
      detail: TEXT,
    }),
  ),
}

const DOCUMENTS: Readonly<Record<string, Schema>> = {
  Tree: document(
    'Tree',
    {
      ...ABOUT_ONE,
      root: say(
        'Of a deleted one the tree is that before its deletion, with each object as it is now, and what references it since.',
        ref('TreeNode'),
      ),
      deletion: say(
        'Who deleted it, or is deleting it; null of one that is there, and at a moment of the past.',
        orNull(ref('Deletion')),
      ),
      deletedAt: say('When that was over or, where it is not, had begun.', TIME_OR_NULL),
      misnamed: say('Of the root; none where owners are asked for.', ref('Misnamed')),
    },
    'Dependents of an object, level by level, or its owners.',
  ),
  DependentList: document(
    'DependentList',
    {
      ...ABOUT_ONE,
      owner: record(NAMED),
      objects: listOf(
        record({
          ...NAMED,
          phase: oneOf(PHASES),
          ...{ createdAt: TIME_OR_NULL, deletionTimestamp: TIME_OR_NULL },
          verdict: SHORT_VERDICT,
          edge: say('Of its reference to the owner.', record(EDGE)),
        }),
      ),
      count: say('Dependents of this page.', COUNT),
      continue: say('For the next page; null on the last one.', orNull(TEXT)),
      misnamed: say('Of the owner; on the first page only.', ref('Misnamed')),
    },
    'One page of the direct dependents of an object. One that who asks may not get is called hidden.',
  ),
  Why: document(
    'Why',
    {
      ...ABOUT_ONE,
      object: record({ ...NAMED, at: say('Of the last event about it.', TIME_OR_NULL) }),
      phase: say('Null once it is deleted.', orNull(oneOf([...PHASES, 'unknown']))),
      references: listOf(
        record({
          ...REFERENCE,
          standing: say('Null at a moment of the past.', orNull(STANDING)),
          reason: say('Empty at a moment of the past.', TEXT),
        }),
      ),
      verdict: orNull(
        record({
          ...{ type: VERDICT_TYPE, evidence: orNull(EVIDENCE), because: TEXT },
          basis: say('Offsets of the events and of the policy that it rests on.', listOf(TEXT)),
        }),
      ),
      attempt: say(
        'The command that was sent last.',
        orNull(
          record({
            ...{ command: TEXT, verb: oneOf(COMMANDS), isDryRun: FLAG, finalizer: TEXT },
            state: oneOf(['issued', 'backoff', 'would-go', 'confirming', 'done']),
            ...{ count: COUNT, since: TIME_OR_NULL, until: TIME_OR_NULL, reason: TEXT },
            outcome: orNull(oneOf(['done', 'absent', 'would-go', 'stale', 'blocked'])),
          }),
        ),
      ),
      obstacle: say('What prevents what the verdict asks for.', orNull(ref('Obstacle'))),
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
      history: listOf(ref('History')),
      deletion: say(
        'Who deleted it, or is deleting it; null of one that is there, and at a moment of the past.',
        orNull(ref('Deletion')),
      ),
      deletedBy: say(
        "Who asked for its deletion, and for that of its owners that are deleted, as the cluster's audit log says; the object first. Empty where nobody can say.",
        listOf(ref('DeletedBy')),
      ),
      others: say(
        'Other objects that have or had its name, the latest first.',
        listOf(record({ cluster: ref('Cluster'), uid: TEXT, isThere: FLAG, at: TIME_OR_NULL })),
      ),
    },
    'Why an object exists, is being deleted or was deleted: its state and history.',
  ),
  Cascade: document(
    'Cascade',
    {
      ...ABOUT_ONE,
      root: record({ ...NAMED, phase: TEXT }),
      since: say('When its deletion was observed; null where that is not known.', TIME_OR_NULL),
      done: say('Dependents that are deleted, or lost the reference.', COUNT),
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
      blocked: listOf(record({ ...NAMED, ...OBSTACLE })),
      waiting: listOf(
        record({ ...NAMED, phase: TEXT, because: TEXT, dependents: COUNT, blocking: COUNT }),
      ),
      deletion: say('Who deleted the owner, or is deleting it.', orNull(ref('Deletion'))),
      isOver: say('It is deleted, and no dependent remains.', FLAG),
      isFinal: say('Nothing will change any more.', FLAG),
    },
    'Progress of a deletion.',
  ),
  Plan: document(
    'Plan',
    {
      ...ABOUT_ONE,
      root: ref('PlannedObject'),
      cascade: oneOf(['background', 'foreground', 'orphan']),
      counts: listOf(record({ group: TEXT, kind: TEXT, effect: PLANNED.effect, count: COUNT })),
      total: say('Null where it cannot be known.', COUNT_OR_NULL),
      hidden: say(
        'Objects that who asks may not get: `counts` and `objects` are not about them.',
        COUNT,
      ),
      objects: listOf(ref('PlannedObject')),
      holds: say('What the present policy would prevent or delay, in words.', listOf(TEXT)),
      digest: say('Null where the plan is incomplete, or part of it is hidden.', DIGEST_OR_NULL),
      notes: say(
        'What is no part of it by choice, such as the objects of kinds that are left out; empty where nothing is.',
        TEXT,
      ),
    },
    'What would be deleted with an object.',
  ),
  HeldPlan: document(
    'HeldPlan',
    {
      ...ABOUT_ONE,
      total: COUNT,
      objects: listOf(
        record({
          ...NAMED,
          by: HELD_BY,
          evidence: TEXT,
          what: say('What would be done.', TEXT),
          because: TEXT,
          since: TIME_OR_NULL,
          until: TIME_OR_NULL,
        }),
      ),
      digest: say(
        'What an approval names; null where it cannot be read for certain.',
        DIGEST_OR_NULL,
      ),
      approvals: say('How many people have to approve.', COUNT),
      first: orNull(record({ ...ORDERED, until: TIME_OR_NULL })),
    },
    'What waits for approval in a cluster.',
  ),
  Held: document(
    'Held',
    {
      ...FRESH,
      mode: say(
        'Null where this process has no partition, and at a moment before the first policy.',
        orNull(MODE),
      ),
      pauses: listOf(record({ cluster: CLUSTER_OR_NULL, ...ORDERED })),
      protections: listOf(record({ cluster: CLUSTER_OR_NULL, subject: TEXT, ...ORDERED })),
      breakers: listOf(
        record({
          cluster: ref('Cluster'),
          namespace: say('Empty for the breaker of the cluster.', TEXT),
          since: TIME_OR_NULL,
          because: TEXT,
        }),
      ),
      refused: listOf(
        record({
          cluster: ref('Cluster'),
          ...{ objects: COUNT, since: TIME_OR_NULL, tries: COUNT, nextTry: TIME_OR_NULL },
          example: TEXT,
        }),
      ),
      clock: say(
        'Why holds last longer than by the wall clock; empty while that is believed.',
        TEXT,
      ),
      total: COUNT,
      hidden: say('0: what who asks may not list is left out, and not counted (`partial`).', COUNT),
      counts: listOf(
        record({
          cluster: ref('Cluster'),
          ...{ by: HELD_BY, evidence: TEXT, group: TEXT, kind: TEXT, namespace: TEXT },
          ...{ count: COUNT, since: TIME_OR_NULL, until: TIME_OR_NULL, because: TEXT },
        }),
      ),
    },
    'What would be deleted and is held, and by what.',
  ),
  ClusterList: document(
    'ClusterList',
    {
      clusters: listOf(
        record({
          cluster: ref('Cluster'),
          partition: COUNT,
          status: say(
            'Null where the process that has it cannot be asked, or is still restoring it.',
            orNull(CLUSTER_STATUS),
          ),
        }),
      ),
    },
    'Clusters that were ever watched, and how each stands.',
  ),
  ObjectList: document(
    'ObjectList',
    {
      ...FRESH,
      objects: listOf(
        record(
          {
            ...{ cluster: ref('Cluster'), ...NAMED, phase: TEXT },
            ...{ createdAt: TIME_OR_NULL, deletionTimestamp: TIME_OR_NULL, goneAt: TIME_OR_NULL },
            verdict: SHORT_VERDICT,
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
      kinds: say(
        'Kinds of its cluster that the question means; empty where all are.',
        listOf(TEXT),
      ),
    },
    'One page of objects.',
  ),
  ChangeList: document(
    'ChangeList',
    {
      ...FRESH_FIRST,
      ...PAST,
      object: say(
        'Which one is meant; null where more than one is asked about.',
        orNull(record({ cluster: ref('Cluster'), ...NAMED })),
      ),
      changes: listOf(record({ cluster: ref('Cluster'), ...HISTORY, at: TIME_OR_NULL })),
      resume: say(
        'What `from` of /v1/history takes to go on behind the last page; null but on the first one.',
        orNull(TEXT),
      ),
    },
    'One page of what happened, the oldest first.',
  ),
  DeletionList: document(
    'DeletionList',
    {
      ...FRESH_FIRST,
      ...PAST,
      deletions: listOf(
        record({
          ...{ cluster: ref('Cluster'), ...NAMED, at: TIME_OR_NULL },
          ...{ partition: COUNT, position: OFFSET },
          observed: say('How it was learnt.', orNull(EVIDENCE)),
          ...DELETION,
          text: say('One sentence.', TEXT),
        }),
      ),
      resume: say(
        'What `from` takes to list what comes behind the last page, as that of /v1/history does; null but on the first one.',
        orNull(TEXT),
      ),
    },
    'One page of deletions, the oldest first.',
  ),
  Diff: document(
    'Diff',
    {
      ...FRESH_FIRST,
      from: say('The earlier moment, of the cluster of this page.', orNull(ref('AsOf'))),
      to: say('The later one.', orNull(ref('AsOf'))),
      differences: listOf(
        record({
          ...{ cluster: ref('Cluster'), ...NAMED },
          change: oneOf(['added', 'deleted', 'changed']),
          at: say('Append time of its last change before the later moment.', TIME_OR_NULL),
          createdAt: TIME_OR_NULL,
          from: say('Null where it was not there.', orNull(STATE_THEN)),
          to: say('Null where it was not there any more.', orNull(STATE_THEN)),
          deletion: say('Of a deleted one.', orNull(ref('Deletion'))),
        }),
      ),
      kinds: say(
        "Kinds of this page's cluster that `kind` means; empty where all are.",
        listOf(TEXT),
      ),
      continue: say('For the next page; null on the last one.', orNull(TEXT)),
    },
    'One page of what differs between two moments: of one cluster.',
  ),
  Horizon: document(
    'Horizon',
    {
      ...FRESH,
      bounds: listOf(
        record({
          source: oneOf(['history', 'index', 'moments', 'events', 'remember']),
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
    },
    'How far back each question reaches, and why.',
  ),
  Shadow: document(
    'Shadow',
    {
      since: say('Null while nothing is compared.', TIME_OR_NULL),
      mode: orNull(MODE),
      patienceMs: COUNT,
      clusters: listOf(
        record({
          cluster: ref('Cluster'),
          ...{ agreed: COUNT, theirs: COUNT, ours: COUNT, unclear: COUNT, pending: COUNT },
          ...{ medianLagMs: NUMBER_OR_NULL, p99LagMs: NUMBER_OR_NULL },
        }),
      ),
      cases: listOf(
        record({
          cluster: ref('Cluster'),
          agreement: oneOf(['theirs', 'ours', 'unclear']),
          ...NAMED,
          because: TEXT,
          evidence: orNull(EVIDENCE),
          at: TIME_OR_NULL,
        }),
      ),
    },
    'Where another collector and Kinfold agree, and where they differ.',
  ),
  DirectiveResult: document(
    'DirectiveResult',
    {
      verb: TEXT,
      cluster: CLUSTER_OR_NULL,
      about: say('In words: what was paused, protected and so on.', TEXT),
      who: TEXT,
      effective: say('For people.', TEXT),
      partitions: COUNT,
      folded: say('Partitions of this process that have folded it.', COUNT),
    },
    'What became of an order.',
  ),
  AuditEventsResult: document(
    'AuditEventsResult',
    {
      cluster: ref('Cluster'),
      received: COUNT,
      kept: say('Those that attribute a deletion; all others are forgotten.', COUNT),
      overShare: say("Those that do, and are above their user's share of a day.", COUNT),
      unreadable: say('Those that are no audit events.', COUNT),
    },
    "What became of events of a cluster's audit log.",
  ),
  FirehoseResult: say(
    'The same, to a request with the header X-Amz-Firehose-Request-Id: as Data Firehose expects it.',
    record({ requestId: TEXT, timestamp: say('Milliseconds since 1970.', COUNT) }),
  ),
  LineageEntry: say(
    'One line of the stream.',
    entry({
      topic: { const: 'lineage' },
      ...ENTRY,
      value: say('Null: the object is forgotten.', orNull(ref('LineageRecord'))),
    }),
  ),
  HistoryEntry: say(
    'One line of the stream.',
    entry({ topic: { const: 'history' }, ...ENTRY, value: ref('HistoryRecord') }),
  ),
}

/** All of `components/schemas`. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...PARTS,
  ...DOCUMENTS,
  ...KUBERNETES_SCHEMAS,
}
