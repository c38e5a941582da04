/**
 * A person of a namespace writes CleanupPolicies there, and who administers a cluster writes
 * ClusterCleanupPolicies: creates, edits, enforces and deletes them, among them some that are to be
 * refused, and some whose account may not delete.
 *
 * What must stay true: all it does follows from the fault's own chance; the person of a namespace
 * takes no more than the right to write policies and objects of one namespace; the oracle knows
 * each policy before it is written.
 *
 * Not here: what a policy may delete (../rule/policy-history.ts), which ones there are
 * (../rule/drawn-policy.ts).
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { GroupKind } from '../../core/model/rule/group-kind.ts'
import {
  CLUSTER_POLICY_KIND,
  ENFORCE_ANNOTATION,
  POLICY_KIND,
} from '../../core/model/rule/policy-content.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import type { ExchangeRequest } from '../../ports/exchange.ts'
import { POLICY_VERSION } from '../../ports/rule/policy-kind.ts'
import { type Chance, seeded } from '../../testing/seeded.ts'
import type { Fault, FaultContext, World } from '../model.ts'
import { CLUSTER_POLICED_FROM, POLICED_FROM, type SimOptions } from '../options.ts'
import { type DrawnPolicy, drawnPolicy, refusedPolicy } from '../rule/drawn-policy.ts'
import {
  CLUSTER_RESOURCE,
  drawnOf,
  noteDrawn,
  policiesPath,
  RESOURCE,
} from '../rule/policy-history.ts'
import type { Site } from '../site.ts'
import { siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const PAUSE_MS = 3 * MINUTE
const NAMESPACES: readonly [string, ...string[]] = ['blue', 'green', 'red']
const NAMES: readonly [string, ...string[]] = ['tidy', 'sweep', 'odd']
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const ENFORCE_PATH = `/metadata/annotations/${ENFORCE_ANNOTATION.replace('/', '~1')}`

class Author {
  readonly #world: World
  readonly #site: Site
  readonly #chance: Chance
  /** Empty for who administers the cluster. */
  readonly #namespace: string
  #count = 0

  constructor(world: World, site: Site, seed: number, isOfCluster: boolean) {
    this.#world = world
    this.#site = site
    this.#chance = seeded(seed)
    this.#namespace = isOfCluster ? '' : this.#chance.pick(NAMESPACES)
  }

  /** As who installs Kinfold does. */
  define(): void {
    const { group, kind } = this.#kind()
    const plural = this.#resource()
    const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` }
    const version = { name: POLICY_VERSION, served: true, storage: true }
    const scope = this.#namespace === '' ? 'Cluster' : 'Namespaced'
    this.#site.user('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: `${plural}.${group}` },
      spec: {
        ...{ group, scope, names },
        versions: [{ ...version, subresources: { status: {} } }],
      },
    })
  }

  act(): void {
    const name = this.#chance.pick(NAMES)
    const object = this.#find(name)
    if (this.#chance.next() < 0.5) this.#makeDue()
    if (object === undefined)
      return this.#create(name, this.#drawn(name), this.#chance.next() < 0.5)
    const lot = this.#chance.next() * 100
    if (lot < 25) this.#edit(object)
    else if (lot < 60) this.#enforce(object)
    else if (lot < 75) this.#leave(object)
    else if (lot < 85) this.#user('DELETE', object)
    else this.#replace(object)
  }

  pauseMs(): number {
    return this.#chance.below(PAUSE_MS)
  }

  isLucky(rate: number): boolean {
    return this.#chance.next() < rate
  }

  /** Right before a policy deletes something: it was read a moment ago. */
  turnAround(): boolean {
    const all = NAMES.flatMap((name) => this.#find(name) ?? [])
    const object = all[this.#chance.below(all.length)]
    if (object === undefined) return false
    const lot = this.#chance.below(3)
    if (lot === 0) this.#edit(object)
    else if (lot === 1) this.#leave(object)
    else this.#user('DELETE', object)
    return true
  }

  /** Whether it may be one of its policies that sends this. */
  mayBehind({ path, headers }: Pick<ExchangeRequest, 'path' | 'headers'>): boolean {
    if (this.#namespace === '') return true
    const hasAccount = headers['impersonate-user'] !== undefined
    return hasAccount && path.includes(`/namespaces/${this.#namespace}/`)
  }

  #kind(): GroupKind {
    return this.#namespace === '' ? CLUSTER_POLICY_KIND : POLICY_KIND
  }

  #resource(): string {
    return this.#namespace === '' ? CLUSTER_RESOURCE : RESOURCE
  }

  /** It is in dry run again. */
  #leave(object: ApiObject): void {
    const annotations = { [ENFORCE_ANNOTATION]: null }
    this.#user('PATCH', object, { metadata: { annotations } }, MERGE)
  }

  /** By its digest; by one of another rule sometimes. */
  #enforce(object: ApiObject): void {
    const drawn = drawnOf(this.#world, object)
    const digest =
      drawn === undefined || this.#chance.next() < 0.1
        ? ruleDigest(this.#drawn(object.metadata.name).rule)
        : ruleDigest(drawn.rule)
    const annotations = { [ENFORCE_ANNOTATION]: digest }
    this.#user('PATCH', object, { metadata: { annotations } }, MERGE)
  }

  /** The annotation stays, or is right at once. */
  #edit(object: ApiObject): void {
    const drawn = this.#drawn(object.metadata.name)
    const isAtOnce = this.#chance.next() < 0.4
    const has = object.metadata.annotations !== undefined
    const op = 'add'
    const annotation = has
      ? { op, path: ENFORCE_PATH, value: ruleDigest(drawn.rule) }
      : { op, path: '/metadata/annotations', value: annotationOf(drawn) }
    const patch = [{ op: 'replace', path: '/spec', value: drawn.spec }]
    this.#user('PATCH', object, isAtOnce ? [...patch, annotation] : patch, JSON_PATCH)
  }

  /** Another object with this name, and this specification or another one. */
  #replace(object: ApiObject): void {
    const { name } = object.metadata
    const same = drawnOf(this.#world, object)
    this.#user('DELETE', object)
    const isSame = this.#chance.next() < 0.5
    const drawn = isSame && same !== undefined ? same : this.#drawn(name)
    this.#create(name, drawn, this.#chance.next() < 0.7)
  }

  #create(name: string, drawn: DrawnPolicy, isEnforced: boolean): void {
    const { group, kind } = this.#kind()
    const annotations = isEnforced ? annotationOf(drawn) : {}
    this.#site.user('POST', policiesPath(this.#namespace), {
      ...{ apiVersion: `${group}/${POLICY_VERSION}`, kind },
      ...{ metadata: { name, annotations }, spec: drawn.spec },
    })
  }

  #drawn(name: string): DrawnPolicy {
    const place = { namespace: this.#namespace, name }
    const isRefused = this.#chance.next() < 0.25
    const drawn = (isRefused ? refusedPolicy : drawnPolicy)(place, this.#chance)
    noteDrawn(this.#world, place, drawn)
    return drawn
  }

  /** What such policies are about. */
  #makeDue(): void {
    const namespace = this.#namespace || this.#chance.pick(NAMESPACES)
    const of = this.#namespace || 'all'
    const name = `p${of}${this.#world.time.monotonicMs()}-${++this.#count}`
    const resource = this.#chance.pick(['configmaps', 'configmaps', 'secrets'])
    const metadata = { name, labels: { tier: 'temp' } }
    this.#site.user('POST', `/api/v1/namespaces/${namespace}/${resource}`, { metadata })
  }

  #find(name: string): ApiObject | undefined {
    return this.#site.server.object(POLICY_KIND.group, this.#resource(), this.#namespace, name)
  }

  #user(method: string, object: ApiObject, body: object = {}, type?: string): void {
    const path = `${policiesPath(this.#namespace)}/${object.metadata.name}`
    this.#site.user(method, path, body, type)
  }
}

