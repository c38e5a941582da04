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
      { file: 'core/model/subject.ts', function: 'namespacesOf', body: '  return [namespace]' },
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
        from: 'until: Math.max(left?.until ?? 0, now + PROTECTED_FOR_MS) }',
        to: 'until: now }',
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
        body: '  return guardingOf(graph, cluster)',
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
      { file: 'ports/record/void-subject.ts', function: 'voidSubject', body: "  return ''" },
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
        from: "if (isRejected || (evidence === 'bulk' && ruling === null)) {",
        to: 'if (isRejected) {',
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
        body: '  return false',
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded definition replaced' },
  },
  {
    name: 'a namespace is counted in full against all others',
    mistake: 'what one tenant deletes holds up the whole cluster',
    changes: [
      {
        file: 'core/admit/burst.ts',
        from: 'sumOf(inAll, Math.floor(most * NAMESPACE_SHARE))',
        to: 'sumOf(inAll)',
      },
    ],
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
        file: 'core/admit/burst.ts',
        from: "if (all !== undefined) openBreaker(step, cluster, '', all)",
        to: 'void all',
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
    changes: [{ file: 'core/admit/burst.ts', function: 'isOfLiveOwner', body: '  return false' }],
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
        from: 'Math.ceil((limit - others) / 2)',
        to: '(limit - others)',
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
        from: 'now < owner.leasedAt + LEASE_MS',
        to: 'now < owner.leasedAt + 1e9 * LEASE_MS',
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
        from: "return !mayBe || command.approvedBy === ''",
        to: 'return !mayBe',
      },
    ],
    by: { file: 'services/reaper/decide/gate.test.ts', test: 'blocks a command with bulk' },
  },
  {
    name: 'nothing is held',
    mistake: 'an owner that a list missed takes its dependents along at once',
    changes: [{ file: 'core/admit/hold.ts', from: 'return missingMs', to: 'return 0' }],
    by: { file: 'core/scenario.test.ts', test: 'story guarded holds' },
  },
  {
    name: 'a hold outlives a change',
    mistake: 'an object that names another owner by now is held no longer than for the one before',
    changes: [
      {
        file: 'core/observe/sighting.ts',
        from: 'hold: how.wasCurrent && isNamingAlike ? node.hold : null,',
        to: 'hold: node.hold,',
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded hold other owner' },
  },
  {
    name: 'what a backup tool restores belongs to a deletion of long ago',
    mistake:
      'restored data is deleted half a minute after it came, since its owner was deleted before',
    changes: [{ file: 'core/judge/standing.ts', function: 'cameLate', body: '  return false' }],
    by: { file: 'core/scenario.test.ts', test: 'story guarded restored data' },
  },
  {
    name: 'a hold outlives the owner that went first',
    mistake: 'an object that has waited for one owner goes as soon as the last one is gone',
    changes: [
      {
        file: 'core/admit/hold.ts',
        from: 'if (begun > since) since = begun',
        to: 'void begun',
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story guarded hold last owner' },
  },
  {
    name: 'who comes late has waited',
    mistake: 'what a restore brings goes at once when its owner went long ago',
    changes: [{ file: 'core/admit/hold.ts', from: ' || position > proof.position', to: '' }],
    by: { file: 'core/scenario.test.ts', test: 'story guarded hold cascade' },
  },
  {
    name: 'an approval is good for anything',
    mistake: 'what was said of one content is said of another',
    changes: [
      {
        file: 'core/admit/hold.ts',
        from: 'if (ruling.hash !== hash || ruling.what !== what) return null',
        to: 'void [hash, what]',
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
        from: 'if (isTold && first.who !== who) {',
        to: 'if (isTold) {',
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
        from: "return ruling.verdict === 'approved' && isOver ? null : ruling",
        to: 'return isOver ? ruling : ruling',
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story approval' },
  },
  {
    name: 'budgets are no matter',
    mistake: 'a burst takes as much as it likes',
    changes: [{ file: 'core/admit/budget.ts', function: 'roomOf', body: '  return 1_000' }],
    by: {
      file: 'core/admit/budget.property.test.ts',
      test: 'nothing is deleted before its hold, nor more than the budget within ten minutes, and all is in the end',
    },
  },
  {
    name: 'the fold spares nothing',
    mistake: 'protected objects are commanded to go',
    changes: [
      {
        file: 'core/admit/hold.ts',
        from: "if (spared !== null) return { by: 'protection', ...spared }",
        to: 'void spared',
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story protected kinds' },
  },
  {
    name: 'the gate spares nothing',
    mistake: 'an object that was protected since it was judged goes',
    changes: [
      { file: 'services/reaper/decide/gate.ts', function: 'sparedBecause', body: "  return ''" },
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
        file: 'services/reaper/reap.ts',
        from: "case 'Failed':\n      return blocked(keeping.reason)",
        to: "case 'Failed':\n      return undefined",
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
        from: 'return isOrder(record) ? refused(`a ${record.type} counts in orders only`) : record',
        to: 'return record',
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
        body: '  return inForce.length >= 0 || offset >= 0n',
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
    changes: [
      {
        file: 'services/graph/fold/order.ts',
        from: 'mayComeIntoForce(inForce, offset) ? inForce : await held(log, inForce, end)',
        to: 'end > 0n ? inForce : await held(log, inForce, end)',
      },
    ],
    by: {
      file: 'services/graph/fold/order.test.ts',
      test: 'after many orders, those that are given since the end of orders was lost come into force (F39)',
    },
  },
  {
    name: 'what orders lost is not said again',
    mistake: 'a reaper that starts then knows of no pause',
    changes: [
      {
        file: 'services/graph/orders/order-keeper.ts',
        from: 'if (records.length > 0) await log.append',
        to: 'if (records.length > 1e6) await log.append',
      },
    ],
    by: {
      file: 'services/graph/orders/order-keeper.test.ts',
      test: 'a pause, protection and the policy’s are said again where all of orders is lost (F39)',
    },
  },
  {
    name: 'what was never seen is not held',
    mistake: 'a dependent that a restore brought back before its owner goes at once',
    changes: [{ file: 'core/admit/hold.ts', from: 'return notFoundMs', to: 'return 0' }],
    by: 'sim',
  },
  {
    name: 'what is archived is not all of it',
    mistake: 'what is made again of it lacks its annotations',
    changes: [
      {
        file: 'services/reaper/archive.ts',
        from: 'const { managedFields: _, ...rest } = metadata',
        to: 'const { managedFields: _, annotations: __, ...rest } = metadata',
      },
    ],
    by: 'sim',
  },
  {
    name: 'budgets are kept in memory',
    mistake: 'whoever begins anew has ten minutes of tokens again',
    changes: [
      {
        file: 'services/graph/fold/task.ts',
        from: "this.#state = 'folding'\n    while",
        to: "for (const [key] of (await store.page({ gte: 'budget/', lt: 'budget0', limit: 100 })).rows) await store.write([[key, null]], store.checkpoint()!)\n    this.#state = 'folding'\n    while",
      },
    ],
    by: 'sim',
  },
  {
    name: 'a hold goes by the clock on the wall',
    mistake: 'who folds decides by its own time, and nobody can fold the same again',
    changes: [
      {
        file: 'services/graph/fold/task.ts',
        from: 'timestamp: entry.timestamp,',
        to: 'timestamp: clock.now(),',
      },
    ],
    by: 'sim',
  },
]
