/**
 * A hostile tenant: in a namespace of its own it writes anything that an API server accepts, and
 * nowhere else.
 *
 * What must stay true: all it does follows from the seed of its fault. It needs no right beyond its
 * namespace but to have read a stranger's uid.
 *
 * Not here: the cost for others (cost-checkers.ts).
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import { type Chance, seeded } from '../../testing/seeded.ts'
import type { Fault } from '../model.ts'
import { takenIn } from '../oracle.ts'
import type { Site } from '../site.ts'
import { TENANT } from '../workload.ts'
import { siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** How many actions it takes in the time of one fault, and how long it waits in between at most. */
const ACTS = 5
const PAUSE_MS = 2 * MINUTE
const SOON_MS = 400

/** Lives of one name, changes of one object, patches of one long list. */
const LIVES = 50
const CHANGES = 90
const PATCHES = 25
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'

const CORE = `/api/v1/namespaces/${TENANT}`
const APPS = `/apis/apps/v1/namespaces/${TENANT}`

interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly blockOwnerDeletion?: boolean
}

/** Texts that an API server takes in a reference, as it only asks for some text. */
const ODD = {
  apiVersions: ['V1', 'v1 ', 'v9', 'apps/v1beta9', 'nowhere/v1', 'apps/__internal', '__proto__'],
  kinds: [
    'configmap',
    'ConfigMaps',
    'ConfigMap ',
    'constructor',
    'ReplicaSet',
    'Конфиг',
    'K'.repeat(80),
  ],
  names: ['a/b', '..', '%2F', 'x\ny', '\u202eevil', ' ', 'x'.repeat(300), '?watch=true', '#'],
  uids: ['/', '..', '%', '__proto__', ' ', 'u'.repeat(200), '\u0000', 'toString', '~'],
} as const

class Tenant {
  readonly #site: Site
  readonly #chance: Chance
  readonly #reached: (row: string) => void
  /** No two tenants make up the same. */
  readonly #id: number
  #count = 0

  constructor(site: Site, seed: number, reached: (row: string) => void) {
    this.#site = site
    this.#reached = reached
    this.#chance = seeded(seed)
    this.#id = seed
  }

  act(): void {
    this.#site.user('POST', '/api/v1/namespaces', { metadata: { name: TENANT } })
    const acts = [
      () => this.#nameOften(),
      () => this.#nameStranger(),
      () => this.#deleteTogether(),
      () => this.#burst(),
      () => this.#ownNothing(),
      () => this.#misspell(),
      () => this.#shareMany(),
      () => this.#liveOften(),
      () => this.#changeOften(),
      () => this.#patchLong(),
      () => this.#ownNothingAtLength(),
      () => this.#bearStranger(),
    ]
    acts[this.#chance.below(acts.length)]?.()
  }

  /** When it does the next thing. */
  pauseMs(): number {
    return this.#chance.below(PAUSE_MS)
  }

  /** While its actions are still being worked on. */
  soonMs(): number {
    return this.#chance.below(SOON_MS)
  }

  /** One object, one uid, hundreds of names. */
  #nameOften(): void {
    const kind = this.#chance.pick(['ConfigMap', 'Secret', 'PersistentVolume'])
    this.#depend(this.#namesOf({ apiVersion: 'v1', kind, uid: this.#never() }, 400))
  }

  /**
   * Names the uid of another tenant's object; by a version that is not served such references stay
   * for ever.
   */
  #nameStranger(): void {
    const strangers = this.#site.all().filter(({ metadata }) => metadata.namespace !== TENANT)
    const stranger = strangers[this.#chance.below(strangers.length)]
    if (stranger === undefined) return
    const { apiVersion, kind, metadata } = stranger
    const version = this.#chance.next() < 0.5 ? apiVersion : apiVersion.replace(/[^/]*$/, 'v9')
    this.#depend(this.#namesOf({ apiVersion: version, kind, uid: metadata.uid }, 256))
  }

