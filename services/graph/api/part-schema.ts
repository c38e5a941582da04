/**
 * What documents of `/v1` have in common, and records of the log, as schemas.
 *
 * What must stay true: a schema is the only place where its shape is written; its type is made of
 * it.
 *
 * Not here: the documents (answer-schema.ts).
 */
import {
  COUNT,
  component,
  constant,
  type Fields,
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
  type TypeOf,
  type TypesOf,
} from './schema.ts'

/** By name, in the order in which they are written: these, then the documents. */
export const PARTS: Record<string, Schema> = {}

export function part<F extends Fields>(name: string, description: string, fields: F) {
  return component(PARTS, name, description, fields)
}

export const NAMED = { group: TEXT, kind: TEXT, namespace: TEXT, name: TEXT, uid: TEXT }
export const NUMBER_OR_NULL: Schema<number | null> = { type: ['number', 'null'] }
export const COUNT_OR_NULL: Schema<number | null> = { type: ['integer', 'null'] }
export const OFFSET = say('Offset of an entry of the log.', COUNT)

export const PHASES = ['observed', 'deleting', 'waiting', 'orphaning', 'reaped', 'suspect'] as const
export const STANDING = oneOf([
  ...(['solid', 'waiting', 'orphaned', 'dangling', 'unverified', 'unresolvable'] as const),
])
export const EVIDENCE = oneOf([
  'orphaning',
  'deleted',
  'waiting',
  'missing',
  'not-found',
  'bulk',
  'rule',
])
export const VERDICT_TYPE = oneOf([
  ...([
    'keep',
    'deleting',
    'blocked',
    'verify',
    'drop',
    'delete',
    'annotate',
    'wait',
    'finish',
  ] as const),
])
export const HELD_BY = oneOf([
  'mode',
  'pause',
  'protection',
  'approval',
  'breaker',
  'hold',
  'budget',
  'rule',
])
/** Objects, by what holds them. */
export const HELD_COUNTS = {
  ...{ mode: COUNT, pause: COUNT, protection: COUNT, approval: COUNT },
  ...{ breaker: COUNT, hold: COUNT, budget: COUNT, rule: COUNT },
}
export const MODE = oneOf(['observe', 'dry-run', 'enforce'])

const DELETER_FIELDS = {
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
  ...([
    'refused',
    'stale',
    'unresolvable',
    'unverified',
    'held',
    'unconfirmed',
    'finalizers',
  ] as const),
  ...(['doubt', 'dry-run'] as const),
])
export const SHORT_VERDICT = say(
  'What should become of it, whatever holds that (`admission`).',
  orNull(record({ type: VERDICT_TYPE, because: TEXT })),
)

const ADMISSION_PART = part('Admission', 'What keeps a verdict from being carried out.', {
  by: HELD_BY,
  because: TEXT,
  since: say('Since when the object has been to go.', TIME_OR_NULL),
  until: say('When that is over; null when only an event can help.', TIME_OR_NULL),
})
export type Admission = TypeOf<typeof ADMISSION_PART>
export const ADMISSION = say('What holds the verdict; null for nothing.', orNull(ADMISSION_PART))

export const DOUBT = say(
  'Why its content is not trusted until a list shows it: `content` is not what a watcher confirmed, `unserved` its kind is no longer served. Null where it is trusted.',
  orNull(oneOf(['content', 'unserved'])),
)

const KNOWN_DELETION = say(
  'Null where it is not being deleted, and once it is gone.',
  orNull(
    record({
      by: say('Who asked for it.', oneOf(['kinfold', 'others'])),
      isGone: say('A server has said that it is gone; no watch has confirmed it yet.', FLAG),
    }),
  ),
)

/** Of each answer about an object that is there. */
export const JUDGED = {
  verdict: SHORT_VERDICT,
  admission: ADMISSION,
  doubt: DOUBT,
  deletion: KNOWN_DELETION,
}
export type Judged = TypesOf<typeof JUDGED>

