/**
 * Whether a rule is as it was when a user reviewed it: only that one is enforced.
 *
 * What must stay true: an order to enforce a rule is taken only where the policy has a rule of that
 * name and digest, in each partition that folds here. The fold compares them once more.
 *
 * Not here: suspending, which is never refused; what an enforced rule deletes (core/judge/rule.ts).
 */
import { policyOf } from '../../../core/graph/graph.ts'
import { reportOf } from '../../../core/model/rule/report.ts'
import type { Rule } from '../../../core/model/rule/rule.ts'
import { digestOf } from '../../../core/model/rule/rule.ts'
import { shellWord } from '../../../core/model/text.ts'
import type { Log } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { RULE_BOOK_KEY } from '../../../ports/record/control-key.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import type { Clusters } from '../query/view/clusters.ts'
import type { Order } from './directive-order.ts'

export interface RuleCheckParts {
  readonly clusters: Clusters
  readonly log: Log
  readonly codec: Codec
}

/** Throws `Problem`. */
export async function checkRule(
  parts: RuleCheckParts,
  { verb, subject, digest }: Order,
): Promise<void> {
  if (verb !== 'enforce-rule') return
  const policies = await policiesOf(parts)
  const named = policies.map((rules) => rules.find(({ name }) => name === subject))
  if (named.every((rule) => rule === undefined)) {
    const names = [...new Set(policies.flat().map(({ name }) => name))].join(', ')
    throw new Problem(404, `there is no rule ${subject}; rules: ${names || 'none'}`)
  }
  const report = named.map((rule) => rule && reportOf(rule)).find((each) => each)
  if (report !== undefined) {
    throw new Problem(409, `rule ${subject} only reports, so nothing enforces it (${report})`)
  }
  if (named.every((rule) => rule !== undefined && digestOf(rule) === digest)) return
  throw new Problem(
    409,
    `the rule is another by now: read it with "kinfold rules explain ${shellWord(subject)}", then enforce that one`,
  )
}

/**
 * The rules of each partition that folds here. Where there is none those that reapers read, which
 * the process that has a partition publishes before it folds them.
 */
async function policiesOf({
  clusters,
  log,
  codec,
}: RuleCheckParts): Promise<readonly (readonly Rule[])[]> {
  const folded = Array.from({ length: clusters.partitions }, (_, partition) => {
    const here = clusters.here(partition)
    if (here?.status().state !== 'folding') return []
    const { policy, position } = policyOf(clusters.readerOf(here))
    return position < 0n ? [] : [policy.rules]
  }).flat()
  if (folded.length > 0) return folded
  const book = (await log.latest('orders', 0)).find(({ key }) => key === RULE_BOOK_KEY)
  const record = book?.value == null ? undefined : codec.decode(book.value)
  if (record?.type === 'RuleBook') return [record.rules]
  throw new Problem(503, 'the rules are not known here yet: ask again later')
}
