/**
 * What one process knows of objects that name an owner in another cluster by `kinfold.io/owner`:
 * which those are in each of its clusters, by rule, and the owner itself where it has that.
 *
 * What must stay true: it reads committed state and changes nothing. Only rules that import such
 * owners are asked, and each object by the code that decides about it (core/judge/elsewhere.ts), so
 * consent is asked before any fact. What who asks may not list is left out, and not counted.
 *
 * Not here: marks of other tools (across-part.ts), all processes together (across-answer.ts).
 */
import {
  elsewherePrefix,
  lastPart,
  nodesPrefix,
  seenPrefix,
  waitsPrefix,
} from '../../../../core/graph/key.ts'
import { elsewhereWait } from '../../../../core/graph/rule/elsewhere-index.ts'
import {
  type ElsewhereStatus,
  elsewhereOf,
  unfollowedBecause,
} from '../../../../core/judge/elsewhere.ts'
import { isLike } from '../../../../core/judge/like.ts'
import { dueWith } from '../../../../core/judge/rule.ts'
import { type Node, nodePhase } from '../../../../core/model/node.ts'
import type { ClusterId, GroupKind, Uid } from '../../../../core/model/object.ts'
import { type OwnerElsewhereName, ownerNamedBy } from '../../../../core/model/rule/elsewhere.ts'
import {
  isEnforced,
  type Rule,
  rulesOfKind,
  rulesWithin,
} from '../../../../core/model/rule/rule.ts'
import { durationText } from '../../../../core/model/text.ts'
import type { AcrossPartDocument, Phase } from '../../api/across-schema.ts'
import { kindsIn } from '../view/kind-word.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { type AcrossAsked, type AcrossObject, acrossObject, byPlace } from './across-object.ts'
import { countDependents, MOST_DEPENDENTS } from './dependent-count.ts'
import { MOST_SCANNED } from './marked-object.ts'

/** Of one cluster: owners that are named there, objects that name them, objects of a kind. */
const MOST_READ = 20_000
/** Of one cluster, since an annotation is any author's text. */
const MOST_GROUPS = 100

/** An owner that is watched. */
export interface FarOwner extends GroupKind {
  readonly namespace: string
  readonly name: string
  readonly uid: Uid
  readonly phase: Phase
}

type Deletes = AcrossPartDocument['deletes']

/** What names one owner, and about which one rule says the same. */
export interface FarGroup {
  readonly owner: OwnerElsewhereName
  readonly rule: string
  readonly deletes: Deletes
  readonly because: string
  readonly marked: number
  readonly dependents: number
  readonly objects: readonly AcrossObject[]
}

export interface FarOfCluster {
  readonly cluster: ClusterId
  readonly owners: readonly FarOwner[]
  readonly groups: readonly FarGroup[]
}

export interface FarRead {
  readonly found: FarOfCluster
  readonly doubts: readonly string[]
}

/** `asked.along`: these are the owners that are asked for, and no other. */
export async function farIn(view: View, asked: AcrossAsked, sight: Sight): Promise<FarRead> {
  const reader = new FarReader(view, asked, sight)
  const owners = await reader.owners()
  const groups = await reader.groups()
  return { found: { cluster: view.cluster, owners, groups }, doubts: reader.doubts }
}

interface Gathering {
  readonly owner: OwnerElsewhereName
  readonly rule: Rule
  readonly deletes: Deletes
  readonly because: string
  readonly nodes: Node[]
}

class FarReader {
  readonly #view: View
  readonly #asked: AcrossAsked
  readonly #sight: Sight
  readonly doubts: string[] = []

  constructor(view: View, asked: AcrossAsked, sight: Sight) {
    this.#view = view
    this.#asked = asked
    this.#sight = sight
  }

