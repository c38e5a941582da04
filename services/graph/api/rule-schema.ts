/**
 * Parts of the answers about rules, as schemas.
 *
 * What must stay true: a schema is the only place where its shape is written; its type is made of
 * it.
 *
 * Not here: the documents (answer-schema.ts), what rules are (core/model/rule/rule.ts).
 */
import {
  CLUSTER,
  COUNT_OR_NULL,
  HELD_COUNTS,
  JUDGED,
  NAMED,
  NUMBER_OR_NULL,
  part,
} from './part-schema.ts'
import {
  COUNT,
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

const KIND = { group: TEXT, kind: TEXT }
/** `ruleDigest` (core/model/rule/rule.ts). */
const RULE_DIGEST: Schema<string> = say(
  'Of the rule as it is: an order to enforce it names this one.',
  { type: 'string', pattern: '^[0-9a-f]{16,64}$' },
)
const TERM_TEXT = say('In words.', TEXT)

export const RULE = part('Rule', 'A rule of the policy.', {
  name: TEXT,
  kinds: listOf(record(KIND)),
  description: say('One sentence: what it is about, and what becomes of that.', TEXT),
  mode: say(
    '`dry-run`: no order enforces it as it is, so it changes nothing. `report`: nothing ever enforces it.',
    oneOf(['dry-run', 'enforced', 'report']),
  ),
  report: say('Why it only reports; empty where an order can enforce it.', TEXT),
  enforcedBy: say(
    'The order that enforces it; null in dry run.',
    orNull(record({ who: TEXT, why: TEXT, since: TIME_OR_NULL })),
  ),
  ruleDigest: RULE_DIGEST,
  limit: say(
    'More objects than the larger of both that become due within an hour hold all of the rule; null: no limit.',
    orNull(record({ perHour: COUNT, percent: say("Of the kind's objects.", NUMBER_OR_NULL) })),
  ),
  annotate: say(
    'The annotation that what is due gets, in the place of its deletion; null: it is deleted.',
    orNull(record({ key: TEXT, value: TEXT })),
  ),
})
export type RuleDocument = TypeOf<typeof RULE>

const COUNTS = {
  matched: say('Objects that it is about.', COUNT),
  due: say(
    'Those of them whose time has come: each is also in `held`, `deleting` or `elsewhere`, or is about to be deleted.',
    COUNT,
  ),
  held: say('Due ones, by what holds them.', record(HELD_COUNTS)),
  deleting: say(
    'Due ones that are being deleted, or for which a command is under way, one that annotates included.',
    COUNT,
  ),
  elsewhere: say('Due ones about which their owners or another rule decide.', COUNT),
  later: say('Those whose time comes later.', COUNT),
  nextAt: say('When the first of these is due; null for none.', TIME_OR_NULL),
  unread: say(
    'Objects of its kinds that are not read yet with all that it reads: nothing is decided about them.',
    COUNT,
  ),
  beyond: say(
    'Objects whose fields take more than may be read of one object: no rule decides about them.',
    COUNT,
  ),
  overLimit: say('Why all of it is held by its limit; empty where it is not.', TEXT),
}

export const RULE_COUNTS = part('RuleCounts', 'Objects of one cluster.', COUNTS)
export type RuleCountsDocument = TypeOf<typeof RULE_COUNTS>

export const RULE_OF_CLUSTER = record({ cluster: CLUSTER, counts: RULE_COUNTS })

export const RULE_OBJECT = record({
  ...NAMED,
  dueAt: say('When its time comes, or came.', TIME_OR_NULL),
  isDue: FLAG,
  because: say('The facts: since when, and after how long.', TEXT),
  by: say(
    'What decides about it now: `rule`: this one; `other-rule`, `owners`: those; `none`: nothing yet.',
    oneOf(['rule', 'other-rule', 'owners', 'none']),
  ),
  along: say(
    'Objects that would be deleted with it; null where they are not counted: it is not due, or beyond the first hundred.',
    COUNT_OR_NULL,
  ),
  ...JUDGED,
})

const TERM = record({
  what: TERM_TEXT,
  isTrue: say('Null: what it needs was not read yet.', orNull(FLAG)),
  value: say('As it was read; null for none.', orNull(TEXT)),
})

export const RULE_TERMS = {
  terms: say('All of them hold for an object that the rule is about.', listOf(TERM)),
  cases: say(
    'It is due as soon as one of these says so.',
    listOf(
      record({
        what: TERM_TEXT,
        terms: listOf(TERM),
        dueAt: say('Null: it has no time by this case.', TIME_OR_NULL),
        because: say('The facts; empty where it has no time.', TEXT),
      }),
    ),
  ),
}

export const RULE_READS = listOf(
  record({
    ...KIND,
    labels: listOf(TEXT),
    annotations: listOf(TEXT),
    fields: say('Paths.', listOf(TEXT)),
  }),
)

export const RULE_WHOLE = {
  match: say(
    'All of it holds for an object that the rule is about, each in words.',
    listOf(TERM_TEXT),
  ),
  cases: say(
    'It is due as soon as one of these says so.',
    listOf(record({ what: TERM_TEXT, where: listOf(TERM_TEXT) })),
  ),
  propagationPolicy: oneOf(['background', 'foreground', 'orphan']),
  forMs: say('For how long it must have been due without a break.', COUNT),
  reads: say('What is read of each of its kinds, for all rules of that kind.', RULE_READS),
}

export const EXPLAINED_OBJECT = orNull(
  record({
    ...NAMED,
    isRead: say('With all that rules of its kind read; else nothing is decided.', FLAG),
    unreadBecause: say('Empty where it is.', TEXT),
    isMatched: say('Null: what decides that was not read yet.', orNull(FLAG)),
    dueAt: say('Null: never, as it is now.', TIME_OR_NULL),
    isDue: FLAG,
    ...RULE_TERMS,
    ...JUDGED,
  }),
)
