/**
 * Keys of the store. What must stay true: keys are printable ASCII, so that all orders agree, and
 * no user's text can forge a separator: every part is percent-encoded, and `/` and `,` are never
 * left bare.
 *
 * Not here: how the last keys made are remembered (model/remembered-key.ts).
 */
import type { ClusterId, Coordinates, GroupKind, Uid } from '../model/object.ts'
import { homeOf } from '../model/partition.ts'
import type { BudgetClass } from '../model/policy.ts'
import { rememberedByKind, rememberedByPlace, rememberedByUid } from '../model/remembered-key.ts'

/** Every key names a cluster. */
const clusterPart = rememberedByUid((_, cluster) => part(cluster))

export const nodeKey: (cluster: ClusterId, uid: Uid) => string = rememberedByUid(
  (cluster, uid) => `node/${clusterPart('', cluster)}/${part(uid)}`,
)

export const ALL_NODES_PREFIX = 'node/'

export function nodesPrefix(cluster: ClusterId): string {
  return `node/${clusterPart('', cluster)}/`
}

/** Of the chunks of the node with that key; see `OwnerChunk`. */
export function ownerChunkKey(node: string, name: string): string {
  return `owners/${node.slice(ALL_NODES_PREFIX.length)}/${part(name)}`
}

export const seenKey: (cluster: ClusterId, kind: GroupKind, uid: Uid) => string = rememberedByKind(
  (cluster, kind, uid) => seenPrefix(cluster, kind) + part(uid),
)

const seenPrefixOf = rememberedByKind(
  (cluster, kind) => `seen/${clusterPart('', cluster)}/${kindPart(kind)}/`,
)

export function seenPrefix(cluster: ClusterId, kind: GroupKind): string {
  return seenPrefixOf(cluster, kind, '')
}

export function edgeKey(
  cluster: ClusterId,
  owner: Uid,
  coordinates: Coordinates,
  dependent: Uid,
): string {
  return edgesPrefix(cluster, owner, coordinatesPart(coordinates)) + part(dependent)
}

/** All edges that name an owner at coordinates, as `coordinatesPart` has them. */
export function edgesPrefix(cluster: ClusterId, owner: Uid, coordinates: string): string {
  return `${bearersPrefix(cluster, owner)}${coordinates}/`
}

/** All edges of references with a uid, at whatever coordinates. */
export function bearersPrefix(cluster: ClusterId, owner: Uid): string {
  return `edge/${clusterPart('', cluster)}/${part(owner)}/`
}

export const ALL_COUNTS_PREFIX = 'count/'

export const countKey: (cluster: ClusterId, owner: Uid, coordinates: Coordinates) => string =
  rememberedByPlace(
    (cluster, owner, coordinates) =>
      `count/${clusterPart('', cluster)}/${part(owner)}/${coordinatesPart(coordinates)}`,
  )

/** The search itself; its visits have `ringPrefix`. */
export function ringKey(cluster: ClusterId, root: Uid): string {
  return `walk/${clusterPart('', cluster)}/${part(root)}`
}

export function ringPrefix(cluster: ClusterId, root: Uid): string {
  return `ring/${clusterPart('', cluster)}/${part(root)}/`
}

export function ringVisitKey(cluster: ClusterId, root: Uid, visited: Uid): string {
  return ringPrefix(cluster, root) + part(visited)
}

/** Of the prefix of edges that name an owner. */
export function countKeyOfEdges(prefix: string): string {
  return ALL_COUNTS_PREFIX + prefix.slice('edge/'.length, -1)
}

export const ownerKey: (cluster: ClusterId, uid: Uid, coordinates: Coordinates) => string =
  rememberedByPlace(
    (cluster, uid, coordinates) =>
      `owner/${clusterPart('', cluster)}/${part(uid)}/${coordinatesPart(coordinates)}`,
  )

const membersKeyOf = rememberedByKind(
  (cluster, kind) => `members/${clusterPart('', cluster)}/${kindPart(kind)}`,
)

export function membersKey(cluster: ClusterId, kind: GroupKind): string {
  return membersKeyOf(cluster, kind, '')
}

const kindKeyOf = rememberedByKind((cluster, kind) => kindsPrefix(cluster) + kindPart(kind))

export function kindKey(cluster: ClusterId, kind: GroupKind): string {
  return kindKeyOf(cluster, kind, '')
}

export function kindsPrefix(cluster: ClusterId): string {
  return `kind/${clusterPart('', cluster)}/`
}

/** Of the kinds that are written so in lower case. */
export function kindNameKey(cluster: ClusterId, lower: GroupKind): string {
  return `kindname/${clusterPart('', cluster)}/${kindPart(lower)}`
}

