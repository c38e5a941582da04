/**
 * Users and controllers of one cluster: they own, depend, adopt, delete and re-create, at moments
 * of their own choice.
 *
 * What must stay true: all they do follows from the world's chance, and no reference they write
 * names an owner that is created later.
 */
import type { ApiObject } from '../adapters/memory/api-server.ts'
import type { Chance } from '../testing/seeded.ts'
import { widgetScope } from './oracle.ts'
import type { Marks } from './rule/drawn-rules.ts'
import type { Site } from './site.ts'

/** The services of the world for users. */
export interface UserWorld {
  /** The chance of users. */
  readonly chance: Chance
  readonly broker: { readonly partitions: number }
  /** What they write for rules; undefined where there are none. */
  readonly marks: Marks | undefined
  /** A fault happened. */
  reached(row: string): void
}

/** Planted in Secrets' data and in unpublished metadata. */
export const CANARY = 'canary-2f1e'

/** Helm's annotation for objects that must stay. */
export const KEEP = 'helm.sh/resource-policy'

/** The namespace of a hostile tenant (tenant.ts); users have nothing to do there. */
export const TENANT = 'evil'

const NAMESPACES: readonly [string, ...string[]] = ['blue', 'green', 'red']
type Home = readonly [apiVersion: string, resource: string]
const KINDS: readonly [Home, ...Home[]] = [
  ['v1', 'configmaps'],
  ['v1', 'secrets'],
  ['apps/v1', 'replicasets'],
]
const HOLD = 'example.com/hold'
const MERGE = 'application/merge-patch+json'

export class Users {
  readonly site: Site
  readonly #world: UserWorld
  readonly #chance: Chance
  #count = 0
  /** Owners that were once here, the youngest last. */
  readonly #remembered: ApiObject[] = []

  constructor(world: UserWorld, site: Site) {
    this.#world = world
    this.#chance = world.chance
    this.site = site
    this.settle()
  }

  /** Also in a cluster that replaced theirs. */
  settle(): void {
    for (const name of NAMESPACES) this.#makeNamespace(name)
  }

  /** One action of a user or a controller. */
  act(): void {
    const chance = this.#chance
    const lot = chance.next() * 100
    if (lot < 20) this.#createOwner()
    else if (lot < 55) this.#createDependent()
    else if (lot < 73) this.#deleteSomething()
    else if (lot < 80) this.#recreate()
    else if (lot < 90) this.#adopt()
    else if (lot < 97) this.#touch()
    else if (lot < 99) this.#release()
    else if (lot < 99.5) this.define()
    else this.#renewNamespace()
  }

