/**
 * A person of a namespace writes CleanupPolicies there: creates, edits, enforces and deletes them,
 * among them some that are to be refused, and some whose account may not delete.
 *
 * What must stay true: all it does follows from the fault's own chance, and takes no more than
 * the right to write policies and objects of one namespace; the oracle knows each policy before it
 * is written.
 *
 * Not here: what a policy may delete (../rule/policy-history.ts), which ones there are
 * (../rule/drawn-policy.ts).
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import { ENFORCE_ANNOTATION, POLICY_KIND } from '../../core/model/rule/policy-content.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { POLICY_VERSION } from '../../ports/rule/policy-kind.ts'
import { type Chance, seeded } from '../../testing/seeded.ts'
import type { Fault, World } from '../model.ts'
import { POLICED_FROM } from '../options.ts'
import { type DrawnPolicy, drawnPolicy, refusedPolicy } from '../rule/drawn-policy.ts'
import { drawnOf, noteDrawn, policiesPath, RESOURCE } from '../rule/policy-history.ts'
import type { Site } from '../site.ts'
import { siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const PAUSE_MS = 3 * MINUTE
const NAMES: readonly [string, ...string[]] = ['tidy', 'sweep', 'odd']
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const ENFORCE_PATH = `/metadata/annotations/${ENFORCE_ANNOTATION.replace('/', '~1')}`

class Author {
  readonly #world: World
  readonly #site: Site
  readonly #chance: Chance
  readonly #namespace: string
  #count = 0

  constructor(world: World, site: Site, seed: number) {
    this.#world = world
    this.#site = site
    this.#chance = seeded(seed)
    this.#namespace = this.#chance.pick(['blue', 'green', 'red'])
  }

  /** As who installs Kinfold does. */
  define(): void {
    const { group, kind } = POLICY_KIND
    const names = { plural: RESOURCE, singular: kind.toLowerCase(), kind, listKind: `${kind}List` }
    const version = { name: POLICY_VERSION, served: true, storage: true }
    this.#site.user('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: `${RESOURCE}.${group}` },
      spec: {
        ...{ group, scope: 'Namespaced', names },
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

  isOf(path: string): boolean {
    return path.includes(`/namespaces/${this.#namespace}/`)
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
    const { group, kind } = POLICY_KIND
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
    const name = `p${this.#namespace}${this.#world.time.monotonicMs()}-${++this.#count}`
    const resource = this.#chance.pick(['configmaps', 'configmaps', 'secrets'])
    const metadata = { name, labels: { tier: 'temp' } }
    this.#site.user('POST', `/api/v1/namespaces/${this.#namespace}/${resource}`, { metadata })
  }

  #find(name: string): ApiObject | undefined {
    return this.#site.server.object(POLICY_KIND.group, RESOURCE, this.#namespace, name)
  }

  #user(method: string, object: ApiObject, body: object = {}, type?: string): void {
    const path = `${policiesPath(this.#namespace)}/${object.metadata.name}`
    this.#site.user(method, path, body, type)
  }
}

function annotationOf({ rule }: DrawnPolicy): Readonly<Record<string, string>> {
  return { [ENFORCE_ANNOTATION]: ruleDigest(rule) }
}

export const policyFaults: readonly Fault[] = [
  {
    row: 'policy',
    what: 'a person of a namespace creates, edits, enforces and deletes CleanupPolicies there, some to be refused, some by an account that may not delete, some right before one of them deletes',
    lastsMs: [20 * MINUTE, 90 * MINUTE],
    most: 3,
    share: 0.75,
    suits: ({ seed, policy }) =>
      seed > POLICED_FROM && policy.rules.length > 0 && policy.mode === 'enforce',
    begin(context) {
      const { world, fault } = context
      const site = siteOf(context)
      const author = new Author(world, site, fault.seed)
      author.define()
      let isOver = false
      const act = (): void => {
        if (isOver) return
        author.act()
        world.reached('policy')
        world.time.at(world.time.monotonicMs() + author.pauseMs(), act)
      }
      const turn: Parameters<typeof world.beforeEffects.add>[0] = (
        at,
        { method, path, headers },
      ) => {
        if (at !== site || method !== 'DELETE' || headers['impersonate-user'] === undefined) return
        if (author.isOf(path) && author.isLucky(fault.rate)) author.turnAround()
      }
      world.beforeEffects.add(turn)
      act()
      return () => {
        isOver = true
        world.beforeEffects.delete(turn)
      }
    },
  },
]
