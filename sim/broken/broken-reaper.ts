/**
 * Broken builds of the reaper and of the cluster behind it: guards, live GETs, and the meaning of
 * answers.
 *
 * What must stay true: each is one mistake that a developer could make.
 */
import type { BrokenBuild } from './broken-build.ts'

export const BROKEN_REAPER: readonly BrokenBuild[] = [
  {
    name: 'a command goes by the mode that it was given under',
    mistake: 'a person asks for dry runs only, and what is on its way is carried out',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'judge',
        body: [
          "const isOlder = command.mode !== facts.policyMode && facts.policyMode === 'dry-run'",
          "return original(command, isOlder ? { ...facts, policyMode: 'enforce' } : facts, bounds)",
        ],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'takes the stricter of the policy now and what it was in the command',
    },
  },
  {
    name: 'the gate does not ask whether a rule is suspended',
    mistake: 'a person suspends a rule, and what it has commanded is deleted',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'hindrance',
        body: ["return original(command, { ...facts, ruleBecause: '' }, bounds)"],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: "a rule's command of a rule that is suspended: suspended",
    },
  },
  {
    name: 'a rule is known by its name',
    mistake: 'a command of a rule as it was before is carried out by the order for another one',
    changes: [
      {
        file: 'services/reaper/rule-orders.ts',
        function: 'RuleOrders.because',
        body: [
          'const rule = this.rules.find((each) => each.name === name)',
          'return original({ name, digest: rule === undefined ? digest : digestOf(rule) })',
        ],
      },
    ],
    by: { file: 'services/reaper/rule-orders.test.ts', test: 'a policy that changed it: not' },
  },
  {
    name: 'a rule follows the object',
    mistake: 'what was renewed since the rule decided is deleted, since its owners are the same',
    changes: [
      {
        file: 'services/reaper/decide/settle.ts',
        function: 'isAsJudged',
        body: [
          "const isDelete = command.type === 'DeleteObject'",
          'return original(isDelete ? { ...command, rule: null } : command, object)',
        ],
      },
    ],
    by: {
      file: 'services/reaper/rule-command.test.ts',
      test: 'deletes nothing that was written since the rule decided, with the same owners',
    },
  },
  {
    name: 'a lost end of orders permits what it permitted before',
    mistake: 'a reaper forgets a suspension that orders lost',
    changes: [
      {
        file: 'services/reaper/rule-orders.ts',
        function: 'RuleOrders.obey',
        body: ['original(entry)'],
      },
    ],
    by: {
      file: 'services/reaper/rule-command.test.ts',
      test: 'deletes by no rule that orders lost the suspension of (F39)',
    },
  },
  {
    name: 'a patch removes by its place what it cannot compare',
    mistake: 'where the list has moved meanwhile, another owner is taken off',
    changes: [
      { file: 'services/reaper/decide/guard.ts', function: 'unmoved', body: ['return []'] },
    ],
    by: {
      file: 'services/reaper/decide/guard.test.ts',
      test: 'removes a reference of which only a digest is known, where nothing of the object has changed',
    },
  },
  {
    name: 'any long list is the one that a command was judged by',
    mistake: 'an object that has got an owner meanwhile is deleted',
    changes: [
      {
        file: 'services/reaper/decide/settle.ts',
        function: 'hasReferences',
        body: ['return digest !== null || original(...arguments)'],
      },
    ],
    by: {
      file: 'services/graph/fold/bytes/long-command.test.ts',
      test: 'the command tests the reference that it drops, and no other list is taken for the one it was judged by',
    },
  },
  {
    name: 'a uid too long to compare is another one',
    mistake: 'an owner whose uid stands as a digest in references counts as absent while it lives',
    changes: [
      {
        file: 'adapters/kubernetes/answer.ts',
        function: 'readGet',
        body: [
          'const object = reply.status === 200 ? objectIn(parsed(reply), asked) : null',
          "return object === null ? original(reply, asked) : { type: 'Found', object, code: 200 }",
        ],
      },
    ],
    by: {
      file: 'adapters/kubernetes/answer.test.ts',
      test: 'with an object whose uid equals no digest of it in a reference proves nothing',
    },
  },
  {
    name: 'a DELETE without the uid',
    mistake: 'a namesake goes instead',
    changes: [
      {
        file: 'adapters/kubernetes/cluster.ts',
        function: 'HttpCluster.#call',
        body: [
          'const sent = JSON.parse(body)',
          'delete sent?.preconditions?.uid',
          'return await original(method, path, sent && JSON.stringify(sent), ...[...arguments].slice(3))',
        ],
      },
    ],
    by: {
      file: 'adapters/kubernetes/cluster.test.ts',
      test: 'a DELETE with both preconditions, its policy, and a dry run in the body',
    },
  },
  {
    name: 'a DELETE without the version',
    mistake: 'what changed since it was judged goes all the same',
    changes: [
      {
        file: 'adapters/kubernetes/cluster.ts',
        function: 'HttpCluster.#call',
        body: [
          'const sent = JSON.parse(body)',
          'delete sent?.preconditions?.resourceVersion',
          'return await original(method, path, sent && JSON.stringify(sent), ...[...arguments].slice(3))',
        ],
      },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'deletes what it was judged for, after a new owner',
    },
  },
  {
    name: 'a patch without its tests',
    mistake: 'another reference than the one judged is dropped',
    changes: [
      {
        file: 'services/reaper/decide/guard.ts',
        function: 'patchGuard',
        body: [
          "const isTest = ({ op, path }) => op === 'test' && /ownerReferences|finalizers/.test(path)",
          'return original(command, resourceVersion).filter((operation) => !isTest(operation))',
        ],
      },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'drops the reference it was judged by, after a change of their order',
    },
  },
  {
    name: 'a conflict is tried again blindly',
    mistake: 'an object that has another owner by now goes under its new version',
    changes: [
      { file: 'services/reaper/decide/settle.ts', function: 'isAsJudged', body: ['return true'] },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'deletes what it was judged for, after a new owner',
    },
  },
  {
    name: 'any 404 is an absence',
    mistake: 'a proxy that knows no such path makes owners absent',
    changes: [
      {
        file: 'adapters/kubernetes/answer.ts',
        function: 'isAbsence',
        body: ['return reply.status === 404'],
      },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'does not take an address that is not served for an absent owner',
    },
  },
  {
    name: 'a 404 without details is an absence',
    mistake: 'an unserved version makes owners absent',
    changes: [
      {
        file: 'adapters/kubernetes/answer.ts',
        function: 'unfit',
        body: [
          "const told = isJson(status['details']) ? status['details'] : {}",
          'const details = { name, group, kind: resource, ...told }',
          'return original({ ...status, details }, { name, group, resource, kind })',
        ],
      },
    ],
    by: { file: 'adapters/kubernetes/answer.test.ts', test: 'of 404, with empty details' },
  },
  {
    name: 'a refusal is an absence',
    mistake: 'an owner that may not be read is gone',
    changes: [
      {
        file: 'adapters/kubernetes/answer.ts',
        function: 'readGet',
        body: [
          "return reply.status === 403 ? { type: 'Absent', code: 404 } : original(reply, asked)",
        ],
      },
    ],
    by: {
      file: 'adapters/kubernetes/answer.test.ts',
      test: 'of 403, 403',
    },
  },
  {
    name: 'what cannot be looked up is gone',
    mistake: 'an unknown answer to the look before a DELETE lets it go',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'disproof',
        body: ["return look.type === 'Unknown' ? undefined : original(claim, look)"],
      },
    ],
    by: { file: 'services/reaper/decide/gate.test.ts', test: 'is told by no answer' },
  },
  {
    name: 'a recheck without a look',
    mistake: 'an owner that a list missed is not verified before a DELETE',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'claimsToProve',
        body: [
          "const isRecheck = command.freshness === 'recheck'",
          "const live = isRecheck ? { ...command, freshness: 'live' } : command",
          'return original(live, { newsMs, isUnbroken }, bounds)',
        ],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'verifies the owners of a command that is recheck',
    },
  },
  {
    name: 'what was seen long ago needs no look',
    mistake: 'a cluster restored while nobody called it brings back owners that count as gone',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'claimsToProve',
        body: [
          'const young = Math.min(newsMs, bounds.goneProofAfterMs)',
          'return original(command, { newsMs: young, isUnbroken }, bounds)',
        ],
      },
    ],
    by: {
      file: 'sim/restore.test.ts',
      test: 'a restore while the reaper slept changes nothing, 1000 ms after an outage of 5000 ms',
    },
  },
  {
    name: 'the clock on the wall says how old a command is',
    mistake: 'a clock that is behind that of the log makes old commands young',
    changes: [
      {
        file: 'services/reaper/intake/moment.ts',
        function: 'createLogTime.momentOf',
        body: ['return Math.min(timestamp, clock.monotonicMs() - ageMs(timestamp))'],
      },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'takes no old command for a young one where its clock is behind that of the log',
    },
  },
  {
    name: 'what was there before is as young as it says',
    mistake: 'a reaper whose clock is behind takes a backlog for news',
    changes: [
      {
        file: 'services/reaper/intake/moment.ts',
        function: 'unwitnessed',
        body: ['return moments'],
      },
    ],
    by: {
      file: 'services/reaper/intake/lane.test.ts',
      test: 'of what was there before it was read nobody knows how long it is known',
    },
  },
  {
    name: 'a look is believed whoever answers',
    mistake: 'an owner that lives is absent on another cluster behind the same name',
    changes: [
      {
        file: 'adapters/kubernetes/cluster.ts',
        function: 'HttpCluster.#strangerTo',
        body: ['await original(...arguments)', 'return undefined'],
      },
    ],
    by: {
      file: 'adapters/kubernetes/two-clusters.test.ts',
      test: 'an absence that another cluster tells is none, though it was proven who is there (F31)',
    },
  },
  {
    name: 'a connection leads where the one before it led',
    mistake: 'what is asked over the connection that answered is asked over another one',
    changes: [
      {
        file: 'adapters/kubernetes/connection/connections.ts',
        function: 'Connections.onOpened',
        body: [],
      },
    ],
    by: {
      file: 'adapters/kubernetes/two-clusters.test.ts',
      test: 'each connection is asked once where it leads, and again when it is another one (F31)',
    },
  },
  {
    name: 'what was read is known for good',
    mistake: 'a label that people come to protect while an object is put away does not spare it',
    changes: [
      {
        file: 'services/reaper/reap.ts',
        function: 'lateObjection',
        body: [
          'const known = { read, marks: marksAskedFor(site.facts(command, moments)) }',
          'return original(command, resourceVersion, known, { conflicts }, { moments, site })',
        ],
      },
    ],
    by: {
      file: 'services/reaper/archive.test.ts',
      test: 'spares what is protected by a label that people chose while it wrote, and that it had not read',
    },
  },
  {
    name: 'nothing is looked at after an object was read',
    mistake: 'an owner that is turned to orphan while its dependent is read loses it',
    changes: [
      {
        file: 'services/reaper/reap.ts',
        function: 'gate',
        body: [
          'const { moments, site } = life',
          'if (life.hasLooked) return judge(command, site.facts(command, moments), site.config)',
          'life.hasLooked = true',
          'return await original(command, life)',
        ],
      },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'looks at the owners once more after it read an object that a label may protect',
    },
  },
  {
    name: 'a finalizer goes off whatever has it',
    mistake: 'what a restore brought back to life loses its finalizer',
    changes: [
      { file: 'services/reaper/decide/guard.ts', function: 'deletion', body: ['return []'] },
      {
        file: 'services/reaper/decide/settle.ts',
        function: 'isStillDeleted',
        body: ['return true'],
      },
    ],
    by: {
      file: 'sim/restore.test.ts',
      test: 'a finalizer stays on what a restore of 500 ms brought back to life',
    },
  },
  {
    name: 'a broken connection proves enough',
    mistake: 'an owner that was seen to orphan is not verified although it may have been restored',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'claimsToProve',
        body: ['return original(command, { newsMs, isUnbroken: true }, bounds)'],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'verifies the owners of a command that is live',
    },
  },
  {
    name: 'W without a look',
    mistake: 'an owner that waits is never looked at, however old that news is',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'claimsToProve',
        body: [
          'const young = newsMs > bounds.goneProofAfterMs ? newsMs : 0',
          'return original(command, { newsMs: young, isUnbroken }, bounds)',
        ],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'verifies the owners of a command that is live',
    },
  },
  {
    name: 'a write is sent again with new credentials',
    mistake:
      'a DELETE that was answered 401 is sent when a plugin has answered, whatever was ordered meanwhile',
    changes: [
      {
        file: 'adapters/kubernetes/connection/exchange.ts',
        function: 'UndiciExchange.request',
        body: [
          'const response = await original(request, signal)',
          "if (response.status !== 401 || request.method === 'GET') return response",
          'const renewed = await this.#wait(true, signal)',
          'for await (const _ of response.body);',
          'return await this.#send(renewed, request, signal)',
        ],
      },
    ],
    by: {
      file: 'adapters/kubernetes/credentials.test.ts',
      test: 'a DELETE whose credentials ran out is not sent after a pause that was pressed meanwhile',
    },
  },
  {
    name: 'news is as young as its command',
    mistake:
      'what a fold that lags decided of an owner that waits counts from when the command came',
    changes: [
      {
        file: 'services/reaper/intake/moment.ts',
        function: 'createLogTime.momentsOf',
        body: [
          "const isDecided = 'decidedAt' in command",
          'return original(isDecided ? { ...command, decidedAt: appendedAt } : command, appendedAt)',
        ],
      },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'looks at a waiting owner again when a young command was decided by old news',
    },
  },
  {
    name: 'news is as young as its record',
    mistake:
      'what a watcher that is behind tells of an owner that waits counts from when it tells it',
    changes: [
      { file: 'core/issue/issue.ts', function: 'decidedUpTo', body: ['return step.at.timestamp'] },
    ],
    by: {
      file: 'core/issue/decided-at.test.ts',
      test: 'what a watcher tells late of an owner that waits is as old as its deletion',
    },
  },
  {
    name: 'a look is good for ever',
    mistake: 'an owner that was made since is still absent',
    changes: [
      {
        file: 'services/reaper/proof.ts',
        function: 'Proofs.owner',
        body: [
          'const known = this.#owners.get(placeOf(claim))',
          'const isOfUse = known !== undefined && known.askedAt() >= since',
          'return isOfUse ? known.seen : original(claim, since, onCall, signal)',
        ],
      },
    ],
    by: {
      file: 'services/reaper/proof.test.ts',
      test: 'looks at an owner once for all who ask within its time',
    },
  },
  {
    name: 'who comes first has all calls',
    mistake: 'a webhook that hangs for one kind holds up every other',
    changes: [
      {
        file: 'services/reaper/intake/backlog.ts',
        function: 'Backlog.#mayBegin',
        body: ['return this.#underWay < limit && original(lane, limit)'],
      },
    ],
    by: {
      file: 'services/reaper/intake/backlog.test.ts',
      test: 'I21: lets one of each other kind go when what one has under way hangs, and more as that ends',
    },
  },
  {
    name: 'a namespace has its turn until nothing is left',
    mistake: 'a deletion waits behind a thousand looks that another namespace has asked for',
    changes: [
      {
        file: 'services/reaper/intake/rotation.ts',
        function: 'Rotation.#takeOf',
        body: [
          'const item = original(namespace, kind)',
          'const queues = this.#namespaces.get(namespace)',
          'if (queues === undefined) return item',
          'const others = [...this.#namespaces].filter(([name]) => name !== namespace)',
          'this.#namespaces.clear()',
          'for (const [name, each] of [[namespace, queues], ...others])',
          '  this.#namespaces.set(name, each)',
          'return item',
        ],
      },
    ],
    by: {
      file: 'services/reaper/intake/backlog.test.ts',
      test: 'I36: a DELETE waits for one call of each other namespace, however many looks those have waiting',
    },
  },
  {
    name: 'whoever names a uid is in its row',
    mistake: 'an object is deleted after a thousand looks at names that a stranger gave its uid',
    changes: [
      {
        file: 'services/reaper/intake/backlog.ts',
        function: 'subjectOf',
        body: ['return command.target.uid'],
      },
    ],
    by: {
      file: 'services/reaper/intake/backlog.test.ts',
      test: 'I36: a DELETE waits for one call of each other namespace, however many looks those have waiting',
    },
  },
  {
    name: 'an answer is as young as its arrival',
    mistake: 'an owner that a server slept on still waits, though it orphans by now',
    changes: [
      { file: 'services/reaper/long-proof.ts', function: 'areOutdated', body: ['return false'] },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'looks at a waiting owner again when the answer to the first look came late',
    },
  },
  {
    name: 'looks outlive a broken connection',
    mistake: 'what was seen before a restore counts after it',
    changes: [{ file: 'services/reaper/proof.ts', function: 'Proofs.voidAll', body: [] }],
    by: {
      file: 'services/reaper/proof.test.ts',
      test: 'trusts nothing seen before a connection broke',
    },
  },
  {
    name: 'the cluster is identified once',
    mistake: 'the endpoint may be another cluster by now',
    changes: [
      {
        file: 'services/reaper/proof.ts',
        function: 'Proofs.identity',
        body: ['return await (this.#identityLook?.answer ?? original(onCall, signal))'],
      },
      { file: 'services/reaper/site.ts', function: 'OneCluster.onBroken', body: ['onTrouble()'] },
    ],
    by: {
      file: 'services/reaper/reaper.test.ts',
      test: 'asks anew who the endpoint is when a connection broke before the answer',
    },
  },
  {
    name: 'commands do not expire',
    mistake: 'what was decided days ago is carried out',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'hindrance',
        body: ['return original(command, { ...facts, ageMs: 0 }, bounds)'],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'blocks every command that is too old',
    },
  },
  {
    name: 'commands of another epoch go',
    mistake: 'what was decided before a restore is carried out after it',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'hindrance',
        body: [
          'const clusterEpoch = facts.clusterEpoch === undefined ? undefined : command.clusterEpoch',
          'return original(command, { ...facts, clusterEpoch }, bounds)',
        ],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'blocks every command that is of an older epoch',
    },
  },
  {
    name: 'a pause is read once',
    mistake: 'one that is pressed while the reaper runs is not heard',
    changes: [
      {
        file: 'services/reaper/control.ts',
        function: 'Control.#addedOrders',
        body: ['return original(entries.filter(({ key }) => !key.startsWith(PAUSE_PREFIX)))'],
      },
    ],
    by: {
      file: 'services/reaper/reaper.test.ts',
      test: 'does not go on when a pause is pressed while it proves something',
    },
  },
  {
    name: 'a dry run forgets patches',
    mistake: 'references are dropped in a dry run',
    changes: [
      {
        file: 'adapters/kubernetes/cluster.ts',
        function: 'HttpCluster.#call',
        body: [
          "const asked = method === 'PATCH' ? path.replace('&dryRun=All', '') : path",
          'return await original(method, asked, ...[...arguments].slice(2))',
        ],
      },
    ],
    by: { file: 'services/reaper/reap.test.ts', test: 'changes nothing in a dry run' },
  },
  {
    name: 'a dry run stands in the URL',
    mistake: 'beside a body it is ignored there, and the object deleted',
    changes: [
      {
        file: 'adapters/kubernetes/cluster.ts',
        function: 'HttpCluster.#call',
        body: [
          'const sent = JSON.parse(body)',
          'delete sent?.dryRun',
          'return await original(method, path, sent && JSON.stringify(sent), ...[...arguments].slice(3))',
        ],
      },
    ],
    by: { file: 'services/reaper/reap.test.ts', test: 'changes nothing in a dry run' },
  },
  {
    name: 'an unanswered DELETE is done',
    mistake: 'what may not have taken effect counts as carried out',
    changes: [
      {
        file: 'services/reaper/decide/settle.ts',
        function: 'onAnswer',
        body: [
          'const next = original(command, answer, tried, bounds)',
          "const isUnanswered = answer.type === 'Unknown' && next.type === 'ReadBack'",
          "return isUnanswered ? settle('done', '', answer.code) : next",
        ],
      },
    ],
    by: {
      file: 'services/reaper/reaper.test.ts',
      test: 'reads back what became of a DELETE whose answers were lost (F87)',
    },
  },
  {
    name: 'a position is saved before its results',
    mistake: 'a command whose result was not appended is never carried out again',
    changes: [
      {
        file: 'services/reaper/outbox.ts',
        function: 'Outbox.#flush',
        body: [
          'for (const { onAppended } of queue.waiting) onAppended()',
          'await original(partition, queue)',
        ],
      },
    ],
    by: { file: 'services/reaper/outbox.test.ts', test: 'settles nothing before the log has it' },
  },
  {
    name: 'a position is saved beyond what is open',
    mistake: 'a slow command is lost with its process',
    changes: [
      {
        file: 'services/reaper/intake/window.ts',
        function: 'Window.position',
        body: ['return { ...original(), offset: this.#next }'],
      },
    ],
    by: {
      file: 'services/reaper/intake/window.test.ts',
      test: 'never saves a position beyond an unsettled command, and takes no settled one again',
    },
  },
  {
    name: 'an older decision goes after a newer one',
    mistake: 'what was decided before it had an owner again is carried out',
    changes: [
      { file: 'services/reaper/intake/backlog.ts', function: 'isEarlier', body: ['return false'] },
    ],
    by: {
      file: 'services/reaper/intake/backlog.test.ts',
      test: 'drops an older decision that comes late, sent or not',
    },
  },
  {
    name: 'what orders lost is let go',
    mistake: 'a pause that was on its lost end is over',
    changes: [
      {
        file: 'services/reaper/control.ts',
        function: 'Control.#currentOrders',
        body: ['return original(entries, false)'],
      },
    ],
    by: {
      file: 'services/reaper/reaper.test.ts',
      test: 'stays paused, and spares what was protected, when orders loses its end (F39)',
    },
  },
  {
    name: 'a namesake is the owner',
    mistake: 'an owner made again under its name keeps what hung on the one before',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'disproof',
        body: [
          "const isNamesake = look.type === 'Found' && look.object.name === claim.name",
          'const object = isNamesake ? { ...look.object, uid: claim.uid } : undefined',
          'return original(claim, isNamesake ? { ...look, object } : look)',
        ],
      },
    ],
    by: { file: 'services/reaper/decide/gate.test.ts', test: 'is told by another uid' },
  },
  {
    name: 'who lost its place begins at the end',
    mistake: 'commands that stand between what was trimmed away and the end are never carried out',
    changes: [
      {
        file: 'services/reaper/intake/lane.ts',
        function: 'OnePartition.#start',
        body: [
          'const { log, partition } = this.#parts',
          "return { offset: (await log.bounds('commands', partition)).end, detail: '' }",
        ],
      },
    ],
    by: {
      file: 'services/reaper/reaper.test.ts',
      test: 'reads on where the log begins when its position was trimmed away',
    },
  },
  {
    name: 'a second process on a copied data directory deletes',
    mistake: 'what a person pauses, or a budget holds, in one of two goes by the other',
    changes: [
      {
        file: 'services/reaper/decide/gate.ts',
        function: 'hindrance',
        body: ["return original(command, { ...facts, barredBecause: '' }, bounds)"],
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'blocks every command that is given while the disk is low',
    },
  },
  {
    name: 'a copy of a data directory is taken for an earlier start',
    mistake: 'two processes on one record delete, each with the budgets and orders of both',
    changes: [
      {
        file: 'cli/process/copied-data.ts',
        function: 'CopiedData.#isOthers',
        body: ['known.other = undefined', 'return false'],
      },
    ],
    by: {
      file: 'cli/process/copied-data.test.ts',
      test: 'the second on a copy deletes nothing, and both say so, until the first ends',
    },
  },
  {
    name: 'what is protected is read once',
    mistake: 'what a person protects while the reaper runs goes',
    changes: [
      {
        file: 'services/reaper/control.ts',
        function: 'Control.#addedOrders',
        body: ['return original(entries.filter(({ key }) => !key.startsWith(PROTECT_PREFIX)))'],
      },
    ],
    by: {
      file: 'services/reaper/reaper.test.ts',
      test: 'stays paused, and spares what was protected, when orders loses its end (F39)',
    },
  },
  {
    name: 'a long proof overlooks an outage',
    mistake: 'owners looked at before a restore, which broke calls, count as gone after it',
    changes: [
      {
        file: 'services/reaper/long-proof.ts',
        function: 'isLasting',
        body: [
          'return original({ claim, askedAt }, steady, nowMs, { bounds, troubledMs: () => -1 })',
        ],
      },
    ],
    by: {
      file: 'services/reaper/long-proof.test.ts',
      test: 'looks at all of them again when the cluster was away in between',
    },
  },
  {
    name: 'a long proof overlooks a silence',
    mistake: 'owners looked at before a restore that no call fell into count as gone after it',
    changes: [
      {
        file: 'services/reaper/long-proof.ts',
        function: 'after',
        body: ['return { since, last: next.askedAt }'],
      },
    ],
    by: {
      file: 'services/reaper/long-proof.test.ts',
      test: 'looks at all of them again when the cluster did not say for too long that it is there',
    },
  },
]
