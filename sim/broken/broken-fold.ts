/**
 * Broken builds of the fold: which objects it takes for deleted, what it remembers, and which
 * commands it issues.
 *
 * What must stay true: each is one mistake that a developer could make.
 */
import type { BrokenBuild } from './broken-build.ts'

export const BROKEN_FOLD: readonly BrokenBuild[] = [
  {
    name: 'a deletion is as old as its record',
    mistake: 'what a watcher says of its age is not counted',
    changes: [
      {
        file: 'core/issue/issue.ts',
        function: 'decidedUpTo',
        body: [
          'const isAtOnce = stands.map((stand) => ({',
          '  ...stand,',
          '  proof: stand.proof && { ...stand.proof, ageMs: 0 },',
          '}))',
          'return original(step, isAtOnce)',
        ],
      },
    ],
    by: {
      file: 'core/issue/decided-at.test.ts',
      test: 'a deletion that waited for the log, or for its watcher to wake, is as old as it may have been seen',
    },
  },
  {
    name: 'a record judges a whole page',
    mistake: 'objects with many owners make one record cost as much as thousands',
    changes: [
      {
        file: 'core/fold.ts',
        function: 'judgeWithin',
        body: [
          'step.record.references = REFERENCES_PER_RECORD',
          'return original(step, uid, cost)',
        ],
      },
    ],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'T10: a namespace whose objects have many references leaves as many turns to others as that costs',
    },
  },
  {
    name: 'an object with many owners is judged at each answer',
    mistake:
      'one object with a thousand references keeps the fold busy for minutes, and others wait',
    changes: [
      {
        file: 'core/fold.ts',
        function: 'judgeFor',
        body: ['return judgeOnce(step, uid)'],
      },
    ],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'an object that references one uid by 1,000 names delays the cascade of another namespace by a few records, and is deleted itself',
    },
  },
  {
    name: 'unknown is absent',
    mistake: 'an owner that nobody has seen counts as gone',
    changes: [
      {
        file: 'core/judge/standing.ts',
        function: 'ofUnknown',
        body: [
          'const found = original(...arguments)',
          "return found.standing === 'unverified' ? stand('dangling', found.reason) : found",
        ],
      },
    ],
    by: { family: 'orders', world: '+ rs/a; + pod/d <- rs/a' },
  },
  {
    name: 'an owner is known by its uid alone',
    mistake: 'a reference to an owner elsewhere is solid if that was seen first',
    changes: [
      {
        file: 'core/judge/standing.ts',
        function: 'ownerAt',
        body: ['return original(facts, uid, facts.node(uid)?.object ?? place)'],
      },
    ],
    by: { family: 'loops', world: '+ rs/a in other; + pod/d <- rs/a' },
  },
  {
    name: 'the version is part of the identity',
    mistake: 'a reference finds nobody, since its version stands in the way',
    changes: [
      {
        file: 'core/model/reference.ts',
        function: 'kindOfReference',
        body: ['return { group: reference.apiVersion, kind: reference.kind }'],
      },
    ],
    by: { family: 'loops', world: '+ rs/a; + pod/d <- rs/a; - rs-a Background' },
  },
  {
    name: 'an illegal scope is no matter',
    mistake: 'an owner in a namespace may own what is in none',
    changes: [
      { file: 'core/graph/owner-place.ts', function: 'isIllegalScope', body: ['return false'] },
    ],
    by: { family: 'loops', world: '+ rs/a; + pv/d <- rs/a!' },
  },
  {
    name: 'a waiting owner is gone',
    mistake: 'what a waiting owner owns goes though somebody may still turn it to orphan',
    changes: [
      {
        file: 'core/judge/standing.ts',
        function: 'standsOf',
        body: [
          'const stands = original(...arguments)',
          "const isWaiting = stands.some(({ standing }) => standing === 'waiting')",
          "return isWaiting ? stands.filter(({ standing }) => standing !== 'solid') : stands",
        ],
      },
    ],
    by: { family: 'loops', world: '+ rs/a; + job/a; + pod/d <- rs/a!, job/a!; - job-a Foreground' },
  },
  {
    name: 'one owner gone is all gone',
    mistake: 'an object goes with the first of its owners',
    changes: [
      {
        file: 'core/judge/standing.ts',
        function: 'standsOf',
        body: [
          'const stands = original(...arguments)',
          "const isGone = stands.some(({ standing }) => standing === 'dangling')",
          "return isGone ? stands.filter(({ standing }) => standing !== 'solid') : stands",
        ],
      },
    ],
    by: { family: 'loops', world: '+ rs/a; + job/a; + pod/d <- rs/a!, job/a!; - job-a Background' },
  },
  {
    name: 'orphans are not let go of',
    mistake: 'an owner that orphans its dependents counts as waiting for them',
    changes: [
      {
        file: 'core/judge/standing.ts',
        function: 'standingOf',
        body: [
          'const found = original(...arguments)',
          'const { place } = found',
          'const owner = place && ownerAt(facts, reference.uid, place)',
          "return owner?.phase === 'orphaning' && found.standing === 'orphaned'",
          "  ? { ...found, standing: 'waiting' }",
          '  : found',
        ],
      },
    ],
    by: { family: 'loops', world: '+ rs/a; + pod/d <- rs/a; - rs-a Orphan' },
  },
  {
    name: 'the mark is cleared too early',
    mistake: 'once its finalizer is off, an owner that orphaned its dependents is any other',
    changes: [
      {
        file: 'core/model/node.ts',
        function: 'markAfter',
        body: [
          "const wasTaken = before !== null && phaseOf(before.object) === 'orphaning'",
          "return wasTaken && phaseOf(object) !== 'orphaning' ? null : original(...arguments)",
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story orphan adopted again' },
  },
  {
    name: 'the mark is not kept with the proof',
    mistake: 'a dependent that comes late is deleted and not orphaned',
    changes: [
      {
        file: 'core/observe/departure.ts',
        function: 'depart',
        body: [
          'original(...arguments)',
          'const owner = step.graph.owner(object.uid, object)',
          'if (owner === undefined) return',
          'putOwner(step, { uid: object.uid, place: object }, { ...owner, orphanedAt: null })',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story orphan by own finalizer' },
  },
  {
    name: 'a mark is forgotten with the rest',
    mistake: 'a dependent that comes back weeks later is deleted and not orphaned',
    changes: [
      {
        file: 'core/graph/agenda.ts',
        function: 'memoryMs',
        body: ['return facts.policy.policy.rememberMs'],
      },
    ],
    by: {
      file: 'core/observe/forget.test.ts',
      test: 'that an owner let its dependents go is remembered for thirty days, however short the rest',
    },
  },
  {
    name: 'a restore ends every mark',
    mistake:
      'an owner that orphaned its dependents and stays away is after a restore any other that is gone',
    changes: [
      {
        file: 'core/judge/standing.ts',
        function: 'ownerAt',
        body: [
          'const owner = original(...arguments)',
          "return owner.phase === 'absent' && owner.isHearsay ? { ...owner, orphanedAt: null } : owner",
        ],
      },
    ],
    by: {
      file: 'core/scenario.test.ts',
      test: 'story orphaned and gone before restore',
    },
  },
  {
    name: 'a mark of before a restore drops without a look',
    mistake: 'an owner that comes back with a restore loses dependents that are told before it',
    changes: [
      {
        file: 'core/judge/standing.ts',
        function: 'ownerAt',
        body: [
          'const owner = original(...arguments)',
          "return owner.phase === 'absent' ? { ...owner, isHearsay: false } : owner",
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story orphaned and gone before restore' },
  },
  {
    name: 'older versions count',
    mistake: 'a sighting that comes late undoes what was seen since',
    changes: [
      {
        file: 'core/observe/sighting.ts',
        function: 'sight',
        body: [
          'const seen = step.graph.seen(object, object.uid)',
          'if (seen !== undefined && compareVersions(object.resourceVersion, seen.resourceVersion) < 0)',
          "  putSeen(step, object, { ...seen, resourceVersion: '0' })",
          'original(...arguments)',
        ],
      },
    ],
    by: { family: 'faults', world: '+ rs/a; + pod/d; = pod/d <- rs/a!' },
  },
  {
    name: 'a deletion is not final',
    mistake: 'a sighting that comes late brings back what went',
    changes: [
      {
        file: 'core/observe/sighting.ts',
        function: 'isListedSince',
        body: ['return step.graph.node(kind.uid) === undefined || original(...arguments)'],
      },
    ],
    by: { family: 'faults', world: '+ rs/a; + pod/d <- rs/a; - rs-a Background' },
  },
  {
    name: 'edges are counted one too many',
    mistake: 'an owner waits for dependents that it does not have',
    changes: [
      {
        file: 'core/graph/link.ts',
        function: 'count',
        body: [
          'const { owner, place } = link',
          'const isFirst = dependents > 0 && !step.graph.isNamed(owner, place)',
          'original(...arguments)',
          'const counted = step.graph.count(owner, place)',
          'const more = { ...counted, dependents: counted.dependents + 1 }',
          'if (isFirst) step.graph.setCount(owner, place, more)',
        ],
      },
    ],
    by: { family: 'loops', world: '+ rs/a; + pod/d <- rs/a; - rs-a Orphan' },
  },
  {
    name: 'what blocks is counted one too few',
    mistake: 'an owner is let go before the last dependent that blocks it',
    changes: [
      {
        file: 'core/judge/completion.ts',
        function: 'leftOf',
        body: [
          'const left = original(...arguments)',
          'return left.blocking === 1 ? { ...left, blocking: 0 } : left',
        ],
      },
    ],
    by: {
      family: 'orders',
      world: '+ rs/a; + job/a; + pod/d <- rs/a!, job/a!; + cm/e <- job/a!; - job-a Foreground',
    },
  },
  {
    name: 'rings are not looked for',
    mistake: 'owners that wait for each other wait for ever',
    changes: [
      {
        file: 'core/judge.ts',
        function: 'lookAgain',
        body: ['if (until !== null) original(...arguments)'],
      },
    ],
    by: { family: 'loops', world: '+ rs/a <- rs/a!; - rs-a Foreground' },
  },
  {
    name: 'nobody judges the dependents of an owner that went',
    mistake: 'a dependent that nothing else wakes stays',
    changes: [
      {
        file: 'core/graph/agenda.ts',
        function: 'judgeDependents',
        body: [
          "const isOfIt = (each) => each.type === 'deletion' && each.object.uid === uid",
          'if (!step.record.observations.some(isOfIt)) original(...arguments)',
        ],
      },
    ],
    by: { family: 'loops', world: '+ rs/a; + pod/d <- rs/a; - rs-a Background' },
  },
  {
    name: 'nobody waits for a kind',
    mistake: 'what could not be judged before its kind was listed is never judged again',
    changes: [{ file: 'core/judge/verdict.ts', function: 'kindsAwaited', body: ['return []'] }],
    by: { family: 'lists', world: '+ pod/d <- rs/a | 1' },
  },
  {
    name: 'timers are lost',
    mistake:
      'an object that waits for a time, such as that of a lost answer, is not looked at again',
    changes: [{ file: 'core/graph/agenda.ts', function: 'nodeTimer', body: [] }],
    by: { family: 'faulty loops', world: '+ rs/a; + pod/d <- rs/a; - rs-a Background' },
  },
  {
    name: 'what was refused is not asked again',
    mistake: 'a command that was blocked once is never asked for again',
    changes: [
      {
        file: 'core/model/node.ts',
        function: 'backedOff',
        body: ["return { ...original(...arguments), state: 'would-go' }"],
      },
    ],
    by: { family: 'faulty loops', world: '+ rs/a; + pod/d <- rs/a; - rs-a Background' },
  },
  {
    name: 'nothing changed is asked again',
    mistake: 'each look at a node issues its command once more',
    changes: [
      {
        file: 'core/issue/issue.ts',
        function: 'attemptFor',
        body: [
          "const attempt = node.attempt && { ...node.attempt, state: 'backoff', until: 0 }",
          'return original(step, state, { ...node, attempt }, decision)',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story adopted again and again' },
  },
  {
    name: 'what stands on a kind is not looked at again',
    mistake:
      'a kind in another scope, or without a version that it had, judges only who waits for it',
    changes: [{ file: 'core/observe/sync.ts', function: 'isOtherGround', body: ['return false'] }],
    by: {
      file: 'core/observe/served.test.ts',
      test: 'blocks a dependent that it kept by a version that is served no more',
    },
  },
  {
    name: 'nobody is led elsewhere',
    mistake:
      'a kind changes its scope, and who named an owner that went keeps its edge where that was',
    changes: [{ file: 'core/work.ts', function: 'relink', body: [] }],
    by: {
      file: 'core/observe/served.test.ts',
      test: 'leads an edge elsewhere at once when its kind has another scope',
    },
  },
  {
    name: 'a look elsewhere proves an owner absent',
    mistake:
      'of a kind made again in another scope, whoever is named from before counts as never seen',
    changes: [
      { file: 'core/judge/verdict.ts', function: 'isOlderThanKind', body: ['return false'] },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story scope changed' },
  },
  {
    name: 'a relist takes out what is newer than it',
    mistake: 'what was made while a list was under way counts as gone',
    changes: [
      {
        file: 'core/observe/missing.ts',
        function: 'missingOf',
        body: [
          "const newest = { ...list, resourceVersion: '9'.repeat(18) }",
          'return original(step, { kind, list: newest }, uid)',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story seen during relist' },
  },
  {
    name: 'a relist misses nothing',
    mistake: 'what went while nobody watched stays for ever, and so does what it owned',
    changes: [
      {
        file: 'core/observe/sync.ts',
        function: 'syncFinished',
        body: [
          'const members = step.graph.members(event)',
          'const isFewer = event.listed.count <= members.count',
          'original(step, isFewer ? { ...event, listed: members } : event)',
        ],
      },
    ],
    by: { family: 'faults', world: '+ rs/a; + pod/d <- rs/a; - rs-a Background' },
  },
  {
    name: 'a sync that was dropped counts when it ends',
    mistake: 'what only the newer list holds counts as gone',
    changes: [
      {
        file: 'core/observe/sync.ts',
        function: 'syncFinished',
        body: [
          'const kind = step.graph.kind(event)',
          'if (kind !== undefined) step.graph.setKind(event, { ...kind, openSync: event.sync })',
          'original(step, event)',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story dropped sync' },
  },
  {
    name: 'watchers that were succeeded are heard',
    mistake: 'what an old watcher tells late is folded',
    changes: [
      {
        file: 'core/graph/outcome.ts',
        function: 'currentCluster',
        body: ['return original(step, { ...event, epoch: Number.MAX_SAFE_INTEGER })'],
      },
    ],
    by: {
      file: 'services/watcher/election.test.ts',
      test: 'what a succeeded watcher had under way is refused, and it tells nothing more',
    },
  },
  {
    name: 'what was absent stays absent after a restore',
    mistake: 'a proof of one epoch of a cluster counts in the next',
    changes: [
      {
        file: 'core/judge/verdict.ts',
        function: 'classOf',
        body: [
          'const clusterEpoch = facts.state?.clusterEpoch',
          'return original(facts, node, arguments[2], { ...proof, clusterEpoch })',
        ],
      },
    ],
    by: {
      file: 'core/judge/verdict.test.ts',
      test: 'is delete bulk held when the cluster went back in time since',
    },
  },
  {
    name: 'a deletion seen long ago needs no look',
    mistake: 'an owner whose deletion was seen before a relist is not verified again',
    changes: [
      {
        file: 'core/issue/issue.ts',
        function: 'stalenessOf.isBefore',
        body: ['return position < state.startedAt || position < enforcedAt'],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story still listed' },
  },
  {
    name: 'touched counts without its hash',
    mistake: 'a version moves on though its content is another',
    changes: [
      {
        file: 'core/observe/sighting.ts',
        function: 'touched',
        body: [
          'const entries = event.entries.map((entry) => {',
          '  const { hash } = step.graph.node(entry.uid) ?? entry',
          '  return { ...entry, hash }',
          '})',
          'original(step, { ...event, entries })',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story touched' },
  },
  {
    name: 'what cannot be read changes nothing',
    mistake: 'a home of which a record was lost is judged as before',
    changes: [{ file: 'core/observe/sync.ts', function: 'unreadable', body: [] }],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'what cannot be read goes to the dead letters, and its home is not judged (F47)',
    },
  },
  {
    name: 'a page has no order',
    mistake: 'in what order dependents are judged depends on what is stored yet',
    changes: [
      {
        file: 'services/graph/fold/bytes/changed-ranges.ts',
        function: 'ChangedRanges.overlaid',
        body: [
          'const left = [...stored]',
          'const keys = original(left, { prefix, after, upTo }, isThere)',
          'return [...new Set([...left.filter((key) => keys.includes(key)), ...keys])]',
        ],
      },
    ],
    by: {
      file: 'core/order.property.test.ts',
      test: 'how records are split into batches changes nothing',
    },
  },
  {
    name: 'work has no bound',
    mistake: 'one record judges all dependents of an owner',
    changes: [{ file: 'core/model/constant.ts', constant: 'KEYS_PER_RECORD', value: '1e9' }],
    by: {
      file: 'core/bounded-work.test.ts',
      test: 'a relist that misses 5,000 takes them out in slices',
    },
  },
  {
    name: 'what is decided again is news',
    mistake: 'after an outage, a deletion that was seen before it counts as seen after it',
    changes: [
      {
        file: 'core/issue/issue.ts',
        function: 'decidedUpTo',
        body: [
          'const isNews = stands.map((stand) => ({ ...stand, proof: null }))',
          'return original(step, isNews)',
        ],
      },
    ],
    by: {
      file: 'sim/restore.test.ts',
      test: 'a restore in the middle of a cascade changes nothing, after 8000 ms and many writes more',
    },
  },
  {
    name: 'an ambiguous kind is asked for',
    mistake: 'an owner is looked for in the other resource of its kind, and is not there',
    changes: [
      {
        file: 'core/issue/verification.ts',
        function: 'isReadyToAsk',
        body: ['return original({ ...kind, ambiguous: false }, about, state)'],
      },
    ],
    by: {
      file: 'core/observe/served.test.ts',
      test: 'an owner that a GET found is not looked for again while two resources share its kind',
    },
  },
  {
    name: 'a question is forgotten with its mark',
    mistake: 'a late dependent of an owner that orphaned goes, once nobody asked for half an hour',
    changes: [
      {
        file: 'core/timer.ts',
        function: 'ownerDue',
        body: [
          'const { uid, place } = timer',
          'const owner = step.graph.owner(uid, place)',
          'const isAsked = owner !== undefined && step.graph.isNamed(uid, place)',
          "if (!isAsked || dueOf(owner, true, state.now) !== 'unask') return original(...arguments)",
          'putOwner(step, { uid, place }, null)',
          'judgeDependents(step, uid, place)',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story mark kept with refused look' },
  },
  {
    name: 'what we had deleted is ours for ever',
    mistake: 'what lives again after a restore goes in a mass without a person',
    changes: [
      {
        file: 'core/observe/sighting.ts',
        function: 'changed',
        body: [
          'original(...arguments)',
          'const after = step.graph.node(node.object.uid)',
          'if (after !== undefined)',
          '  putNode(step, after, { ...after, deletion: after.deletion ?? node.deletion })',
        ],
      },
      {
        file: 'core/observe/sighting.ts',
        function: 'vouch',
        body: [
          'original(...arguments)',
          'const after = step.graph.node(node.object.uid)',
          'if (after !== undefined)',
          '  putNode(step, after, { ...after, deletion: after.deletion ?? node.deletion })',
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story reaped and restored' },
  },
  {
    name: 'what a kind leaves behind stays as it was',
    mistake: 'of objects that nobody can ask for any more it is said that they are there',
    changes: [
      {
        file: 'core/work.ts',
        function: 'lookAt',
        body: ["if (todo.type !== 'suspects') original(...arguments)"],
      },
    ],
    by: {
      file: 'core/judge/verdict.test.ts',
      test: 'is blocked as soon as the kind of one of its many owners goes, though others are not verified yet',
    },
  },
  {
    name: 'what went by us counts as a mass',
    mistake:
      'one object that a person deletes while no watch can tell waits for a person, since a relist misses many of ours with it',
    changes: [{ file: 'core/model/node.ts', function: 'goesByUs', body: ['return false'] }],
    by: {
      file: 'core/observe/ours.test.ts',
      test: 'what a person deletes beside them is no mass either',
    },
  },
  {
    name: 'an object with many references is judged with each of its owners',
    mistake: 'the work of a thousand deleted owners grows with its square',
    changes: [{ file: 'core/model/constant.ts', constant: 'REFERENCES_OF_NEWS', value: '1e9' }],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: '1,000 owners deleted at once cost their shared dependent a few judgements, and it is deleted',
    },
  },
  {
    name: 'an object with many references is queued as often as its owners moved',
    mistake: 'it is judged for each of them, and the work grows with the square of its references',
    changes: [
      {
        file: 'core/fold.ts',
        function: 'queueSubject',
        body: ['step.graph.setQueued(uid, null)', 'original(...arguments)'],
      },
    ],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: '6 objects that share 200 owners cost a few judgements each when these go, and another namespace a few records',
    },
  },
  {
    name: 'an object that is being verified is not judged when an owner orphans it',
    mistake: 'an orphan waits for the GETs of all its other owners',
    changes: [
      {
        file: 'core/issue/verification.ts',
        function: 'changeBy',
        body: [
          'const isVerified = step.graph.verification(uid) === undefined',
          'const { uid: owner, place } = ownerIn(todo)',
          'const { phase, orphanedAt } = ownerAt(step.graph, owner, place)',
          "const isOrphaning = orphanedAt !== null || phase === 'orphaning'",
          "return isOrphaning && !isVerified ? 'stays' : original(...arguments)",
        ],
      },
    ],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'T10: an owner that is found orphaning orphans an object at once, though thousands of its owners are not verified yet',
    },
  },
  {
    name: 'the witness of an object is passed over',
    mistake: 'an object is not judged when the last of its owners is verified, and stays for good',
    changes: [
      { file: 'core/issue/verification.ts', function: 'moveWitness', body: ["return 'stays'"] },
    ],
    by: {
      file: 'core/many-owners.property.test.ts',
      test: 'whatever the owners of an object turn out to be, and in whatever order, it has the verdict of now after each answer',
    },
  },
  {
    name: 'a long list that is written all the time has a command for each write',
    mistake: 'a tenant has a list written to the log for each of its small patches',
    changes: [
      {
        file: 'core/issue/issue.ts',
        function: 'followedBy',
        body: ['return attempt?.intent === intent'],
      },
    ],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'T10: an object with many owners that is written all the time gets no second command before the first is settled, and then after a growing wait',
    },
  },
  {
    name: 'a namespace owes no turns',
    mistake: 'others have one turn for each large object of a namespace',
    changes: [{ file: 'core/model/constant.ts', constant: 'TURNS_PASSED_ON', value: '0' }],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'T10: a namespace whose objects have many references leaves as many turns to others as that costs',
    },
  },
  {
    name: 'a namespace asks for all of its owners at once',
    mistake: 'a tenant fills the reaper with live GETs for owners that never were',
    changes: [{ file: 'core/graph/gets.ts', function: 'hasRoomForGet', body: ['return true'] }],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'T10: eight objects with 1,000 owners each that never were cost a few judgements a reference, and the GETs of their namespace are few at any time',
    },
  },
  {
    name: 'a namespace has all its owners verified at once',
    mistake: 'others wait behind its live GETs',
    changes: [{ file: 'core/model/constant.ts', constant: 'GETS_OF_A_NAMESPACE', value: '1e9' }],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'an object that references one uid by 1,000 names delays the cascade of another namespace by a few records, and is deleted itself',
    },
  },
]
