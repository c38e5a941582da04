/**
 * Objects in order, for rules that keep the newest of each group: a row for each in both
 * directions, and how many of a group are beyond what stays.
 *
 * What must stay true: the rows of an object are those that `Keeps` names, so they leave with it
 * whatever the rules are by then. No object is scanned for: the boundary of a group moves by as
 * many rows as were added or removed, a page of work at a time. Where the group has fewer rows than
 * were counted beyond what stays, nothing of it is deleted until the boundary has moved back.
 *
 * Not here: which objects have rows (judge/keep.ts).
 */
import type { Uid } from '../model/object.ts'
import type { KeepGroup, KeepTodo, KeptRow } from '../model/state.ts'
import { enqueue, type PageRequest } from './agenda.ts'
import type { ClusterFacts } from './facts.ts'
import { keptPrefix, turned } from './key.ts'
import type { Step } from './outcome.ts'
import { markDirty } from './outcome.ts'
import { orderOfKept, subjectOf } from './row.ts'

/** The object has these rows from now on, and no others. True: it had others before. */
export function setRows(step: Step, uid: Uid, wanted: readonly KeptRow[]): boolean {
  const { graph } = step
  if (wanted.length === 0 && graph.keeping === undefined) return false
  const held = graph.keeps(uid)
  const had = held?.rows ?? []
  const left = had.filter((row) => !wanted.some((each) => isSameRow(row, each)))
  const came = wanted.filter((row) => !had.some((each) => isSameRow(row, each)))
  if (left.length === 0 && came.length === 0) return false
  for (const row of left) move(step, uid, row, -1)
  for (const row of came) move(step, uid, row, 1)
  const rows = wanted.length === 0 ? null : ({ type: 'Keeps', rows: wanted } as const)
  graph.setKeeps(uid, rows)
  const { count = 0, lostAt = -1n } = graph.keeping ?? {}
  const objects = count + Number(rows !== null) - Number(held !== undefined)
  const isNeeded = objects > 0 || lostAt >= 0n
  graph.setKeeping(isNeeded ? { type: 'Keeping', count: objects, lostAt } : null)
  return true
}

function isSameRow(a: KeptRow, b: KeptRow): boolean {
  return a.rule === b.rule && a.group === b.group && a.order === b.order && a.newest === b.newest
}

function move(step: Step, uid: Uid, row: KeptRow, by: 1 | -1): void {
  const { graph } = step
  const former = graph.keepGroup(row.rule, row.group) ?? { ...EMPTY_GROUP, newest: row.newest }
  const group: KeepGroup = {
    ...former,
    count: former.count + by,
    beyond: former.beyond + (row.order <= former.upTo ? by : 0),
  }
  graph.setKept(row, uid, by === 1)
  graph.setKeepGroup(row.rule, row.group, group.count === 0 ? null : group)
  if (group.count > 0 && isEven(former) && !isEven(group)) moveBoundary(step, row, false)
}

const EMPTY_GROUP: KeepGroup = {
  type: 'KeepGroup',
  newest: 1,
  count: 0,
  beyond: 0,
  upTo: '',
  isAgain: false,
}

function moveBoundary(step: Step, of: Pick<KeepTodo, 'rule' | 'group'>, isAgain: boolean): void {
  const { rule, group } = of
  enqueue(step, { todo: { type: 'keep', rule, group, isAgain } })
}

/** The boundary is where it has to be. */
function isEven(group: KeepGroup): boolean {
  return group.beyond === wantedOf(group)
}

function wantedOf({ count, newest }: KeepGroup): number {
  return Math.max(0, count - newest)
}

/** More are marked as beyond what stays than there are: nothing of it may be deleted. */
export function isOver(group: KeepGroup): boolean {
  return group.beyond > wantedOf(group)
}

/** An object was judged while it was: it is judged again once it is not. */
export function judgeAgain({ graph }: Step, row: KeptRow, group: KeepGroup): void {
  if (!group.isAgain) graph.setKeepGroup(row.rule, row.group, { ...group, isAgain: true })
}

/** After which row the page begins. */
export function pageOfKept(
  facts: ClusterFacts,
  { rule, group: name, isAgain }: KeepTodo,
  cursor: string,
): Pick<PageRequest, 'prefix' | 'after'> {
  const group = facts.keepGroup(rule, name)
  const [up, down] = (['up', 'down'] as const).map((way) =>
    keptPrefix(facts.cluster, { rule, group: name, way }),
  ) as [string, string]
  if (isAgain || group === undefined) return { prefix: up, after: cursor }
  // The row at the boundary is the first that comes back.
  if (isOver(group)) return { prefix: down, after: `${down}${turned(group.upTo)}` }
  return { prefix: up, after: group.upTo === '' ? '' : `${up}${group.upTo}/~` }
}

/** One page; whether the work is done. */
export function takeKept(step: Step, todo: KeepTodo, keys: readonly string[]): boolean {
  const { graph } = step
  const { rule, group: name } = todo
  let group = graph.keepGroup(rule, name)
  if (group === undefined) return true
  if (todo.isAgain) return judgeBeyond(step, group, keys)
  if (isEven(group)) return true
  const isBack = isOver(group)
  for (const key of keys) {
    if (isEven(group)) break
    const order = orderOfKept(key)
    if (isBack) {
      group = { ...group, beyond: group.beyond - 1, upTo: before(order) }
    } else {
      group = { ...group, beyond: group.beyond + 1, upTo: order }
    }
    markDirty(step, subjectOf(key))
  }
  const isDone = isEven(group) || keys.length === 0
  const isAgain = isEven(group) && group.isAgain
  graph.setKeepGroup(rule, name, isAgain ? { ...group, isAgain: false } : group)
  if (isAgain) moveBoundary(step, todo, true)
  return isDone
}

/** What is beyond the boundary, from the oldest on. */
function judgeBeyond(step: Step, group: KeepGroup, keys: readonly string[]): boolean {
  for (const key of keys) {
    if (orderOfKept(key) > group.upTo) return true
    markDirty(step, subjectOf(key))
  }
  return keys.length === 0
}

/** Just before it: as whole numbers of as many digits are. */
function before(order: string): string {
  return (BigInt(order) - 1n).toString().padStart(order.length, '0')
}
