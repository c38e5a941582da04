/**
 * Says once, in the log, that everything is ready, and what to ask first.
 *
 * What must stay true: it says so when `/readyz` would, and what was published by then is folded:
 * the questions that it names know the kinds that were listed.
 */
import type { Mode } from '../../core/model/policy.ts'
import { shellWord } from '../../core/model/text.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Check, isReady } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Graph } from '../../services/graph/graph.ts'
import type { Watcher } from '../../services/watcher/watcher.ts'
import { defaultDataDirectory } from '../config/data-directory.ts'

const EVERY_MS = 200

export interface Readiness {
  readonly checks: () => readonly Check[]
  readonly watchers: readonly Pick<Watcher, 'status'>[]
  readonly graph: Pick<Graph, 'status'>
  readonly mode: Mode
  readonly data: string
}

export async function sayReady(
  { checks, watchers, graph, mode, data }: Readiness,
  clock: Clock,
  logger: Logger,
  signal: AbortSignal,
  onReady: () => void = () => undefined,
): Promise<void> {
  while (!signal.aborted && !isReady(checks())) await clock.sleep(EVERY_MS, signal)
  const ends = graph.status().map(({ position, lagEntries }) => position + lagEntries)
  const isFolded = (): boolean =>
    graph.status().every(({ position }, index) => position >= (ends[index] ?? 0n))
  while (!signal.aborted && !isFolded()) await clock.sleep(EVERY_MS, signal)
  if (signal.aborted) return
  onReady()
  const kinds = new Set(watchers.flatMap((watcher) => watcher.status().kinds.map(nameOf)))
  const first =
    data === defaultDataDirectory() ? FIRST[mode] : `${FIRST[mode]} --data ${shellWord(data)}`
  logger.log('info', 'ready', { clusters: watchers.length, kinds: kinds.size, try: first })
}

/** What a user of this mode wants to see. */
const FIRST: Readonly<Record<Mode, string>> = {
  observe: 'kinfold shadow',
  'dry-run': 'kinfold held',
  enforce: 'kinfold held',
}

function nameOf({
  group,
  resource,
}: {
  readonly group: string
  readonly resource: string
}): string {
  return `${resource}.${group}`
}