  /** Owners that share one dependent are deleted at once. */
  #deleteTogether(): void {
    const owners = Array.from({ length: 60 }, () => this.#make(`${CORE}/configmaps`, []))
    this.#depend(owners.flatMap((owner) => referenceTo(owner)))
    const policy = this.#chance.pick(['Background', 'Foreground', 'Orphan'])
    for (const owner of owners) this.#delete(owner, policy)
  }

  /** More of a kind than others have of it, with a dependent each. */
  #burst(): void {
    const owners = Array.from({ length: 105 }, () => this.#make(`${APPS}/replicasets`, []))
    for (const owner of owners) this.#depend(referenceTo(owner))
    for (const owner of owners) this.#delete(owner, 'Background')
  }

  #ownNothing(): void {
    for (let i = 0; i < 60; i++) {
      const name = `n${++this.#count}`
      this.#depend([{ apiVersion: 'v1', kind: 'Secret', name, uid: this.#never() }])
    }
  }

  #misspell(): void {
    const right = referenceTo(this.#make(`${CORE}/configmaps`, []))
    const known = { apiVersion: 'v1', kind: 'ConfigMap', name: 'misspelt', uid: this.#never() }
    for (let i = 0; i < 12; i++) {
      const odd = Array.from({ length: 1 + this.#chance.below(6) }, () => {
        return { ...(right[0] ?? known), uid: this.#never(), ...this.#slip() }
      })
      if (takenIn(odd)[0]?.uid === 'beyond-caps') this.#reached('F27')
      this.#depend(this.#chance.next() < 0.3 ? [...odd, ...right] : odd)
    }
    this.#delete(this.#site.server.object('', 'configmaps', TENANT, right[0]?.name ?? ''), 'Orphan')
  }

  /** Each answer about one of their owners concerns all of them. */
  #shareMany(): void {
    const owner = this.#make(`${CORE}/configmaps`, [])
    const references = Array.from({ length: 60 }, (_, i): Reference => {
      return { apiVersion: 'v1', kind: 'Secret', name: `s${i}`, uid: this.#never() }
    })
    for (let i = 0; i < 40; i++) this.#depend([...referenceTo(owner), ...references])
    this.#delete(owner, 'Background')
  }

  /** T6: many lives of one name, and an object of another kind that bears it. */
  #liveOften(): void {
    const name = `e${this.#id}-${++this.#count}`
    this.#site.user('POST', `${APPS}/replicasets`, { metadata: { name } })
    const owner = this.#site.server.object('apps', 'replicasets', TENANT, name)
    for (let life = 0; life < LIVES; life++) {
      const ownerReferences = life % 3 === 0 ? referenceTo(owner) : []
      this.#site.user('POST', `${CORE}/configmaps`, { metadata: { name, ownerReferences } })
      this.#delete(this.#site.server.object('', 'configmaps', TENANT, name), 'Background')
    }
    this.#depend(referenceTo(owner))
    this.#delete(owner, this.#chance.pick(['Background', 'Foreground']))
  }

  /** T7: many changes of one object, until it has no owner left. */
  #changeOften(): void {
    const owner = this.#make(`${CORE}/configmaps`, [])
    const object = this.#make(`${CORE}/configmaps`, referenceTo(owner))
    for (let change = 0; change < CHANGES; change++) {
      const finalizers = change % 2 === 0 ? [`example.com/f${change}`] : []
      this.#patch(object, { metadata: { finalizers } }, MERGE)
    }
    this.#delete(owner, 'Background')
  }

  /** T9: small patches of an object with a long list of owner references, one of which lives. */
  #patchLong(): void {
    const owner = this.#make(`${CORE}/configmaps`, [])
    const count = this.#chance.pick([70, 300])
    const never = this.#neverOwned(count)
    const object = this.#make(`${CORE}/configmaps`, [...referenceTo(owner), ...never])
    for (let patch = 0; patch < PATCHES; patch++) {
      const at = 1 + this.#chance.below(count)
      const path = `/metadata/ownerReferences/${at}`
      const value = this.#neverOwned(1)[0]
      const op = this.#chance.pick(['replace', 'add', 'test'])
      if (op !== 'test') this.#patch(object, [{ op, path, value }], JSON_PATCH)
      else this.#patch(object, { metadata: { labels: { patch: `${patch}` } } }, MERGE)
    }
    if (this.#chance.next() < 0.5) this.#delete(owner, 'Background')
  }

  /** T10: hundreds of owners that never were, each named once. */
  #ownNothingAtLength(): void {
    for (let i = 0; i < 6; i++) this.#depend(this.#neverOwned(60))
  }

  /** T4, T5: objects that bear the uid and the name of a stranger, who is in another namespace. */
  #bearStranger(): void {
    const strangers = this.#site.all().filter(({ metadata }) => metadata.namespace !== TENANT)
    const stranger = strangers[this.#chance.below(strangers.length)]
    for (let i = 0; i < 40; i++) this.#depend(referenceTo(stranger))
  }

  #neverOwned(count: number): Reference[] {
    return Array.from({ length: count }, (): Reference => {
      return { apiVersion: 'v1', kind: 'Secret', name: `n${++this.#count}`, uid: this.#never() }
    })
  }

  #slip(): Partial<Reference> {
    const chance = this.#chance
    const slips = [
      { apiVersion: pickOf(chance, ODD.apiVersions) },
      { kind: pickOf(chance, ODD.kinds) },
      { name: pickOf(chance, ODD.names) },
      { uid: pickOf(chance, ODD.uids) },
    ]
    return { ...pickOf(chance, slips), ...pickOf(chance, slips) }
  }

  #namesOf(rest: Omit<Reference, 'name'>, most: number): Reference[] {
    const count = this.#chance.pick([most, Math.ceil(most / 4)])
    return Array.from({ length: count }, (_, i) => ({ ...rest, name: `x${i}` }))
  }

  #never(): string {
    return `never-${this.#id}-${++this.#count}`
  }

  #depend(references: readonly Reference[]): void {
    this.#make(`${CORE}/configmaps`, references)
  }

  #make(path: string, ownerReferences: readonly Reference[]): ApiObject | undefined {
    const name = `e${this.#id}-${++this.#count}`
    this.#site.user('POST', path, { metadata: { name, ownerReferences } })
    const isInCore = path.startsWith(CORE)
    const resource = path.slice(path.lastIndexOf('/') + 1)
    return this.#site.server.object(isInCore ? '' : 'apps', resource, TENANT, name)
  }

  #delete(object: ApiObject | undefined, propagationPolicy: string): void {
    if (object !== undefined) this.#site.user('DELETE', pathOf(object), { propagationPolicy })
  }

  #patch(object: ApiObject | undefined, body: object, type: string): void {
    if (object !== undefined) this.#site.user('PATCH', pathOf(object), body, type)
  }
}

