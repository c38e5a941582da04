/**
 * Broken builds of the reaper and of the cluster behind it: guards, live GETs, and the meaning of answers.
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
        from: "if (facts.policyMode === 'dry-run') return",
        to: "if (facts.policyMode === command.mode && facts.policyMode === 'dry-run') return",
      },
    ],
    by: {
      file: 'services/reaper/decide/gate.test.ts',
      test: 'takes the stricter of the policy now and what it was in the command',
    },
  },
  {
    name: 'a patch removes by its place what it cannot compare',
    mistake: 'where the list has moved meanwhile, another owner is taken off',
    changes: [
      {
        file: 'services/reaper/decide/guard.ts',
        from: 'if (entries.every(({ value }) => value !== undefined)) return []',
        to: 'if (entries.length > 0) return []',
      },
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
        from: '  if (digest !== null) return listDigest(held) === digest\n',
        to: '  if (digest !== null) return true\n',
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
        from: 'object.uid.length > UID_LENGTH',
        to: 'object.uid.length > 2 * UID_LENGTH',
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
        from: 'preconditions: { uid, resourceVersion },',
        to: 'preconditions: { resourceVersion },',
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
        from: 'preconditions: { uid, resourceVersion },',
        to: 'preconditions: { uid },',
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
        from: "value === undefined ? [] : [{ op: 'test', path, value } as const],",
        to: 'value === undefined ? [] : [],',
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
      { file: 'services/reaper/decide/settle.ts', function: 'isAsJudged', body: '  return true' },
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
        from: 'return isTypedNotFound(reply, body) && unfit(body, asked).length === 0',
        to: 'return reply.status === 404',
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
        from: "const told = details[field] ?? (field === 'group' ? '' : undefined)",
        to: 'const told = details[field] ?? expected[0]',
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
        from: "if (isAbsence(reply, body, asked.target)) return { type: 'Absent', code: 404 }\n  return unknown(",
        to: "if (reply.status === 403 || isAbsence(reply, body, asked.target)) return { type: 'Absent', code: 404 }\n  return unknown(",
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
        from: 'return `${owner} could not be looked up: ${look.reason}`',
        to: 'return undefined',
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
        from: "if (command.freshness === 'recheck') return command.owners",
        to: '',
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
        from: '!isUnbroken || newsMs > bounds.goneProofAfterMs',
        to: '!isUnbroken',
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
        from: 'Math.min(timestamp - aheadMs, clock.monotonicMs()',
        to: 'Math.min(timestamp, clock.monotonicMs()',
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
        body: '  return moments',
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
        from: 'if (home === cluster) return undefined',
        to: 'if (home !== undefined) return undefined',
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
        from: 'line.connection = {}',
        to: 'void line',
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
        from: 'if (marksAskedFor(facts) === marks) return undefined',
        to: 'if (marks !== undefined) return undefined',
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
        from: 'const pass = await gate(command, life)\n        if (pass.type',
        to: 'const pass = judge(command, site.facts(command, moments), site.config)\n        if (pass.type',
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
      {
        file: 'services/reaper/decide/guard.ts',
        from: '    ...deletion(command),\n',
        to: '',
      },
      {
        file: 'services/reaper/decide/settle.ts',
        from: ' && isStillDeleted(object, command)',
        to: '',
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
        from: '!isUnbroken || newsMs',
        to: 'newsMs',
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
        from: 'if (newsMs <= bounds.waitingProofAfterMs) return NONE',
        to: 'if (newsMs >= 0) return NONE',
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
        from: 'if (isWrite) {',
        to: 'if (isWrite && isWrite !== true) {',
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
        from: 'Math.min(command.decidedAt, appendedAt)',
        to: 'Math.max(command.decidedAt, appendedAt)',
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
      {
        file: 'core/issue/issue.ts',
        from: 'return Math.min(step.at.timestamp, ...times)',
        to: 'return Math.max(step.at.timestamp, ...times)',
      },
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
        from: 'if (isOfUse && isFresh(known.askedAt(), bounds.ownerProofMs)) return known.seen',
        to: 'if (isOfUse) return known.seen',
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
        from: 'underWay < mostCalls(limit) && lane.underWay < limit / 8',
        to: 'underWay < mostCalls(limit) && lane.underWay < 0',
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
        from: 'namespaces.delete(namespace)',
        to: 'if (queues.size === 0) namespaces.delete(namespace)',
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
        body: '  return command.target.uid',
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
      {
        file: 'services/reaper/reap.ts',
        from: "return { type: isOld ? 'Outdated' : 'Proven' }",
        to: "return { type: isOld ? 'Proven' : 'Proven' }",
      },
    ],
    by: {
      file: 'services/reaper/reap.test.ts',
      test: 'looks at a waiting owner again when the answer to the first look came late',
    },
  },
  {
    name: 'looks outlive a broken connection',
    mistake: 'what was seen before a restore counts after it',
    changes: [
      {
        file: 'services/reaper/proof.ts',
        from: 'identityLook = undefined\n      owners.clear()',
        to: 'void owners',
      },
    ],
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
        from: 'if (identityLook !== undefined && isFresh(identityLook.since, lifeMs)) {',
        to: 'if (identityLook !== undefined && lifeMs > 0) {',
      },
      {
        file: 'services/reaper/site.ts',
        from: 'proofs.voidAll()',
        to: 'void proofs',
      },
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
        from: "if (facts.ageMs > bounds.commandLifeMs) return 'expired'",
        to: '',
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
        from: 'if (facts.clusterEpoch !== command.clusterEpoch) {',
        to: 'if (facts.clusterEpoch < 0) {',
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
        from: 'for (const entry of entries) obey(entry)',
        to: 'for (const entry of entries) if (!entry.key.startsWith(PAUSE_PREFIX)) obey(entry)',
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
        from: "${dryRun ? '&dryRun=All' : ''}",
        to: '',
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
        from: "      ...(dryRun && { dryRun: ['All'] }),\n    })\n    // The body decides.",
        to: '    })\n    // The body decides.',
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
        from: "if (mayHaveTaken(answer) && !isWarning && !tried.dryRun) return { type: 'ReadBack' }",
        to: "if (mayHaveTaken(answer) && !isWarning && !tried.dryRun) return settle('done', '', answer.code)",
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
        from: "await retry(() => log.append('events', partition, records), signal)\n      for (const { onAppended } of batch) onAppended()",
        to: "for (const { onAppended } of batch) onAppended()\n      await retry(() => log.append('events', partition, records), signal)",
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
        from: 'const offset = offsets[head] ?? next',
        to: 'const offset = next',
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
      { file: 'services/reaper/intake/backlog.ts', function: 'isEarlier', body: '  return false' },
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
        from: 'loaded(entries, end < next)',
        to: 'loaded(entries, end < 0n)',
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
        from: 'if (look.object.uid !== claim.uid) return undefined',
        to: 'if (look.object.name !== claim.name) return undefined',
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
        from: 'from = await this.#start(signal)',
        to: "from = { offset: (await log.bounds('commands', partition)).end, detail: '' }",
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
        from: "if (facts.barredBecause !== '') return facts.barredBecause",
        to: 'void facts.barredBecause',
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
        from: "if (start === '' || start === own.start || own.former.includes(start)) {",
        to: 'if (own.start.length > 0) {',
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
        from: 'for (const entry of entries) obey(entry)',
        to: 'for (const entry of entries) if (!entry.key.startsWith(PROTECT_PREFIX)) obey(entry)',
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
        from: 'if (askedAt < steady.since || troubledMs() >= askedAt) return false',
        to: 'if (askedAt < steady.since) return false',
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
        from: 'since: isBreak ? next.askedAt : since',
        to: 'since: isBreak && next.askedAt < 0 ? next.askedAt : since',
      },
    ],
    by: {
      file: 'services/reaper/long-proof.test.ts',
      test: 'looks at all of them again when the cluster did not say for too long that it is there',
    },
  },
]