/** Two words of the phase are said elsewhere from now on. */
const OF_PHASE = '`reaped` and `suspect` are deprecated: `deletion.isGone` and `doubt` say it.'
export const PHASE = say(`Of an object. ${OF_PHASE}`, oneOf(PHASES))

export const EDGE = { standing: STANDING, controller: FLAG, blocking: FLAG }

export const OBSTACLE_FIELDS = {
  by: OBSTACLE_BY,
  reason: TEXT,
  since: TIME_OR_NULL,
  count: say('Tries so far; null when there is nothing to try.', COUNT_OR_NULL),
  until: say('When it is tried again; null when only a change can help.', TIME_OR_NULL),
}

export const PLANNED = {
  ...NAMED,
  resourceVersion: TEXT,
  effect: oneOf(['deleted', 'stuck', 'kept', 'orphaned', 'blocked']),
  because: TEXT,
  owners: say('What owns it afterwards, as KIND/NAME.', listOf(TEXT)),
  finalizers: listOf(TEXT),
}

export const HISTORY_FIELDS = {
  ...{ uid: TEXT, group: TEXT, kind: TEXT, namespace: TEXT, name: TEXT },
  type: constant('History'),
  change: oneOf([
    ...([
      'created',
      'references',
      'phase',
      'verdict',
      'command',
      'result',
      'owner',
      'gone',
    ] as const),
  ]),
  text: say('One sentence.', TEXT),
  phase: say(`Of created and phase: the object's from then on.`, orNull(oneOf(PHASES))),
  evidence: orNull(EVIDENCE),
  admission: say(
    'Of verdict: what holds it from then on; null for nothing.',
    orNull(ADMISSION_PART),
  ),
  command: say('Id of the command.', orNull(TEXT)),
  partition: COUNT,
  position: OFFSET,
  basis: say('Offsets of the events and of the policy that it rests on.', listOf(OFFSET)),
}

const BY = say(
  '`others`: by anybody but Kinfold; `unknown`: it is not recorded, or not any more.',
  oneOf(['kinfold', 'others', 'unknown']),
)
export const REFERENCE = {
  ...{ apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT },
  ...{ controller: orNull(FLAG), blockOwnerDeletion: orNull(FLAG) },
}
const WHOLE: Schema<number> = { type: 'integer' }
const MILLISECONDS = say('Milliseconds since 1970.', WHOLE)
const MILLISECONDS_OR_NULL = say('Milliseconds since 1970.', COUNT_OR_NULL)

const ADMISSION_RECORD = say(
  'What holds the verdict; null for nothing.',
  orNull(record({ by: HELD_BY, because: TEXT, since: MILLISECONDS, until: MILLISECONDS_OR_NULL })),
)

