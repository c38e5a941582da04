/**
 * Who may ask what of the graph: orders take a right of their own, a question about one object
 * takes the right to get it, all else the right to the graph.
 *
 * What must stay true: no answer shows an object to a user who may not get it in its own cluster;
 * if it is unclear, the object is hidden. What an answer holds of other objects is reviewed by kind
 * and namespace (`sight`).
 *
 * Not here: who the user is (runtime/http/principal.ts), asking the cluster
 * (runtime/http/authority.ts).
 */
import type { FastifyRequest } from 'fastify'
import { factsOf } from '../../../../core/graph/facts.ts'
import type { Coordinates } from '../../../../core/model/object.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Access as Wanted } from '../../../../ports/review.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { principalOf } from '../../../../runtime/http/principal.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { GROUP, maySeeAll } from '../../../../runtime/http/whole-right.ts'
import type { TreeNode } from '../answer/tree.ts'
import { NOT_JUDGED } from '../answer/tree.ts'
import type { Clusters } from '../view/clusters.ts'
import { kindsIn } from '../view/kind-word.ts'
import { HIDDEN, type Sight, WHOLE } from '../view/sight.ts'
import type { View } from '../view/view.ts'

/** Distinct kinds and namespaces that one answer is reviewed for; what lies beyond is hidden. */
const MOST_REVIEWED = 200
/**
 * For so long one answer is reviewed, which may keep others waiting (question.ts); what is not by
 * then is hidden.
 */
const REVIEW_MS = 10_000

type Place = Coordinates & { readonly cluster: string }
type KindPlace = Omit<Place, 'name'>
type ReadVerb = 'get' | 'list'

interface Asked {
  readonly cluster: string | null
  readonly wanted: Wanted
  /** Whether a former answer of the cluster does not count. */
  readonly isFresh: boolean
}

export interface AccessParts {
  readonly clusters: Clusters
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Undefined where no cluster says who the user is. */
  readonly authority: Authority | undefined
  /** Whether reading takes rights in the clusters, too. */
  readonly isReadingReviewed: boolean
}

export class Access {
  readonly #parts: AccessParts

  constructor(parts: AccessParts) {
    this.#parts = parts
  }

