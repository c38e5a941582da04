/**
 * The graph in DOT, with the attributes that the dump of kube-controller-manager's collector has, and the cluster: all vertices, then all edges.
 *
 * What must stay true: it is written while it is read, a page at a time, in the order of clusters and uids; an owner that is no node is a vertex of
 * its own, under its own uid (upstream stores it under its dependent's), told beside the first object that names it.
 */
import { countOf, kindOf, ownerOf } from '../../core/graph.ts'
import { ALL_NODES_PREFIX } from '../../core/key.ts'
import type { Node } from '../../core/node.ts'
import type { ClusterId, ObjectMeta, OwnerReference, Uid } from '../../core/object.ts'
import { versionOf } from '../../core/object.ts'
import { kindOfReference, placeOf } from '../../core/standing.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import { prefixRange } from '../../ports/store.ts'
import type { Committed, Found, Partition } from './committed.ts'
import { readerOf } from './committed.ts'
import { Turns } from './turns.ts'

/** Nodes read at once. */
const PAGE_NODES = 200
/** Objects of one component, and owners that are no nodes: some 100 bytes each. Beyond, a component is cut, and such owners may be told twice. */
const DUMP_LIMIT = 100_000

export interface GraphDump {
  /** The components, in both directions, of these uids; of none: everything. */
  dot(uids: readonly Uid[]): AsyncIterable<string>
}

interface Vertex extends Found {
  readonly cluster: ClusterId
}

export function createGraphDump(
  committed: Committed,
  codec: Codec,
  clock: Clock,
  limit: number = DUMP_LIMIT,
): GraphDump {
  return {
    async *dot(uids) {
      const turns = new Turns(clock)
      const component = uids.length === 0 ? undefined : new Component(committed, turns, limit)
      const clusters = await committed.clusters()
      await component?.gather(clusters, uids)
      const vertices = (): AsyncIterable<Vertex> =>
        component?.vertices() ?? allVertices(committed, codec)
      const keys = new VertexKeys(committed, clusters)
      yield 'strict digraph full {\n'
      if (component?.isCut) yield `  // Cut after ${limit} objects: there are more.\n`
      yield '  // Node definitions.\n'
      const missing = new Set<string>()
      for await (const vertex of vertices()) {
        await turns.take()
        if (isIsolated(committed, vertex)) continue
        yield nodeText(committed, keys, vertex)
        for (const reference of vertex.node.object.ownerReferences) {
          const key = keys.of(vertex.cluster, reference.uid)
          const isNode = committed.nodeAnywhere(vertex.cluster, reference.uid) !== undefined
          if (isNode || missing.has(key)) continue
          if (missing.size < limit) missing.add(key)
          yield missingText(committed, key, vertex, reference)
        }
      }
      yield '  // Edge definitions.\n'
      for await (const { cluster, node } of vertices()) {
        await turns.take()
        const from = keys.of(cluster, node.object.uid)
        const owners = new Set(node.object.ownerReferences.map(({ uid }) => keys.of(cluster, uid)))
        for (const to of [...owners].sort()) yield `  ${quote(from)} -> ${quote(to)};\n`
      }
      yield '}\n'
    },
  }
}

/** Everything reached from some uids, upwards and downwards. */
class Component {
  readonly #committed: Committed
  readonly #turns: Turns
  readonly #limit: number
  readonly #reached = new Map<string, { readonly cluster: ClusterId; readonly uid: Uid }>()
  isCut = false

  constructor(committed: Committed, turns: Turns, limit: number) {
    this.#committed = committed
    this.#turns = turns
    this.#limit = limit
  }

  async gather(clusters: readonly ClusterId[], uids: readonly Uid[]): Promise<void> {
    for (const cluster of clusters) {
      for (const uid of uids) this.#reach(cluster, uid)
    }
    for (const { cluster, uid } of this.#reached.values()) {
      await this.#turns.take()
      const node = this.#committed.nodeAnywhere(cluster, uid)?.node
      for (const owner of node?.object.ownerReferences ?? []) this.#reach(cluster, owner.uid)
      for await (const page of this.#committed.dependentPages(cluster, uid)) {
        for (const dependent of page) this.#reach(cluster, dependent)
      }
    }
  }

