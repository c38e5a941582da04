/**
 * The cluster that a context of the user's own kubeconfig leads to, spoken to as that user.
 *
 * What must stay true: nothing is done there before it is known to be the very cluster that
 * Kinfold's answer is about; credentials are those of the kubeconfig, never Kinfold's.
 *
 * Not here: what is asked, read or deleted (scope.ts, live.ts, label-selection.ts, delete.ts).
 */
import type { Target } from '../../core/model/command.ts'
import type { GroupKind } from '../../core/model/object.ts'
import type { Cluster, DiscoveredKind } from '../../ports/cluster.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { ClusterRef } from '../../services/graph/api/document.ts'
import { openClusters } from '../config/clusters.ts'
import type { ListedKind } from '../print/kind-name.ts'
import type { ScopeFlags } from './client.ts'

const CALL_MS = 15_000

export interface OwnCluster extends AsyncDisposable {
  /** By which Kinfold knows it. */
  readonly id: string
  /** What is said beside a refusal: the user named no id. */
  readonly hint: string
  readonly cluster: Cluster
  /** Throws unless this is the cluster that the answer is about. */
  check(about: ClusterRef): void
  /** Undefined where it serves no such kind, or more than one. */
  kind(of: GroupKind): Promise<DiscoveredKind | undefined>
  /** Undefined where it serves none. */
  resource(of: ListedKind): Promise<DiscoveredKind | undefined>
}

/**
 * Of the named context, else of the current one. `service`: what its audit log calls who asks.
 * `otherwise`: what to do where its id cannot be read.
 */
export async function openOwnCluster(
  service: string,
  { context, kubeconfig }: ScopeFlags,
  otherwise = '',
): Promise<OwnCluster> {
  const [opened] = openClusters(service, kubeconfig, context === undefined ? [] : [context])
  if (opened === undefined) throw new Error('one context is opened')
  const { name } = opened
  let id: string
  try {
    id = await opened.identify(AbortSignal.timeout(CALL_MS))
  } catch (error) {
    await opened[Symbol.asyncDispose]()
    throw new ExitError(
      EXIT.failure,
      `which cluster context "${name}" leads to is unknown: ${whyOf(error)}${otherwise}`,
    )
  }
  let kinds: Promise<readonly DiscoveredKind[]> | undefined
  const served = async (): Promise<readonly DiscoveredKind[]> => {
    kinds ??= opened
      .discover(AbortSignal.timeout(CALL_MS))
      .then((found) => found.kinds)
      .catch((error: unknown) => {
        const why = whyOf(error)
        throw new ExitError(EXIT.failure, `what context "${name}" serves is unknown: ${why}`)
      })
    return await kinds
  }
  return {
    ...{ id, cluster: opened },
    hint: `context "${name}" leads to the cluster with id ${id}`,
    check(about) {
      if (about.id === id) return
      throw new ExitError(
        EXIT.input,
        `cluster ${about.name} has id ${about.id}, and context "${name}" leads to the cluster with id ${id}; name its context with --context`,
      )
    },
    async kind({ group, kind }) {
      return (await served()).find(
        (each) => each.group === group && each.kind === kind && !each.ambiguous,
      )
    },
    async resource({ group, resource }) {
      return (await served()).find((each) => each.group === group && each.resource === resource)
    },
    [Symbol.asyncDispose]: async () => await opened[Symbol.asyncDispose](),
  }
}

export interface OwnObject extends GroupKind {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export function targetOf(served: DiscoveredKind, object: OwnObject): Target {
  const { group, kind, resource, aggregated, versions } = served
  const { namespace, name, uid } = object
  const version = versions[0] ?? ''
  return { group, version, kind, resource, namespace, name, uid, resourceVersion: '', aggregated }
}

export function callSignal(): AbortSignal {
  return AbortSignal.timeout(CALL_MS)
}

function whyOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
