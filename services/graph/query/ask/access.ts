/**
 * Who may ask what of the graph: orders take a right of their own, a question about one object takes the right to get it, all else the right to the graph.
 *
 * What must stay true: what a question tells is told to nobody who may not get it in its own cluster; in doubt it is hidden. What an answer holds of other
 * objects is reviewed by kind and namespace (`sight`).
 *
 * Not here: who somebody is (runtime/http/principal.ts), asking the cluster (runtime/http/authority.ts).
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
import type { Clusters } from '../view/clusters.ts'
import { HIDDEN, type Sight, WHOLE } from '../view/sight.ts'

/** Distinct kinds and namespaces that one answer is reviewed for; what lies beyond is hidden. */
const MOST_REVIEWED = 200
/** For so long one answer is reviewed, which may keep others waiting (question.ts); what is not by then is hidden. */
const REVIEW_MS = 10_000

type Place = Coordinates & { readonly cluster: string }
type ReadVerb = 'get' | 'list'

export interface Access {
  /** Throws `Problem` when who asks may not give this order. */
  order(request: FastifyRequest, verb: string): Promise<void>
  /** The same of events of an audit log. Whoever showed the token of a cluster may send those of that cluster. */
  attribute(request: FastifyRequest): Promise<void>
  /** The same of anything that tells of more than one object. */
  graph(request: FastifyRequest): Promise<void>
  /** Whether that is anything. */
  mayAll(request: FastifyRequest): Promise<boolean>
  /** Whether objects of this kind may be listed in this namespace of their cluster. */
  mayList(request: FastifyRequest, place: Omit<Place, 'name'>): Promise<boolean>
  /** As `graph`, of one object. */
  object(request: FastifyRequest, place: Place): Promise<void>
  /** What who asks may get, or list, in a cluster that this process has: as their rights are now. */
  sight(request: FastifyRequest, cluster: string, verb: ReadVerb): Promise<Sight>
  /** Without names of what who asks may not get. */
  shown(request: FastifyRequest, cluster: string, tree: TreeNode): Promise<TreeNode>
}

export interface AccessParts {
  readonly clusters: Clusters
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Undefined where no cluster says who somebody is. */
  readonly authority: Authority | undefined
  /** Whether reading takes rights in the clusters, too. */
  readonly isReadingReviewed: boolean
}

export function createAccess(parts: AccessParts): Access {
  const { clusters, clock, authority, isReadingReviewed } = parts
  /** Of a user whose rights count; who showed a token of the file, or is local, may do everything. */
  async function may(
    request: FastifyRequest,
    cluster: string | null,
    wanted: Wanted,
    isFresh = false,
  ): Promise<boolean> {
    const { user, by } = principalOf(request)
    // It is let in for one route, which asks for nothing here.
    if (by === 'cluster') return false
    if (user === null) return true
    return authority !== undefined && (await authority.may(user, cluster, wanted, isFresh))
  }

  /** Undefined also where another process has the cluster. */
  async function resourceOf({
    cluster,
    group,
    kind,
  }: Omit<Place, 'name'>): Promise<string | undefined> {
    const known = await clusters.one(cluster)
    const view = known && clusters.view(known)
    return view && factsOf(view.reader, cluster).kind({ group, kind })?.resource
  }

  async function mayRead(
    request: FastifyRequest,
    verb: ReadVerb,
    place: Omit<Place, 'name'>,
    name: string,
  ): Promise<boolean> {
    const resource = await resourceOf(place)
    if (resource === undefined) return false
    const { cluster, group, namespace } = place
    return await may(request, cluster, { verb, group, resource, namespace, name })
  }

  async function mayAll(request: FastifyRequest): Promise<boolean> {
    return await maySeeAll(request, { authority, isReadingReviewed })
  }

  /** By kind and namespace, each of them reviewed once. */
  async function sight(request: FastifyRequest, cluster: string, verb: ReadVerb): Promise<Sight> {
    if (await mayAll(request)) return WHOLE
    const allowed = new Map<string, boolean>()
    const until = clock.monotonicMs() + REVIEW_MS
    return {
      isWhole: false,
      async shows(place) {
        const key = keyOf(place)
        const known = allowed.get(key)
        if (known !== undefined) return known
        if (allowed.size >= MOST_REVIEWED || clock.monotonicMs() > until) return false
        const { group, kind, namespace } = place
        const may = await mayRead(request, verb, { cluster, group, kind, namespace }, '')
        allowed.set(key, may)
        return may
      },
    }
  }

  return {
    async order(request, verb) {
      const wanted = { verb: 'create', group: GROUP, resource: 'directives', namespace: '' }
      if (await may(request, null, { ...wanted, name: verb }, true)) return
      throw new Problem(403, `to ${verb} takes the right to create directives.${GROUP}`)
    },
    async attribute(request) {
      if (principalOf(request).by === 'cluster') return
      const wanted = { verb: 'create', group: GROUP, resource: 'auditevents', namespace: '' }
      if (await may(request, null, { ...wanted, name: '' }, true)) return
      throw new Problem(403, `to send audit events takes the right to create auditevents.${GROUP}`)
    },
    mayAll,
    async mayList(request, place) {
      return (await mayAll(request)) || (await mayRead(request, 'list', place, ''))
    },
    async graph(request) {
      if (!(await mayAll(request))) throw denied()
    },
    async object(request, place) {
      if (await mayAll(request)) return
      if (!(await mayRead(request, 'get', place, place.name))) throw denied()
    },
    sight,
    async shown(request, cluster, tree) {
      const its = await sight(request, cluster, 'get')
      if (its.isWhole) return tree
      const shown = new Set<TreeNode>()
      for (const node of nodesOf(tree)) if (await its.shows(node)) shown.add(node)
      return hidden(tree, (node) => shown.has(node))
    },
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
    isShown(node) ? node : { ...node, name: HIDDEN, uid: HIDDEN, createdAt: null, verdict: null }
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