  #reach(cluster: ClusterId, uid: Uid): void {
    const key = `${cluster}/${uid}`
    if (this.#reached.has(key)) return
    if (this.#reached.size >= this.#limit) this.isCut = true
    else this.#reached.set(key, { cluster, uid })
  }

  /** Those that are nodes. */
  async *vertices(): AsyncIterable<Vertex> {
    for (const key of [...this.#reached.keys()].sort()) {
      const reached = this.#reached.get(key)
      if (reached === undefined) continue
      const found = this.#committed.nodeAnywhere(reached.cluster, reached.uid)
      if (found !== undefined) yield { ...found, cluster: reached.cluster }
    }
  }
}

/** The nodes of all partitions, in the order of their keys. */
async function* allVertices({ partitions }: Committed, codec: Codec): AsyncIterable<Vertex> {
  const streams = partitions().map((partition) => nodesOf(partition, codec)[Symbol.asyncIterator]())
  const heads = await Promise.all(streams.map((stream) => stream.next()))
  for (;;) {
    let first = -1
    for (const [index, head] of heads.entries()) {
      const least = first < 0 ? undefined : heads[first]
      if (
        head.done !== true &&
        (least === undefined || least.done || head.value.key < least.value.key)
      ) {
        first = index
      }
    }
    const head = heads[first]
    const stream = streams[first]
    if (head === undefined || head.done === true || stream === undefined) return
    yield head.value.vertex
    heads[first] = await stream.next()
  }
}

async function* nodesOf(
  { store }: Partition,
  codec: Codec,
): AsyncGenerator<{ readonly key: string; readonly vertex: Vertex }, undefined> {
  const reader = readerOf(store, codec)
  for (let range = prefixRange(ALL_NODES_PREFIX, PAGE_NODES); ; ) {
    const page = await store.page(range)
    for (const [key, value] of page) {
      const cluster = decodeURIComponent(key.split('/')[1] ?? '')
      yield { key, vertex: { node: codec.decode(value) as Node, reader, cluster } }
    }
    const last = page.at(-1)?.[0]
    if (last === undefined || page.length < PAGE_NODES) return undefined
    range = { ...range, gte: `${last}\0` }
  }
}

/** A uid, as upstream has it; with its cluster before it where another cluster (a restored copy) has the same one. */
class VertexKeys {
  readonly #committed: Committed
  readonly #clusters: readonly ClusterId[]

  constructor(committed: Committed, clusters: readonly ClusterId[]) {
    this.#committed = committed
    this.#clusters = clusters
  }

  of(cluster: ClusterId, uid: Uid): string {
    const isShared = this.#clusters.some((other) => other !== cluster && this.#isKnown(other, uid))
    return isShared ? `${cluster}/${uid}` : uid
  }

  #isKnown(cluster: ClusterId, uid: Uid): boolean {
    if (this.#committed.nodeAnywhere(cluster, uid) !== undefined) return true
    return this.#committed.readers().some((reader) => countOf(reader, cluster, uid) !== undefined)
  }
}

function isIsolated(committed: Committed, { cluster, node }: Vertex): boolean {
  if (node.object.ownerReferences.length > 0) return false
  const { uid } = node.object
  return committed.readers().every((reader) => countOf(reader, cluster, uid) === undefined)
}

function nodeText(committed: Committed, keys: VertexKeys, { cluster, node }: Vertex): string {
  const { object, phase } = node
  return vertexText(keys.of(cluster, object.uid), {
    ...object,
    cluster: committed.clusterName(cluster),
    missing: false,
    beingDeleted: object.deletedAt !== null,
    deletingDependents: phase === 'waiting',
    virtual: false,
  })
}

/** Of an owner that is no node: all that is known is what the reference says, and whether it is proven absent. */
function missingText(
  committed: Committed,
  key: string,
  { cluster, node, reader }: Vertex,
  reference: OwnerReference,
): string {
  const kind = kindOfReference(reference)
  const place = placeOf(kindOf(reader, cluster, kind), node.object, reference)
  const owner = place && ownerOf(reader, cluster, reference.uid, place)
  return vertexText(key, {
    ...kind,
    version: versionOf(reference.apiVersion),
    namespace: place?.namespace ?? node.object.namespace,
    name: reference.name,
    uid: reference.uid,
    cluster: committed.clusterName(cluster),
    missing: owner?.state !== 'found',
    beingDeleted: false,
    deletingDependents: false,
    virtual: owner?.state !== 'absent',
  })
}

interface Attributes
  extends Pick<ObjectMeta, 'group' | 'version' | 'kind' | 'namespace' | 'name' | 'uid'> {
  readonly cluster: string
  /** No such object is in the graph. */
  readonly missing: boolean
  readonly beingDeleted: boolean
  readonly deletingDependents: boolean
  /** Nobody has seen it, and nobody has proven that it is absent. */
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

/** References hold whatever users typed: only quotes and backslashes mean anything to DOT, and control characters nothing to anybody. */
export function quote(text: string): string {
  const escaped = text
    .replace(/[\\"]/g, '\\$&')
    .replace(/\n/g, '\\n')
    .replace(/\p{Cc}/gu, '\u{fffd}')
  return `"${escaped.toWellFormed()}"`
}