  /** A namespace is deleted with everything in it, and created again, empty. */
  #renewNamespace(): void {
    const name = this.#chance.pick(NAMESPACES)
    this.site.user('DELETE', `/api/v1/namespaces/${name}`, {})
    this.#makeNamespace(name)
  }

  #makeNamespace(name: string): void {
    this.site.user('POST', '/api/v1/namespaces', { metadata: { name } })
  }

  /** Finalizers that no client removes would keep their objects for ever. */
  releaseAll(): void {
    for (const object of this.#all()) this.#dropFinalizers(object)
  }

  /** Creates again what a user created, at the same coordinates. */
  remake({ apiVersion, kind, metadata }: ApiObject): void {
    const { name, namespace, ownerReferences = [] } = metadata
    const path = pathOf({ apiVersion, kind, metadata: { ...metadata, namespace } } as ApiObject)
    this.#create(path.slice(0, path.lastIndexOf('/')), { name, ownerReferences })
  }

  /** Changes what rules read of the object there; false when it exists no longer. */
  markOtherwise(path: string): boolean {
    const [where = ''] = path.split('?')
    const object = this.#all().find((each) => pathOf(each) === where)
    const { marks } = this.#world
    if (object === undefined || marks === undefined) return false
    const isJob = object.kind === 'Job'
    const change = isJob ? { spec: marks.jobSpec() } : { metadata: marks.other() }
    this.site.user('PATCH', where, change, MERGE)
    return true
  }

  /** A controller with some objects, which rules delete. */
  control(): ApiObject | undefined {
    const controller = this.#make('replicasets', 'blue', [])
    if (controller === undefined) return undefined
    for (let i = 0; i < 2; i++) this.makeFor(controller)
    return controller
  }

  makeFor(controller: ApiObject): void {
    const { namespace = '', name } = controller.metadata
    const now = this.site.server.object('apps', 'replicasets', namespace, name)
    if (now?.metadata.uid !== controller.metadata.uid) return
    const ownerReferences = referenceTo(now).map((each) => ({ ...each, controller: true }))
    const metadata = { name: `c${++this.#count}`, ownerReferences, labels: { tier: 'temp' } }
    this.#create(`/api/v1/namespaces/${namespace}/configmaps`, metadata)
  }

  dropVersion(): void {
    const versions = [
      { name: 'v1', served: false, storage: true },
      { name: 'v2', served: true, storage: false },
    ]
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com'
    this.site.user('PATCH', path, { spec: { versions } }, MERGE)
  }

  dependAcross(): void {
    this.#make('configmaps', 'blue', [this.#make('configmaps', 'red', [])])
  }

  shareAndDelete(): void {
    const [one, other] = [this.#make('configmaps', 'blue', []), this.#make('secrets', 'blue', [])]
    for (let i = 0; i < 3; i++) this.#make('replicasets', 'blue', [one, other])
    this.#delete(one, this.#chance.pick(['Background', 'Foreground']))
  }

  ring(): void {
    const length = 1 + this.#chance.below(3)
    const all = Array.from({ length }, () => this.#make('configmaps', 'green', []))
    for (const [index, object] of all.entries()) this.#own(object, all[(index + 1) % length])
    if (this.#chance.next() < 0.7) this.#delete(all[0], 'Foreground')
  }

  /** Deep enough to take several rounds, wide enough for several pages. */
  crowd(): void {
    let above = this.#make('configmaps', 'red', [])
    const top = above
    for (let depth = 0; depth < 25; depth++) above = this.#make('configmaps', 'red', [above])
    for (let i = 0; i < 90; i++) this.#make('secrets', 'red', [top])
    this.#delete(top, this.#chance.pick(['Background', 'Foreground', 'Orphan']))
  }

  /** A user adopts the object that is about to change there; false when it exists no longer. */
  adoptAt(path: string): boolean {
    const [where = ''] = path.split('?')
    return this.#adoptOne((each) => pathOf(each) === where)
  }

  /** A user adopts one of these; false when none of them exists any longer. */
  adoptOneOf(uids: ReadonlyMap<string, unknown>): boolean {
    return this.#adoptOne(({ metadata }) => uids.has(metadata.uid))
  }

  /** One of these names one owner more, which was deleted. */
  nameGoneToo(uids: ReadonlyMap<string, unknown>): void {
    const object = this.#all().find(({ metadata }) => uids.has(metadata.uid))
    const gone = this.#remembered.findLast(
      ({ metadata }) => metadata.namespace === object?.metadata.namespace,
    )
    this.#own(object, gone)
  }

  #adoptOne(isIt: (object: ApiObject) => boolean): boolean {
    const object = this.#all().find(isIt)
    if (object === undefined) return false
    const { namespace = '' } = object.metadata
    const near = this.#all().find(({ metadata }) => {
      const isNear = metadata.namespace === undefined || metadata.namespace === namespace
      return isNear && metadata.deletionTimestamp === undefined && metadata !== object.metadata
    })
    this.#own(object, near)
    return near !== undefined
  }

  /** Widgets are a kind from soon on, if they are none. */
  haveWidgets(): void {
    if (widgetScope(this.site.server) === undefined) this.define()
  }

  /** Some depend on a widget. */
  dependOnWidget(): void {
    const isScoped = widgetScope(this.site.server) === 'Namespaced'
    const [namespace, name] = [isScoped ? 'blue' : '', `w${++this.#count}`]
    const within = isScoped ? `/namespaces/${namespace}` : ''
    this.#create(`/apis/example.com/v1${within}/widgets`, { name })
    const widget = this.site.server.object('example.com', 'widgets', namespace, name)
    if (widget === undefined) return
    for (let i = 0; i < 4; i++) this.#make('configmaps', 'blue', [widget])
  }

  /** Deletes the kind with all its objects, if it exists. */
  undefine(): void {
    if (widgetScope(this.site.server) !== undefined) this.define()
  }

  holdDeleted(): void {
    const owner = this.#make('configmaps', 'green', [], [HOLD])
    for (let i = 0; i < 3; i++) this.#make('secrets', 'green', [owner])
    this.#delete(owner, this.#chance.pick(['Background', 'Foreground', 'Orphan']))
  }

  mixFinalizers(): void {
    const owner = this.#make('configmaps', 'blue', [])
    for (let i = 0; i < 2; i++) this.#make('secrets', 'blue', [owner])
    this.#delete(owner, this.#chance.pick(['Foreground', 'Orphan']))
    const finalizers = this.#chance.pick([
      ['orphan', 'foregroundDeletion'],
      ['foregroundDeletion'],
      [],
    ])
    if (owner !== undefined)
      this.site.user('PATCH', pathOf(owner), { metadata: { finalizers } }, MERGE)
  }

  orphanFamily(): void {
    const owner = this.#make('configmaps', 'red', [])
    for (let i = 0; i < 12; i++) this.#make('secrets', 'red', [owner])
    this.#delete(owner, 'Orphan')
  }

  /** An owner and its dependents; returns the function that deletes it. */
  family(): () => void {
    const owner = this.#make('configmaps', 'blue', [])
    for (let i = 0; i < 3; i++) this.#make('secrets', 'blue', [owner])
    return () => this.#delete(owner, 'Background')
  }

  restoreFamily(): void {
    const owner = this.#make('configmaps', 'blue', [])
    this.#delete(owner, 'Background')
    for (let i = 0; i < 12; i++) this.#make('secrets', 'blue', [owner])
  }

  #make(
    resource: 'configmaps' | 'secrets' | 'replicasets',
    namespace: string,
    owners: readonly (ApiObject | undefined)[],
    finalizers: readonly string[] = [],
  ): ApiObject | undefined {
    const group = resource === 'replicasets' ? 'apps' : ''
    const root = group === '' ? '/api/v1' : '/apis/apps/v1'
    const name = `m${++this.#count}`
    const ownerReferences = owners.flatMap((owner) => referenceTo(owner))
    const metadata = { name, ownerReferences, finalizers }
    this.#create(`${root}/namespaces/${namespace}/${resource}`, metadata)
    return this.site.server.object(group, resource, namespace, name)
  }

  #own(object: ApiObject | undefined, owner: ApiObject | undefined): void {
    if (object === undefined || owner === undefined) return
    const { ownerReferences = [] } = object.metadata
    const metadata = { ownerReferences: [...ownerReferences, ...referenceTo(owner)] }
    this.site.user('PATCH', pathOf(object), { metadata }, MERGE)
  }

  #delete(object: ApiObject | undefined, propagationPolicy: string): void {
    if (object === undefined) return
    this.#remembered.push(object)
    this.site.user('DELETE', pathOf(object), { propagationPolicy })
  }

  #all(): ApiObject[] {
    return this.site.all().filter(({ metadata }) => metadata.namespace !== TENANT)
  }

  #pick(): ApiObject | undefined {
    const all = this.#all()
    return all[this.#chance.below(all.length)]
  }

  /** Widgets are added and deleted as a kind, in one scope or the other. */
  define(): void {
    const chance = this.#chance
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const metadata = { name: 'widgets.example.com' }
    if (widgetScope(this.site.server) !== undefined) {
      this.site.user('DELETE', `${path}/${metadata.name}`, {})
      return
    }
    const scope = chance.next() < 0.5 ? 'Cluster' : 'Namespaced'
    const names = { plural: 'widgets', kind: 'Widget' }
    const versions = [{ name: 'v1', served: true, storage: true }]
    this.site.user('POST', path, {
      metadata,
      spec: { group: 'example.com', scope, names, versions },
    })
  }

  /** It is finished at once, or will never be. */
  #createJob(name: string): boolean {
    const job = this.#world.marks?.job()
    if (job === undefined) return false
    const path = `/apis/batch/v1/namespaces/${this.#chance.pick(NAMESPACES)}/jobs`
    this.site.user('POST', path, { metadata: { name }, spec: job.spec })
    this.site.user('PATCH', `${path}/${name}/status`, { status: job.status }, MERGE)
    return true
  }

  #createOwner(): void {
    const name = `o${++this.#count}`
    if (this.#createJob(name)) return
    if (this.#chance.next() < 0.25) this.#create('/api/v1/persistentvolumes', { name })
    else this.#create(this.#somewhere(), { name })
  }

  #createDependent(): void {
    const chance = this.#chance
    const name = `d${++this.#count}`
    const finalizers = chance.next() < 0.1 ? [HOLD] : []
    if (chance.next() < 0.08) {
      const ownerReferences = this.#references('', 1 + chance.below(2))
      this.#create('/api/v1/persistentvolumes', { name, ownerReferences, finalizers })
      return
    }
    const path = this.#somewhere()
    const namespace = path.split('/namespaces/')[1]?.split('/')[0] ?? ''
    const ownerReferences = this.#references(namespace, 1 + chance.below(3))
    this.#create(path, { name, ownerReferences, finalizers })
  }

  /**
   * Mostly of owners where they may be; sometimes of one that was deleted, is elsewhere, or is
   * misspelt.
   */
  #references(namespace: string, count: number): object[] {
    const chance = this.#chance
    const isNear = ({ metadata }: ApiObject): boolean =>
      metadata.namespace === undefined || metadata.namespace === namespace
    const live = this.#all()
    const near = live.filter(isNear)
    const gone = this.#remembered.slice(-20).filter(isNear)
    const references: object[] = []
    for (let i = 0; i < count; i++) {
      const lot = chance.below(100)
      const from = lot < 70 ? near : lot < 90 ? gone : live
      const owner = from[chance.below(from.length)]
      if (owner === undefined) continue
      const { apiVersion, kind, metadata } = owner
      const right = { apiVersion, kind, name: metadata.name, uid: metadata.uid }
      const block = chance.next() < 0.5 ? { blockOwnerDeletion: chance.next() < 0.5 } : {}
      references.push({ ...right, ...block, ...this.#slip(chance.below(100)) })
    }
    return references
  }

  #slip(lot: number): object {
    if (lot < 10) this.#world.reached(lot >= 7 && lot < 9 ? 'F25' : 'F66')
    if (lot < 3) return { uid: `never-${this.#count}` }
    if (lot < 5) return { name: 'misspelt' }
    if (lot < 7) return { apiVersion: 'v1', kind: 'Secret' }
    if (lot < 9) return { apiVersion: 'nowhere.io/v1', kind: 'Nothing' }
    if (lot < 10) return { apiVersion: 'apps/v1beta1', kind: 'ReplicaSet' }
    return {}
  }

  #deleteSomething(): void {
    const object = this.#pick()
    if (object === undefined) return
    const lot = this.#chance.below(10)
    const propagationPolicy = lot < 6 ? 'Background' : lot < 8 ? 'Foreground' : 'Orphan'
    this.#remembered.push(object)
    if (object.metadata.finalizers?.includes(HOLD) === true) this.#world.reached('F74')
    this.site.user('DELETE', pathOf(object), { propagationPolicy })
  }

  /** The same name, another uid. */
  #recreate(): void {
    const object = this.#pick()
    if (object === undefined) return
    this.#world.reached('F73')
    this.#remembered.push(object)
    this.site.user('DELETE', pathOf(object), { propagationPolicy: 'Background' })
    const path = pathOf(object)
    this.#create(path.slice(0, path.lastIndexOf('/')), { name: object.metadata.name })
  }

  #adopt(): void {
    const object = this.#pick()
    if (object === undefined) return
    const chance = this.#chance
    const { namespace = '', ownerReferences = [] } = object.metadata
    const more = this.#references(namespace, 1)
    const kept = ownerReferences.filter(() => chance.next() < 0.6)
    const metadata = { ownerReferences: [...kept, ...more] }
    this.site.user('PATCH', pathOf(object), { metadata }, MERGE)
  }

  #touch(): void {
    const object = this.#pick()
    if (object === undefined) return
    const metadata = { annotations: { touched: String(++this.#count) } }
    this.site.user('PATCH', pathOf(object), { metadata }, MERGE)
  }

  #release(): void {
    const held = this.#all().filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    const object = held[this.#chance.below(held.length)]
    if (object !== undefined) this.#dropFinalizers(object)
  }

  #dropFinalizers(object: ApiObject): void {
    if ((object.metadata.finalizers ?? []).length === 0) return
    this.site.user('PATCH', pathOf(object), { metadata: { finalizers: null } }, MERGE)
  }

  #somewhere(): string {
    const chance = this.#chance
    const namespace = chance.pick(NAMESPACES)
    const scope = widgetScope(this.site.server)
    if (scope !== undefined && chance.next() < 0.3) {
      const within = scope === 'Cluster' ? '' : `/namespaces/${namespace}`
      return `/apis/example.com/v1${within}/widgets`
    }
    const [apiVersion, resource] = chance.pick(KINDS)
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
    return `${root}/namespaces/${namespace}/${resource}`
  }

  #create(path: string, metadata: object): void {
    const kept = this.#chance.next() < 0.04 ? { [KEEP]: 'keep' } : {}
    const marks = this.#world.marks?.next() ?? {}
    const annotations = { 'example.com/note': CANARY, ...kept, ...marks.annotations }
    const labels = marks.labels && { labels: marks.labels }
    // For custom resources the server demands the kind.
    const version = /^\/apis\/(example\.com\/v\d)\/.*widgets$/.exec(path)?.[1]
    const type = version === undefined ? {} : { apiVersion: version, kind: 'Widget' }
    const named = { annotations, ...labels, ...metadata }
    const body = { ...type, metadata: named, data: { key: CANARY } }
    this.site.user('POST', path, body)
  }
}

function referenceTo(owner: ApiObject | undefined): object[] {
  if (owner === undefined) return []
  const { apiVersion, kind, metadata } = owner
  return [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true }]
}

function pathOf({ apiVersion, kind, metadata }: ApiObject): string {
  const resource = kind === 'PersistentVolume' ? 'persistentvolumes' : `${kind.toLowerCase()}s`
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  const { namespace, name } = metadata
  return `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${resource}/${name}`
}