const clusterKeyOf = rememberedByUid((cluster) => `cluster/${clusterPart('', cluster)}`)

export function clusterKey(cluster: ClusterId): string {
  return clusterKeyOf(cluster, '')
}

/** The held objects, and what holds each. */
export function heldKey(cluster: ClusterId, uid: Uid): string {
  return heldPrefix(cluster) + part(uid)
}

export function heldPrefix(cluster: ClusterId): string {
  return `held/${clusterPart('', cluster)}/`
}

export function planKey(cluster: ClusterId): string {
  return `plan/${clusterPart('', cluster)}`
}

export function rulingKey(cluster: ClusterId): string {
  return `ruling/${clusterPart('', cluster)}`
}

export function approvalKey(cluster: ClusterId): string {
  return `approval/${part(cluster)}`
}

/** The queue of a budget: in each namespace in the order of asking. */
export function ticketKey(
  cluster: ClusterId,
  budget: string,
  namespace: string,
  number: number,
): string {
  return `${ticketsPrefix(cluster, budget)}${part(namespace)}/${padded(number, 15)}`
}

export function ticketsPrefix(cluster: ClusterId, budget: string): string {
  return `ticket/${clusterPart('', cluster)}/${budget}/`
}

export function budgetKey(cluster: ClusterId, budget: string): string {
  return `budget/${clusterPart('', cluster)}/${budget}`
}

/** An empty cluster: all clusters. */
export function breakerKey(cluster: ClusterId): string {
  return `breaker/${clusterPart('', cluster)}`
}

export function namespaceBreakerKey(cluster: ClusterId, namespace: string): string {
  return namespaceBreakersPrefix(cluster) + part(namespace)
}

/** Of a namespace, or (empty) of the cluster itself. */
export function breakerKeyOf(cluster: ClusterId, namespace: string): string {
  return namespace === '' ? breakerKey(cluster) : namespaceBreakerKey(cluster, namespace)
}

export function namespaceBreakersPrefix(cluster: ClusterId): string {
  return `${breakerKey(cluster)}/`
}

/** How commands of the present minute settle, in a namespace or (empty) of all of the cluster. */
export function paceKey(cluster: ClusterId, namespace: string): string {
  return `pace/${clusterPart('', cluster)}/${part(namespace)}`
}

/** Owners of a kind that others deleted lately. */
export function shareKey(cluster: ClusterId, kind: GroupKind): string {
  return `share/${clusterPart('', cluster)}/${kindPart(kind)}`
}

/** What became due by a rule. */
export function ruleRunKey(cluster: ClusterId, rule: string): string {
  return `rulerun/${clusterPart('', cluster)}/${part(rule)}`
}

/** Objects of a controller that a rule deleted. */
export function ruleOwnerKey(cluster: ClusterId, rule: string, controller: Uid): string {
  return ruleOwnersPrefix(cluster, rule) + part(controller)
}

/** Of all its controllers. */
export function ruleOwnersPrefix(cluster: ClusterId, rule: string): string {
  return `ruleowner/${clusterPart('', cluster)}/${part(rule)}/`
}

const clusterRulesKeyOf = rememberedByUid((cluster) => `clusterrules/${clusterPart('', cluster)}`)

/** The rules that objects of a cluster have. */
export function clusterRulesKey(cluster: ClusterId): string {
  return clusterRulesKeyOf(cluster, '')
}

/** The deletions by rules that are under way. */
export function ruleTurnsKey(cluster: ClusterId): string {
  return `ruleturns/${clusterPart('', cluster)}`
}

export function ruleTurnKey(cluster: ClusterId, namespace: string, uid: Uid): string {
  return `${ruleTurnsPrefix(cluster)}${part(namespace)}/${part(uid)}`
}

/** The objects that wait to be deleted by a rule, by namespace. */
export function ruleTurnsPrefix(cluster: ClusterId): string {
  return `ruleturn/${clusterPart('', cluster)}/`
}

/** A group of the objects of which a rule keeps the newest. */
export function keepGroupKey(cluster: ClusterId, rule: string, group: string): string {
  return `keepgroup/${clusterPart('', cluster)}/${part(rule)}/${part(group)}`
}

/** Its rows, the oldest first (`up`) or the newest (`down`). */
export function keptPrefix(
  cluster: ClusterId,
  { rule, group, way }: { readonly rule: string; readonly group: string; readonly way: KeptWay },
): string {
  return `kept/${clusterPart('', cluster)}/${part(rule)}/${part(group)}/${way}/`
}

export type KeptWay = 'up' | 'down'

/** The rows of an object. */
export function keepsKey(cluster: ClusterId, uid: Uid): string {
  return `keeps/${clusterPart('', cluster)}/${part(uid)}`
}

