/** Puts together what answers questions in one process: the same for a running service and for a test. */
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Log } from '../../ports/log.ts'
import { Cuts } from '../../runtime/cuts.ts'
import { AuditFeed } from './actors/audit-feed.ts'
import type { Graph } from './graph.ts'
import type { DirectiveParts } from './orders/directive-http.ts'
import { type AccessParts, createAccess } from './query/access.ts'
import type { ActorIndex } from './query/actor-index.ts'
import { createCascades } from './query/cascade.ts'
import { createClusters } from './query/clusters.ts'
import { createDependentList } from './query/dependent-list.ts'
import { createForwarding } from './query/forward.ts'
import { createGraphDump } from './query/graph-dump.ts'
import type { HistoryIndex } from './query/history-index.ts'
import { createObjectList } from './query/object-list.ts'
import { createPast } from './query/past.ts'
import { createPastDiff, type PastDiff } from './query/past-diff.ts'
import { createPastList } from './query/past-list.ts'
import { createPlanner } from './query/plan.ts'
import { createQuery } from './query/query.ts'
import type { QuestionParts } from './query/question.ts'
import { hereOf, type LocalPartition } from './query/view.ts'
import { createDeletionOf } from './record/object-deletion.ts'

export interface QuestionsOptions {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly graph: Pick<Graph, 'owners'> & { readonly tasks: readonly LocalPartition[] }
  readonly index: HistoryIndex
  /** Undefined: nobody is named as who deleted something. */
  readonly actors?: ActorIndex | undefined
  /** Of the process; undefined: of these questions alone. */
  readonly cuts?: Cuts | undefined
  /** Requests of audit logs that are kept of a day; undefined: as many as fit. */
  readonly auditKeptADay?: number | undefined
  /** Undefined: whoever is let in may ask anything. */
  readonly access?: Omit<AccessParts, 'clusters' | 'clock'> | undefined
}

export interface Questions extends QuestionParts, DirectiveParts {
  readonly index: HistoryIndex
  readonly actors: ActorIndex | undefined
  readonly pastDiff: PastDiff
  readonly audit: AuditFeed
}

const OPEN: Omit<AccessParts, 'clusters' | 'clock'> = {
  authority: undefined,
  isReadingReviewed: false,
}

export function createQuestions(options: QuestionsOptions): Questions {
  const { log, codec, clock, graph, index, actors, access = OPEN } = options
  const { cuts = new Cuts(clock), auditKeptADay: keptADay } = options
  const clusters = createClusters({ log, codec, clock, here: hereOf(graph), index })
  return {
    ...{ log, codec, clock, clusters, index, actors, cuts },
    forwarding: createForwarding({ clusters, owners: () => graph.owners(), clock }),
    access: createAccess({ clusters, clock, ...access }),
    query: createQuery(clusters, index, createDeletionOf({ log, codec, index, clusters, actors })),
    audit: new AuditFeed({ log, codec, clock, cuts, keptADay }),
    objectList: createObjectList(index, clusters),
    spans: index.spans,
    past: createPast({ log, clock, index }),
    pastList: createPastList(index, clusters),
    pastDiff: createPastDiff(index, clusters),
    dependents: createDependentList(index),
    planner: createPlanner(),
    cascades: createCascades(index, clock),
    dump: createGraphDump(clusters, index),
  }
}
