/**
 * Broken builds of the parts that keep records and state: commits, recovery after a failure, disks.
 *
 * What must stay true: each is one mistake that a developer could make.
 */
import type { BrokenBuild } from './broken-build.ts'

export const BROKEN_STORE: readonly BrokenBuild[] = [
  {
    name: 'the store is written before the log',
    mistake: 'a commit that never took effect is part of the state',
    changes: [
      {
        file: 'services/graph/fold/task.ts',
        from: 'const end = await owned.commit({ changelog, outputs })',
        to: 'await store.write(changelog.map(({ key, value }) => [key, value] as const), { changelog: store.checkpoint()?.changelog ?? 0n, position: position.position })\n    const end = await owned.commit({ changelog, outputs })',
      },
      {
        file: 'services/graph/fold/task.ts',
        from: 'await store.write(changes, { changelog: end,',
        to: 'await store.write([], { changelog: end,',
      },
    ],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'a commit whose answer is lost did not take: either way once (F58)',
    },
  },
  {
    name: 'a position is committed without its state',
    mistake: 'what was folded before a kill is not part of the state',
    changes: [
      {
        file: 'services/graph/fold/batch.ts',
        from: 'if (value !== null || !this.#cameAndWent(key)) changelog',
        to: "if (!key.startsWith('edge/')) changelog",
      },
    ],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'memory: a successor fences a task that still lives (F44)',
    },
  },
  {
    name: 'commands are sent before their commit',
    mistake: 'a batch that is folded again asks for everything once more',
    changes: [
      {
        file: 'services/graph/fold/task.ts',
        from: 'const end = await owned.commit({ changelog, outputs })',
        to: "for (const { topic, partition, records: sent } of outputs) if (topic === 'commands') await this.#options.log.append(topic, partition, sent)\n    const end = await owned.commit({ changelog, outputs: outputs.filter(({ topic }) => topic !== 'commands') })",
      },
    ],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'memory: a successor fences a task that still lives (F44)',
    },
  },
  {
    name: 'a hold is told with the next phase only',
    mistake: 'what was held at a moment lacks what was held without any other change',
    changes: [
      {
        file: 'services/graph/fold/known-object.ts',
        from: ' || isOtherHold(node.before, node.after)',
        to: '',
      },
    ],
    by: {
      file: 'services/graph/query/answer/past-held.test.ts',
      test: 'is what was answered then: objects, mode, pauses, protections and breakers',
    },
  },
  {
    name: 'what a rule was is not told',
    mistake: 'the rules of now are those of every moment',
    changes: [
      {
        file: 'services/graph/fold/batch.ts',
        from: 'if (isRuleKey(key)) this.#putFormer',
        to: 'if (false) this.#putFormer',
      },
    ],
    by: {
      file: 'services/graph/query/answer/past-held.test.ts',
      test: 'is what was answered then: objects, mode, pauses, protections and breakers',
    },
  },
  {
    name: 'a commit is tried again',
    mistake: 'one whose answer was lost takes effect twice',
    changes: [
      {
        file: 'services/graph/fold/task.ts',
        from: 'const end = await owned.commit({ changelog, outputs })',
        to: 'const end = await owned.commit({ changelog, outputs }).catch(async () => { const again = await this.#options.log.openTask(this.partition); return await again.commit({ changelog, outputs }) })',
      },
    ],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'a commit whose answer is lost took: either way once (F58)',
    },
  },
  {
    name: 'a store is written ahead of what is gathered',
    mistake: 'what was gathered when a process died is replayed by nobody',
    changes: [
      {
        file: 'services/graph/fold/bytes/gathering-store.ts',
        from: 'this.#checkpoint = checkpoint\n    this.#writes += 1',
        to: 'this.#checkpoint = checkpoint\n    await this.#store.write([], checkpoint)\n    this.#writes += 1',
      },
    ],
    by: {
      file: 'services/graph/fold/bytes/gathering-store.test.ts',
      test: 'pages, points and the checkpoint are those of all commits, and a crash leaves one of them',
    },
  },
  {
    name: 'the changelog is not replayed',
    mistake: 'a commit that no store was written for is lost with its process',
    changes: [
      {
        file: 'services/graph/fold/restore.ts',
        from: 'while (replay.next < end) entries += await replay.page(end, signal)',
        to: 'if (store.checkpoint() === undefined) while (replay.next < end) entries += await replay.page(end, signal)',
      },
    ],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'a kill at every commit in turn leaves the same end (I23)',
    },
  },
  {
    name: 'a write goes on after a failed one',
    mistake: 'LevelDB acknowledges what follows, and loses it (X4)',
    changes: [
      {
        file: 'adapters/level/store.ts',
        from: 'this.#failure ??= storeErrorOf(error, this.#directory)\n    return this.#failure',
        to: 'return storeErrorOf(error, this.#directory)',
      },
    ],
    by: {
      file: 'adapters/level/full-disk.test.ts',
      test: 'a store on a full disk ends with FULL, also after room was made, and keeps what it acknowledged: X4',
    },
  },
  {
    name: 'batches are not counted at open',
    mistake: 'a store with a hole opens (X1, X2)',
    changes: [
      {
        file: 'adapters/level/own-keys.ts',
        from: 'if (numbers.next !== last + 1) throw damaged(`has lost batch ${numbers.next}`)',
        to: 'void last',
      },
    ],
    by: {
      file: 'adapters/level/damage.test.ts',
      test: 'a log with one bit flipped gives a clean prefix or is refused: X1, X2',
    },
  },
  {
    name: 'values have no checksum',
    mistake: 'a flipped bit is another value',
    changes: [
      {
        file: 'adapters/level/sealed-value.ts',
        from: 'if (crc >>> 0 !== checksum(key, value)) throw damagedValue(key)',
        to: 'void crc',
      },
    ],
    by: {
      file: 'adapters/level/damage.test.ts',
      test: 'a store whose table is damaged while it is open says so from then on, and a wipe makes it as new',
    },
  },
  {
    name: 'records have no checksum',
    mistake: 'SQLite reads a flipped bit back, and nobody notices (F51)',
    changes: [
      {
        file: 'adapters/sqlite/record-table.ts',
        from: 'if (recordSum(head.lane, offset, timestamp, key, value) === sum) return',
        to: 'if (recordSum(head.lane, offset, timestamp, key, value) === sum || sum > 0) return',
      },
    ],
    by: {
      file: 'adapters/sqlite/damage.test.ts',
      test: 'a flipped bit anywhere in a closed file is named, or touched nothing',
    },
  },
  {
    name: 'log time stands while the clock is behind',
    mistake: 'after one append by a clock a day ahead no hold or wait ends for a day',
    changes: [
      {
        file: 'ports/append-time.ts',
        from: '? this.#lastMs + goneMs :',
        to: '? this.#lastMs :',
      },
    ],
    by: {
      file: 'adapters/sqlite/log.test.ts',
      test: 'sqlite log: append times go on where the clock was ahead and was set right, also after a restart',
    },
  },
  {
    name: 'log time follows a clock that is set forward',
    mistake: 'a clock that is an hour ahead for a moment ends every hold of an hour',
    changes: [
      {
        file: 'ports/append-time.ts',
        from: 'Math.min(wallMs, monotonicMs + this.#mostMs)',
        to: 'wallMs',
      },
    ],
    by: {
      file: 'adapters/sqlite/log.test.ts',
      test: 'sqlite log: append times do not follow a clock that is set forward, also after a restart, until another clock agrees (T17)',
    },
  },
  {
    name: 'a start believes the wall clock',
    mistake: 'a clock that is an hour ahead at a start ends every hold of an hour',
    changes: [
      {
        file: 'ports/append-time.ts',
        from: 'this.#lastMs = isEmpty ? wallMs : lastMs',
        to: 'this.#lastMs = isEmpty ? wallMs : Math.max(wallMs, lastMs)',
      },
    ],
    by: {
      file: 'ports/append-time.test.ts',
      test: 'at a start the time since the newest entry counts as far as the wall clock and all others agree (T17)',
    },
  },
  {
    name: 'one API server confirms the clock for all',
    mistake: 'of clusters that disagree the one whose clock is wrong, too, ends every hold',
    changes: [
      {
        file: 'ports/append-time.ts',
        from: 'Math.min(0, ...skewsMs)',
        to: 'Math.min(0, Math.max(...skewsMs))',
      },
    ],
    by: {
      file: 'ports/append-time.test.ts',
      test: 'at a start the time since the newest entry counts as far as the wall clock and all others agree (T17)',
    },
  },
  {
    name: 'records are not linked',
    mistake: 'a hole in the log is passed over',
    changes: [
      {
        file: 'adapters/sqlite/record-table.ts',
        from: 'if (record.prev !== prev) throw this.#broken(head, record.offset)',
        to: 'void prev',
      },
    ],
    by: {
      file: 'adapters/sqlite/damage.test.ts',
      test: 'damage that comes while the log is open is named at the read that meets it',
    },
  },
  {
    name: 'a position of the group counts for more than its own',
    mistake: 'what was told before it was committed is folded by nobody after a kill',
    changes: [
      {
        file: 'services/graph/fold/task.ts',
        from: 'from: position,',
        to: "from: position && { ...position, position: (await log.loadPosition('graph', 'events', partition))?.offset ?? position.position },",
      },
      {
        file: 'services/graph/fold/task.ts',
        from: 'const end = await owned.commit({ changelog, outputs })',
        to: "await this.#options.log.savePosition('graph', 'events', this.partition, { offset: position.position, detail: '' })\n    const end = await owned.commit({ changelog, outputs })",
      },
    ],
    by: 'sim',
  },
  {
    name: 'a fence is not asked for',
    mistake: 'who was succeeded commits beside its successor',
    changes: [
      {
        file: 'adapters/sqlite/task-log.ts',
        from: 'if (this.#access.isOwner()) return\n        throw',
        to: 'if (this.#access.isOwner() || this.#access.fence >= 0n) return\n        throw',
      },
    ],
    by: {
      file: 'adapters/sqlite/log.test.ts',
      test: 'sqlite log: a second owner fences the first, whose commit then leaves nothing',
    },
  },
  {
    name: 'what hangs on an object is found by its uid alone',
    mistake: 'a restore gives back what a stranger left in another namespace',
    changes: [
      {
        file: 'services/restore/selection.ts',
        from: 'isNamedBy(owner, each, reference)',
        to: 'reference.uid === owner.uid',
      },
    ],
    by: {
      file: 'services/restore/selection.test.ts',
      test: 'T4: below an object of a namespace nothing is chosen in another, whoever bears its uid there',
    },
  },
  {
    name: 'what hangs on an object is found by recursion',
    mistake: 'a chain that somebody made long enough ends the process',
    changes: [
      {
        file: 'services/restore/selection.ts',
        from: 'owners.push(identityIn(each))',
        to: 'for (const next of dependentsOf(identityIn(each))) reach(next)',
      },
    ],
    by: {
      file: 'services/restore/restore-plan.test.ts',
      test: 'a chain as long as anybody may make it is found and planned without a stack that grows',
    },
  },
]
