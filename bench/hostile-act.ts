/**
 * The heaviest things that a tenant can do to a collector with rights in one namespace only:
 * create, patch and delete ConfigMaps.
 *
 * What must stay true: an act is bounded in count and time, and ends with everything sent; each is
 * the same for every contender.
 *
 * Not here: what it does to others (hostile.ts).
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ControlPlane } from '../testing/cluster/control-plane.ts'

export const HOSTILE = 'hostile'
const CONFIG_MAPS = `/api/v1/namespaces/${HOSTILE}/configmaps`
const IN_FLIGHT = 16
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }

export interface Act {
  readonly name: string
  readonly says: string
  /** `scale`: 1 is what docs and issue name; a test takes less. */
  run(tenant: Tenant, scale: number): Promise<void>
}

interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

export class Tenant {
  readonly #plane: ControlPlane
  /** An object of another namespace, whose uid the tenant has read. */
  readonly stranger: Reference
  #count = 0
  #sent = 0

  constructor(plane: ControlPlane, stranger: Reference) {
    this.#plane = plane
    this.stranger = stranger
  }

  /** Bytes of the bodies of all its requests. */
  get sentBytes(): number {
    return this.#sent
  }

  name(): string {
    return `h${++this.#count}`
  }

  /** Its uid, or the error. */
  async make(name: string, ownerReferences: readonly Reference[], data?: object): Promise<string> {
    const metadata = { name, ownerReferences }
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...(data && { data }) }
    const answer = await this.#send<{ metadata: { uid: string } }>('POST', CONFIG_MAPS, body)
    return answer.metadata.uid
  }

  async patch(name: string, body: object): Promise<void> {
    await this.#send('PATCH', `${CONFIG_MAPS}/${name}`, body, MERGE_PATCH)
  }

  async delete(name: string, propagationPolicy = 'Background'): Promise<void> {
    await this.#send('DELETE', `${CONFIG_MAPS}/${name}`, { propagationPolicy })
  }

  /** Some at once, as one user may. */
  async each(count: number, one: (index: number) => Promise<unknown>): Promise<void> {
    let next = 0
    const some = async (): Promise<void> => {
      while (next < count) await one(next++)
    }
    await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, some))
  }

  /** Of owners that never were. */
  never(count: number): Reference[] {
    const kind = { apiVersion: 'v1', kind: 'ConfigMap' }
    return Array.from({ length: count }, () => {
      const id = ++this.#count
      return { ...kind, name: `never-${id}`, uid: `00000000-0000-4000-8000-${padded(id)}` }
    })
  }

  async #send<T>(
    method: string,
    path: string,
    body: object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<T> {
    this.#sent += Buffer.byteLength(JSON.stringify(body))
    const { status, body: answer } = await this.#plane.request<T>(method, path, body, headers)
    if (status < 300 || status === 404) return answer
    throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer).slice(0, 300)}`)
  }
}

function padded(id: number): string {
  return String(id).padStart(12, '0')
}

function referenceTo(name: string, uid: string): Reference {
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid }
}

export const ACTS: readonly Act[] = [
  {
    name: 'nothing',
    says: 'the tenant does nothing for ten seconds',
    run: async (_, scale) => void (await delay(10_000 * scale)),
  },
  {
    name: 'never-owners',
    says: '8 ConfigMaps with 5,000 owners each that never were',
    run: async (tenant, scale) => {
      await tenant.each(8, async () => {
        await tenant.make(tenant.name(), tenant.never(Math.ceil(5_000 * scale)))
      })
    },
  },
  {
    name: 'patches',
    says: 'a ConfigMap with 6,000 owners, patched twice a second for 30 seconds',
    run: async (tenant, scale) => {
      const name = tenant.name()
      await tenant.make(name, tenant.never(Math.ceil(6_000 * scale)))
      for (let i = 0; i < 60 * scale; i++) {
        await tenant.patch(name, { metadata: { labels: { 'app.kubernetes.io/part': `p${i}` } } })
        await delay(500)
      }
    },
  },
  {
    name: 'lives',
    says: '5,000 ConfigMaps of one name, created and deleted',
    run: async (tenant, scale) => {
      for (let i = 0; i < 5_000 * scale; i++) {
        await tenant.make('web', [])
        await tenant.delete('web')
      }
    },
  },
  {
    name: 'changes',
    says: '5,000 patches of one small ConfigMap',
    run: async (tenant, scale) => {
      await tenant.make('api', [])
      for (let i = 0; i < 5_000 * scale; i++) {
        await tenant.patch('api', { metadata: { finalizers: [`example.com/f${i % 2}`] } })
      }
      await tenant.patch('api', { metadata: { finalizers: null } })
    },
  },
  {
    name: 'large',
    says: '300 ConfigMaps of 900 KB, created and deleted',
    run: async (tenant, scale) => {
      const data = { text: 'x'.repeat(900_000) }
      await tenant.each(Math.ceil(300 * scale), async () => {
        const name = tenant.name()
        await tenant.make(name, [], data)
        await tenant.delete(name)
      })
    },
  },
  {
    name: 'cascade',
    says: 'an owner with 5,000 dependents that each have two more owners, deleted',
    run: async (tenant, scale) => {
      const names = [tenant.name(), tenant.name(), tenant.name()]
      const owners: Reference[] = []
      for (const name of names) owners.push(referenceTo(name, await tenant.make(name, [])))
      await tenant.each(Math.ceil(5_000 * scale), () => tenant.make(tenant.name(), owners))
      for (const name of names) await tenant.delete(name, 'Background')
    },
  },
  {
    name: 'strangers',
    says: '2,000 ConfigMaps that name the uid of another namespace’s object',
    run: async (tenant, scale) => {
      const { stranger } = tenant
      await tenant.each(Math.ceil(2_000 * scale), async () => {
        await tenant.make(tenant.name(), [stranger, { ...stranger, name: tenant.name() }])
      })
    },
  },
  {
    name: 'cycles',
    says: '500 pairs of ConfigMaps that own each other, deleted in the foreground',
    run: async (tenant, scale) => {
      await tenant.each(Math.ceil(500 * scale), async () => {
        const [one, other] = [tenant.name(), tenant.name()]
        const uid = await tenant.make(one, [])
        const second = await tenant.make(other, [blocking(referenceTo(one, uid))])
        const references = [blocking(referenceTo(other, second))]
        await tenant.patch(one, { metadata: { ownerReferences: references } })
        await tenant.delete(one, 'Foreground')
      })
    },
  },
]

function blocking(reference: Reference): Reference {
  return { ...reference, blockOwnerDeletion: true } as Reference
}
