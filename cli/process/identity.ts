/**
 * Which clusters the contexts of a kubeconfig lead to, as they say themselves.
 *
 * What must stay true: two contexts that are one cluster end the start; a cluster is known by its
 * own answer, never by its name.
 */
import type { ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { ClusterError } from '../../ports/cluster.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { ConnectedCluster } from '../../services/reaper/reaper.ts'

/** How long a cluster may take to say who it is. */
const IDENTIFY_MS = 15_000
/** Wait before it is asked again. */
const AGAIN_MS = 5_000
/** How often those who have said so are asked whether they are still the same. */
const CHECK_EVERY_MS = 30_000

/**
 * Those that say at once who they are. None at all, or two that are one, end the start with a
 * sentence; where another answers, one that does not is asked again by `identifyEach`.
 */
export async function identifySome(
  clusters: readonly Cluster[],
  signal: AbortSignal,
): Promise<ConnectedCluster[]> {
  const asked = await Promise.allSettled(clusters.map((cluster) => identify(cluster, signal)))
  const connected = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  for (const each of connected) refuseTwin(each, connected)
  const failed = asked.find((each) => each.status === 'rejected')
  if (failed !== undefined && (connected.length === 0 || signal.aborted)) throw failed.reason
  return connected
}

async function identify(cluster: Cluster, signal: AbortSignal): Promise<ConnectedCluster> {
  try {
    const either = AbortSignal.any([signal, AbortSignal.timeout(IDENTIFY_MS)])
    return { id: await cluster.identify(either), cluster }
  } catch (error) {
    if (signal.aborted) throw error
    const why = error instanceof Error ? error.message : String(error)
    const hint =
      error instanceof ClusterError && error.code === 'FORBIDDEN'
        ? 'its account needs "get" on the namespace kube-system; kinfold doctor lists all it needs'
        : 'check the context and that the server runs'
    throw new ExitError(
      EXIT.failure,
      `cluster ${cluster.name} does not say who it is: ${why}; ${hint}`,
    )
  }
}

/**
 * Asks each that is not among `known` until it has said who it is, and puts it there then: one that
 * cannot be reached holds up no other.
 */
export async function identifyEach(
  clusters: readonly Cluster[],
  known: ConnectedCluster[],
  clock: Clock,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const unknown = clusters.filter((cluster) => known.every((each) => each.cluster !== cluster))
  await Promise.all(
    unknown.map(async (cluster) => {
      while (!signal.aborted) {
        try {
          const connected = await identify(cluster, signal)
          refuseTwin(connected, known)
          known.push(connected)
          return
        } catch (error) {
          if (signal.aborted) return
          if (!(error instanceof ExitError) || error.exitCode === EXIT.input) throw error
          logger.log('warn', 'cluster not reached', { reason: error.message })
          await clock.sleep(AGAIN_MS, signal)
        }
      }
    }),
  )
}

function refuseTwin({ id, cluster }: ConnectedCluster, all: readonly ConnectedCluster[]): void {
  const twin = all.find((other) => other.id === id && other.cluster !== cluster)
  if (twin === undefined) return
  throw new ExitError(
    EXIT.input,
    `contexts ${cluster.name} and ${twin.cluster.name} are one cluster (${id}): name it once`,
  )
}

export interface IdentityWatch {
  /** Why nothing is sent to it: it is another cluster now. Empty while it is not known to be. */
  failure(cluster: Cluster): string
  run(signal: AbortSignal): Promise<void>
}

/**
 * A process that acts upon a cluster keeps to the one that it met at its start, and sends nothing
 * where another one answers by now. It reports that; only a person knows whether the other one is
 * meant, so only a new start by a person takes it. A cluster that does not answer may well be the
 * same.
 */
export function watchIdentities(
  known: readonly ConnectedCluster[],
  clock: Clock,
  logger: Logger,
): IdentityWatch {
  const others = new Map<Cluster, string>()

  async function look({ id, cluster }: ConnectedCluster, signal: AbortSignal): Promise<void> {
    const found = await identify(cluster, signal).catch((error: unknown) => {
      if (signal.aborted || error instanceof ExitError) return undefined
      throw error
    })
    if (found === undefined) return
    const isNews = others.has(cluster) === (found.id === id)
    others.delete(cluster)
    if (found.id !== id) others.set(cluster, elsewhere(cluster, id, found.id))
    if (!isNews) return
    const reason = others.get(cluster)
    if (reason === undefined)
      logger.log('info', 'cluster is the same again', { name: cluster.name })
    else logger.log('error', 'address leads to another cluster', { name: cluster.name, reason })
  }

  return {
    failure: (cluster) => others.get(cluster) ?? '',
    async run(signal) {
      while (!signal.aborted) {
        await clock.sleep(CHECK_EVERY_MS, signal)
        if (signal.aborted) return
        await Promise.all(known.map((each) => look(each, signal)))
      }
    },
  }
}

function elsewhere({ name }: Cluster, expected: ClusterId, found: ClusterId): string {
  return (
    `"${name}" now answers as cluster ${found} and not as ${expected}, so nothing is sent there: ` +
    'correct the address or the kubeconfig, or start again if it is the right one.'
  )
}