const KNOWN_HOLD = say(
  'What holds it, with the reason of its verdict; null for nothing, and in mode observe.',
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

const OWNER_REFERENCE = record(REFERENCE)
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

export const CLUSTER = part('Cluster', 'A cluster, by name and id.', {
  name: TEXT,
  id: say('Uid of its namespace kube-system.', TEXT),
  scope: say(
    'What the parameter `cluster` takes: its name, or its id where two clusters have that name.',
    TEXT,
  ),
})
export type Cluster = TypeOf<typeof CLUSTER>

export const AS_OF = part('AsOf', '', {
  partition: COUNT,
  position: say(
    'Everything in the topic `events` before this offset is in the answer; null where a moment was asked by its time.',
    COUNT_OR_NULL,
  ),
  time: say('Log time of the cluster by then; the moment that was asked.', TIME_OR_NULL),
})
export type AsOf = TypeOf<typeof AS_OF>

const NODE_FIELDS = {
  ...NAMED,
  phase: say(
    `Of an object: observed, deleting, waiting, orphaning, reaped, suspect; of an owner that is not watched: absent, found, unknown; gone, once it is deleted. ${OF_PHASE}`,
    TEXT,
  ),
  createdAt: say('Null where the record does not have it, as of a deleted one.', TIME_OR_NULL),
  edge: say(
    'Of the reference between this object and the one above it; null for the root.',
    orNull(record({ ...EDGE, standing: say('Null at a moment of the past.', orNull(STANDING)) })),
  ),
  ...JUDGED,
  repeated: say('It is elsewhere in the tree, with its dependents.', FLAG),
}
/** It refers to itself, which no inferred type can. */
export type TreeNode = TypesOf<typeof NODE_FIELDS> & { readonly children: readonly TreeNode[] }
export const TREE_NODE: Schema<TreeNode> = part('TreeNode', '', {
  ...NODE_FIELDS,
  children: listOf(ref<TreeNode>('TreeNode')),
})

export const MISNAMED = part(
  'Misnamed',
  'What bears the uid of the object in a reference that names other coordinates: another namespace, kind or name. It is no dependent, and nothing else of the answer is about it.',
  {
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
  },
)
export type Misnamed = TypeOf<typeof MISNAMED>

const USED_FIELDS = {
  ...{ group: TEXT, kind: TEXT, namespace: TEXT },
  name: say('`*`: any; at the end of a name: any number.', TEXT),
}

export const USES = part('Uses', 'Which objects use an object, and which it uses, by name.', {
  isFollowed: say(
    'A rule asks what nothing uses of its kind: otherwise no user of it is known.',
    FLAG,
  ),
  users: listOf(
    record({ ...USED_FIELDS, uid: orNull(TEXT), since: say('As far as is known.', TIME_OR_NULL) }),
  ),
  uses: listOf(
    record({
      ...USED_FIELDS,
      uid: say('Null where none is there by that name.', orNull(TEXT)),
      since: say('As far as is known.', TIME_OR_NULL),
    }),
  ),
  hidden: say('Who asks may not get these.', COUNT),
  isCut: say('There may be more.', FLAG),
  unread: say('Objects that may use it: what they use was not read.', COUNT),
  firstUsedAt: say('As far as is known.', TIME_OR_NULL),
  lastUsedAt: say('When a use of it ended last.', TIME_OR_NULL),
  lastUser: say(
    'Which user came or left last, as `KIND/NAME`; null where it is hidden.',
    orNull(TEXT),
  ),
})
export type Uses = TypeOf<typeof USES>

export const OBSTACLE = part('Obstacle', '', OBSTACLE_FIELDS)
export type Obstacle = TypeOf<typeof OBSTACLE>

export const DELETED_BY = part('DeletedBy', '', {
  object: record(NAMED),
  isInferred: say(
    'Of an owner: another collector deleted what it owned, and the record has that this was why.',
    FLAG,
  ),
  ...DELETER_FIELDS,
})
export type DeletedBy = TypeOf<typeof DELETED_BY>

export const DELETER = part('Deleter', '', DELETER_FIELDS)
export type Deleter = TypeOf<typeof DELETER>

/** Of each answer that names a deletion. */
export const DELETION_FIELDS = {
  by: BY,
  evidence: say('What the delete of Kinfold rested on.', orNull(EVIDENCE)),
  command: say('Id of the command of Kinfold.', orNull(TEXT)),
  deletedBy: say(
    "Who asked for it, as the cluster's audit log says; null where nobody can say.",
    orNull(DELETER),
  ),
  unproven: say(
    'Where nobody can say: who asked last to delete that name while it existed, and of how many others requests fit as well. Nothing proves that it was this object, so no list of what a user deleted has it. Null where there is none.',
    orNull(
      record({
        ...{ user: TEXT, impersonated: orNull(TEXT), agent: TEXT, others: COUNT },
        at: TIME_OR_NULL,
      }),
    ),
  ),
  root: say(
    'The owner by whose deletion it was deleted, perhaps through others: one that no collector deleted. Null where that is not known, and of what a user or a controller deleted.',
    orNull(record(NAMED)),
  ),
  rootDeletedBy: say(
    'Who asked for the deletion of `root`; null where nobody can say.',
    orNull(DELETER),
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
export const DELETION = part('Deletion', '', {
  ...DELETION_FIELDS,
  text: say('Why Kinfold deleted it; empty where it did not.', TEXT),
})
export type Deletion = TypeOf<typeof DELETION>

export const ORPHANED = part('Orphaned', '', {
  owner: say('The owner that was deleted with orphan.', record(NAMED)),
  at: say('When the reference to it was removed.', TIME_OR_NULL),
  since: say('When the deletion of the owner began.', TIME_OR_NULL),
  isOver: say('The owner is deleted.', FLAG),
  deletion: say(
    'Who deleted the owner. Null where its deletion was first asked for without orphan, and where who asks may not get it.',
    orNull(DELETION),
  ),
})
export type Orphaned = TypeOf<typeof ORPHANED>

export const PLANNED_OBJECT = part('PlannedObject', '', PLANNED)
export type PlannedObject = TypeOf<typeof PLANNED_OBJECT>

export const HISTORY = part('History', '', { ...HISTORY_FIELDS, at: TIME_OR_NULL })
export type History = TypeOf<typeof HISTORY>

export const HISTORY_RECORD = part('HistoryRecord', 'A record of the log, as it is.', {
  ...HISTORY_FIELDS,
  cluster: TEXT,
  admission: ADMISSION_RECORD,
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
})
export type HistoryRecord = TypeOf<typeof HISTORY_RECORD>

export const LINEAGE_RECORD = part('LineageRecord', 'A record of the log, as it is.', {
  ...NAMED,
  type: constant('Lineage'),
  cluster: TEXT,
  clusterName: TEXT,
  version: TEXT,
  scope: oneOf(['Namespaced', 'Cluster']),
  phase: say(OF_PHASE, oneOf([...PHASES, 'gone'])),
  doubt: say(
    'Why its content is not trusted until a list shows it; `unwatched`: its kind is unwatched by now. Null where it is trusted.',
    orNull(oneOf(['content', 'unserved', 'unwatched'])),
  ),
  deletion: KNOWN_DELETION,
  owners: listOf(
    record({
      ...{ apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT },
      ...{ controller: FLAG, blocking: FLAG, standing: STANDING },
    }),
  ),
  createdAt: MILLISECONDS_OR_NULL,
  deletedAt: MILLISECONDS_OR_NULL,
  why: TEXT,
  verdict: say('Whatever holds it.', orNull(VERDICT_TYPE)),
  admission: ADMISSION_RECORD,
  heldBy: say('Deprecated: `admission.by`.', orNull(HELD_BY)),
  held: say('Deprecated: `admission`. Null in mode observe.', KNOWN_HOLD),
  evidence: orNull(EVIDENCE),
  position: OFFSET,
  at: MILLISECONDS,
  moreOwners: say('How many owners there are behind those in owners.', COUNT),
  resource: say('Plural name in paths; empty in records of older versions.', TEXT),
  departure: say(
    'How it left. Null where it is not `gone`, and in records of older versions.',
    orNull(
      record({
        evidence: oneOf(['deleted', 'missing', 'not-found', 'bulk']),
        isWatched: say('A live watch observed its deletion.', FLAG),
        isOrphaning: say('It orphaned its dependents.', FLAG),
        clusterEpoch: say('Of its cluster, then.', WHOLE),
      }),
    ),
  ),
})
export type LineageRecord = TypeOf<typeof LINEAGE_RECORD>

export const PROBLEM = part('Problem', 'RFC 9457. `detail` is one sentence that says what to do.', {
  type: constant('about:blank'),
  title: say('The phrase of the status.', TEXT),
  status: WHOLE,
  detail: TEXT,
})
export type Problem = TypeOf<typeof PROBLEM>
