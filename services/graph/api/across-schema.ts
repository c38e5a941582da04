/**
 * Parts of the answers about managers that tools' marks name, as schemas.
 *
 * What must stay true: a schema is the only place where its shape is written; its type is made of
 * it.
 *
 * Not here: the documents (answer-schema.ts), what marks are (ports/record/manager-mark.ts).
 */
import { CLUSTER, NAMED, PHASE, part } from './part-schema.ts'
import {
  COUNT,
  FLAG,
  listOf,
  oneOf,
  orNull,
  record,
  say,
  TEXT,
  TIME_OR_NULL,
  type TypeOf,
} from './schema.ts'

export type Phase = TypeOf<typeof PHASE>

const TOOL = {
  tool: say(
    'As the settings name it, such as `argo`; `kinfold`: an owner that `kinfold.io/owner` names.',
    TEXT,
  ),
  toolName: say('For people.', TEXT),
}

/** What a mark names. */
const MANAGER = {
  ...TOOL,
  group: TEXT,
  kind: say('Null where the mark does not say it.', orNull(TEXT)),
  namespace: say(
    'Empty for a kind without namespaces; null where the mark does not say it.',
    orNull(TEXT),
  ),
  name: TEXT,
}

export const MARKED_BY = part(
  'MarkedBy',
  'The manager that a mark of the object names. Anybody who may write its labels may write that.',
  { ...MANAGER, mark: say('Where it stands, such as `label KEY`.', TEXT) },
)

const DELETES = oneOf(['managed', 'nothing', 'unknown'])
const WHAT_DELETES = {
  deletes: say(
    'What the tool deletes when the manager is deleted: what it manages, or nothing. `unknown` where the manager is not watched, or several may be meant. Of `kinfold`: what the rule that `because` names has deleted.',
    DELETES,
  ),
  because: say('One sentence.', TEXT),
}

export const ACROSS_MANAGER = record({
  cluster: CLUSTER,
  ...TOOL,
  ...NAMED,
  phase: PHASE,
  ...WHAT_DELETES,
})

export const ACROSS_PART = part('AcrossPart', 'What one mark names as managed in one cluster.', {
  cluster: CLUSTER,
  manager: record(MANAGER),
  managers: say('How many watched objects may be that manager.', COUNT),
  by: say('The cluster of the manager, where one alone may be it.', orNull(CLUSTER)),
  marked: say('Objects with the mark.', COUNT),
  kept: say('Of those, objects with a mark by which their tool keeps them.', COUNT),
  dependents: say('Objects that those own that are not kept, and so on.', COUNT),
  ...WHAT_DELETES,
  objects: say(
    'With the mark; fewer than `marked` where the answer lists no more.',
    listOf(
      record({
        ...NAMED,
        phase: PHASE,
        createdAt: TIME_OR_NULL,
        isKept: say('Its tool keeps it, by another mark.', FLAG),
      }),
    ),
  ),
})
export type AcrossPartDocument = TypeOf<typeof ACROSS_PART>

const GONE_OBJECT = record({ ...NAMED, goneAt: TIME_OR_NULL })
export type GoneObjectDocument = TypeOf<typeof GONE_OBJECT>

export const ACROSS_GONE = part(
  'AcrossGone',
  'What named the owner by `kinfold.io/owner` in one cluster, and is gone since the owner was deleted.',
  {
    cluster: CLUSTER,
    by: say('The cluster of the owner.', CLUSTER),
    rule: say(
      'That had it deleted, since its owner was; null: it is gone otherwise.',
      orNull(TEXT),
    ),
    because: say('One sentence.', TEXT),
    gone: COUNT,
    dependents: say('Objects that those owned, and so on, and that are gone, too.', COUNT),
    left: say('Of these, objects that are there still.', COUNT),
    objects: say('Fewer than `gone` where the answer lists no more.', listOf(GONE_OBJECT)),
  },
)
