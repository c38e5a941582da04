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
        function: 'Task.#commit',
        body: [
          'const { store } = this.#options',
          'const { position } = batch.position',
          'const commit = async ({ changelog, outputs }) => {',
          '  const changes = changelog.map(({ key, value }) => [key, value])',
          '  await store.write(changes, { changelog: store.checkpoint()?.changelog ?? 0n, position })',
          '  return await owned.commit({ changelog, outputs })',
          '}',
          'await original({ commit }, batch, last)',
        ],
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
        function: 'Batch.take',
        body: [
          'const { changelog, ...rest } = original(last)',
          "return { changelog: changelog.filter(({ key }) => !key.startsWith('edge/')), ...rest }",
        ],
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
        function: 'Task.#commit',
        body: [
          'const { log } = this.#options',
          'const commit = async ({ changelog, outputs }) => {',
          "  const isCommand = ({ topic }) => topic === 'commands'",
          '  for (const { topic, partition, records } of outputs.filter(isCommand))',
          '    await log.append(topic, partition, records)',
          '  return await owned.commit({ changelog, outputs: outputs.filter((each) => !isCommand(each)) })',
          '}',
          'await original({ commit }, batch, last)',
        ],
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
        function: 'isOtherHold',
        body: ['return false'],
      },
    ],
    by: {
      file: 'services/graph/fold/known-object.property.test.ts',
      test: 'whoever reads history has each object as the graph had it after every event',
    },
  },
  {
    name: 'what a fact was is not kept',
    mistake: 'the facts of now are those of every moment',
    changes: [{ file: 'services/graph/fold/batch.ts', function: 'Batch.#keepFormer', body: [] }],
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
        function: 'Task.#commit',
        body: [
          'const commit = async (all) => {',
          '  const again = async () => await (await this.#options.log.openTask(this.partition)).commit(all)',
          '  return await owned.commit(all).catch(again)',
          '}',
          'await original({ commit }, batch, last)',
        ],
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
        function: 'GatheringStore.write',
        body: ['await original(changes, checkpoint)', 'await this.#store.write([], checkpoint)'],
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
        function: 'beginReplay',
        body: [
          'const replay = await original(...arguments)',
          'return store.checkpoint() === undefined ? replay : { ...replay, next: most + 1n }',
        ],
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
        function: 'LevelStore.#failed',
        body: [
          "return this.#phase === 'closed' ? original(error) : storeErrorOf(error, this.#directory)",
        ],
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
        function: 'loadBooks',
        body: [
          'const stored = database.getSync(CHECKPOINT_KEY, { snapshot })',
          'if (stored === undefined) return await original(...arguments)',
          'const { first, checkpoint } = decodedCheckpoint(unsealed(CHECKPOINT_KEY, stored))',
          'return { checkpoint, numbers: await countedBatches(database, snapshot, first) }',
        ],
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
        function: 'unsealed',
        body: [
          'if (stored.length < CRC_BYTES) return original(key, stored)',
          'return stored.subarray(0, stored.length - CRC_BYTES)',
        ],
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
      { file: 'adapters/sqlite/record-table.ts', function: 'RecordTable.#check', body: [] },
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
        function: 'AppendTime.#read',
        body: [
          'const before = this.#lastMs',
          'const { wallMs, nowMs } = original()',
          'if (wallMs >= before) return { wallMs, nowMs }',
          'this.#lastMs = before',
          'return { wallMs, nowMs: Math.floor(before) }',
        ],
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
        function: 'AppendTime.#read',
        body: ['this.#mostMs = Number.POSITIVE_INFINITY', 'return original()'],
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
        function: 'AppendTime.#read',
        body: [
          'if (this.#mostMs === this.#lastMs - this.#lastMonotonicMs) this.#mostMs += this.#aheadMs',
          'return original()',
        ],
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
        function: 'AppendTime.confirm',
        body: ['if (skewsMs.length > 0) original([Math.max(...skewsMs)])'],
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
        function: 'RecordTable.upward',
        body: [
          'const most = Math.min(limit, MAX_STRETCH_RECORDS)',
          'const rows = this.#upward.iterate(idOf(head.lane, from), idOf(head.lane, head.next), most)',
          'const { records, cut } = take(rows)',
          'for (const record of records) this.#check(head, record)',
          'return { records, complete: !cut && records.length < most }',
        ],
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
        file: 'services/graph/fold/restore.ts',
        function: 'restore',
        body: [
          'const { position, entries } = await original(...arguments)',
          "const saved = await log.loadPosition('graph', 'events', partition)",
          'const own = position && { ...position, position: saved?.offset ?? position.position }',
          'return { position: own, entries }',
        ],
      },
      {
        file: 'services/graph/fold/task.ts',
        function: 'Task.#commit',
        body: [
          "const saved = { offset: batch.position.position, detail: '' }",
          "await this.#options.log.savePosition('graph', 'events', this.partition, saved)",
          'await original(owned, batch, last)',
        ],
      },
    ],
    by: {
      file: 'services/graph/fold/task.test.ts',
      test: 'a commit whose answer is lost did not take: either way once (F58)',
    },
  },
  {
    name: 'a fence is not asked for',
    mistake: 'who was succeeded commits beside its successor',
    changes: [
      {
        file: 'adapters/sqlite/task-log.ts',
        function: 'SqliteTaskLog.#check',
        body: ["if (this.#phase !== 'usable') original()"],
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
      { file: 'core/graph/identity.ts', function: 'isNamedBy', body: ['return uid === owner.uid'] },
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
        function: 'subtreeOf.reach',
        body: [
          'if (found.has(each.uid)) return',
          'found.set(each.uid, each)',
          'for (const next of dependentsOf(identityIn(each))) reach(next)',
        ],
      },
    ],
    by: {
      file: 'services/restore/restore-plan.test.ts',
      test: 'a chain as long as anybody may make it is found and planned without a stack that grows',
    },
  },
]