  /** Throws `Problem` when who asks may not give this order. */
  async order(request: FastifyRequest, verb: string): Promise<void> {
    if (await this.#mayCreate(request, 'directives', verb)) return
    throw new Problem(403, `to ${verb} takes the right to create directives.${GROUP}`)
  }

  /**
   * The same of events of an audit log. Who showed the token of a cluster may send those of that
   * cluster.
   */
  async attribute(request: FastifyRequest): Promise<void> {
    if (principalOf(request).by === 'cluster') return
    if (await this.#mayCreate(request, 'auditevents', '')) return
    throw new Problem(403, `to send audit events takes the right to create auditevents.${GROUP}`)
  }

  /** The same for an answer about more than one object. */
  async graph(request: FastifyRequest): Promise<void> {
    if (!(await this.mayAll(request))) throw denied()
  }

  /** Whether that is anything. */
  async mayAll(request: FastifyRequest): Promise<boolean> {
    const { authority, isReadingReviewed } = this.#parts
    return await maySeeAll(request, { authority, isReadingReviewed })
  }

  /** Whether objects of this kind may be listed in this namespace of their cluster. */
  async mayList(request: FastifyRequest, place: KindPlace): Promise<boolean> {
    return (await this.mayAll(request)) || (await this.#mayRead(request, 'list', place, ''))
  }

  /**
   * Throws where who asks may list nothing in this namespace, the same as where there is no such
   * cluster. To be asked in the process that has the cluster.
   */
  async namespace(request: FastifyRequest, view: View, namespace: string): Promise<void> {
    const sight = await this.sight(request, view.cluster, 'list')
    if (sight.isWhole) return
    const kinds = (await kindsIn(view)).filter(({ scope }) => scope === 'Namespaced')
    // The core group first: most roles name one of its kinds.
    const sorted = kinds.toSorted((a, b) => Number(a.group !== '') - Number(b.group !== ''))
    for (const { group, kind } of sorted) {
      if (await sight.shows({ group, kind, namespace })) return
    }
    throw denied()
  }

  /** As `graph`, of one object. */
  async object(request: FastifyRequest, place: Place): Promise<void> {
    if (await this.mayAll(request)) return
    if (!(await this.#mayRead(request, 'get', place, place.name))) throw denied()
  }

  /** If it is unclear, they may not. */
  async mayGet(request: FastifyRequest, place: Place): Promise<boolean> {
    return await this.object(request, place).then(
      () => true,
      () => false,
    )
  }

  /**
   * What who asks may get, or list, in a cluster that this process has: as their rights are now. By
   * kind and namespace, each of them reviewed once.
   */
  async sight(request: FastifyRequest, cluster: string, verb: ReadVerb): Promise<Sight> {
    if (await this.mayAll(request)) return WHOLE
    const { clock } = this.#parts
    const allowed = new Map<string, boolean>()
    const until = clock.monotonicMs() + REVIEW_MS
    return {
      isWhole: false,
      shows: async (place) => {
        const key = keyOf(place)
        const known = allowed.get(key)
        if (known !== undefined) return known
        if (allowed.size >= MOST_REVIEWED || clock.monotonicMs() > until) return false
        const { group, kind, namespace } = place
        const may = await this.#mayRead(request, verb, { cluster, group, kind, namespace }, '')
        allowed.set(key, may)
        return may
      },
    }
  }

  /** Without names of what who asks may not get. */
  async shown(request: FastifyRequest, cluster: string, tree: TreeNode): Promise<TreeNode> {
    const its = await this.sight(request, cluster, 'get')
    if (its.isWhole) return tree
    const shown = new Set<TreeNode>()
    for (const node of nodesOf(tree)) if (await its.shows(node)) shown.add(node)
    return hidden(tree, (node) => shown.has(node))
  }

  /** As their rights are now: it is about what changes something. */
  async #mayCreate(request: FastifyRequest, resource: string, name: string): Promise<boolean> {
    const wanted = { verb: 'create', group: GROUP, resource, namespace: '', name }
    return await this.#may(request, { cluster: null, wanted, isFresh: true })
  }

  async #mayRead(
    request: FastifyRequest,
    verb: ReadVerb,
    place: KindPlace,
    name: string,
  ): Promise<boolean> {
    const resource = await this.#resourceOf(place)
    if (resource === undefined) return false
    const { cluster, group, namespace } = place
    const wanted = { verb, group, resource, namespace, name }
    return await this.#may(request, { cluster, wanted, isFresh: false })
  }

  /** Undefined also where another process has the cluster. */
  async #resourceOf({ cluster, group, kind }: KindPlace): Promise<string | undefined> {
    const { clusters } = this.#parts
    const known = await clusters.one(cluster)
    const view = known && clusters.view(known)
    return view && factsOf(view.reader, cluster).kind({ group, kind })?.resource
  }

  /**
   * Of a user whose rights count; who showed a token of the file, or is local, may do everything.
   */
  async #may(request: FastifyRequest, { cluster, wanted, isFresh }: Asked): Promise<boolean> {
    const { authority } = this.#parts
    const { user, by } = principalOf(request)
    // It is let in for one route, which asks for nothing here.
    if (by === 'cluster') return false
    if (user === null) return true
    return authority !== undefined && (await authority.may(user, cluster, wanted, isFresh))
  }
}

/** The same whatever is asked for, there or not: who may not see it learns nothing of it. */
function denied(): Problem {
  return new Problem(
    403,
    `this takes the right to get the object in its cluster or, for questions about many objects, to get graphs.${GROUP}; what is held, and the streams, are answered for one namespace with the parameters cluster and namespace`,
  )
}

function keyOf({ group, kind, namespace }: Omit<Coordinates, 'name'>): string {
  return `${group}/${kind}/${namespace}`
}

function* nodesOf(tree: TreeNode): Iterable<TreeNode> {
  const left = [tree]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    yield node
    left.push(...node.children)
  }
}

/** In place: the tree was made for this answer alone. */
function hidden(tree: TreeNode, isShown: (node: TreeNode) => boolean): TreeNode {
  const blank = (node: TreeNode): TreeNode =>
    isShown(node) ? node : { ...node, ...NOT_JUDGED, name: HIDDEN, uid: HIDDEN, createdAt: null }
  const root = blank(tree)
  const left = [root]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    for (const [index, each] of node.children.entries()) {
      const shown = blank(each)
      node.children[index] = shown
      left.push(shown)
    }
  }
  return root
}