function pathOf({ kind, metadata }: ApiObject): string {
  return `${kind === 'ConfigMap' ? `${CORE}/configmaps` : `${APPS}/replicasets`}/${metadata.name}`
}

function referenceTo(owner: ApiObject | undefined): Reference[] {
  if (owner === undefined) return []
  const { apiVersion, kind, metadata } = owner
  return [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true }]
}

function pickOf<T>(chance: Chance, all: readonly T[]): T {
  return all[chance.below(all.length)] as T
}

export const tenantFaults: readonly Fault[] = [
  {
    row: 'tenant',
    what: 'a tenant writes into its own namespace whatever an API server takes: hundreds of names of one uid, a stranger’s as well, by that stranger’s name, too; bursts; many lives of a name, changes of an object, patches of a long list; owners that never were; odd spellings',
    lastsMs: [5 * MINUTE, 30 * MINUTE],
    most: 2,
    begin(context) {
      const { world, users, fault } = context
      const tenant = new Tenant(siteOf(context), fault.seed, (row) => world.reached(row))
      let left = ACTS
      const act = (): void => {
        if (left-- <= 0) return
        const nowMs = world.time.monotonicMs()
        const deleteOwner = users[fault.target % users.length]?.family()
        tenant.act()
        world.reached('tenant')
        if (deleteOwner !== undefined) world.time.at(nowMs + tenant.soonMs(), deleteOwner)
        world.time.at(nowMs + tenant.pauseMs(), act)
      }
      act()
      return () => {
        left = 0
      }
    },
  },
]
