/**
 * What the parts of all processes say together of a manager: what bears its mark in each cluster,
 * and what its tool would delete with it.
 *
 * What must stay true: it says of marks what marks say, and that the tool decides. Where several
 * watched objects may be the manager that a mark names, none is taken for it; one in the cluster of
 * the mark comes before those elsewhere, since each cluster may have a Flux of its own. An owner
 * that `kinfold.io/owner` names is the one of that cluster and uid, and no other.
 *
 * Not here: what one process knows (across-part.ts), who may ask (ask/across-question.ts).
 */
import type { ClusterId } from '../../../../core/model/object.ts'
import { OWNER_ANNOTATION } from '../../../../core/model/rule/elsewhere.ts'
import {
  isManager,
  MANAGER_MARKS,
  type Manager,
  type ManagerMark,
  TOOL_NAMES,
} from '../../../../ports/record/manager-mark.ts'
import type { Across } from '../../api/answer-schema.ts'
import type { AnswerOf, ClusterRef, Row } from '../../api/document.ts'
import type { AcrossOfCluster, AcrossPart, FoundManager, MarkedGroup } from './across-part.ts'
import { farJoined } from './far-answer.ts'
import { goneJoined, goneText } from './gone-answer.ts'

export type AcrossAnswer = AnswerOf<Across>
type PartRow = Row<AcrossAnswer['parts']>
type ManagerRow = Row<AcrossAnswer['managers']>

export interface Joining {
  readonly asked: {
    readonly kind: string
    readonly namespace: string | undefined
    readonly name: string
  }
  /** Of the manager; undefined: any. */
  readonly within: ReadonlySet<ClusterId> | undefined
  readonly refOf: (cluster: ClusterId) => ClusterRef
  /** Who asks may know what every cluster is called. */
  readonly isWhole: boolean
  readonly limit: number
}

/** A manager that is an object, and where. */
interface Placed {
  readonly cluster: ClusterId
  readonly found: FoundManager
}

export function joined(parts: readonly AcrossPart[], joining: Joining): AcrossAnswer {
  const { asked, within, refOf } = joining
  const all = parts
    .flatMap(({ clusters }) => clusters)
    .toSorted((a, b) => (orderOf(refOf(a.cluster)) < orderOf(refOf(b.cluster)) ? -1 : 1))
  const placed = all.flatMap(({ cluster, managers }) => {
    return managers.map((found): Placed => ({ cluster, found }))
  })
  const marks = all.flatMap((of) =>
    of.groups.flatMap((group) => partRow(of, group, placed, joining) ?? []),
  )
  const far = farJoined(
    parts.flatMap((each) => each.far),
    joining,
  )
  const along = farJoined(
    parts.flatMap((each) => each.along),
    joining,
  )
  const gone = goneJoined(
    parts.flatMap((each) => each.gone),
    joining,
  )
  const rows = [...marks, ...far.rows]
  const isMeant = ({ cluster }: Placed): boolean => within?.has(cluster) ?? true
  const managers = placed.filter(isMeant).map((each) => managerRow(each, refOf))
  const listed = cutTo(rows, joining.limit)
  const sum = (of: (row: PartRow) => number): number => rows.reduce((all, row) => all + of(row), 0)
  return {
    asked: { ...asked, namespace: asked.namespace ?? null },
    text: textOf(marks, far.rows, gone),
    managers: [...managers.flatMap((each) => each ?? []), ...far.managers],
    marked: sum((row) => row.marked),
    kept: sum((row) => row.kept),
    dependents: sum((row) => row.dependents),
    parts: listed,
    along: cutTo(along.rows, joining.limit),
    gone,
  }
}

function partRow(
  { cluster }: AcrossOfCluster,
  { manager, marked, kept, dependents, objects }: MarkedGroup,
  placed: readonly Placed[],
  { within, refOf }: Joining,
): PartRow | undefined {
  const mark = markOf(manager)
  const [only, ...others] = mark === undefined ? [] : whoMayBe(manager, mark, cluster, placed)
  const isMeant =
    within === undefined ||
    (only === undefined
      ? mark?.isNear !== true || within.has(cluster)
      : [only, ...others].some((each) => within.has(each.cluster)))
  if (!isMeant) return undefined
  const by = only !== undefined && others.length === 0 ? only : undefined
  return {
    cluster: refOf(cluster),
    manager: { ...manager, toolName: nameOf(manager) },
    managers: only === undefined ? 0 : 1 + others.length,
    by: by === undefined ? (mark?.isNear === true ? refOf(cluster) : null) : refOf(by.cluster),
    ...{ marked, kept, dependents },
    ...deletionOf(manager, mark, only === undefined ? [] : [only, ...others]),
    objects,
  }
}

/** Of watched objects. */
function whoMayBe(
  manager: Manager,
  { isNear }: Pick<ManagerMark, 'isNear'>,
  cluster: ClusterId,
  placed: readonly Placed[],
): readonly Placed[] {
  const fitting = placed.filter(({ found }) => isManager(manager, found))
  const near = fitting.filter((each) => each.cluster === cluster)
  return near.length > 0 || isNear ? near : fitting
}

