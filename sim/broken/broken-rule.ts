/**
 * Broken builds of rules: what is due, when, and what holds it.
 *
 * What must stay true: each is one mistake that a developer could make.
 */
import type { BrokenBuild } from './broken-build.ts'

const STORIES = 'core/scenario.test.ts'

export const BROKEN_RULES: readonly BrokenBuild[] = [
  {
    name: 'what was not read is absent',
    mistake: 'an object that was read before the rules were known is decided about',
    changes: [{ file: 'core/model/rule/rule.ts', function: 'isReadFor', body: ['return true'] }],
    by: { file: STORIES, test: 'story rule not read yet' },
  },
  {
    name: 'an order outlives its rule',
    mistake: 'an order for a rule that was changed stays',
    changes: [{ file: 'core/observe/sync.ts', function: 'dropOrders', body: ['return'] }],
    by: {
      file: STORIES,
      test: 'story rule changed after order, with states whose tables agree',
    },
  },
  {
    name: 'the first rule decides',
    mistake: 'a rule that waits for long hides one that deletes sooner',
    changes: [
      {
        file: 'core/judge/rule.ts',
        function: 'isBefore',
        body: ['return isEnforced(a.rule, orders) && !isEnforced(b.rule, orders)'],
      },
    ],
    by: { file: STORIES, test: 'story rule several' },
  },
  {
    name: 'a share of what was listed so far',
    mistake: 'a rule is over its limit while its kinds are listed for the first time',
    changes: [{ file: 'core/admit/rule-hold.ts', function: 'isShareKnown', body: ['return true'] }],
    by: { file: STORIES, test: 'story rule limit at first list' },
  },
  {
    name: 'the worse reading counts',
    mistake: 'a reaper that does not know the rules yet hides what the watcher has read',
    changes: [
      { file: 'core/observe/sighting.ts', function: 'isReadWorse', body: ['return false'] },
    ],
    by: { file: STORIES, test: 'story rule read worse' },
  },
  {
    name: 'a rule does not wait',
    mistake: 'what is due is deleted at once, whatever the rule demands',
    changes: [
      {
        file: 'core/judge/rule.ts',
        function: 'waitMsOf',
        body: ['return original({ forMs: 0, warnMs, limit })'],
      },
    ],
    by: { family: 'rules', world: 'r pod 60 for:30: enforce; + pod/a; wait 60; wait 30' },
  },
  {
    name: 'no timer for a rule',
    mistake: 'an object is judged when it changes, and not when it is due',
    changes: [{ file: 'core/graph/agenda.ts', function: 'ensureTimer', body: ['return'] }],
    by: { family: 'rules', world: 'r pod 60: + pod/a; enforce; wait 30; wait 30' },
  },
  {
    name: 'a rule fights for ever',
    mistake: 'what a controller makes again is deleted again and again',
    changes: [{ file: 'core/admit/rule-hold.ts', function: 'countMade', body: ['return'] }],
    by: { file: STORIES, test: 'story rule fights controller' },
  },
  {
    name: 'a counted object counts again',
    mistake: 'an object that is judged twice counts twice against the limit of its rule',
    changes: [
      {
        file: 'core/admit/rule-hold.ts',
        function: 'noteDue',
        body: ['return original(step, rule, { object, verdict: null }, time)'],
      },
    ],
    by: { file: STORIES, test: 'story rule limit of share' },
  },
  {
    name: 'no turns',
    mistake: 'all that is due is sent at once, before whatever else is to be deleted',
    changes: [
      { file: 'core/graph/rule/rule-turn.ts', function: 'freeTurnsOf', body: ['return 1'] },
    ],
    by: {
      file: 'core/admit/rule-turn.test.ts',
      test: 'of 1,000 objects of a namespace that are due together half of all turns are under way',
    },
  },
  {
    name: 'one namespace has all turns',
    mistake: 'each call begins with the first namespace again',
    changes: [
      {
        file: 'core/graph/row.ts',
        function: 'pageOfTurns',
        body: ['return { ...original({ cluster, ruleTurns }, cursor), after: cursor }'],
      },
    ],
    by: {
      file: 'core/admit/rule-turn.test.ts',
      test: 'of many namespaces each has its turn, whatever its name',
    },
  },
  {
    name: 'one namespace holds all',
    mistake: 'a namespace that is over its half holds the rule for the others',
    changes: [
      { file: 'core/graph/window.ts', function: 'sumOf', body: ['return original(counts)'] },
    ],
    by: { file: STORIES, test: 'story rule over limit in a namespace' },
  },
  {
    name: 'what a list missed still counts',
    mistake: 'a rule that keeps the newest deletes one more for each deletion that no watch saw',
    changes: [{ file: 'core/judge/keep.ts', function: 'isInSync', body: ['return true'] }],
    by: { file: STORIES, test: 'story rule keep missed deletion' },
  },
  {
    name: 'a boundary never moves back',
    mistake: 'where others delete newer objects, a rule keeps fewer than it says',
    changes: [
      { file: 'core/graph/rule/keep-index.ts', function: 'isOver', body: ['return false'] },
    ],
    by: {
      file: STORIES,
      test: 'story rule keep moves back, with states whose tables agree',
    },
  },
  {
    name: 'nothing is listed, so all is absent',
    mistake: 'pods of all Nodes are deleted while Nodes are listed for the first time',
    changes: [
      {
        file: 'core/judge/beside.ts',
        function: 'isGone',
        body: [
          'const named = namedBy(rule, object)',
          'return rule.absent === null || (named !== null && facts.named(named).length === 0)',
        ],
      },
    ],
    by: { file: STORIES, test: 'story rule absent node never known' },
  },
  {
    name: 'a force delete is sent for ever',
    mistake: 'what its finalizers alone hold is deleted again and again',
    changes: [{ file: 'core/judge/rule.ts', function: 'isFutile', body: ['return false'] }],
    by: { file: STORIES, test: 'story rule terminating held by finalizer' },
  },
  {
    name: 'what was not read of a Node is as the rule says',
    mistake: 'a pod goes by force while it is not known what its Node is like',
    changes: [
      {
        file: 'core/judge/beside.ts',
        function: 'isAsSaid',
        body: ['return areTrue(when, projected?.fields ?? [])'],
      },
    ],
    by: { file: STORIES, test: 'story rule beside node unsure' },
  },
  {
    name: 'a Node whose fields change judges nothing',
    mistake: 'pods of a Node that is out of service by now stay',
    changes: [
      { file: 'core/graph/rule/name-index.ts', function: 'isAlike', body: ['return true'] },
    ],
    by: { file: STORIES, test: 'story rule beside node' },
  },
  {
    name: 'what nothing owns is everything',
    mistake: 'objects with owners are deleted by a rule about those without',
    changes: [{ file: 'core/judge/rule.ts', function: 'isOwnedBy', body: ['return true'] }],
    by: { file: STORIES, test: 'story rule owner' },
  },
  {
    name: 'a Pod is Failed again and again',
    mistake: 'a Pod that has ended is patched before its DELETE',
    changes: [
      {
        file: 'services/reaper/decide/fail-first.ts',
        function: 'failedStatus',
        body: ["return original('{}', rule, now)"],
      },
    ],
    by: { file: 'services/reaper/fail-first.test.ts', test: 'patches no Pod that has Succeeded' },
  },
  {
    name: 'an annotation is set for ever',
    mistake: 'what another actor takes off is set again and again',
    changes: [
      { file: 'core/admit/rule-hold.ts', function: 'heldByRemoval', body: ['return null'] },
    ],
    by: { file: STORIES, test: 'story rule annotate removed' },
  },
  {
    name: 'an annotation that is held back shields',
    mistake: 'an object stays that another rule deletes',
    changes: [
      {
        file: 'core/judge/rule.ts',
        function: 'isBefore',
        body: [
          'const isDone = isEnforced(a.rule, orders)',
          'if (isDone !== isEnforced(b.rule, orders)) return isDone',
          'return deletedAt(a) < deletedAt(b)',
        ],
      },
    ],
    by: { file: STORIES, test: 'story rule annotate beside delete' },
  },
  {
    name: 'any annotation passes',
    mistake: 'a command on the log sets an annotation that no rule names',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'otherwiseRuled',
        body: ['return undefined'],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'an annotation with another key: sets no annotation example.com/other',
    },
  },
  {
    name: 'an annotation follows the object',
    mistake: 'what was written since the rule decided is annotated',
    changes: [
      {
        file: 'services/reaper/decide/settle.ts',
        function: 'isAsJudged',
        body: ["return command.type === 'AnnotateObject' || original(command, object)"],
      },
    ],
    by: {
      file: 'services/reaper/annotate.test.ts',
      test: 'what was written since is judged anew; what has it by then is done',
    },
  },
  {
    name: 'the Node is looked up and not compared',
    mistake: 'a pod of a Node that is ready again goes by force',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'otherDisproof',
        body: ["return look.type === 'Found' ? undefined : original(claim, look, facts)"],
      },
    ],
    by: {
      file: 'services/reaper/rule-command.test.ts',
      test: 'deletes nothing beside a Node that is ready again',
    },
  },
]
