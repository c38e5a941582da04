/**
 * A comparison as it is answered: clusters by name and id, as in every answer. What is stored of it
 * keeps the names of its time (shadow-report.ts).
 */
import type { Shadow } from '../api/answer-schema.ts'
import type { AnswerOf } from '../api/document.ts'
import { clusterRefs } from '../api/document.ts'
import type { ShadowReport } from './shadow-report.ts'

export type ShadowAnswer = AnswerOf<Shadow>

export function shadowAnswer(report: ShadowReport): ShadowAnswer {
  const { clusters, cases, ...rest } = report
  const all = [...cases, ...clusters]
  const refOf = clusterRefs(all.map(({ cluster: id, clusterName: name }) => ({ id, name })))
  return {
    ...rest,
    clusters: clusters.map(({ cluster, clusterName: _, ...each }) => ({
      cluster: refOf(cluster),
      ...each,
    })),
    cases: cases.map(({ cluster, clusterName: _, ...each }) => ({
      cluster: refOf(cluster),
      ...each,
    })),
  }
}
