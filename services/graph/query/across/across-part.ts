/**
 * What one process knows of a manager in the clusters that it has: the manager itself, where it is
 * an object there, and what bears its mark.
 *
 * What must stay true: it reads committed state and changes nothing. What who asks may not list is
 * left out, and not counted: neither an object, nor a manager, nor that a cluster has any. Numbers
 * of objects that are read, listed and followed are bounded, and `partial` says where one was met.
 *
 * Not here: owners that `kinfold.io/owner` names (far-part.ts), what named them and is gone
 * (gone-part.ts), what follows from all processes' parts together (across-answer.ts).
 */
import { lastPart, seenPrefix } from '../../../../core/graph/key.ts'
import { type Node, nodePhase } from '../../../../core/model/node.ts'
import type { ClusterId, GroupKind, Uid } from '../../../../core/model/object.ts'
import {
  isKeptBy,
  type Manager,
  type ManagerMark,
  type MarkSettings,
  marksOf,
  type Tool,
} from '../../../../ports/record/manager-mark.ts'
import type { Phase } from '../../api/across-schema.ts'
import type { AsOf } from '../../api/document.ts'
import { kindsIn } from '../view/kind-word.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { type AcrossAsked, type AcrossObject, acrossObject, byPlace } from './across-object.ts'
import { countDependents, MOST_DEPENDENTS } from './dependent-count.ts'
import { type FarOfCluster, farIn } from './far-part.ts'
import { type GoneOfCluster, goneIn } from './gone-part.ts'
import { type MarkedObject, markedIn } from './marked-object.ts'

/** Of one cluster: objects of the manager's kinds. */
const MOST_READ = 20_000

/** An object that a mark may name. */
export interface FoundManager extends GroupKind {
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  readonly phase: Phase
  readonly finalizers: readonly string[]
}

/** What bears one mark. */
export interface MarkedGroup {
  readonly manager: Manager
  readonly marked: number
  readonly kept: number
  /** What those own that are not kept, and what that owns: without what is marked itself. */
  readonly dependents: number
  readonly objects: readonly AcrossObject[]
}

export interface AcrossOfCluster {
  readonly cluster: ClusterId
  readonly managers: readonly FoundManager[]
  readonly groups: readonly MarkedGroup[]
}

/** Of the clusters of one process. */
export interface AcrossPart {
  readonly clusters: readonly AcrossOfCluster[]
  readonly far: readonly FarOfCluster[]
  /** The same of what would go with it. */
  readonly along: readonly FarOfCluster[]
  readonly gone: readonly GoneOfCluster[]
  /** There is something to be read for: marks, or rules that import owners. */
  readonly isRead: boolean
  readonly partial: string
  readonly asOf: readonly AsOf[]
}

export interface AcrossScope {
  readonly settings: MarkSettings
  sight(cluster: ClusterId): Promise<Sight>
}

export async function acrossIn(
  views: readonly View[],
  asked: AcrossAsked,
  scope: AcrossScope,
): Promise<AcrossPart> {
  const clusters: AcrossOfCluster[] = []
  const far: FarOfCluster[] = []
  const along: FarOfCluster[] = []
  const gone: GoneOfCluster[] = []
  let isRead = false
  const doubts = new Set<string>()
  const asOf: AsOf[] = []
  // Without a mark there is no index, and nothing to be read for.
  const isMarked = scope.settings.tools.length > 0
  for (const view of views) {
    asOf.push(view.asOf())
    const isFar = view.facts.rules.some(({ elsewhere }) => elsewhere !== null)
    const isGone = asked.gone !== undefined
    isRead ||= isMarked || isFar
    if (!isMarked && !isFar && !isGone) continue
    const sight = await scope.sight(view.cluster)
    const part = new ClusterPart(view, asked, { sight, settings: scope.settings })
    const of = isMarked ? await part.read() : undefined
    if (of !== undefined && of.managers.length + of.groups.length > 0) clusters.push(of)
    const { along: more, ...alone } = asked
    const read = isFar ? await farIn(view, alone, sight) : undefined
    if (read !== undefined && isAny(read.found)) far.push(read.found)
    const beside = isFar && more !== undefined ? await farIn(view, asked, sight) : undefined
    if (beside !== undefined && isAny(beside.found)) along.push(beside.found)
    const left = isGone ? await goneIn(view, asked, sight) : undefined
    if (left !== undefined && left.found.groups.length > 0) {
      isRead = true
      gone.push(left.found)
    }
    const own = [part, read, beside, left].flatMap((each) => each?.doubts ?? [])
    for (const doubt of [view.partial(), ...own]) {
      // It may name a cluster that who asks does not know of.
      if (sight.isWhole && doubt !== '') doubts.add(doubt)
    }
  }
  return { clusters, far, along, gone, isRead, partial: [...doubts].join('; '), asOf }
}

function isAny({ owners, groups }: FarOfCluster): boolean {
  return owners.length + groups.length > 0
}

interface ClusterScope {
  readonly sight: Sight
  readonly settings: MarkSettings
}

