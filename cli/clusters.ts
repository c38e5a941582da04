/** The clusters that a kubeconfig's contexts name. What must stay true: a mistake in it is a sentence and exit code 2. */
import { openCluster } from '../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../adapters/kubernetes/exchange.ts'
import { KubeconfigError, loadContexts } from '../adapters/kubernetes/kubeconfig.ts'
import type { Cluster } from '../ports/cluster.ts'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'

/** Closed by the caller. */
export function openClusters(
  kubeconfig: string | undefined,
  contexts: readonly string[],
): Cluster[] {
  try {
    return loadContexts({ kubeconfig, contexts }).map((context) =>
      openCluster({ name: context.name, exchange: openUndiciExchange(context) }),
    )
  } catch (error) {
    if (error instanceof KubeconfigError) throw new ExitError(EXIT.input, error.message)
    throw error
  }
}
