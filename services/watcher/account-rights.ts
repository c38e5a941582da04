/**
 * Which kinds the account of a watcher may list and watch, over all namespaces: for those who want
 * what the account may see, and no list.
 *
 * What must stay true: only an answer of the server denies a kind; a review that fails fails the
 * round, and nothing of it counts. What was allowed once stays so for the term: a kind whose rights
 * are taken away fails in the open, as its watch is refused, and is not dropped in silence.
 *
 * Why no SelfSubjectRulesReview: it answers for one namespace, and says itself that it is
 * incomplete beside webhooks.
 *
 * Not here: when it is asked (kind-roster.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { Cluster, DiscoveredKind } from '../../ports/cluster.ts'
import type { WatcherConfig } from './config.ts'
import type { KindKey } from './kind/catalog.ts'
import { kindKey } from './kind/catalog.ts'

export interface AccountRightsDeps {
  readonly server: Pick<Cluster, 'mayI'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly config: Pick<WatcherConfig, 'concurrentReviews' | 'deniedMs'>
}

export class AccountRights {
  readonly #deps: AccountRightsDeps
  readonly #allowed = new Set<KindKey>()
  /** When (monotonic) each was last denied. */
  readonly #denied = new Map<KindKey, number>()

  constructor(deps: AccountRightsDeps) {
    this.#deps = deps
  }

  get denied(): ReadonlySet<KindKey> {
    return new Set(this.#denied.keys())
  }

  /**
   * About the kinds that are new, or were denied a while ago; what was answered stays when a later
   * one fails.
   */
  async ask(kinds: readonly DiscoveredKind[], signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#deps
    this.#forgetBut(new Set(kinds.map(kindKey)))
    const due = kinds.filter((kind) => {
      const deniedMs = this.#denied.get(kindKey(kind))
      if (deniedMs !== undefined) return clock.monotonicMs() - deniedMs >= config.deniedMs
      return !this.#allowed.has(kindKey(kind))
    })
    for (let at = 0; at < due.length; at += config.concurrentReviews) {
      const some = due.slice(at, at + config.concurrentReviews)
      await Promise.all(some.map((kind) => this.#review(kind, signal)))
    }
  }

  /** Kinds come and leave without end. */
  #forgetBut(present: ReadonlySet<KindKey>): void {
    for (const key of this.#allowed) if (!present.has(key)) this.#allowed.delete(key)
    for (const key of this.#denied.keys()) if (!present.has(key)) this.#denied.delete(key)
  }

  async #review(kind: DiscoveredKind, signal: AbortSignal): Promise<void> {
    const key = kindKey(kind)
    if (await mayWatch(this.#deps.server, kind, signal)) {
      this.#denied.delete(key)
      this.#allowed.add(key)
    } else {
      this.#denied.set(key, this.#deps.clock.monotonicMs())
    }
  }
}

/** Over all namespaces. */
export async function mayWatch(
  server: Pick<Cluster, 'mayI'>,
  kind: DiscoveredKind,
  signal: AbortSignal,
): Promise<boolean> {
  const resource = { ...kind, version: kind.versions[0] ?? '' }
  for (const verb of ['list', 'watch']) {
    if (!(await server.mayI(verb, resource, signal))) return false
  }
  return true
}
