/**
 * What of one cluster named an owner in another one by `kinfold.io/owner`, and is gone since that
 * owner was deleted: by a rule that imports such owners, or otherwise.
 *
 * What must stay true: it reads what is remembered of committed state, and nothing else. Each
 * object is what it was last, so the annotation of then decides whose it was, and the rules of then
 * who had it deleted. What who asks may not list is left out, and not counted. What is forgotten,
 * or too much to be read, is in `doubts`: never silently less.
 *
 * Not here: what is there (far-part.ts), all clusters together (gone-answer.ts).
 */
import { elsewhereKey, lastPart, nodesPrefix } from '../../../../core/graph/key.ts'
import { ELSEWHERE_FRESH_MS } from '../../../../core/model/constant.ts'
import { goesByUs, type Node } from '../../../../core/model/node.ts'
import type { ClusterId, Uid } from '../../../../core/model/object.ts'
import { type OwnerElsewhereName, ownerNamedBy } from '../../../../core/model/rule/elsewhere.ts'
import type { Elsewhere } from '../../../../core/model/state.ts'
import type { GoneObjectDocument } from '../../api/across-schema.ts'
import { timeOf } from '../../api/document.ts'
import { firstTimeOf } from '../../fold/former/changed.ts'
import { reachOf } from '../../fold/former/former-rows.ts'
import type { Sight } from '../view/sight.ts'
import type { NodeChange, View } from '../view/view.ts'
import type { AcrossAsked, GoneAsked } from './across-object.ts'
import { byPlace } from './across-object.ts'
import { countGone, MOST_DEPENDENTS } from './dependent-count.ts'

/** Of one cluster: changes that are read of who names the owner. */
const MOST_READ = 20_000
/** Of one object: changes that are read back to the rule that decided. */
const MOST_CHANGES = 50
/** Two logs may record one moment so far apart. */
const SKEW_MS = 2_000

/** What one rule had deleted, or what is gone otherwise. */
export interface GoneGroup {
  readonly owner: OwnerElsewhereName
  /** Null: not by such a rule. */
  readonly rule: string | null
  readonly gone: number
  /** What these owned, and so on: gone since, too, and there still. */
  readonly dependents: number
  readonly left: number
  readonly objects: readonly GoneObjectDocument[]
}

export interface GoneOfCluster {
  readonly cluster: ClusterId
  readonly groups: readonly GoneGroup[]
}

export interface GoneRead {
  readonly found: GoneOfCluster
  readonly doubts: readonly string[]
}

export async function goneIn(view: View, asked: AcrossAsked, sight: Sight): Promise<GoneRead> {
  const reader = new GoneReader(view, asked, sight)
  const groups: GoneGroup[] = []
  if (asked.gone !== undefined) {
    for (const owner of asked.gone.clusters) {
      if (owner !== view.cluster) groups.push(...(await reader.groups(owner, asked.gone)))
    }
  }
  return { found: { cluster: view.cluster, groups }, doubts: [...reader.doubts] }
}

/** By their names, and last what no rule had deleted. */
function byRule({ rule: a }: GoneGroup, { rule: b }: GoneGroup): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return a < b ? -1 : 1
}

/** An object that is gone. */
interface Gone {
  readonly node: Node
  /** Of the event that removed it. */
  readonly position: number
  readonly owner: OwnerElsewhereName
  readonly rule: string | null
}

class GoneReader {
  readonly #view: View
  readonly #asked: AcrossAsked
  readonly #sight: Sight
  readonly doubts = new Set<string>()

  constructor(view: View, asked: AcrossAsked, sight: Sight) {
    this.#view = view
    this.#asked = asked
    this.#sight = sight
  }

  async groups(owner: ClusterId, { uid, since, now }: GoneAsked): Promise<readonly GoneGroup[]> {
    const view = this.#view
    const positions = this.#since(owner, uid)
    const isAsking = view.facts.rules.some(({ elsewhere }) => elsewhere?.cluster === owner)
    if (isAsking || positions.length > 0) {
      this.#checkHeard(now)
      await this.#checkRemembered(since)
    }
    const found: Gone[] = []
    const seen = new Set<Uid>()
    const from = positions.at(-1) ?? 0
    const nodes = nodesPrefix(view.cluster)
    for (const position of positions) {
      await view.turns.take()
      for (const key of await view.keysChangedBy(position)) {
        if (!key.startsWith(nodes) || seen.has(lastPart(key))) continue
        seen.add(lastPart(key))
        const gone = await this.#gone(lastPart(key), owner, from)
        if (gone !== undefined) found.push(gone)
      }
    }
    const groups: GoneGroup[] = []
    for (const [, all] of Map.groupBy(found, ({ rule }) => rule)) {
      groups.push(await this.#group(all, found, from))
    }
    return groups.sort(byRule)
  }

  /** Whether what is gone by now is known. */
  #checkHeard(now: number): void {
    const { facts, moment, name } = this.#view
    if (moment !== null || facts.state === undefined) return
    if (now - facts.state.now <= ELSEWHERE_FRESH_MS) return
    this.doubts.add(`nothing was heard of cluster ${name} since ${timeOf(facts.state.now)}`)
  }