class ClusterPart {
  readonly #view: View
  readonly #asked: AcrossAsked
  readonly #scope: ClusterScope
  #isFollowed = true
  readonly doubts: string[] = []

  constructor(view: View, asked: AcrossAsked, scope: ClusterScope) {
    this.#view = view
    this.#asked = asked
    this.#scope = scope
  }

  async read(): Promise<AcrossOfCluster> {
    const { name, limit } = this.#asked
    const view = this.#view
    const kinds = await this.#managerKinds()
    const managers = await this.#managers(kinds)
    const { found, isCut } = await markedIn(view, name, this.#scope.settings)
    if (isCut) this.doubts.push(`not all objects of cluster ${view.name} were read`)
    const byManager = new Map<string, { manager: Manager; marked: MarkedObject[] }>()
    for (const each of found) {
      if (!(await this.#scope.sight.shows(each.node.object))) continue
      for (const { mark, ...manager } of each.managers) {
        if (!this.#isAsked(manager, mark, kinds)) continue
        const key = JSON.stringify(manager)
        const group = byManager.get(key) ?? { manager, marked: [] }
        group.marked.push(each)
        byManager.set(key, group)
      }
    }
    const groups: MarkedGroup[] = []
    for (const [, { manager, marked }] of [...byManager].sort(byKey)) {
      groups.push(await this.#group(manager, marked, limit))
    }
    if (!this.#isFollowed) {
      this.doubts.push(`more than ${MOST_DEPENDENTS} dependents in cluster ${view.name}`)
    }
    return { cluster: view.cluster, managers, groups }
  }

  /** Kinds that the word means, and of which an object may be a manager. */
  async #managerKinds(): Promise<readonly GroupKind[]> {
    const { word } = this.#asked
    const marks = marksOf(this.#scope.settings)
    const isAny = marks.some(({ manager }) => manager.kind === null)
    const isOne = (kind: GroupKind): boolean =>
      marks.some(({ manager }) => manager.kind === kind.kind && manager.group === kind.group)
    const served = await kindsIn(this.#view)
    const unlisted = served.filter(({ phase }) => phase === 'unsynced').length
    if (unlisted > 0) {
      this.doubts.push(`${unlisted} kinds of cluster ${this.#view.name} are not listed yet`)
    }
    return served.filter((each) => {
      const isClaim = isAny && each.scope === 'Namespaced' && each.group !== ''
      return word.is(each, each) && (isClaim || isOne(each))
    })
  }

  async #managers(kinds: readonly GroupKind[]): Promise<readonly FoundManager[]> {
    const { name, namespace } = this.#asked
    const view = this.#view
    const found: FoundManager[] = []
    let left = MOST_READ
    for (const kind of kinds) {
      for await (const [key] of view.entries(seenPrefix(view.cluster, kind))) {
        if (left === 0) {
          this.doubts.push(`more than ${MOST_READ} ${kind.kind}s in cluster ${view.name}`)
          return found
        }
        left -= 1
        const node = view.node(lastPart(key))
        const object = node?.object
        if (node === undefined || object?.name !== name) continue
        if (object.kind !== kind.kind || object.group !== kind.group) continue
        if (namespace !== undefined && object.namespace !== namespace) continue
        if (await this.#scope.sight.shows(object)) found.push(foundOf(node))
      }
    }
    return found
  }

  /** By all that the mark says; what it does not say may be as it is asked for. */
  #isAsked(manager: Manager, mark: ManagerMark, kinds: readonly GroupKind[]): boolean {
    const { word, namespace } = this.#asked
    const { group, kind } = manager
    const isThere = manager.namespace === null || namespace === undefined
    if (!isThere && manager.namespace !== namespace) return false
    if (kind === null) return kinds.some((each) => each.group === group)
    const known = this.#view.facts.kind({ group, kind })
    return word.is({ group, kind }, known ?? { resource: mark.resource, versions: [] })
  }

  async #group(
    manager: Manager,
    marked: readonly MarkedObject[],
    limit: number,
  ): Promise<MarkedGroup> {
    const { tool } = manager
    const objects = marked
      .map(({ node }) => acrossObject(node, isKeptBy(tool, node.object)))
      .sort(byPlace)
    const kept = objects.filter(({ isKept }) => isKept).length
    return {
      manager,
      ...{ marked: objects.length, kept },
      dependents: await this.#dependents(marked, tool),
      objects: objects.slice(0, limit),
    }
  }

  async #dependents(marked: readonly MarkedObject[], tool: Tool): Promise<number> {
    const nodes = marked.map(({ node }) => node)
    const roots = nodes.filter(({ object }) => !isKeptBy(tool, object))
    const { sight } = this.#scope
    const { count, isCut } = await countDependents(this.#view, sight, nodes, roots)
    if (isCut) this.#isFollowed = false
    return count
  }
}

function foundOf(node: Node): FoundManager {
  const { group, kind, namespace, name, uid, finalizers } = node.object
  return { group, kind, namespace, name, uid, phase: nodePhase(node), finalizers }
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
