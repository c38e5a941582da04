/**
 * Objects in order, for rules that keep the newest of each group: a row for each in both
 * directions, and how many of a group are beyond what stays.
 *
 * What must stay true: the rows of an object, and what it waits for by rules, are those that
 * `Keeps` names, so they leave with it whatever the rules are by then. No object is scanned for:
 * the boundary of a group moves by as many rows as were added or removed, a page of work at a time.
 * While it has to move back, nothing of the group is deleted.
 *
 * Not here: which objects have rows (judge/keep.ts).
 */
import type { GroupKind, Uid } from '../../model/object.ts'
import type { KeepGroup, KeepTodo, KeptRow } from '../../model/state.ts'
import { enqueue, type PageRequest } from '../agenda.ts'
import type { ClusterFacts } from '../facts.ts'
import { keptPrefix, turned } from '../key.ts'
import type { Step } from '../outcome.ts'
import { markDirty } from '../outcome.ts'
import { orderOfKept, subjectOf } from '../row.ts'
import { waitFor } from '../wait.ts'
import { isNameKind } from './name-index.ts'

export interface Indexed {
  readonly rows: readonly KeptRow[]
  readonly waits: readonly GroupKind[]
}

/** It left, or nothing can be said of it now. */
export function leaveIndex(step: Step, uid: Uid): void {
  const held = step.graph.keeping === undefined ? undefined : step.graph.keeps(uid)
  if (held === undefined) return
  for (const kind of held.waits) stop(step, kind, uid)
  step.graph.setKeeps(uid, { ...held, waits: [] })
  setIndexed(step, uid, { rows: [], waits: [] })
}

/** The object has these rows from now on, and no others. True: it had others before. */
export function setIndexed(step: Step, uid: Uid, wanted: Indexed): boolean {
  const { graph } = step
  const isNone = wanted.rows.length === 0 && wanted.waits.length === 0
  if (isNone && graph.keeping === undefined) return false
  const held = graph.keeps(uid)
  const had = held?.rows ?? []
  const left = had.filter((row) => !wanted.rows.some((each) => isSameRow(row, each)))
  const came = wanted.rows.filter((row) => !had.some((each) => isSameRow(row, each)))
  for (const row of left) move(step, uid, row, -1)
  for (const row of came) move(step, uid, row, 1)
  const waited = held?.waits ?? []
  const waits = waitAs(step, uid, waited, wanted.waits)
  const isOther = left.length > 0 || came.length > 0
  const isLeft = wanted.rows.length === 0 && waits.length === 0
  if (!isOther && waits === waited && isLeft === (held === undefined)) return false
  graph.setKeeps(uid, isLeft ? null : { type: 'Keeps', rows: wanted.rows, waits })
  const { count = 0, lostAt = -1n } = graph.keeping ?? {}
  const objects = count + Number(!isLeft) - Number(held !== undefined)
  const isNeeded = objects > 0 || lostAt >= 0n
  graph.setKeeping(isNeeded ? { type: 'Keeping', count: objects, lostAt } : null)
  return isOther
}

/** A name that it waited for is taken off; a kind may be waited for by its references, too. */
function waitAs(
  step: Step,
  uid: Uid,
  had: readonly GroupKind[],
  wanted: readonly GroupKind[],
): readonly GroupKind[] {
  const isIn = (all: readonly GroupKind[], one: GroupKind): boolean =>
    all.some(({ group, kind }) => group === one.group && kind === one.kind)
  for (const kind of wanted) waitFor(step, kind, uid)
  const left = had.filter((each) => !isIn(wanted, each))
  for (const kind of left) if (isNameKind(kind)) stop(step, kind, uid)
  const kept = left.filter((each) => !isNameKind(each))
  const isSame = wanted.every((each) => isIn(had, each)) && kept.length === left.length
  return isSame ? had : [...wanted, ...kept]
}

function stop({ graph }: Step, kind: GroupKind, uid: Uid): void {
  if (graph.isWaiting(kind, uid)) graph.setWaiting(kind, uid, false)
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
