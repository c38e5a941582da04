/**
 * Broken builds of the watcher: what it publishes, what it takes for a complete list, and where it continues.
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
        from: 'ageMs: ageMs < AGE_TOLD_MS ? 0 : Math.ceil(ageMs)',
        to: 'ageMs: ageMs < 1e12 ? 0 : ageMs',
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
      {
        file: 'services/watcher/publish/lag.ts',
        from: 'return lostMs < this.#config.behindMs ? 0 : lostMs',
        to: 'return lostMs < 1e12 ? 0 : lostMs',
      },
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
        from: "if (error.remedy === 'give-up') lookSoon()",
        to: "if (error.remedy === 'give-up' && this.#state.phase === 'listing') {\n      this.#telling.beginSync(this.#deps.nextSync(), false)\n      this.#finishList(this.#telling.position ?? '1')\n    }\n    if (error.remedy === 'give-up') lookSoon()",
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
        from: 'const { body, connection } = await askOver(reading, path, METADATA, signal, way)',
        to: "const { body, connection } = await askOver(reading, path, METADATA, signal, way).catch((error) => {\n      if (token === '') throw error\n      return { connection: undefined as never, body: { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata: { resourceVersion: version }, items: [] } as Json }\n    })",
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
        from: 'if (listed === 0) return held > 0',
        to: 'if (listed === 0) return held > 1e9',
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
        from: 'for await (const events of server.watch(this.#resource(), state.from, signal)) {',
        to: "const from = await this.#currentVersion('', signal)\n    for await (const events of server.watch(this.#resource(), from, signal)) {",
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
      {
        file: 'services/watcher/kind/mark-writer.ts',
        from: 'await publisher.settled()\n',
        to: 'void publisher\n',
      },
    ],
    by: {
      file: 'services/watcher/resume.test.ts',
      test: 'a watermark covers only what the log has acknowledged',
    },
  },
  {
    name: 'a restore is not noticed',
    mistake: 'versions that went backwards are taken for old news',
    changes: [
      {
        file: 'services/watcher/kind/kind-monitor.ts',
        from: 'if (isOlder(current, state.from)) return await this.#rewound(signal)',
        to: '',
      },
      {
        file: 'services/watcher/publish/telling.ts',
        from: "if (this.#deps.deletions.get(this.#kindKey, object.uid) !== undefined) return 'rewound'\n    if (known !== undefined && isOlder(object.resourceVersion, known.version)) return 'rewound'",
        to: '',
      },
      {
        file: 'services/watcher/connection.ts',
        from: 'this.#lostMs = clock.monotonicMs()\n          return false',
        to: 'this.#lostMs = clock.monotonicMs()\n          return true',
      },
      {
        file: 'services/watcher/connection.ts',
        from: '(await this.#identifies(signal)) onRewound()',
        to: '(await this.#identifies(signal)) void onRewound',
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
        from: 'const askedMs = clock.monotonicMs()\n    for',
        to: 'const askedMs = clock.monotonicMs()\n    if (brokenMs <= comparedMs) return true\n    for',
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
        file: 'services/watcher/watcher.ts',
        from: 'const epoch = await held.nextEpoch(marks.epoch, signal)',
        to: 'const epoch = Math.max(1, marks.epoch)',
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
        from: 'return await untilDone(deps, () => deps.log.append(topic, partition, records), signal)',
        to: "return await untilDone(deps, () => deps.log.append(topic, partition, records).catch((error) => { if (error.remedy === 'retry') return 0n; throw error }), signal)",
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
        from: "if (known !== undefined && isOlder(resourceVersion, known.version)) {\n      this.#ignoreOlder('fine')\n      return\n    }",
        to: "if (known === undefined) {\n      this.#ignoreOlder('fine')\n      return\n    }",
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
        file: 'services/watcher/session.ts',
        from: 'this.#roster.relist(kind === null ? null : kindKey(kind), { full: true, offset })',
        to: 'void kindKey',
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
        from: 'if (clock.monotonicMs() - this.#toldMs >= config.connectionRepeatMs) await',
        to: 'if (clock.monotonicMs() - this.#toldMs >= config.connectionRepeatMs * 1e6) await',
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
      {
        file: 'services/watcher/assignment.ts',
        from: "return emptiest(before, deps.log.partitions('events')) === partition",
        to: 'return before.length >= 0 || partition < 0',
      },
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
        from: 'if (isThere(published)) return published',
        to: '',
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
        from: 'const isSame = marks.partition === reign.partition && marks',
        to: 'const isSame = marks',
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
        from: "text.length > NAME_LENGTH && group === ''",
        to: "text.length > NAME_LENGTH && group !== '.'",
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
        from: 'if (recorded?.partition === partition && isSame) return',
        to: 'if (isSame) return',
      },
    ],
    by: {
      file: 'services/watcher/assignment.test.ts',
      test: 'what is counted is recorded when it differs by more than half, and the partition is said again',
    },
  },
]
