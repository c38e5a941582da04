/**
 * What answers say of an object beside its metadata: its verdict, and what holds that.
 *
 * What must stay true: it is read from the node alone. A verdict is shown as it was judged,
 * whatever holds it; what holds it is shown beside it.
 *
 * Not here: what prevents a command that was sent (obstacle.ts), who deleted it
 * (deletion-cause.ts).
 */
import type { Node } from '../../../../core/model/node.ts'
import { admissionOf } from '../../../../core/model/node.ts'
import type { Unshaped } from '../../api/document.ts'
import type { Judged as AnsweredJudged } from '../../api/part-schema.ts'
import { knownDeletion } from '../../fold/known-object.ts'

type Judged = Unshaped<AnsweredJudged>

/** Of an object that is no node. */
export const NOT_JUDGED: Judged = { verdict: null, admission: null, doubt: null, deletion: null }

export function judgedOf(node: Node): Judged {
  const { verdict, doubt } = node
  return {
    verdict: verdict && { type: verdict.type, because: verdict.because },
    admission: admissionOf(node),
    doubt,
    deletion: knownDeletion(node),
  }
}
