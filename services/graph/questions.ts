/**
 * Puts together what answers questions in one process: the same for a running service and for a
 * test.
 */
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { type MarkSettings, NO_MARKS } from '../../ports/record/manager-mark.ts'
import { Cuts } from '../../runtime/shares/cuts.ts'
import { AuditFeed } from './actors/audit-feed.ts'
import type { Graph } from './graph.ts'
import type { DirectiveParts } from './orders/directive-http.ts'
import { createCascades } from './query/answer/cascade.ts'
import { createDependentList } from './query/answer/dependent-list.ts'
import { createDiffer, type Differ } from './query/answer/diff.ts'
import { createObjectList } from './query/answer/object-list.ts'
import { createQuery } from './query/answer/query.ts'
import { Access, type AccessParts } from './query/ask/access.ts'
import { createGraphDump } from './query/ask/graph-dump.ts'
import { inTurn, type QuestionParts } from './query/ask/question.ts'
import type { ActorIndex } from './query/index/actor-index.ts'
import type { HistoryIndex } from './query/index/history-index.ts'
import { createPlanner } from './query/plan/plan.ts'
import { Clusters } from './query/view/clusters.ts'
import { createForwarding } from './query/view/forward.ts'
import { createOpenView } from './query/view/open-view.ts'
import { hereOf, type LocalPartition } from './query/view/view.ts'
import { createDeletionOf } from './record/object-deletion.ts'

export interface QuestionsOptions {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly graph: Pick<Graph, 'owners'> & { readonly tasks: readonly LocalPartition[] }
  readonly index: HistoryIndex
  /** Undefined: no answer names the user who deleted an object. */
  readonly actors?: ActorIndex | undefined
  /** Of the process; undefined: of these questions alone. */
  readonly cuts?: Cuts | undefined
  /** Requests of audit logs that are kept of a day; undefined: as many as fit. */
  readonly auditKeptADay?: number | undefined
  /** Of other tools; left out: none is read. */
  readonly marks?: MarkSettings | undefined
  /** Undefined: every client that is let in may ask anything. */
  readonly access?: Omit<AccessParts, 'clusters' | 'clock'> | undefined
}

export interface Questions extends QuestionParts, DirectiveParts {
  readonly index: HistoryIndex
  readonly actors: ActorIndex | undefined
  readonly differ: Differ
  readonly marks: MarkSettings
  readonly audit: AuditFeed
}

const OPEN: Omit<AccessParts, 'clusters' | 'clock'> = {
  authority: undefined,
  isReadingReviewed: false,
}

export function createQuestions(options: QuestionsOptions): Questions {
  const { log, codec, clock, graph, index, actors, access = OPEN } = options
  const { cuts = new Cuts(clock), auditKeptADay: keptADay, marks = NO_MARKS } = options
  const clusters = new Clusters({ log, codec, clock, here: hereOf(graph), index })
  const open = createOpenView({ log, clock })
  return {
    ...{ log, codec, clock, clusters, index, actors, cuts, marks },
    forwarding: createForwarding({ clusters, owners: () => graph.owners(), clock }),
    access: new Access({ clusters, clock, ...access }),
    query: createQuery(
      clusters,
      index,
      createDeletionOf({ log, codec, index, clusters, actors }),
      marks,
    ),
    audit: new AuditFeed({ log, codec, clock, cuts, keptADay }),
    objectList: createObjectList(index, clusters),
    open,
    oneAtATime: inTurn('questions', cuts),
    differ: createDiffer(clusters),
    dependents: createDependentList(index),
    planner: createPlanner(),
    cascades: createCascades(index, clock),
    dump: createGraphDump(clusters),
  }
}
