/**
 * F71: a chain of owners ten thousand deep is folded, walked both ways, explained, planned, dumped
 * and printed without a stack that grows with it.
 */
import { equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import { render } from '../../../../cli/ask/tree-text.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { World } from '../../../../testing/model/story.ts'
import { indexOver } from '../../../../testing/rig/index-rig.ts'
import { appendAll, assign, codec, runTask, viewOf } from '../../../../testing/rig/task-rig.ts'
import { documentOf } from '../../api/document.ts'
import { createQuestions } from '../../questions.ts'
import type { HistoryIndex, Named } from '../index/history-index.ts'
import { WHOLE } from '../view/sight.ts'
import { type TreeNode, treeOf } from './tree.ts'

const DEPTH = 10_000
/** Of a tree: what is written as JSON must not be nested deeper. */
const LEVELS = 256
const UNTIL_INDEXED_MS = 50

test(`a chain ${DEPTH} deep overflows no stack, in whatever is asked of it`, async () => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await using running = runTask(log, new MemoryStore())
  await appendAll(log, chain())
  await running.caughtUp()
  await assign(log)
  const stop = new AbortController()
  const index = indexOver(log, clock)
  const indexing = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await clock.sleep(UNTIL_INDEXED_MS)
  const graph = { tasks: [running.task], owners: () => new Map<number, string>() }
  const { query, planner, dump } = createQuestions({ log, codec, clock, graph, index })
  await index.clusters.read()
  const view = viewOf(running.task)
  const first = await named(index, 'c0')
  const last = await named(index, `c${DEPTH - 1}`)

  for (const [root, isUp] of [
    [first, false],
    [last, true],
  ] as const) {
    const { answer, partial } = await treeOf(view, index, root, { isUp, sight: WHOLE })
    equal(depthOf(answer.root), LEVELS + 1)
    match(partial, /cut after 256 levels/)
    for (const output of ['tree', 'json', 'yaml', 'dot', 'mermaid'] as const) {
      const cluster = { name: 'test', id: 'c', scope: 'test' }
      const told = documentOf('Tree', {
        answer: { ...answer, ...{ deletion: null, deletedAt: null, uses: null } },
        partial,
        cluster,
        asOf: [],
      })
      ok(render(told, output, isUp).split('\n').length > LEVELS)
    }
  }
  equal((await query.why(view, last)).answer.verdict?.type, 'keep')
  const plan = await planner.plan(view, first.uid, 'Background', 10)
  equal(plan?.answer.total, DEPTH)
  const lines = await Array.fromAsync(dump.dot([view], [first.uid]))
  match(lines.join(''), new RegExp(`c${DEPTH - 1}`))
  stop.abort()
  await indexing
})

function chain() {
  const world = new World()
  const told: Parameters<typeof world.tell>[0][] = []
  const tell = world.tell.bind(world)
  world.tell = (event) => {
    told.push(event)
    return tell(event)
  }
  world.begin()
  world.step('put cm/c0')
  for (let i = 1; i < DEPTH; i++) world.step(`put cm/c${i} <- cm/c${i - 1}`)
  return told
}

async function named(index: HistoryIndex, name: string): Promise<Named> {
  const [found] = (await index.namesIn(0).named({ namespace: 'ns', name })).found
  ok(found)
  return found
}

function depthOf(root: TreeNode): number {
  let depth = 0
  for (let at: TreeNode | undefined = root; at !== undefined; at = at.children[0]) depth += 1
  return depth
}
