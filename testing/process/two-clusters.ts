/**
 * Two control planes under one `kinfold up`: red, whose faults a test makes, and blue, which has to
 * continue meanwhile.
 *
 * What must stay true: red is reached by a proxy, so it can be another cluster from one moment to
 * the next; in both Kinfold's account has the rights that a test gave it, and no others.
 */
import { deepEqual } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts'
import { ALL_VERBS, bindRole, type Rule } from '../cluster/role.ts'
import { eventually } from '../eventually.ts'
import { seeded } from '../seeded.ts'
import { FaultyProxy } from './faulty-proxy.ts'
import { ACTING, KinfoldProcess } from './kinfold-process.ts'
import { mergeKubeconfigs, redirectKubeconfig } from './kubeconfigs.ts'
import {
  CONFIG_MAP,
  type Kind,
  type Made,
  make,
  makeAll,
  missingOf,
  ownersOf,
  remove,
  SECRET,
} from './objects.ts'

export const ACCOUNT = 'kinfold'
/** The same everywhere, so that another cluster accepts it, too. */
const TOKEN = 'the-token-of-kinfold'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
export const WATCHED = 'configmaps,secrets,widgets.example.com'
const DEPENDENTS = 5

/** All that it needs. */
export const RIGHTS: readonly Rule[] = [
  { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ALL_VERBS },
  { apiGroups: ['example.com'], resources: ['widgets'], verbs: ALL_VERBS },
  {
    apiGroups: ['apiextensions.k8s.io'],
    resources: ['customresourcedefinitions'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: ['list'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'get'] },
]

export interface Tree {
  readonly owner: Made
  readonly dependents: readonly Made[]
}

export async function startRed(context = 'red'): Promise<ControlPlane> {
  const plane = await startControlPlane({ context, users: [{ name: ACCOUNT, token: TOKEN }] })
  await bindRole(plane, ACCOUNT, RIGHTS)
  return plane
}

export class TwoClusters implements AsyncDisposable {
  readonly red: ControlPlane
  readonly blue: ControlPlane
  readonly proxy: FaultyProxy
  readonly kubeconfig: string
  readonly data: string
  kinfold!: KinfoldProcess
  /** The objects that must stay in every case, with their clusters. */
  readonly #stays: (readonly [ControlPlane, Made])[] = []
  readonly #proxies: FaultyProxy[] = []
  #named = 0

  private constructor(red: ControlPlane, blue: ControlPlane, proxy: FaultyProxy) {
    this.red = red
    this.blue = blue
    this.proxy = proxy
    this.kubeconfig = join(red.folder, 'both.kubeconfig')
    this.data = join(red.folder, 'kinfold')
  }

  static async start(): Promise<TwoClusters> {
    const [red, blue] = await Promise.all([startRed(), startRed('blue')])
    const ca = await readFile(red.caFile, 'utf8')
    const proxy = await FaultyProxy.start({ server: red.server, ca, chance: seeded(7) })
    const it = new TwoClusters(red, blue, proxy)
    await it.writeKubeconfig(proxy.url)
    await it.up()
    for (const plane of [red, blue]) await it.#makeBystanders(plane)
    return it
  }

  async writeKubeconfig(serverOfRed: string): Promise<void> {
    const { red, blue } = this
    const redirected = join(red.folder, 'red.kubeconfig')
    await redirectKubeconfig(await red.kubeconfigOf(ACCOUNT), serverOfRed, redirected)
    await mergeKubeconfigs([redirected, await blue.kubeconfigOf(ACCOUNT)], this.kubeconfig)
  }

  /** Address of another proxy, to this one; it ends with all of this. */
  async proxyTo(plane: ControlPlane): Promise<string> {
    const ca = await readFile(plane.caFile, 'utf8')
    const proxy = await FaultyProxy.start({ server: plane.server, ca, chance: seeded(8) })
    this.#proxies.push(proxy)
    return proxy.url
  }

  /** `kinfold up` is begun, and ready. */
  async up(acting: readonly string[] = ACTING, kinds: string = WATCHED): Promise<void> {
    await this.begin(acting, kinds)
    await this.kinfold.ready()
  }

  /** The same, ready or not. */
  async begin(acting: readonly string[] = ACTING, kinds: string = WATCHED): Promise<void> {
    const contexts = ['--context', 'red', '--context', 'blue']
    const flags = [...acting, ...contexts, '--kinds', kinds]
    const { kubeconfig, data } = this
    this.kinfold = await KinfoldProcess.spawn({ kubeconfig, data, flags })
  }

  async tree(plane: ControlPlane, name: string, owned: Kind = CONFIG_MAP): Promise<Tree> {
    const owner = await make(plane, { kind: CONFIG_MAP, name: this.#name(name) })
    return { owner, dependents: await this.dependentsOf(plane, [owner], owned) }
  }

  /** Seen, with all of their owners. */
  async dependentsOf(
    plane: ControlPlane,
    owners: readonly Made[],
    kind: Kind = CONFIG_MAP,
  ): Promise<readonly Made[]> {
    const dependents = await makeAll(
      plane,
      Array.from({ length: DEPENDENTS }, () => ({ kind, name: this.#name('owned'), owners })),
    )
    await this.judged(dependents, 'keep')
    return dependents
  }

  async judged(all: readonly Made[], verdict: string): Promise<void> {
    await eventually(`all are judged ${verdict}`, async () => {
      const verdicts = await this.kinfold.verdicts(all)
      return verdicts.every((each) => each === verdict) || verdicts.join()
    })
  }

  async gone(plane: ControlPlane, all: readonly Made[]): Promise<void> {
    await eventually('they go', async () => {
      const missing = new Set(await missingOf(plane, all))
      const left = all.find(({ name }) => !missing.has(name))
      if (left === undefined) return true
      const verdict = (await this.kinfold.why(left))?.verdict
      return `${missing.size} of ${all.length} are gone; ${left.name}: ${JSON.stringify(verdict)}`
    })
  }

  async collect(plane: ControlPlane, { owner, dependents }: Tree): Promise<void> {
    await remove(plane, owner)
    await this.gone(plane, dependents)
  }

  /**
   * The cluster is collected now; objects to be deleted because of earlier observations are deleted
   * once this one is.
   */
  async goesOn(plane: ControlPlane): Promise<void> {
    await this.collect(plane, await this.tree(plane, 'mark'))
  }

  stays(plane: ControlPlane, ...all: readonly Made[]): void {
    for (const made of all) this.#stays.push([plane, made])
  }

  /** By their uids; and they have their owners still. */
  async assertStays(): Promise<void> {
    for (const plane of [this.red, this.blue]) {
      const mine = this.#stays.flatMap(([of, made]) => (of === plane ? [made] : []))
      deepEqual(await missingOf(plane, mine), [])
    }
  }

  /** The line of readiness about this. */
  async readiness(about: string): Promise<string> {
    return (await this.kinfold.readiness()).find((line) => line.includes(about)) ?? ''
  }

  async says(about: string, pattern: RegExp): Promise<void> {
    await eventually(`readiness says ${pattern} of ${about}`, async () => {
      const line = await this.readiness(about)
      return pattern.test(line) || line
    })
  }

  /** Rights of Kinfold's account, which apply when this resolves. */
  async grant(plane: ControlPlane, rights: readonly Rule[], proof: Proof): Promise<void> {
    const identity: Rule = { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }
    const rules = [identity, ...rights]
    const role = { metadata: { name: ACCOUNT }, rules }
    const { status } = await plane.request('PUT', `${RBAC}/clusterroles/${ACCOUNT}`, role)
    if (status !== 200) throw new Error(`the role was answered ${status}`)
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const { allowed, ...resourceAttributes } = proof
    const review = { spec: { user: ACCOUNT, resourceAttributes } }
    await eventually('the rights are in force', async () => {
      const answer = await plane.request<{ status: { allowed: boolean } }>('POST', path, review)
      return answer.body.status.allowed === allowed
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kinfold?.[Symbol.asyncDispose]()
    for (const proxy of [this.proxy, ...this.#proxies]) await proxy[Symbol.asyncDispose]()
    await Promise.all([this.red, this.blue].map((plane) => plane[Symbol.asyncDispose]()))
  }

  #name(prefix: string): string {
    this.#named++
    return `${prefix}-${this.#named}`
  }

  async #makeBystanders(plane: ControlPlane): Promise<void> {
    const { owner, dependents } = await this.tree(plane, 'solid', SECRET)
    this.stays(plane, owner, ...dependents)
    // One owner of two is deleted: the reference is dropped, the object stays.
    const other = await make(plane, { kind: SECRET, name: this.#name('passing') })
    const shared = await this.dependentsOf(plane, [other, owner])
    await remove(plane, other)
    await eventually('the reference that dangles is dropped', async () => {
      const left = await Promise.all(shared.map((made) => ownersOf(plane, made)))
      return left.every((owners) => owners?.join() === owner.name) || JSON.stringify(left)
    })
    this.stays(plane, ...shared)
  }
}

/** A right whose answer shows that the others apply. */
export interface Proof {
  readonly verb: string
  readonly resource: string
  readonly group?: string
  readonly allowed: boolean
}