  /** Here, and of a kind and namespace that a rule imports from here. */
  async owners(): Promise<readonly FarOwner[]> {
    const view = this.#view
    const { uid, word, name, namespace, along } = this.#asked
    const imported = view.facts.rules.flatMap(({ elsewhere }) =>
      elsewhere?.cluster === view.cluster ? [elsewhere] : [],
    )
    if (imported.length === 0) return []
    const isImported = ({ object }: Node): boolean =>
      imported.some(({ kinds, namespaces }) => {
        const isKind = kinds.some((kind) => isSameKind(kind, object))
        return isKind && namespaces.some((pattern) => isLike(object.namespace, pattern))
      })
    if (along !== undefined) {
      const nodes = [...along].flatMap((each) => view.node(each) ?? [])
      return await this.#shown(nodes.filter(isImported))
    }
    const isOne = (node: Node): boolean =>
      node.object.name === name &&
      (namespace === undefined || node.object.namespace === namespace) &&
      isImported(node)
    if (uid !== undefined) {
      const node = view.node(uid)
      return node !== undefined && isOne(node) ? await this.#shown([node]) : []
    }
    const kinds = (await kindsIn(view)).filter((kind) => {
      const isImported = imported.some((each) => each.kinds.some((of) => isSameKind(of, kind)))
      return isImported && word.is(kind, kind)
    })
    const found: Node[] = []
    let left = MOST_READ
    for (const kind of kinds) {
      for await (const [key] of view.entries(seenPrefix(view.cluster, kind))) {
        if (left === 0) {
          this.doubts.push(`more than ${MOST_READ} ${kind.kind}s in cluster ${view.name}`)
          return await this.#shown(found)
        }
        left -= 1
        const node = view.node(lastPart(key))
        if (node !== undefined && isOne(node)) found.push(node)
      }
    }
    return await this.#shown(found)
  }