  /** Whether all since then is remembered. */
  async #checkRemembered(since: number): Promise<void> {
    const { now, codec, name } = this.#view
    const reach = reachOf(now, codec)
    if (reach?.begin === 0) return
    const first = reach && (await firstTimeOf(now, codec, reach))
    if (first !== undefined && first <= since - SKEW_MS) return
    const when = first === undefined ? '' : ` before ${timeOf(first)}`
    this.doubts.add(`what was deleted in cluster ${name}${when} is not remembered`)
  }

  /**
   * Changes of who names it, and of what is known of it, since it was known to be deleted, the
   * newest first; none where it never was. A row leaves with the last object that names its owner,
   * so one without a row, or of which nothing is known, says nothing.
   */
  #since(owner: ClusterId, uid: Uid): readonly number[] {
    const view = this.#view
    const positions: number[] = []
    let isDeleted = view.facts.elsewhere(owner, uid)?.fact?.state === 'deleted'
    for (const { position, before } of view.valuesBefore(elsewhereKey(view.cluster, owner, uid))) {
      if (positions.length >= MOST_READ) {
        this.doubts.add(`not all that is gone from cluster ${view.name} was read`)
        break
      }
      positions.push(position)
      const state = (before as Elsewhere | undefined)?.fact?.state
      if (state === 'there') break
      isDeleted ||= state === 'deleted'
    }
    return isDeleted ? positions : []
  }

  /** Undefined: it is there, never named that owner, was gone before, or is not to be shown. */
  async #gone(uid: Uid, owner: ClusterId, from: number): Promise<Gone | undefined> {
    const view = this.#view
    if (view.node(uid) !== undefined) return undefined
    const changes: NodeChange[] = []
    for (const change of view.changes(uid)) {
      changes.push(change)
      if (changes.length >= MOST_CHANGES) break
    }
    const last = changes.find(({ node }) => node !== undefined)
    if (last?.node === undefined || last.position < from) return undefined
    const named = ownerNamedBy(last.node.object.annotations)
    if (named === null || named.cluster !== owner || !this.#isAsked(named)) return undefined
    if (!(await this.#sight.shows(last.node.object))) return undefined
    const rule = this.#ruleOf(last.node, changes, owner)
    return { node: last.node, position: last.position, owner: named, rule }
  }

  #isAsked(owner: OwnerElsewhereName): boolean {
    const { gone, word, name, namespace } = this.#asked
    if (owner.uid !== gone?.uid || owner.name !== name) return false
    if (namespace !== undefined && owner.namespace !== namespace) return false
    return word.is(owner, this.#view.facts.kind(owner))
  }

  /** That had it deleted, because of such an owner. */
  #ruleOf(last: Node, changes: readonly NodeChange[], owner: ClusterId): string | null {
    if (!goesByUs(last)) return null
    const decided = changes.find(({ node }) => node?.verdict?.type === 'delete')
    const name = decided?.node?.verdict?.rule
    if (decided === undefined || name == null) return null
    const { rules } = this.#view.factsBefore(decided.position)
    const rule = rules.find((each) => each.name === name)
    return rule?.elsewhere?.cluster === owner ? name : null
  }

  async #group(some: readonly Gone[], all: readonly Gone[], from: number): Promise<GoneGroup> {
    const view = this.#view
    const [first] = some
    const of = {
      all: all.map(({ node }) => node.object.uid),
      roots: some.map(({ node }) => view.identityOf(node.object)),
    }
    const { gone, left, isCut } = await countGone(view, this.#sight, of, from)
    if (isCut) {
      this.doubts.add(`more than ${MOST_DEPENDENTS} dependents in cluster ${view.name}`)
    }
    const objects: GoneObjectDocument[] = []
    for (const { node, position } of some) {
      const { group, kind, namespace, name, uid } = node.object
      const goneAt = timeOf((await view.timeOf(position)) ?? null)
      objects.push({ group, kind, namespace, name, uid, goneAt })
    }
    const { owner, rule } = first!
    return {
      ...{ owner, rule, gone: some.length, dependents: gone, left },
      objects: objects.sort(byPlace).slice(0, this.#asked.limit),
    }
  }
}
