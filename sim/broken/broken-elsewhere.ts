/**
 * Broken builds of owners in other clusters: what counts as a deletion, and in which epoch.
 *
 * What must stay true: each is one mistake that a developer could make.
 */
import type { BrokenBuild } from './broken-build.ts'

const BRIDGE = 'services/watcher/owner-bridge.test.ts'

export const BROKEN_ELSEWHERE: readonly BrokenBuild[] = [
  {
    name: 'an owner that is missing elsewhere was deleted',
    mistake: 'a list that lacks an owner of another cluster has its dependents deleted',
    changes: [
      {
        file: 'services/watcher/owner-bridge.ts',
        function: 'stateOf',
        body: [
          'const state = original({ lineage, isForgotten }, clusterEpoch)',
          "return state === 'unknown' && lineage.phase === 'gone' ? 'deleted' : state",
        ],
      },
    ],
    by: { file: BRIDGE, test: 'an owner missing in a list: unknown 1' },
  },
  {
    name: 'an owner elsewhere orphans nothing',
    mistake: 'an owner that was deleted with orphan takes its dependents of other clusters along',
    changes: [
      {
        file: 'services/watcher/owner-bridge.ts',
        function: 'stateOf',
        body: [
          'const state = original({ lineage, isForgotten }, clusterEpoch)',
          "return state === 'orphaned' ? 'deleted' : state",
        ],
      },
    ],
    by: { file: BRIDGE, test: 'an owner that orphans: orphaned 1' },
  },
  {
    name: 'a deletion elsewhere outlives a restore',
    mistake: 'what was watched before the cluster of the owner was restored counts afterwards',
    changes: [
      {
        file: 'core/judge/elsewhere.ts',
        function: 'statusOf',
        body: [
          'const fact = facts.elsewhere(owner.cluster, owner.uid)?.fact ?? null',
          'const of = facts.elsewhereCluster(owner.cluster)',
          "if (of === undefined || fact?.state !== 'deleted') return original(facts, owner)",
          'if (!isSamePlace(fact.place, owner)) return original(facts, owner)',
          'const since = Math.max(fact.since, of.since)',
          "return { type: 'deleted', because: '', since, owner, fact }",
        ],
      },
    ],
    by: { file: 'core/scenario.test.ts', test: 'story rule elsewhere restored' },
  },
  {
    name: 'an owner elsewhere that once orphaned is any other',
    mistake: 'another client takes the finalizer off, and the dependents elsewhere are deleted',
    changes: [
      {
        file: 'core/model/node.ts',
        function: 'goingAfter',
        body: [
          'const going = original(...arguments)',
          "return going === 'orphaning' && phaseOf(object) !== 'orphaning' ? 'whole' : going",
        ],
      },
    ],
    by: {
      file: 'services/graph/fold/lineage.test.ts',
      test: 'it left and orphaned, though another client took that finalizer off first',
    },
  },
  {
    name: 'a deletion elsewhere counts though states of it were missed',
    mistake: 'an owner orphaned its dependents between two lists, and those elsewhere are deleted',
    changes: [
      {
        file: 'core/observe/departure.ts',
        function: 'isSeenWhole',
        body: ['return true'],
      },
    ],
    by: {
      file: 'services/graph/fold/lineage.test.ts',
      test: 'it left when its deletion had begun between two lists',
    },
  },
  {
    name: 'an owner elsewhere left with its namespace',
    mistake: 'a namespace of the hub is made again, and its dependents elsewhere are deleted',
    changes: [{ file: 'services/reaper/proof.ts', function: 'aroundOf', body: ['return []'] }],
    by: {
      file: 'services/reaper/elsewhere.test.ts',
      test: 'deletes nothing whose owner left with its namespace, be that made again',
    },
  },
  {
    name: 'a forgotten cluster counts',
    mistake: 'an order that forgets a cluster is recorded, and its owners are deleted all the same',
    changes: [{ file: 'core/judge/elsewhere.ts', function: 'forgottenOf', body: ['return'] }],
    by: { file: 'core/scenario.test.ts', test: 'story rule elsewhere forgotten' },
  },
]