export function keptKey(
  cluster: ClusterId,
  { rule, group, order }: { readonly rule: string; readonly group: string; readonly order: string },
  way: KeptWay,
  uid: Uid,
): string {
  const at = way === 'up' ? order : turned(order)
  return `${keptPrefix(cluster, { rule, group, way })}${at}/${part(uid)}`
}

/** Digits, in the order the other way round. */
export function turned(order: string): string {
  return order.replaceAll(/\d/g, (digit) => String(9 - Number(digit)))
}

/** Objects by their coordinates. */
export function namedKey(cluster: ClusterId, at: Coordinates): string {
  return `named/${clusterPart('', cluster)}/${coordinatesPart(at)}`
}

export function usingKey(cluster: ClusterId): string {
  return `using/${clusterPart('', cluster)}`
}

export function useKindKey(cluster: ClusterId, kind: GroupKind): string {
  return `usekind/${clusterPart('', cluster)}/${kindPart(kind)}`
}

/** What an object uses. */
export function usesKey(cluster: ClusterId, uid: Uid): string {
  return `uses/${clusterPart('', cluster)}/${part(uid)}`
}

export function usageKey(cluster: ClusterId, at: Coordinates): string {
  return `usage/${clusterPart('', cluster)}/${coordinatesPart(at)}`
}

/** Those that use an object. */
export function usersPrefix(cluster: ClusterId, at: Coordinates): string {
  return `user/${clusterPart('', cluster)}/${coordinatesPart(at)}/`
}

export function userKey(cluster: ClusterId, at: Coordinates, user: Uid): string {
  return usersPrefix(cluster, at) + part(user)
}

/** An owner in another cluster that objects name. */
export function elsewhereKey(cluster: ClusterId, owner: ClusterId, uid: Uid): string {
  return elsewherePrefix(cluster, owner) + part(uid)
}

export function elsewherePrefix(cluster: ClusterId, owner: ClusterId): string {
  return `elsewhere/${clusterPart('', cluster)}/${part(owner)}/`
}

/** The cluster of such owners. */
export function elsewhereClusterKey(cluster: ClusterId, owner: ClusterId): string {
  return `elsewherecluster/${clusterPart('', cluster)}/${part(owner)}`
}

export function elsewhereNamespaceKey(cluster: ClusterId, namespace: string): string {
  return `elsewherenamespace/${clusterPart('', cluster)}/${part(namespace)}`
}

export function keepingKey(cluster: ClusterId): string {
  return `keeping/${clusterPart('', cluster)}`
}

/** The rule of one of them. */
export function policyRuleKey(cluster: ClusterId, uid: Uid): string {
  return `policyrule/${clusterPart('', cluster)}/${part(uid)}`
}

/** A namespace that is being deleted. */
export function endingKey(cluster: ClusterId, namespace: string): string {
  return `ending/${clusterPart('', cluster)}/${part(namespace)}`
}

/** A CustomResourceDefinition, by its name, that is or was being deleted. */
export function definitionKey(cluster: ClusterId, name: string): string {
  return `definition/${clusterPart('', cluster)}/${part(name)}`
}

export const POLICY_KEY = 'policy'

export const DIRECTIVES_KEY = 'directives'

export function waitKey(cluster: ClusterId, kind: GroupKind, dependent: Uid): string {
  return waitsPrefix(cluster, kind) + part(dependent)
}

/** In lower case: a reference may name a kind so before it is known which kind that is. */
const waitsPrefixOf = rememberedByKind(
  (cluster, { group, kind }) =>
    `waits/${clusterPart('', cluster)}/${kindPart({ group, kind: kind.toLowerCase() })}/`,
)

export function waitsPrefix(cluster: ClusterId, kind: GroupKind): string {
  return waitsPrefixOf(cluster, kind, '')
}

/** What a timer checks again. `ending`: a namespace that was being deleted. */
export type Timer =
  | { readonly type: 'node'; readonly uid: Uid }
  | OwnerTimer
  | { readonly type: 'kind'; readonly kind: GroupKind }
  | { readonly type: 'budget'; readonly budget: BudgetClass }
  | { readonly type: 'ending'; readonly namespace: string }

export interface OwnerTimer {
  readonly type: 'owner'
  readonly uid: Uid
  readonly place: Coordinates
}

/** `timeMs` in 15 digits sorts as time does until the year 33658. */
export function dueKey(cluster: ClusterId, timeMs: number, timer: Timer): string {
  return `${duePrefix(cluster)}${padded(timeMs, 15)}/${timer.type}/${part(subjectOf(timer))}`
}

