/**
 * The graph in DOT, with the attributes that the dump of kube-controller-manager's collector has, and the cluster: all vertices, then all edges.
 *
 * What must stay true: it is written while it is read, a page at a time, in the order of clusters and uids; an owner that is no node is a vertex of
 * its own, under its own uid (upstream stores it under its dependent's), told beside the first object that names it.
 */
import { kindOf, ownerOf } from '../../core/graph.ts'
import { ALL_NODES_PREFIX } from '../../core/key.ts'
import type { Node } from '../../core/node.ts'
import type { ClusterId, ObjectMeta, OwnerReference, Uid } from '../../core/object.ts'
import { versionOf } from '../../core/object.ts'
import { kindOfReference, placeOf } from '../../core/reference.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import { prefixRange } from '../../ports/store.ts'
import { Turns } from './turns.ts'
import type { Found, View, Views } from './view.ts'
import { PIECE_OBJECTS } from './view.ts'
import type { ViewedPartition } from './viewed-partition.ts'

/** Nodes read at once. */
const PAGE_NODES = 200
/** Objects of one component, and owners that are no nodes: some 100 bytes each. Beyond, a component is cut, and such owners may be told twice. */
const DUMP_LIMIT = 100_000
/** Objects of which it is asked at once where they and their dependents are. */
const LOOKAHEAD = 200

export interface GraphDump {
  /** The components, in both directions, of these uids; of none: everything. */
  dot(uids: readonly Uid[]): AsyncIterable<string>
}

interface Vertex extends Found {
  readonly cluster: ClusterId
}

export function createGraphDump(
  views: Views,
  codec: Codec,
  clock: Clock,
  limit: number = DUMP_LIMIT,
): GraphDump {
  return {
    async *dot(uids) {
      const view = await views.open()
      const turns = new Turns(clock)
      const component = uids.length === 0 ? undefined : new Component(view, turns, limit)
      const clusters = await view.clusters()
      await component?.gather(clusters, uids)
      const pieces = (): AsyncIterable<readonly Vertex[]> =>
        component?.pieces() ?? allVertices(view, codec)
      const keys = new VertexKeys(view, clusters)
      yield 'strict digraph full {\n'
      if (component?.isCut) yield `  // Cut after ${limit} objects: there are more.\n`
      yield '  // Node definitions.\n'
      const missing = new Set<string>()
      for await (const vertices of pieces()) {
        await turns.take()
        await fetchAround(view, vertices)
        for (const { key, text } of await view.read(() => definitions(view, keys, vertices))) {
          if (key !== null && missing.has(key)) continue
          if (key !== null && missing.size < limit) missing.add(key)
          yield text
        }
        view.forget()
      }
      yield '  // Edge definitions.\n'
      for await (const vertices of pieces()) {
        await turns.take()
        await fetchAround(view, vertices)
        yield* await view.read(() => vertices.flatMap((vertex) => edges(keys, vertex)))
        view.forget()
      }
      // Beside what is there, since a stream has no other place for it.
      if (view.partial() !== '') yield `  // This may be incomplete: ${view.partial()}\n`
      yield '}\n'
    },
  }
}

/** What is asked of each of them and of its owners, at once. */
async function fetchAround(view: View, vertices: readonly Vertex[]): Promise<void> {
  for (const [cluster, some] of Map.groupBy(vertices, (vertex) => vertex.cluster)) {
    const owners = some.flatMap(({ node }) => node.object.ownerReferences.map(({ uid }) => uid))
    await view.fetchNodes(cluster, [...new Set(owners)])
  }
}

/** `key`: of an owner that is no node, so that it is told once; null of a node. */
function definitions(
  view: View,
  keys: VertexKeys,
  vertices: readonly Vertex[],
): readonly { readonly key: string | null; readonly text: string }[] {
  return vertices.flatMap((vertex) => {
    const { cluster, node } = vertex
    const { ownerReferences, uid } = node.object
    if (ownerReferences.length === 0 && !view.hasDependents(cluster, uid)) return []
    const owners = ownerReferences.flatMap((reference) => {
      if (view.nodeAnywhere(cluster, reference.uid) !== undefined) return []
      const key = keys.of(cluster, reference.uid)
      return [{ key, text: missingText(view, key, vertex, reference) }]
    })
    return [{ key: null, text: nodeText(view, keys, vertex) }, ...owners]
  })
}

function edges(keys: VertexKeys, { cluster, node }: Vertex): readonly string[] {
  const from = keys.of(cluster, node.object.uid)
  const owners = new Set(node.object.ownerReferences.map(({ uid }) => keys.of(cluster, uid)))
  return [...owners].sort().map((to) => `  ${quote(from)} -> ${quote(to)};\n`)
}

interface Reached {
  readonly cluster: ClusterId
  readonly uid: Uid
}

