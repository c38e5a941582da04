/**
 * Broken builds of the safeguards: holds, approvals, budgets, protection, the archive.
 *
 * What must stay true: each is one mistake that a developer could make.
 */
import type { BrokenBuild } from './broken-build.ts'

export const BROKEN_SAFEGUARD: readonly BrokenBuild[] = [
  {
    name: 'a namespace is not in itself',
    mistake: 'a protected namespace goes with its owner, and all in it',
    changes: [
      { file: 'core/model/subject.ts', function: 'namespacesOf', body: ['return [namespace]'] },
    ],
    by: {
      file: 'core/admit/protection.test.ts',
      test: 'a namespace of the policy itself is spared from deleted with what goes with it',
    },
  },
  {
    name: 'a new policy forgets the former one at once',
    mistake: 'whatever a slip in the config no longer protects goes, as soon as it is read',
    changes: [
      {
        file: 'core/observe/former-protection.ts',
        function: 'formerAfter',
        body: [
          'const after = original({ policy, former, position }, next, now)',
          'return after === null || after === former ? after : { ...after, until: now }',
        ],
      },
    ],
    by: {
      file: 'core/admit/protection.test.ts',
      test: 'I9: what a policy protected that lets go is spared for ten minutes more',
    },
  },
  {
    name: 'a label that nobody tells any more was never there',
    mistake: 'once a config names it no more, what bore it goes with the next list',
    changes: [
      {
        file: 'core/observe/former-protection.ts',
        function: 'lately',
        body: ['return guardingOf(facts)'],
      },
    ],
    by: {
      file: 'core/admit/protection.test.ts',
      test: 'I9: a label that a policy named is remembered for ten minutes, though nobody tells it any more',
    },
  },
  {
    name: 'a kind that nothing can be is protected',
    mistake: 'somebody believes his pods protected, and they go',
    changes: [
      { file: 'ports/record/void-subject.ts', function: 'voidSubject', body: ["return ''"] },
    ],
    by: {
      file: 'services/graph/orders/directive-http.test.ts',
      test: 'a resource is refused, and nothing is appended',
    },
  },
  {
    name: 'mass causes need nobody',
    mistake: 'what went with its kind takes along what it owned',
    changes: [
      {
        file: 'core/admit/hold.ts',
        function: 'hindranceOf',
        body: [
          "const ruled = ruling ?? { verdict: 'approved' }",
          'return original(facts, node, going, counted, until, ruled, price)',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story mass missing' },
  },
  {
    name: 'a definition that comes again never went',
    mistake: 'what went with a definition counts as deleted by a person, one by one',
    changes: [
      {
        file: 'core/observe/cause.ts',
        function: 'wentWithDefinition',
        body: ['return false'],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded definition replaced' },
  },
  {
    name: 'a namespace is counted in full against all others',
    mistake: 'what one tenant deletes holds up the whole cluster',
    changes: [{ file: 'core/admit/burst.ts', constant: 'NAMESPACE_SHARE', value: '1e9' }],
    by: {
      file: 'core/ordinary-day.test.ts',
      test: '102 rare objects that one tenant deletes hold its own namespace, and no other',
    },
  },
  {
    name: 'only a namespace is looked at',
    mistake: 'a mass that is spread over many namespaces is none anywhere',
    changes: [
      {
        file: 'core/admit/breaker.ts',
        function: 'openBreaker',
        body: ["if (namespace !== '') original(...arguments)"],
      },
    ],
    by: {
      file: 'core/ordinary-day.test.ts',
      test: 'what five namespaces do together opens the breaker of the cluster',
    },
  },
  {
    name: 'what a controller cleans up counts as a mass',
    mistake: 'CronJobs with a history limit open the breaker',
    changes: [{ file: 'core/admit/burst.ts', function: 'isOfLiveOwner', body: ['return false'] }],
    by: {
      file: 'core/ordinary-day.test.ts',
      test: '11 CronJobs that keep three finished Jobs each, a run a minute',
    },
  },
  {
    name: 'a namespace may use the whole budget',
    mistake: 'one tenant uses up what another needs',
    changes: [
      {
        file: 'core/admit/budget.ts',
        function: 'roomOf',
        body: [
          'const limit = limitOf(facts.policy.policy.budgets, budget)',
          'const { begun } = facts.budget(budget) ?? NO_BUDGET',
          'const counted = since(begun, minuteOf(now) - BUDGET_MINUTES + 1)',
          'return Math.max(0, limit - sumOf(byNamespace(counted)))',
        ],
      },
    ],
    by: { file: 'core/admit/budget.property.test.ts', test: 'what nobody uses is not saved up' },
  },
  {
    name: 'a lease never ends',
    mistake: 'what a deletion by others takes along later costs nothing',
    changes: [
      {
        file: 'core/admit/budget.ts',
        function: 'isLeased',
        body: ['return original(facts, { root }, 0)'],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded lease ends' },
  },
  {
    name: 'the gate lets mass causes go',
    mistake: 'a command that nobody approved is carried out',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'needsApproval',
        body: ["return original({ ...command, approvedBy: 'nobody' })"],
      },
    ],
    by: { file: 'services/reaper/decide/gate.test.ts', test: 'blocks a command with bulk' },
  },
  {
    name: 'nothing is held',
    mistake: 'an owner that a list missed takes its dependents along at once',
    changes: [
      {
        file: 'core/admit/hold.ts',
        function: 'holdMsOf',
        body: ['return original({ deletedMs, missingMs: 0, notFoundMs }, effect, counted)'],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded holds' },
  },
  {
    name: 'a hold outlives a change',
    mistake: 'an object that names another owner by now is held no longer than for the one before',
    changes: [
      {
        file: 'core/observe/sighting.ts',
        function: 'changed',
        body: [
          'original(...arguments)',
          'const after = step.graph.node(object.uid)',
          'if (after !== undefined) putNode(step, after, { ...after, hold: node.hold })',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded hold other owner' },
  },
  {
    name: 'what a backup tool restores belongs to a deletion of long ago',
    mistake:
      'restored data is deleted half a minute after it came, since its owner was deleted before',
    changes: [{ file: 'core/judge/standing.ts', function: 'cameLate', body: ['return false'] }],
    by: { file: 'core/scenario.test.ts', test: 'story guarded restored data' },
  },
  {
    name: 'a hold outlives the owner that went first',
    mistake: 'an object that has waited for one owner goes as soon as the last one is gone',
    changes: [
      {
        file: 'core/admit/hold.ts',
        function: 'sinceOf',
        body: ['return node.hold?.since ?? original(...arguments)'],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded hold last owner' },
  },
  {
    name: 'who comes late has waited',
    mistake: 'what a restore brings goes at once when its owner went long ago',
    changes: [
      {
        file: 'core/admit/hold.ts',
        function: 'waitedWith',
        body: ['return original({ position: -1n }, { proof, isHearsay, isLate })'],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded hold cascade' },
  },
  {
    name: 'an approval is good for anything',
    mistake: 'what was said of one content is said of another',
    changes: [
      {
        file: 'core/admit/hold.ts',
        function: 'rulingFor',
        body: [
          'const ruling = hold?.ruling && { ...hold.ruling, hash, what }',
          'return original(facts, { hold: hold && { ...hold, ruling }, hash }, { evidence, what })',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story approval' },
  },
  {
    name: 'one person approves twice',
    mistake: 'where two have to approve, one is enough who asks again',
    changes: [
      {
        file: 'core/admit/approval.ts',
        function: 'agreed',
        body: ['return step.graph.firstApproval ? { who, why } : original(...arguments)'],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story approval by two' },
  },
  {
    name: 'an approval has no end',
    mistake: 'what was approved once goes a week later',
    changes: [
      {
        file: 'core/admit/hold.ts',
        function: 'rulingFor',
        body: [
          'const ruling = hold?.ruling && { ...hold.ruling, until: Number.MAX_SAFE_INTEGER }',
          'return original(facts, { hold: hold && { ...hold, ruling }, hash }, { evidence, what })',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story approval' },
  },
  {
    name: 'budgets are no matter',
    mistake: 'a burst takes as much as it likes',
    changes: [{ file: 'core/admit/budget.ts', function: 'roomOf', body: ['return 1_000'] }],
    by: {
      file: 'core/admit/budget.property.test.ts',
      test: 'nothing is deleted before its hold, nor more than the budget within ten minutes, and all is in the end',
    },
  },
  {
    name: 'the fold spares nothing',
    mistake: 'protected objects are commanded to go',
    changes: [
      { file: 'core/admit/protection.ts', function: 'protectedBecause', body: ['return null'] },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story protected kinds' },
  },
  {
    name: 'the gate spares nothing',
    mistake: 'an object that was protected since it was judged goes',
    changes: [
      { file: 'services/reaper/decide/gate.ts', function: 'sparedBecause', body: ["return ''"] },
    ],
    by: {
      file: 'services/reaper/reaper.test.ts',
      test: 'reads each object first while people protect a label',
    },
  },
  {
    name: 'what could not be archived goes',
    mistake: 'the archive is asked and not waited for',
    changes: [
      {
        file: 'services/reaper/archive.ts',
        function: 'append',
        body: ['await original(...arguments)', 'return undefined'],
      },
    ],
    by: { file: 'services/reaper/archive.test.ts', test: 'says no while the log takes nothing' },
  },
  {
    name: 'an order counts wherever it stands',
    mistake: 'whoever may write events resumes, approves and changes the policy',
    changes: [
      {
        file: 'services/graph/fold/order.ts',
        function: 'readEvent',
        body: [
          'const record = entry.value && codec.decode(entry.value)',
          'return record && isEvent(record) && isOrder(record) ? record : original(...arguments)',
        ],
      },
    ],
    by: {
      file: 'services/graph/fold/order.test.ts',
      test: 'an order that stands in events counts for nothing',
    },
  },
  {
    name: 'an order comes into force again',
    mistake: 'whoever may write events repeats a resume of long ago',
    changes: [
      {
        file: 'services/graph/fold/order.ts',
        function: 'mayComeIntoForce',
        body: ['return inForce.length >= 0 || offset >= 0n'],
      },
    ],
    by: {
      file: 'services/graph/fold/order.test.ts',
      test: 'an order comes into force once, however often events say so',
    },
  },
  {
    name: 'an offset of orders is believed to be given once',
    mistake: 'after orders lost its end, what people ask for is refused',
    changes: [{ file: 'services/graph/fold/order.ts', function: 'held', body: ['return inForce'] }],
    by: {
      file: 'services/graph/fold/order.test.ts',
      test: 'after many orders, those that are given since the end of orders was lost come into force (F39)',
    },
  },
  {
    name: 'what orders lost is not said again',
    mistake: 'a reaper that starts then knows of no pause',
    changes: [{ file: 'services/graph/orders/order-keeper.ts', function: 'sayAgain', body: [] }],
    by: {
      file: 'services/graph/orders/order-keeper.test.ts',
      test: 'a pause, protection and the policy’s are said again where all of orders is lost (F39)',
    },
  },
  {
    name: 'an order of a rule is over for the fold alone',
    mistake: 'a reaper that reads what orders has left after a loss carries out a suspended rule',
    changes: [
      {
        file: 'services/graph/orders/order-keeper.ts',
        function: 'endedOrders',
        body: ['return []'],
      },
    ],
    by: {
      file: 'services/graph/orders/order-keeper.test.ts',
      test: 'one that was suspended since is ended (F39)',
    },
  },
  {
    name: 'a lost order of a rule is said again',
    mistake: 'a rule that a person suspends just then is enforced again at the reapers',
    changes: [
      {
        file: 'services/graph/orders/order-keeper.ts',
        function: 'endedOrders',
        body: [
          'const ended = original({ task, codec }, said)',
          'const { rules } = directivesOf(readerOf(task.store, codec))',
          'const again = rules.map(({ name, digest }) => {',
          "  const order = { type: 'RuleOrder', name, digest, who: '', why: WHY }",
          '  return { key: RULE_PREFIX + name, value: codec.encode(order) }',
          '})',
          'return [...ended, ...again]',
        ],
      },
    ],
    by: {
      file: 'services/graph/orders/order-keeper.test.ts',
      test: 'nor in place of a suspension that the fold may have later',
    },
  },
  {
    name: 'a suspension comes to the reapers last',
    mistake: 'a rule goes on until every partition has the order',
    changes: [
      {
        file: 'services/graph/orders/directive-http.ts',
        function: 'isStopping',
        body: ["return verb !== 'suspend-rule' && original({ verb })"],
      },
    ],
    by: {
      file: 'services/graph/orders/directive-http.test.ts',
      test: 'a rule is suspended at the reapers first, and enforced there last',
    },
  },
  {
    name: 'reapers are not told of the rules',
    mistake: 'a policy without a rule does not stop what the rule has commanded',
    changes: [
      {
        file: 'services/graph/graph.ts',
        function: 'publishPolicy',
        body: ['await original({ log, codec }, { policy: { ...policy, rules: [] }, who })'],
      },
    ],
    by: {
      file: 'services/graph/graph.test.ts',
      test: 'rules are published to the reapers before they are folded, and where they differ',
    },
  },
  {
    name: 'what was never seen is not held',
    mistake: 'a dependent that a restore brought back before its owner goes at once',
    changes: [
      {
        file: 'core/admit/hold.ts',
        function: 'holdMsOf',
        body: ['return original({ deletedMs, missingMs, notFoundMs: 0 }, effect, counted)'],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded hold restarts' },
  },
  {
    name: 'what is archived is not all of it',
    mistake: 'what is made again of it lacks its annotations',
    changes: [
      {
        file: 'services/reaper/archive.ts',
        function: 'wholeOf',
        body: [
          'const { metadata, ...rest } = parseObject(text)',
          'const { annotations, managedFields, ...left } = metadata',
          'return Buffer.from(JSON.stringify({ ...rest, metadata: left }))',
        ],
      },
    ],
    by: {
      file: 'services/reaper/archive.test.ts',
      test: 'has the whole object before it goes, with one call more',
    },
  },
  {
    name: 'budgets are kept in memory',
    mistake: 'whoever begins anew has ten minutes of tokens again',
    changes: [
      {
        file: 'services/graph/fold/restore.ts',
        function: 'restore',
        body: [
          'const restored = await original(...arguments)',
          "const { rows } = await store.page({ gte: 'budget/', lt: 'budget0', limit: 100 })",
          'for (const [key] of rows) await store.write([[key, null]], store.checkpoint())',
          'return restored',
        ],
      },
    ],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'who begins anew has as much of each budget left as there was',
    },
  },
  {
    name: 'a hold goes by the clock on the wall',
    mistake: 'who folds decides by its own time, and nobody can fold the same again',
    changes: [
      {
        file: 'services/graph/fold/task.ts',
        function: 'Task.#foldSome',
        body: [
          'const { clock } = this.#options',
          'const own = entries.map((entry) => ({ ...entry, timestamp: clock.now() }))',
          'return await original(batch, own, from, signal)',
        ],
      },
    ],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'memory: an audit folds the log again and finds it identical',
    },
  },
]
