/**
 * The graph in DOT, with the attributes that the dump of kube-controller-manager's collector has,
 * and the cluster: all vertices, then all edges.
 *
 * What must stay true: it is written while it is read, in the order of uids of one cluster after
 * the other; an owner that is no node is a vertex of its own, under its own uid (upstream stores it
 * under its dependent's), beside the first object that references it. A reference that has the uid
 * of an object and names other coordinates leads to a vertex of its own, never to that object. Of
 * several processes each writes its own clusters, and none is held in memory while they are put
 * together.
 */
import { type Identity, identityKey, identityNamed } from '../../../../core/graph/identity.ts'
import {
  coordinatesIn,
  countKeyOfEdges,
  edgesPrefix,
  nodesPrefix,
} from '../../../../core/graph/key.ts'
import { ownerPlace } from '../../../../core/graph/owner-place.ts'
import type { Node } from '../../../../core/model/node.ts'
import { nodePhase } from '../../../../core/model/node.ts'
import type { ClusterId, ObjectMeta, OwnerReference, Uid } from '../../../../core/model/object.ts'
import { isSamePlace, versionOf } from '../../../../core/model/object.ts'
import { kindOfReference } from '../../../../core/model/reference.ts'
import type { Clusters } from '../view/clusters.ts'
import { forgottenText } from '../view/open-view.ts'
import type { View } from '../view/view.ts'

/**
 * Objects of one component, and owners that are no nodes: some 100 bytes each. Beyond that, a
 * component is cut, and such owners may be listed twice.
 */
const DUMP_LIMIT = 100_000

export const DOT = 'text/vnd.graphviz'

const OPENING = 'strict digraph full {'
const NODES = '  // Node definitions.'
const EDGES = '  // Edge definitions.'
const CLOSING = '}'
const COMMENT = '  // '

export interface GraphDump {
  /**
   * The components, in both directions, of these uids; of none: everything. `doubts`: what it may
   * lack.
   */
  dot(
    views: readonly View[],
    uids: readonly Uid[],
    doubts?: readonly string[],
  ): AsyncIterable<string>
}

export function createGraphDump(
  clusters: Pick<Clusters, 'all'>,
  limit: number = DUMP_LIMIT,
): GraphDump {
  return {
    async *dot(views, uids, others = []) {
      const keys = new VertexKeys((await clusters.all()).length > 1)
      const sections: Section[] = []
      for (const view of views.toSorted((a, b) => (a.cluster < b.cluster ? -1 : 1))) {
        const component = uids.length === 0 ? undefined : new Component(view, limit)
        await component?.gather(uids)
        sections.push({ view, component, keys })
      }
      yield `${OPENING}\n`
      if (sections.some(({ component }) => component?.isCut)) {
        yield `  // Cut after ${limit} objects: there are more.\n`
      }
      yield `${NODES}\n`
      for (const section of sections) yield* definitions(section, limit)
      yield `${EDGES}\n`
      for (const section of sections) yield* edges(section)
      const own = views.flatMap((view) => [view.partial(), forgottenText(view)])
      const doubts = new Set([...own, ...others])
      for (const doubt of doubts) if (doubt !== '') yield incomplete(doubt)
      yield `${CLOSING}\n`
    },
  }
}

/** Beside what is there, since a stream has no other place for it. */
function incomplete(doubt: string): string {
  return `${COMMENT}This may be incomplete: ${doubt}\n`
}

/**
 * What several processes write, as one graph. Each waits with its edges until the vertices of all
 * are read.
 */
export async function* joinedDot(
  all: readonly AsyncIterable<string | Uint8Array>[],
  partial: string,
): AsyncIterable<string> {
  const doubts = partial === '' ? [] : [incomplete(partial)]
  const parts = all.map((each) => linesOf(each))
  yield `${OPENING}\n${NODES}\n`
  for (const stop of [EDGES, CLOSING]) {
    if (stop === CLOSING) yield `${EDGES}\n`
    for (const lines of parts) {
      try {
        for (;;) {
          const { value, done } = await lines.next()
          if (done) throw new Error('a process ended before its answer did')
          if (value === stop) break
          if (value === OPENING || value === NODES) continue
          if (stop === CLOSING && value.startsWith(COMMENT)) doubts.push(`${value}\n`)
          else yield `${value}\n`
        }
      } catch (error) {
        doubts.push(incomplete(error instanceof Error ? error.message : String(error)))
        parts.splice(parts.indexOf(lines), 1, ended())
      }
    }
  }
  yield* doubts
  yield `${CLOSING}\n`
}