/** Everything reached from some uids, upwards and downwards. */
class Component {
  readonly #view: View
  readonly #turns: Turns
  readonly #limit: number
  readonly #reached = new Map<string, Reached>()
  /** In the order in which they were reached. */
  readonly #order: Reached[] = []
  isCut = false

  constructor(view: View, turns: Turns, limit: number) {
    this.#view = view
    this.#turns = turns
    this.#limit = limit
  }

  async gather(clusters: readonly ClusterId[], uids: readonly Uid[]): Promise<void> {
    const view = this.#view
    for (const cluster of clusters) {
      for (const uid of uids) this.#reach(cluster, uid)
    }
    let ahead = 0
    for (const [number, { cluster, uid }] of this.#order.entries()) {
      await this.#turns.take()
      if (number >= ahead) {
        const some = this.#order.slice(number, number + LOOKAHEAD)
        await this.#lookAhead(some)
        ahead = number + some.length
      }
      const found = await view.read(() => view.nodeAnywhere(cluster, uid))
      for (const owner of found?.node.object.ownerReferences ?? []) this.#reach(cluster, owner.uid)
      for await (const page of view.dependentPages(cluster, uid)) {
        for (const dependent of page) this.#reach(cluster, dependent)
      }
    }
  }

  async #lookAhead(some: readonly Reached[]): Promise<void> {
    for (const [cluster, reached] of Map.groupBy(some, (each) => each.cluster)) {
      const uids = reached.map(({ uid }) => uid)
      await Promise.all([
        this.#view.fetchCounts(cluster, uids),
        this.#view.fetchNodes(cluster, uids),
      ])
    }
  }

  #reach(cluster: ClusterId, uid: Uid): void {
    const key = `${cluster}/${uid}`
    if (this.#reached.has(key)) return
    if (this.#reached.size >= this.#limit) this.isCut = true
    else {
      this.#reached.set(key, { cluster, uid })
      this.#order.push({ cluster, uid })
    }
  }

  /** Those that are nodes. */
  async *pieces(): AsyncIterable<readonly Vertex[]> {
    const view = this.#view
    const keys = [...this.#reached.keys()].sort()
    for (let from = 0; from < keys.length; from += PIECE_OBJECTS) {
      const some = keys.slice(from, from + PIECE_OBJECTS)
      yield await view.read(() =>
        some.flatMap((key) => {
          const { cluster = '', uid = '' } = this.#reached.get(key) ?? {}
          const found = view.nodeAnywhere(cluster, uid)
          return found === undefined ? [] : [{ ...found, cluster }]
        }),
      )
    }
  }
}

/** The nodes of all partitions, in the order of their keys. */
async function* allVertices(view: View, codec: Codec): AsyncIterable<readonly Vertex[]> {
  const streams = view.partitions.map((partition) =>
    nodesOf(view, partition, codec)[Symbol.asyncIterator](),
  )
  const heads = await Promise.all(streams.map((stream) => stream.next()))
  let piece: Vertex[] = []
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
    const isEnd = head === undefined || head.done === true || stream === undefined
    if (isEnd || piece.length >= PIECE_OBJECTS) {
      yield piece
      piece = []
    }
    if (isEnd) return
    piece.push(head.value.vertex)
    heads[first] = await stream.next()
  }
}

async function* nodesOf(
  { readers }: View,
  partition: ViewedPartition,
  codec: Codec,
): AsyncGenerator<{ readonly key: string; readonly vertex: Vertex }, undefined> {
  const reader = readers[partition.partition] ?? { get: () => undefined }
  for (let range = prefixRange(ALL_NODES_PREFIX, PAGE_NODES); ; ) {
    const page = await partition.page(range)
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
  readonly #view: View
  readonly #clusters: readonly ClusterId[]

  constructor(view: View, clusters: readonly ClusterId[]) {
    this.#view = view
    this.#clusters = clusters
  }

  of(cluster: ClusterId, uid: Uid): string {
    const isShared = this.#clusters.some((other) => other !== cluster && this.#isKnown(other, uid))
    return isShared ? `${cluster}/${uid}` : uid
  }

  #isKnown(cluster: ClusterId, uid: Uid): boolean {
    if (this.#view.nodeAnywhere(cluster, uid) !== undefined) return true
    return this.#view.hasDependents(cluster, uid)
  }
}

function nodeText(view: View, keys: VertexKeys, { cluster, node }: Vertex): string {
  const { object, phase } = node
  return vertexText(keys.of(cluster, object.uid), {
    ...object,
    cluster: view.clusterName(cluster),
    missing: false,
    beingDeleted: object.deletedAt !== null,
    deletingDependents: phase === 'waiting',
    virtual: false,
  })
}

/** Of an owner that is no node: all that is known is what the reference says, and whether it is proven absent. */
function missingText(
  view: View,
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
    cluster: view.clusterName(cluster),
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
