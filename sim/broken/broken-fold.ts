/**
 * Broken builds of the fold: which objects it takes for deleted, what it remembers, and which commands it issues.
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
        from: 'return proof.at - proof.ageMs',
        to: 'return proof.at',
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
        from: 'if (cost > step.references && !isFirst) return false',
        to: 'void isFirst',
      },
    ],
    by: 'sim',
  },
  {
    name: 'an object with many owners is judged at each answer',
    mistake:
      'one object with a thousand references keeps the fold busy for minutes, and others wait',
    changes: [
      {
        file: 'core/fold.ts',
        from: "todo.type === 'dependents' ? changeBy(step, todo, cluster, uid) : 'due'",
        to: "'due'",
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
        from: "return stand('unverified', `${name} has not been seen`)",
        to: "return stand('dangling', `${name} has not been seen`)",
      },
    ],
    by: 'small',
  },
  {
    name: 'an owner is known by its uid alone',
    mistake: 'a reference to an owner elsewhere is solid if that was seen first',
    changes: [
      {
        file: 'core/judge/standing.ts',
        from: 'if (node !== undefined && isSamePlace(node.object, place)) {',
        to: 'if (node !== undefined) {',
      },
    ],
    by: 'small',
  },
  {
    name: 'the version is part of the identity',
    mistake: 'a reference finds nobody, since its version stands in the way',
    changes: [
      {
        file: 'core/model/reference.ts',
        function: 'kindOfReference',
        body: '  return { group: reference.apiVersion, kind: reference.kind }',
      },
    ],
    by: 'small',
  },
  {
    name: 'an illegal scope is no matter',
    mistake: 'an owner in a namespace may own what is in none',
    changes: [
      { file: 'core/graph/owner-place.ts', function: 'isIllegalScope', body: '  return false' },
    ],
    by: 'small',
  },
  {
    name: 'a waiting owner is gone',
    mistake: 'what a waiting owner owns goes though somebody may still turn it to orphan',
    changes: [
      {
        file: 'core/judge/verdict.ts',
        from: "const useless = [...of('dangling'), ...of('waiting')]\n  if (of('solid').length > 0) {",
        to: "const useless = [...of('dangling'), ...of('waiting')]\n  if (of('solid').length > 0 && of('waiting').length === 0) {",
      },
    ],
    by: 'small',
  },
  {
    name: 'one owner gone is all gone',
    mistake: 'an object goes with the first of its owners',
    changes: [
      {
        file: 'core/judge/verdict.ts',
        from: "if (useless.length === 0) return conclude('keep', of('solid'), null, { type: 'none' })",
        to: "if (of('dangling').length === 0) return conclude('keep', of('solid'), null, { type: 'none' })\n    if (of('dangling').length > 0) return conclude('reap', useless, 'deleted', { type: 'delete', policy: 'Background' })",
      },
    ],
    by: 'small',
  },
  {
    name: 'orphans are not let go of',
    mistake: 'an owner that orphans its dependents counts as waiting for them',
    changes: [
      {
        file: 'core/judge/standing.ts',
        from: "case 'orphaning':\n      return stand('orphaned',",
        to: "case 'orphaning':\n      return stand('waiting',",
      },
      {
        file: 'core/judge/standing.ts',
        from: 'if (owner.orphanedAt !== null)\n',
        to: "if (owner.orphanedAt !== null && owner.phase !== 'orphaning')\n",
      },
    ],
    by: 'small',
  },
  {
    name: 'the mark is cleared too early',
    mistake: 'once its finalizer is off, an owner that orphaned its dependents is any other',
    changes: [
      {
        file: 'core/model/node.ts',
        from: 'return !wasTaken || isOurs || before.isFreed ? orphanedAt : null',
        to: 'return wasTaken ? null : orphanedAt',
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
        from: 'absentOwner(proof, node?.orphanedAt ?? orphanMarkOf(former))',
        to: 'absentOwner(proof, null)',
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
        body: '  return policyOf(graph).policy.rememberMs',
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
        from: "return { phase: 'absent', proof, orphanedAt: owner.orphanedAt, basis, isHearsay }",
        to: "return { phase: 'absent', proof, orphanedAt: isOfEpoch ? owner.orphanedAt : null, basis, isHearsay }",
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
        from: 'const isHearsay = owner.orphanedAt !== null && !isOfEpoch',
        to: 'const isHearsay = owner.orphanedAt !== null && !isOfEpoch && false',
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
        from: 'if (compared < 0 && !isSetBack) {\n    // It is listed',
        to: 'if (compared < -1e9) {\n    // It is listed',
      },
    ],
    by: 'small',
  },
  {
    name: 'a deletion is not final',
    mistake: 'a sighting that comes late brings back what went',
    changes: [
      {
        file: 'core/observe/sighting.ts',
        from: 'if (gone !== null && isGone && !isListedSince(step, cluster, object, sync, gone.position)) {',
        to: 'if (isGone && step.at.position < 0n) {',
      },
    ],
    by: 'small',
  },
  {
    name: 'edges are counted one too many',
    mistake: 'an owner waits for dependents that it does not have',
    changes: [
      {
        file: 'core/graph/link.ts',
        from: 'dependents: old.dependents + dependents,',
        to: 'dependents: (old.dependents || Number(dependents > 0)) + dependents,',
      },
    ],
    by: 'small',
  },
  {
    name: 'what blocks is counted one too few',
    mistake: 'an owner is let go before the last dependent that blocks it',
    changes: [
      {
        file: 'core/judge/completion.ts',
        from: ': left.blocking === 0 || (ringed',
        to: ': left.blocking <= 1 || (ringed',
      },
    ],
    by: 'small',
  },
  {
    name: 'rings are not looked for',
    mistake: 'owners that wait for each other wait for ever',
    changes: [
      {
        file: 'core/judge.ts',
        from: '} else if (mayBeRing(step.graph, cluster, node)) beginWalk(step, cluster, uid)',
        to: '}',
      },
    ],
    by: 'small',
  },
  {
    name: 'dependents are judged before their owner goes',
    mistake: 'nobody judges them when it has gone',
    changes: [
      {
        file: 'core/observe/departure.ts',
        from: 'basis: [step.at.position],\n  })\n  judgeDependents(step, cluster, object.uid, object)\n}\n\nfunction takeOut',
        to: 'basis: [step.at.position],\n  })\n}\n\nfunction takeOut',
      },
    ],
    by: 'small',
  },
  {
    name: 'nobody waits for a kind',
    mistake: 'what could not be judged before its kind was listed is never judged again',
    changes: [
      {
        file: 'core/judge.ts',
        from: 'for (const kind of kindsAwaited(decision)) waitFor(step, cluster, kind, uid)',
        to: 'kindsAwaited(decision)',
      },
    ],
    by: 'small',
  },
  {
    name: 'timers are lost',
    mistake: 'a command whose answer was lost is never asked for again',
    changes: [
      {
        file: 'core/issue/issue.ts',
        from: 'nodeTimer(step, cluster, state.now + CONFIRM_MS, object.uid)',
        to: 'void nodeTimer',
      },
    ],
    by: 'small',
  },
  {
    name: 'what was refused is not asked again',
    mistake: 'a command that was blocked once is never asked for again',
    changes: [
      {
        file: 'core/observe/settle.ts',
        from: 'nodeTimer(step, event.cluster, next.until, event.uid)\n      return put({ attempt: next })',
        to: "return put({ attempt: { ...next, state: 'would-go' } })",
      },
    ],
    by: 'small',
  },
  {
    name: 'nothing changed is asked again',
    mistake: 'each look at a node issues its command once more',
    changes: [
      {
        file: 'core/issue/issue.ts',
        from: 'if (former !== null && isUnderWay(former, state.now)) return former',
        to: 'void isUnderWay',
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story adopted again and again' },
  },
  {
    name: 'what stands on a kind is not looked at again',
    mistake:
      'a kind in another scope, or without a version that it had, judges only who waits for it',
    changes: [{ file: 'core/observe/sync.ts', function: 'isOtherGround', body: '  return false' }],
    by: {
      file: 'core/observe/served.test.ts',
      test: 'blocks a dependent that it kept by a version that is served no more',
    },
  },
  {
    name: 'only who waits is led elsewhere',
    mistake:
      'a kind changes its scope, and who named an owner that went has its edge where that was for longer',
    changes: [
      {
        file: 'core/work.ts',
        from: "if (todo.type === 'waits' || todo.type === 'verdicts') relink(step, cluster, uid)",
        to: "if (todo.type === 'waits') relink(step, cluster, uid)",
      },
    ],
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
      { file: 'core/judge/verdict.ts', function: 'isOlderThanKind', body: '  return false' },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story scope changed' },
  },
  {
    name: 'a relist takes out what is newer than it',
    mistake: 'what was made while a list was under way counts as gone',
    changes: [
      {
        file: 'core/observe/missing.ts',
        from: 'if (!isOlderEpoch && (order === undefined || order > 0)) return undefined',
        to: 'if (!isOlderEpoch && order === undefined) return undefined',
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
        from: 'if (isSameSet(listed, kind.held)) return',
        to: 'if (listed.count <= kind.held.count) return',
      },
    ],
    by: 'small',
  },
  {
    name: 'a sync that was dropped counts when it ends',
    mistake: 'what only the newer list holds counts as gone',
    changes: [
      {
        file: 'core/observe/sync.ts',
        from: 'if (kind === undefined || kind.openSync !== event.sync) {',
        to: 'if (kind === undefined) {',
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
        from: 'if (state !== undefined && event.epoch >= state.epoch) return state',
        to: 'if (state !== undefined) return state',
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
        from: "if (proof.clusterEpoch !== clusterOf(graph, cluster)?.clusterEpoch) return 'bulk'",
        to: '',
      },
    ],
    by: {
      file: 'core/judge/verdict.test.ts',
      test: 'is held bulk when the cluster went back in time since',
    },
  },
  {
    name: 'a deletion seen long ago needs no look',
    mistake: 'an owner whose deletion was seen before a relist is not verified again',
    changes: [
      {
        file: 'core/issue/issue.ts',
        from: ' || position < relistedAt',
        to: '',
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
        from: '} else if (entry.hash === node.hash) {',
        to: '} else if (order >= 0) {',
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story touched' },
  },
  {
    name: 'what cannot be read changes nothing',
    mistake: 'a home of which a record was lost is judged as before',
    changes: [
      {
        file: 'core/judge.ts',
        from: 'if (unreadableAt < 0n) return []',
        to: 'if (unreadableAt < 0n || state.epoch >= 0) return []',
      },
    ],
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
        file: 'services/graph/fold/bytes/overlay.ts',
        from: 'return [...keys].sort(byAscii)',
        to: 'void byAscii\n      return [...keys]',
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
    changes: [
      {
        file: 'core/model/constant.ts',
        from: 'export const KEYS_PER_RECORD = 512',
        to: 'export const KEYS_PER_RECORD = 1e9',
      },
    ],
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
        from: 'if (proof !== null) return proof.at - proof.ageMs',
        to: 'if (proof !== null) return []',
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
    changes: [{ file: 'core/issue/verification.ts', from: 'kind.ambiguous || ', to: '' }],
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
        from: "const left = owner.type === 'trace' ? { ...owner, look: null } : null",
        to: 'const left = null as KnownOwner | null',
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
        from: 'deletion: object.deletedAt === null ? null : deletionOfPresent(node),',
        to: 'deletion: deletionOfPresent(node),',
      },
      {
        file: 'core/observe/sighting.ts',
        from: 'deletion: node.object.deletedAt === null ? null : deletionOfPresent(node),',
        to: 'deletion: deletionOfPresent(node),',
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story reaped and restored' },
  },
  {
    name: 'what a kind leaves behind stays as it was',
    mistake: 'of objects that nobody can ask for any more it is said that they are there',
    changes: [
      {
        file: 'core/observe/sync.ts',
        from: "enqueue(step, { cluster: event.cluster, todo: { type: 'suspects', kind: groupKind(event) } })",
        to: '',
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
    changes: [
      {
        file: 'core/observe/missing.ts',
        from: 'if (found.isOurs && !found.isOlderEpoch) ours++\n    else others++',
        to: 'others++',
      },
    ],
    by: {
      file: 'core/observe/ours.test.ts',
      test: 'what a person deletes beside them is no mass either',
    },
  },
  {
    name: 'an object with many references is judged with each of its owners',
    mistake: 'the work of a thousand deleted owners grows with its square',
    changes: [
      {
        file: 'core/model/constant.ts',
        from: 'export const REFERENCES_OF_NEWS = 128',
        to: 'export const REFERENCES_OF_NEWS = 1e9',
      },
    ],
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
        from: '  if (isKnown && (former.isWhole || !isWhole)) return\n',
        to: '',
      },
      { file: 'core/fold.ts', from: '  if (isKnown) return\n', to: '' },
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
        from: "  if (orphanedAt !== null || phase === 'orphaning') return 'due'\n",
        to: '',
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
      {
        file: 'core/issue/verification.ts',
        from: "  if (!isWitness) return 'stays'\n",
        to: "  return 'stays'\n",
      },
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
        body: '  return attempt?.intent === intent',
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
    changes: [
      {
        file: 'core/model/constant.ts',
        from: 'export const TURNS_PASSED_ON = 64',
        to: 'export const TURNS_PASSED_ON = 0',
      },
    ],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'T10: a namespace whose objects have many references leaves as many turns to others as that costs',
    },
  },
  {
    name: 'a namespace asks for all of its owners at once',
    mistake: 'a tenant fills the reaper with live GETs for owners that never were',
    changes: [{ file: 'core/graph/gets.ts', function: 'hasRoomForGet', body: '  return true' }],
    by: 'sim',
  },
  {
    name: 'a namespace has all its owners verified at once',
    mistake: 'others wait behind its live GETs',
    changes: [
      {
        file: 'core/model/constant.ts',
        from: 'export const GETS_OF_A_NAMESPACE = 32',
        to: 'export const GETS_OF_A_NAMESPACE = 1e9',
      },
    ],
    by: {
      file: 'core/hostile-tenant.test.ts',
      test: 'an object that references one uid by 1,000 names delays the cascade of another namespace by a few records, and is deleted itself',
    },
  },
]
