/**
 * The clusters that a kubeconfig's contexts name. What must stay true: a mistake in it is a
 * sentence and exit code 2.
 */

import { compileOnDemand } from '../../adapters/cel/on-demand.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import {
  accountToken,
  type TokenAnswer,
  type TokenAsked,
} from '../../adapters/kubernetes/connection/account-token.ts'
import { openUndiciExchange } from '../../adapters/kubernetes/connection/exchange.ts'
import { KubeconfigError, loadContexts } from '../../adapters/kubernetes/connection/kubeconfig.ts'
import { kubernetesReview } from '../../adapters/kubernetes/review.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Exchange } from '../../ports/exchange.ts'
import type { PolicyCompiler } from '../../ports/record/projection.ts'
import type { Review } from '../../ports/review.ts'
import { policyContent } from '../../ports/rule/policy-content.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { VERSION } from '../print/version.ts'

/** Closed by the caller. `service`: what the cluster's audit log calls who asks. */
export function openClusters(
  service: string,
  kubeconfig: string | undefined,
  contexts: readonly string[],
): Cluster[] {
  return loadedContexts(kubeconfig, contexts).map((context) => clusterOf(service, context))
}

/**
 * At an address that no kubeconfig names, with these headers as its only credentials. Closed by the
 * caller.
 */
export function openClusterAt(
  service: string,
  { name, url }: { readonly name: string; readonly url: string },
  headers: Readonly<Record<string, string>>,
): Cluster {
  const credentials = async () => ({ headers, tls: {} })
  return clusterOf(service, { name, server: url, proxyUrl: null, credentials })
}

export interface WatchedCluster {
  readonly cluster: Cluster
  /** Connections of its own for the lease: what a list takes must not cost the lease. */
  readonly exchange: Exchange
}

/** Both closed by the caller. */
export function openWatchedClusters(
  kubeconfig: string | undefined,
  contexts: readonly string[],
): WatchedCluster[] {
  return loadedContexts(kubeconfig, contexts).map((context) => ({
    cluster: clusterOf('watcher', context),
    exchange: exchangeTo('watcher', context),
  }))
}

export interface ReviewingCluster {
  readonly cluster: Cluster
  readonly review: Review
}

/** Each closed by the caller, with its cluster. */
export function openReviews(
  kubeconfig: string | undefined,
  contexts: readonly string[],
): ReviewingCluster[] {
  return loadedContexts(kubeconfig, contexts).map((context) => {
    const exchange = exchangeTo('login', context)
    const cluster = openCluster({ name: context.name, exchange })
    return { cluster, review: kubernetesReview(exchange, cluster) }
  })
}

export type Context = ReturnType<typeof loadContexts>[number]

/** A policy of the cluster; the library of expressions is loaded only where one has one. */
const compiled: PolicyCompiler = (object) => policyContent(object, compileOnDemand)

function clusterOf(service: string, context: Context): Cluster {
  const exchange = exchangeTo(service, context)
  return openCluster({ name: context.name, exchange, policyContent: compiled })
}

export function exchangeTo(service: string, context: Context): Exchange {
  return openUndiciExchange(context, { userAgent: `kinfold/${VERSION} (${service})` })
}

/** As the user of the context. */
export async function accountTokenOf(
  context: Context,
  asked: TokenAsked,
  signal: AbortSignal,
): Promise<TokenAnswer> {
  await using exchange = exchangeTo('kubeconfig', context)
  return await accountToken(exchange, asked, signal)
}

/** What a mistake in it is: a sentence and exit code 2. */
export function loadedContexts(
  kubeconfig: string | undefined,
  contexts: readonly string[],
): readonly Context[] {
  try {
    return loadContexts({ kubeconfig, contexts })
  } catch (error) {
    if (error instanceof KubeconfigError) throw new ExitError(EXIT.input, error.message)
    throw error
  }
}