function subjectOf(timer: Timer): string {
  switch (timer.type) {
    case 'node':
      return timer.uid
    case 'owner':
      return `${timer.uid}/${coordinatesPart(timer.place)}`
    case 'kind':
      return `/${coordinatesPart({ ...timer.kind, namespace: '', name: '' })}`
    case 'budget':
      return timer.budget
    case 'ending':
      return timer.namespace
  }
}

export function timerOf(key: string): Timer {
  const type = key.split('/')[3] as Timer['type']
  const subject = lastPart(key)
  // A uid may hold any text, coordinates no bare slash.
  const slash = subject.lastIndexOf('/')
  switch (type) {
    case 'node':
      return { type, uid: subject }
    case 'owner': {
      const place = coordinatesIn(subject.slice(slash + 1))
      return { type, uid: subject.slice(0, slash), place }
    }
    case 'kind': {
      const { group, kind } = coordinatesIn(subject.slice(slash + 1))
      return { type, kind: { group, kind } }
    }
    case 'budget':
      return { type, budget: subject as BudgetClass }
    case 'ending':
      return { type, namespace: subject }
  }
}

export function duePrefix(cluster: ClusterId): string {
  return `due/${clusterPart('', cluster)}/`
}

export function timeOfDueKey(key: string): number {
  return Number(key.split('/')[2])
}

/** Of an object that waits on the agenda by itself. */
export function queuedKey(cluster: ClusterId, uid: Uid): string {
  return `queued/${clusterPart('', cluster)}/${part(uid)}`
}

/** Of an object whose owners are being verified. */
export function verificationKey(cluster: ClusterId, uid: Uid): string {
  return `verification/${clusterPart('', cluster)}/${part(uid)}`
}

/** The live GETs under way for a lane. */
export function getsKey(cluster: ClusterId, lane: string): string {
  return `gets/${lanePart(cluster, lane)}`
}

export const AGENDA_KEY = 'agenda'

export function turnKey(number: number): string {
  return `turn/${padded(number, 15)}`
}

/** Of a namespace, or (empty) of work on whole kinds and clusters. */
export const laneKey: (cluster: ClusterId, namespace: string) => string = rememberedByUid(
  (cluster, namespace) => `lane/${lanePart(cluster, namespace)}`,
)

export function workKey(cluster: ClusterId, namespace: string, number: number): string {
  return `work/${lanePart(cluster, namespace)}/${padded(number, 15)}`
}

function lanePart(cluster: ClusterId, namespace: string): string {
  return `${clusterPart('', cluster)}/${part(namespace)}`
}

const unreadableKeyOf = rememberedByUid((_, home) => `unreadable/${part(home)}`)

/** `home` as in partition.ts; a cluster for all of it. */
export function unreadableKey(home: string): string {
  return unreadableKeyOf('', home)
}

export const unreadableHomeKey: (cluster: ClusterId, namespace: string) => string = rememberedByUid(
  (cluster, namespace) => unreadableKey(homeOf(cluster, namespace)),
)

/** The position of a task: written with each commit. */
export const POSITION_KEY = 'position'

/** The cluster of a key, which names it after its table. */
export function clusterIn(key: string): ClusterId {
  const begin = key.indexOf('/') + 1
  const end = key.indexOf('/', begin)
  return decodeURIComponent(end < 0 ? key.slice(begin) : key.slice(begin, end))
}

/** The part after the last separator, decoded: a uid in all keys that end in one. */
export function lastPart(key: string): string {
  return decodeURIComponent(key.slice(key.lastIndexOf('/') + 1))
}

const coordinatesPartOf = rememberedByPlace(
  (_, __, { group, kind, namespace, name }) =>
    `${part(group)},${part(kind)},${part(namespace)},${part(name)}`,
)

export function coordinatesPart(at: Coordinates): string {
  return coordinatesPartOf('', '', at)
}

/** The coordinates from a text of `coordinatesPart`. */
export function coordinatesIn(text: string): Coordinates {
  const [group = '', kind = '', namespace = '', name = ''] = text.split(',').map(decodeURIComponent)
  return { group, kind, namespace, name }
}

/** Of a key that ends in a kind. */
export function groupKindIn(key: string): GroupKind {
  const [group = '', kind = ''] = key.slice(key.lastIndexOf('/') + 1).split(',')
  return { group: decodeURIComponent(group), kind: decodeURIComponent(kind) }
}

function kindPart(kind: GroupKind): string {
  return `${part(kind.group)},${part(kind.kind)}`
}

/** A lone surrogate has no encoding, and no server sends one; it is folded to U+FFFD first. */
function part(text: string): string {
  return /^[\w.~-]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}

export function padded(number: number, digits: number): string {
  return Math.trunc(number).toString().padStart(digits, '0')
}