async function* linesOf(
  parts: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const part of parts) {
    rest += typeof part === 'string' ? part : decoder.decode(part, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  return undefined
}

async function* ended(): AsyncGenerator<string, undefined> {
  yield CLOSING
  return undefined
}

/** One cluster of a dump. */
interface Section {
  readonly view: View
  /** Undefined for the whole cluster. */
  readonly component: Component | undefined
  readonly keys: VertexKeys
}

async function* nodesOf({ view, component }: Section): AsyncIterable<Node> {
  if (component !== undefined) return yield* component.nodes()
  for await (const [key] of view.entries(nodesPrefix(view.cluster))) {
    // Unless it was deleted in the meantime.
    const node = view.reader.get(key)
    if (node?.type === 'Node') yield node
  }
}

async function* definitions(section: Section, limit: number): AsyncIterable<string> {
  const { view, keys } = section
  const missing = new Set<string>()
  for await (const node of nodesOf(section)) {
    const { ownerReferences, uid } = node.object
    if (ownerReferences.length === 0 && !view.hasDependents(view.identityOf(node.object))) continue
    yield nodeText(view, keys.of(view.cluster, uid), node)
    for (const reference of ownerReferences) {
      const key = keys.named(view, node, reference)
      const isNode = view.node(reference.uid) !== undefined && !isMisnamed(view, node, reference)
      if (missing.has(key) || isNode) continue
      if (missing.size < limit) missing.add(key)
      yield missingText(view, key, node, reference)
    }
  }
}

async function* edges(section: Section): AsyncIterable<string> {
  const { keys, view } = section
  for await (const node of nodesOf(section)) {
    const { object } = node
    const from = keys.of(view.cluster, object.uid)
    const owners = new Set<string>()
    for (const each of object.ownerReferences) owners.add(keys.named(view, node, each))
    for (const to of [...owners].sort()) yield `  ${quote(from)} -> ${quote(to)};\n`
  }
}

/** Everything reached from some uids in one cluster, upwards and downwards. */
class Component {
  readonly #view: View
  readonly #limit: number
  /** In the order in which they were reached, by `identityKey`. */
  readonly #reached = new Map<string, Identity>()
  isCut = false

  constructor(view: View, limit: number) {
    this.#view = view
    this.#limit = limit
  }

  async gather(uids: readonly Uid[]): Promise<void> {
    const view = this.#view
    for (const uid of uids) {
      const object = view.node(uid)?.object
      if (object !== undefined) this.#reach(view.identityOf(object))
      else for await (const owner of namedWith(view, uid)) this.#reach(owner)
    }
    for (const identity of this.#reached.values()) {
      await view.turns.take()
      const object = this.#nodeAt(identity)?.object
      for (const reference of object?.ownerReferences ?? []) {
        const owner = object && identityNamed(view.facts, object, reference)
        if (owner !== undefined) this.#reach(owner)
      }
      for await (const uid of view.dependents(identity)) {
        const dependent = view.node(uid)?.object
        if (dependent !== undefined) this.#reach(view.identityOf(dependent))
      }
    }
  }

  #nodeAt(identity: Identity): Node | undefined {
    const node = this.#view.node(identity.uid)
    return node !== undefined && isSamePlace(node.object, identity) ? node : undefined
  }

  #reach(identity: Identity): void {
    const key = identityKey(identity)
    if (this.#reached.has(key)) return
    if (this.#reached.size >= this.#limit) this.isCut = true
    else this.#reached.set(key, identity)
  }

  async *nodes(): AsyncIterable<Node> {
    const sorted = [...this.#reached.values()].sort((a, b) => (a.uid < b.uid ? -1 : 1))
    for (const identity of sorted) {
      await this.#view.turns.take()
      const node = this.#nodeAt(identity)
      if (node !== undefined) yield node
    }
  }
}

/** A uid, as upstream has it; of several clusters, which may share uids, its cluster before it. */
class VertexKeys {
  readonly #isOneOfSeveral: boolean

  constructor(isOneOfSeveral: boolean) {
    this.#isOneOfSeveral = isOneOfSeveral
  }

  of(cluster: ClusterId, uid: Uid): string {
    return this.#isOneOfSeveral ? `${cluster}/${uid}` : uid
  }

  /**
   * Of the owner that a reference names; of one that has the uid of another object, with its
   * coordinates.
   */
  named(view: View, node: Node, reference: OwnerReference): string {
    const key = this.of(view.cluster, reference.uid)
    if (!isMisnamed(view, node, reference)) return key
    const { group, kind } = kindOfReference(reference)
    const { name } = reference
    return [key, `${kind}.${group}`, node.object.namespace, name].join('/')
  }
}

/** The reference has the uid of an object at other coordinates. */
function isMisnamed(view: View, { object }: Node, reference: OwnerReference): boolean {
  const owner = view.node(reference.uid)?.object
  return owner !== undefined && !view.isNamed(view.identityOf(owner), object, reference)
}

/** All that is named with that uid, whatever has it. */
async function* namedWith(view: View, uid: Uid): AsyncIterable<Identity> {
  const prefix = countKeyOfEdges(edgesPrefix(view.cluster, uid, ''))
  for await (const [key] of view.entries(prefix)) {
    yield view.identityOf({ ...coordinatesIn(key.slice(prefix.length)), uid })
  }
}

function nodeText(view: View, key: string, node: Node): string {
  const { object } = node
  return vertexText(key, {
    ...object,
    cluster: view.name,
    missing: false,
    beingDeleted: object.deletedAt !== null,
    deletingDependents: nodePhase(node) === 'waiting',
    virtual: false,
  })
}

/**
 * Of an owner that is no node: all that is known is what the reference says, and whether it is
 * proven absent.
 */
function missingText(
  { facts, name }: View,
  key: string,
  { object }: Node,
  reference: OwnerReference,
): string {
  const { place } = ownerPlace(facts, object, reference)
  const { group, kind } = place ?? kindOfReference(reference)
  const owner = place && facts.owner(reference.uid, place)
  return vertexText(key, {
    group,
    kind,
    version: versionOf(reference.apiVersion),
    namespace: place?.namespace ?? object.namespace,
    name: reference.name,
    uid: reference.uid,
    cluster: name,
    missing: owner?.type !== 'found',
    beingDeleted: false,
    deletingDependents: false,
    virtual: owner?.type !== 'absent',
  })
}

interface Attributes
  extends Pick<ObjectMeta, 'group' | 'version' | 'kind' | 'namespace' | 'name' | 'uid'> {
  readonly cluster: string
  /** No such object is in the graph. */
  readonly missing: boolean
  readonly beingDeleted: boolean
  readonly deletingDependents: boolean
  /** It was neither observed nor is its absence proven. */
  readonly virtual: boolean
}

const CONDITIONS = ['beingDeleted', 'deletingDependents', 'virtual', 'missing'] as const

function vertexText(key: string, attributes: Attributes): string {
  const { group, version, kind, namespace, name, uid, cluster } = attributes
  const type = [kind, version, ...(group === '' ? [] : [group])].join('.')
  const conditions = CONDITIONS.filter((condition) => attributes[condition]).join(',')
  const lines = [`uid=${uid}`, `namespace=${namespace}`, `${type}/${name}`, conditions]
  const label = lines
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('')
  const { missing, beingDeleted, deletingDependents, virtual } = attributes
  const all = {
    ...{ label, group, version, kind, namespace, name, uid },
    ...{ missing, beingDeleted, deletingDependents, virtual, cluster },
  }
  const pairs = Object.entries(all).map(([word, value]) => `    ${word}=${quote(String(value))}\n`)
  return `  ${quote(key)} [\n${pairs.join('')}  ];\n`
}

/**
 * References hold any text that users typed: only quotes and backslashes mean anything to DOT, and
 * control characters mean nothing.
 */
export function quote(text: string): string {
  const escaped = text
    .replace(/[\\"]/g, '\\$&')
    .replace(/\n/g, '\\n')
    .replace(/\p{Cc}/gu, '\u{fffd}')
  return `"${escaped.toWellFormed()}"`
}
