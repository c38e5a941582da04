/**
 * The visible parts of an object that a collector can change: its references, its finalizers,
 * whether it is being deleted.
 */
import type { Reference, Requests } from '../process/objects.ts'

export interface Seen {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  /** Names of its owners, in order. */
  readonly owners: readonly string[]
  readonly references: readonly Reference[]
  readonly finalizers: readonly string[]
  readonly deleting: boolean
}

export type Expected = Partial<Pick<Seen, 'owners' | 'finalizers' | 'deleting'>>

interface Stored {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly ownerReferences?: readonly Reference[]
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
  }
}

const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** Of a kind that is not served nothing is there. */
export async function seenIn(plane: Requests, path: string): Promise<Seen[]> {
  const headers = { accept: METADATA_LIST }
  const answer = await plane.request<{ items: readonly Stored[] | null }>(
    'GET',
    path,
    undefined,
    headers,
  )
  if (answer.status === 404) return []
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}`)
  return (answer.body.items ?? []).map(({ metadata }) => {
    const { ownerReferences = [], finalizers = [], deletionTimestamp } = metadata
    return {
      name: metadata.name,
      namespace: metadata.namespace ?? '',
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      owners: ownerReferences.map(({ name }) => name),
      references: ownerReferences,
      finalizers,
      deleting: deletionTimestamp !== undefined,
    }
  })
}

export function shown(seen: Seen | undefined): string {
  if (seen === undefined) return 'gone'
  const { name, owners, finalizers, deleting } = seen
  return `${name} of [${owners}] with [${finalizers}]${deleting ? ', being deleted' : ''}`
}