function annotationOf({ rule }: DrawnPolicy): Readonly<Record<string, string>> {
  return { [ENFORCE_ANNOTATION]: ruleDigest(rule) }
}

type Suits = Omit<SimOptions, 'faults'>

function isRuled({ policy }: Suits): boolean {
  return policy.rules.length > 0 && policy.mode === 'enforce'
}

function begin(context: FaultContext, row: string): () => void {
  const { world, fault } = context
  const site = siteOf(context)
  const author = new Author(world, site, fault.seed, row === OF_CLUSTER)
  author.define()
  let isOver = false
  const act = (): void => {
    if (isOver) return
    author.act()
    world.reached(row)
    world.time.at(world.time.monotonicMs() + author.pauseMs(), act)
  }
  const turn: Parameters<typeof world.beforeEffects.add>[0] = (at, request) => {
    if (at !== site || request.method !== 'DELETE') return
    if (author.mayBehind(request) && author.isLucky(fault.rate)) author.turnAround()
  }
  world.beforeEffects.add(turn)
  act()
  return () => {
    isOver = true
    world.beforeEffects.delete(turn)
  }
}

const OF_CLUSTER = 'cluster policy'

export const policyFaults: readonly Fault[] = [
  {
    row: 'policy',
    what: 'a person of a namespace creates, edits, enforces and deletes CleanupPolicies there, some to be refused, some by an account that may not delete, some right before one of them deletes',
    lastsMs: [20 * MINUTE, 90 * MINUTE],
    most: 3,
    share: 0.75,
    suits: (world) => world.seed > POLICED_FROM && isRuled(world),
    begin: (context) => begin(context, 'policy'),
  },
  {
    row: OF_CLUSTER,
    what: 'who administers a cluster does the same with ClusterCleanupPolicies, with and without an account',
    lastsMs: [20 * MINUTE, 90 * MINUTE],
    most: 2,
    share: 0.5,
    suits: (world) => world.seed > CLUSTER_POLICED_FROM && isRuled(world),
    begin: (context) => begin(context, OF_CLUSTER),
  },
]
