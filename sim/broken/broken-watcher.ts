/**
 * Broken builds of the watcher: what it publishes, what it takes for a complete list, and where it
 * continues.
 *
 * What must stay true: each is one mistake that a developer could make.
 */
import type { BrokenBuild } from './broken-build.ts'

export const BROKEN_WATCHER: readonly BrokenBuild[] = [
  {
    name: 'what waited for the log is news',
    mistake: 'a deletion from before a restore counts as seen when the log had it',
    changes: [
      {
        file: 'services/watcher/publish/publisher.ts',
        function: 'Publisher.#aging',
        body: ['return () => this.#deps.codec.encode({ ...event, ageMs: 0 })'],
      },
    ],
    by: {
      file: 'sim/restore.test.ts',
      test: 'a restore while the log was away for its watcher changes nothing, 1000 ms after an outage of 5000 ms',
    },
  },
  {
    name: 'what a watcher reads when it wakes is news',
    mistake: 'what waited in a socket counts as seen when it was read',
    changes: [
      { file: 'services/watcher/publish/lag.ts', function: 'Lag.#lostMs', body: ['return 0'] },
    ],
    by: {
      file: 'sim/restore.test.ts',
      test: 'a restore while the watcher slept changes nothing, 1000 ms after an outage of 5000 ms',
    },
  },
  {
    name: 'a kind that answers 404 is empty',
    mistake: 'a list that failed is finished as if nothing were there',
    changes: [
      {
        file: 'services/watcher/kind/kind-monitor.ts',
        function: 'KindMonitor.#failed',
        body: [
          "if (error.remedy === 'give-up' && this.#state.phase === 'listing') {",
          '  this.#telling.beginSync(this.#deps.nextSync(), false)',
          "  this.#finishList(this.#telling.position ?? '1')",
          '}',
          'return original(error)',
        ],
      },
    ],
    by: {
      file: 'services/watcher/relist.test.ts',
      test: 'a list that meets an untyped 404 is never finished, and taken again after a wait',
    },
  },
  {
    name: 'a list that breaks off is whole',
    mistake: 'what stands on later pages counts as gone',
    changes: [
      {
        file: 'adapters/kubernetes/list.ts',
        function: 'listPages',
        body: [
          'let hasBegun = false',
          'try {',
          '  for await (const page of original(...arguments)) {',
          '    hasBegun = true',
          '    yield page',
          '  }',
          '} catch (error) {',
          '  if (!hasBegun) throw error',
          '}',
        ],
      },
    ],
    by: {
      file: 'services/watcher/relist.test.ts',
      test: 'a list that breaks off on its way is never finished',
    },
  },
  {
    name: 'an empty list is believed at once',
    mistake: 'a server that is starting takes everything out',
    changes: [
      {
        file: 'services/watcher/monitor.ts',
        function: 'isShrunken',
        body: ['return listed > 0 && original(held, listed, config)'],
      },
    ],
    by: {
      file: 'services/watcher/relist.test.ts',
      test: 'a list that is suddenly empty is taken twice before it is finished, over another connection',
    },
  },
  {
    name: 'a watch goes on from the newest version',
    mistake: 'what happened while nobody watched is never told',
    changes: [
      {
        file: 'services/watcher/kind/kind-monitor.ts',
        function: 'KindMonitor.#watch',
        body: [
          "return await original({ ...state, from: await this.#currentVersion('', signal) }, signal)",
        ],
      },
    ],
    by: {
      file: 'services/watcher/resume.test.ts',
      test: 'what happened after a crash is told by the watch that goes on',
    },
  },
  {
    name: 'a watermark comes before its events',
    mistake: 'what was not acknowledged before a kill is never told',
    changes: [
      { file: 'services/watcher/publish/publisher.ts', function: 'Publisher.settled', body: [] },
    ],
    by: {
      file: 'services/watcher/resume.test.ts',
      test: 'a watermark covers only what the log has acknowledged',
    },
  },
  {
    name: 'a restore is not noticed',
    mistake: 'versions that went backwards end a watch, and nothing more',
    changes: [
      {
        file: 'services/watcher/session.ts',
        function: 'Session.#monitorEnded',
        body: ["if (end !== 'rewound') original(end)"],
      },
    ],
    by: {
      file: 'services/watcher/resume.test.ts',
      test: 'a version below where a watch stood is a restore: a new epoch of the cluster, and lists',
    },
  },
  {
    name: 'versions are compared only after a break',
    mistake: 'a restore behind a watch that hangs on to what is no more is not noticed',
    changes: [
      {
        file: 'services/watcher/connection.ts',
        function: 'Connection.#isSame',
        body: [
          'const brokenMs = this.#deps.monitors().map((monitor) => monitor.brokenMs)',
          'if (Math.max(this.#lostMs, ...brokenMs) <= this.#comparedMs) return true',
          'return await original(signal)',
        ],
      },
    ],
    by: {
      file: 'services/watcher/resume.test.ts',
      test: 'a restore behind watches that hang on to what is no more is noticed within two beats',
    },
  },
  {
    name: 'an epoch is used twice',
    mistake: 'a watcher that was succeeded is heard as the one that succeeded it',
    changes: [
      {
        file: 'adapters/memory/lease.ts',
        function: 'nextEpoch',
        body: ['return Math.max(1, atLeast)'],
      },
    ],
    by: {
      file: 'services/watcher/resume.test.ts',
      test: 'each start has a higher epoch, whatever became of the one before',
    },
  },
  {
    name: 'what was appended is not appended again',
    mistake: 'an append whose answer was lost is given up',
    changes: [
      {
        file: 'services/watcher/publish/log-retry.ts',
        function: 'appendUntilDone',
        body: [
          'const append = (...all) =>',
          '  deps.log.append(...all).catch((error) => {',
          "    if (error.remedy === 'retry') return 0n",
          '    throw error',
          '  })',
          'return await original({ ...deps, log: { append } }, topic, partition, records, signal)',
        ],
      },
    ],
    by: {
      file: 'services/watcher/watcher.test.ts',
      test: 'appends that do not get through are made again, in order',
    },
  },
  {
    name: 'deletions are told only when an object is known',
    mistake: 'after a restart of the watcher they are lost',
    changes: [
      {
        file: 'services/watcher/publish/telling.ts',
        function: 'Telling.#deleted',
        body: [
          "if (this.#sightings.get(object.uid) === undefined) this.#ignoreOlder('fine')",
          'else original(object)',
        ],
      },
    ],
    by: {
      file: 'services/watcher/resume.test.ts',
      test: 'what happened after a crash is told by the watch that goes on',
    },
  },
  {
    name: 'requests to relist are not heard',
    mistake: 'what is in doubt stays so',
    changes: [
      {
        file: 'services/watcher/control-reader.ts',
        function: 'ControlReader.requests',
        body: ['await original(config, () => undefined, signal)'],
      },
    ],
    by: {
      file: 'services/watcher/relist.test.ts',
      test: 'what `control` asks for is listed once, in full',
    },
  },
  {
    name: 'the connection is told once',
    mistake: 'what `control` lost keeps the reapers waiting for ever',
    changes: [
      {
        file: 'services/watcher/connection.ts',
        function: 'Connection.beat',
        body: ['await this.#look(signal)'],
      },
    ],
    by: {
      file: 'services/watcher/resume.test.ts',
      test: 'the connection is told again within a minute when control loses its end (F39)',
    },
  },
  {
    name: 'a choice of a partition is not compared with others',
    mistake:
      'clusters that are watched from the same moment on share one partition, and others stay empty',
    changes: [
      { file: 'services/watcher/assignment.ts', function: 'isFirst', body: ['return true'] },
    ],
    by: {
      file: 'services/watcher/assignment.test.ts',
      test: 'clusters whose watchers choose at the same moment are spread all the same',
    },
  },
  {
    name: 'a partition is chosen at each start',
    mistake: 'a cluster is divided over partitions, and each answers for what it knows',
    changes: [
      {
        file: 'services/watcher/assignment.ts',
        function: 'assignPartition',
        body: ['return await original(deps, cluster, -1, signal)'],
      },
    ],
    by: {
      file: 'services/watcher/assignment.test.ts',
      test: 'what was published stays where it is, whatever is emptier by now',
    },
  },
  {
    name: 'a watch goes on in a partition that has nothing of it',
    mistake:
      'where the assignment was lost, the new partition knows nothing of what was there before',
    changes: [
      {
        file: 'services/watcher/kind/marks.ts',
        function: 'resumable',
        body: ['return original({ ...marks, partition: reign.partition }, reign)'],
      },
    ],
    by: {
      file: 'services/watcher/assignment.test.ts',
      test: 'where both are lost, everything is listed from the beginning in the partition that is chosen then',
    },
  },
  {
    name: 'a name too long for most kinds is one that nobody has',
    mistake: 'what a ClusterRole with a long name owns is deleted while it lives',
    changes: [
      {
        file: 'adapters/kubernetes/meta.ts',
        function: 'nameOf',
        body: ["return original(text, '')"],
      },
    ],
    by: {
      file: 'adapters/kubernetes/meta.test.ts',
      test: 'with a reference with a huge name outside of the core group, as a living ClusterRole may have is held: who it is, and one reference that nobody can resolve',
    },
  },
  {
    name: 'a late choice stays',
    mistake: 'whoever asks which partition has a cluster is led to one that has nothing of it',
    changes: [
      {
        file: 'services/watcher/assignment.ts',
        function: 'confirmAssignment',
        body: [
          "const read = () => deps.log.latest('control', 0)",
          'const control = await untilDone(deps, read, signal)',
          'const recorded = assignmentsIn(control, deps.codec).get(cluster)',
          'const own = { cluster, partition: recorded?.partition ?? partition, name }',
          'await original(deps, own, counted, signal)',
        ],
      },
    ],
    by: {
      file: 'services/watcher/assignment.test.ts',
      test: 'what is counted is recorded when it differs by more than half, and the partition is said again',
    },
  },
]