function markOf({ tool, group, kind }: Manager): ManagerMark | undefined {
  const ofTool = MANAGER_MARKS.filter((each) => each.tool === tool)
  return ofTool.find(({ manager }) => {
    return manager.kind === kind && (kind === null || manager.group === group)
  })
}

/** Also of a tool that a newer process knows. */
function nameOf({ tool }: Manager): string {
  return TOOL_NAMES[tool] ?? tool
}

function deletionOf(
  manager: Manager,
  mark: ManagerMark | undefined,
  managers: readonly Placed[],
): Pick<PartRow, 'deletes' | 'because'> {
  const what = `${manager.kind ?? 'claim'} ${manager.name}`
  const tool = nameOf(manager)
  if (mark === undefined) return { deletes: 'unknown', because: `${tool} decides` }
  const { finalizers, also, otherwise } = mark.deletion
  const [only, ...others] = managers
  if (finalizers.length === 0) return { deletes: 'nothing', because: otherwise }
  if (only === undefined) {
    const because = `no ${what} is seen here: whether ${tool} deletes this with it is not known`
    return { deletes: 'unknown', because }
  }
  if (others.length > 0) {
    const because = `the mark does not say which of ${managers.length} it is: ${tool} decides`
    return { deletes: 'unknown', because }
  }
  const found = only.found.finalizers.find((each) => finalizers.includes(each))
  if (found === undefined) return { deletes: 'nothing', because: otherwise }
  const condition = also === '' ? '' : `, ${also}`
  return {
    deletes: 'managed',
    because: `it has the finalizer ${found}, by which ${tool} deletes this with it${condition}`,
  }
}

/** Undefined of an object of the kind that no row names. */
function managerRow({ cluster, found }: Placed, refOf: Joining['refOf']): ManagerRow | undefined {
  const { finalizers: _, ...object } = found
  const mark = MANAGER_MARKS.find(({ manager: { group, kind } }) => {
    return kind === null || (kind === found.kind && group === found.group)
  })
  if (mark === undefined) return undefined
  const { tool } = mark
  const manager = { tool, ...object }
  return {
    cluster: refOf(cluster),
    ...{ tool, toolName: TOOL_NAMES[tool] },
    ...object,
    ...deletionOf(manager, mark, [{ cluster, found }]),
  }
}

/** So many objects in all, the first of each row first: none is without any. */
function cutTo(rows: readonly PartRow[], limit: number): readonly PartRow[] {
  const each = Math.ceil(limit / Math.max(1, rows.length))
  let left = limit
  return rows.map((row, i) => {
    const rest = rows
      .slice(i + 1)
      .reduce((sum, { objects }) => sum + Math.min(each, objects.length), 0)
    const objects = row.objects.slice(0, Math.max(0, Math.min(left, Math.max(each, left - rest))))
    left -= objects.length
    return { ...row, objects }
  })
}

function orderOf({ name, id }: ClusterRef): string {
  return `${name} ${id}`
}

function textOf(
  marks: readonly PartRow[],
  far: readonly PartRow[],
  gone: AcrossAnswer['gone'],
): string {
  if (marks.length + far.length + gone.length === 0) return 'no object bears a mark of it'
  const all = [
    ...(marks.length === 0 ? [] : [marksText(marks)]),
    ...(far.length === 0 ? [] : [farText(far)]),
    ...(gone.length === 0 ? [] : [goneText(gone)]),
  ]
  return all.join('; ')
}

function marksText(rows: readonly PartRow[]): string {
  const { marked, kept, dependents, where } = countsOf(rows)
  const tools = [...new Set(rows.map(({ manager }) => manager.toolName))].join(', ')
  const [verb, them] = marked === 1 ? ['bears', 'it'] : ['bear', 'them']
  const owned = dependents === 0 ? '' : `, and ${count(dependents, 'dependent')} of ${them}`
  const left = kept === 0 ? '' : `; ${kept} of them ${kept === 1 ? 'is' : 'are'} kept by a mark`
  return `${count(marked, 'object')} in ${where} ${verb} marks of ${tools}${owned}${left}`
}

function farText(rows: readonly PartRow[]): string {
  const { marked, dependents, where } = countsOf(rows)
  const [verb, them] = marked === 1 ? ['names', 'it'] : ['name', 'them']
  const owned = dependents === 0 ? '' : `, and ${count(dependents, 'dependent')} of ${them}`
  return `${count(marked, 'object')} in ${where} ${verb} it as owner by ${OWNER_ANNOTATION}${owned}`
}

interface Counts {
  readonly marked: number
  readonly kept: number
  readonly dependents: number
  readonly where: string
}

function countsOf(rows: readonly PartRow[]): Counts {
  const sum = (of: (row: PartRow) => number): number => rows.reduce((all, row) => all + of(row), 0)
  const clusters = new Set(rows.map(({ cluster }) => cluster.id)).size
  return {
    marked: sum((row) => row.marked),
    kept: sum((row) => row.kept),
    dependents: sum((row) => row.dependents),
    where: count(clusters, 'cluster'),
  }
}

function count(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? '' : 's'}`
}