  async #shown(nodes: readonly Node[]): Promise<readonly FarOwner[]> {
    const shown: FarOwner[] = []
    for (const node of nodes) {
      const { group, kind, namespace, name, uid } = node.object
      if (!(await this.#sight.shows(node.object))) continue
      shown.push({ group, kind, namespace, name, uid, phase: nodePhase(node) })
    }
    return shown
  }

  /** Here, of objects that name an owner elsewhere. */
  async groups(): Promise<readonly FarGroup[]> {
    const view = this.#view
    const asking = view.facts.rules.filter(({ elsewhere }) => {
      return elsewhere !== null && elsewhere.cluster !== view.cluster
    })
    const gathered = new Map<string, Gathering>()
    for (const cluster of new Set(asking.map(({ elsewhere }) => elsewhere?.cluster ?? ''))) {
      const rules = asking.filter(({ elsewhere }) => elsewhere?.cluster === cluster)
      if (!(await this.#gather(cluster, rules, gathered))) {
        this.doubts.push(cutText(view))
      }
    }
    const groups: FarGroup[] = []
    for (const [, each] of [...gathered].sort(([a], [b]) => (a < b ? -1 : 1))) {
      groups.push(await this.#group(each))
    }
    return groups
  }

  /** False: there is more than is read. */
  async #gather(
    cluster: ClusterId,
    rules: readonly Rule[],
    gathered: Map<string, Gathering>,
  ): Promise<boolean> {
    let left = this.#view.moment === null ? MOST_READ : MOST_SCANNED
    for await (const uid of this.#candidates(cluster)) {
      if (left === 0) return false
      left -= 1
      const node = this.#view.node(uid)
      const owner = node && ownerNamedBy(node.object.annotations)
      if (node === undefined || owner?.cluster !== cluster || !this.#isAsked(owner)) continue
      if (!(await this.#sight.shows(node.object))) continue
      for (const each of this.#said(node, owner, rules)) {
        const { deletes, because, rule } = each
        const of = JSON.stringify([owner, rule.name, deletes, because])
        const group = gathered.get(of)
        if (group === undefined && gathered.size >= MOST_GROUPS) return false
        if (group === undefined) gathered.set(of, each)
        else group.nodes.push(node)
      }
    }
    return true
  }

  /** Objects that may name it: those that wait for it now; of a moment that is not remembered. */
  async *#candidates(cluster: ClusterId): AsyncIterable<Uid> {
    const view = this.#view
    if (view.moment !== null) {
      for await (const [key] of view.entries(nodesPrefix(view.cluster))) yield lastPart(key)
      return
    }
    for await (const uid of this.#uids(cluster)) {
      const prefix = waitsPrefix(view.cluster, elsewhereWait(cluster, uid))
      for await (const [key] of view.entries(prefix)) yield lastPart(key)
    }
  }

  /** Of owners there that may be the one. */
  async *#uids(cluster: ClusterId): AsyncIterable<Uid> {
    const view = this.#view
    const { uid, name, along } = this.#asked
    if (along !== undefined) return void (yield* along)
    if (uid !== undefined) return void (yield uid)
    let left = MOST_READ
    for await (const [key] of view.entries(elsewherePrefix(view.cluster, cluster))) {
      if (left === 0) return void this.doubts.push(cutText(view))
      left -= 1
      const each = lastPart(key)
      const fact = view.facts.elsewhere(cluster, each)?.fact ?? null
      if (fact === null || fact.place.name === name) yield each
    }
  }

  #isAsked(owner: OwnerElsewhereName): boolean {
    const { uid, word, name, namespace, along } = this.#asked
    if (along !== undefined) return along.has(owner.uid)
    if (owner.name !== name || (uid !== undefined && owner.uid !== uid)) return false
    if (namespace !== undefined && owner.namespace !== namespace) return false
    return word.is(owner, this.#view.facts.kind(owner))
  }

  #said(node: Node, owner: OwnerElsewhereName, rules: readonly Rule[]): readonly Gathering[] {
    const { facts } = this.#view
    const { object } = node
    const about = rulesOfKind(rules, object)?.rules ?? []
    return rulesWithin(about, object.namespace).flatMap((rule) => {
      const status = elsewhereOf(facts, rule, object)
      if (status === null || status.type === 'unnamed') return []
      if (dueWith(facts, rule, object) === null) return []
      const [deletes, because] = this.#answerOf(rule, status, owner.cluster)
      return [{ owner, rule, deletes, because, nodes: [node] }]
    })
  }

  #answerOf(rule: Rule, status: ElsewhereStatus, owners: ClusterId): readonly [Deletes, string] {
    const { facts } = this.#view
    switch (status.type) {
      case 'refused':
      case 'forgotten':
      case 'orphaned':
      case 'unnamed':
        return ['nothing', `by rule ${rule.name} it stays: ${status.because}`]
      case 'unknown':
        return ['unknown', `by rule ${rule.name} it stays meanwhile: ${status.because}`]
      case 'there':
      case 'deleted': {
        const { mode } = facts.policy.policy
        const isCarriedOut = isEnforced(rule, facts.enforced) && mode === 'enforce'
        const unfollowed = unfollowedBecause(facts, owners)
        const when = status.type === 'there' ? 'its owner was deleted' : status.because
        const because = [
          `rule ${rule.name} takes it along ${durationText(rule.forMs)} after ${when}`,
          rule.propagationPolicy === 'Orphan' ? ', and leaves its dependents' : '',
          unfollowed === '' ? '' : `; held: that is in a cluster ${unfollowed}`,
          isCarriedOut ? '' : `; not yet, as ${reportsText(mode)}`,
        ].join('')
        return [isCarriedOut ? 'managed' : 'nothing', because]
      }
    }
  }

  async #group({ owner, rule, deletes, because, nodes }: Gathering): Promise<FarGroup> {
    const view = this.#view
    const isLeft = rule.propagationPolicy === 'Orphan'
    const roots = isLeft ? [] : nodes
    const { count, isCut } = await countDependents(view, this.#sight, nodes, roots)
    if (isCut) this.doubts.push(`more than ${MOST_DEPENDENTS} dependents in cluster ${view.name}`)
    const objects = nodes.map((node) => acrossObject(node, false)).sort(byPlace)
    return {
      ...{ owner, rule: rule.name, deletes, because },
      ...{ marked: objects.length, dependents: count },
      objects: objects.slice(0, this.#asked.limit),
    }
  }
}

function cutText({ name }: View): string {
  return `not all objects of cluster ${name} that name owners in other clusters were read`
}

function reportsText(mode: string): string {
  return mode === 'enforce' ? 'the rule is in dry run' : `Kinfold is in mode ${mode}`
}

function isSameKind(a: GroupKind, b: GroupKind): boolean {
  return a.group === b.group && a.kind === b.kind
}
