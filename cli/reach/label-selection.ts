/**
 * Which objects have the labels that a selector asks for, by uid, as their cluster says, asked as
 * the user: Kinfold records no labels.
 *
 * What must stay true: all pages of one consistent list are read, or it throws: of a list that
 * expires on the way nothing counts. Of an object no more is kept than its uid, and of a bounded
 * number.
 *
 * Not here: which cluster it is (own-cluster.ts), what is shown of them (get.ts).
 */
import { ClusterError, type DiscoveredKind } from '../../ports/cluster.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { ObjectList } from '../answer.ts'
import { nameOf, readKind } from '../print/kind-name.ts'
import { countOf } from '../print/word.ts'
import type { OwnCluster } from './own-cluster.ts'

const PAGE_SIZE = 500
const MOST_UIDS = 200_000
/** Each list has to end within a few minutes: then its version is too old for the next page. */
const WITHIN_MS = 120_000
const TRIES = 3

/** What `-l` asks for. */
export interface Labelled {
  readonly labels: string
  /** Undefined: in all. */
  readonly namespace: string | undefined
}

export interface LabelSelection {
  /**
   * Those of a page of Kinfold's answer that the cluster selects. Each page once, in their order.
   */
  among(page: Pick<ObjectList, 'kinds' | 'objects'>): Promise<ObjectList['objects']>
  /** After the last page: what is missing, in words; empty: nothing. */
  partial(): string
}

/** `most`: objects of whose uids there is room. */
export function createLabelSelection(
  own: OwnCluster,
  labelled: Labelled,
  most: number = MOST_UIDS,
): LabelSelection {
  const asked = new Set<string>()
  const served = new Set<string>()
  /** Selected, and not listed yet. */
  const uids = new Set<string>()
  let unread = 0
  return {
    async among({ kinds, objects }) {
      for (const name of kinds) {
        if (asked.has(name)) continue
        asked.add(name)
        const kind = await own.resource(readKind(name))
        if (kind === undefined) continue
        served.add(`${kind.group}/${kind.kind}`)
        for (const uid of await uidsWith(own, kind, labelled, most)) uids.add(uid)
      }
      unread += objects.filter(({ group, kind }) => !served.has(`${group}/${kind}`)).length
      return objects.filter(({ uid }) => uids.delete(uid))
    },
    partial() {
      const unlisted = `the cluster has ${uids.size} more with such labels, which Kinfold has not recorded yet, or may not show you`
      const unknown = `labels of ${countOf(unread, 'object')} are unknown, since the cluster does not serve their kind now`
      return [uids.size > 0 ? unlisted : '', unread > 0 ? unknown : '']
        .filter((text) => text !== '')
        .join('; ')
    },
  }
}

async function uidsWith(
  own: OwnCluster,
  kind: DiscoveredKind,
  labelled: Labelled,
  most: number,
): Promise<ReadonlySet<string>> {
  for (let tries = 1; ; tries++) {
    try {
      return await listed(own, kind, labelled, most)
    } catch (error) {
      if (error instanceof ExitError) throw error
      if (isExpired(error) && tries < TRIES) continue
      const code = isMistake(error) ? EXIT.input : EXIT.failure
      const what = `which ${nameOf(kind)} have such labels is unknown`
      throw new ExitError(code, `-l ${labelled.labels}: ${what}: ${whyOf(error)}`)
    }
  }
}

async function listed(
  { cluster, id }: OwnCluster,
  served: DiscoveredKind,
  { labels, namespace = '' }: Labelled,
  most: number,
): Promise<ReadonlySet<string>> {
  const { scope, versions } = served
  const resource = { ...served, version: versions[0] ?? '' }
  const where = { labels, namespace: scope === 'Cluster' ? '' : namespace }
  const uids = new Set<string>()
  const signal = AbortSignal.timeout(WITHIN_MS)
  for await (const { objects } of cluster.select(resource, where, PAGE_SIZE, signal, id)) {
    for (const { uid } of objects) uids.add(uid)
    if (uids.size <= most) continue
    throw new ExitError(
      EXIT.input,
      `-l ${labels}: more than ${most} objects have such labels; name a namespace, or more labels`,
    )
  }
  return uids
}

function isExpired(error: unknown): boolean {
  return error instanceof ClusterError && error.code === 'EXPIRED'
}

/** Of the user who wrote the selector: the server says what is wrong with it. */
function isMistake(error: unknown): boolean {
  return error instanceof ClusterError && error.code === 'BAD_REQUEST'
}

function whyOf(error: unknown): string {
  if (!(error instanceof ClusterError)) return error instanceof Error ? error.message : `${error}`
  return error.code === 'FORBIDDEN'
    ? `your kubeconfig's user needs the right to list them: ${error.message}`
    : error.message
}
