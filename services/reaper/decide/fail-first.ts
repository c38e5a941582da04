/**
 * What a Pod is patched with before it is deleted by a rule that has it Failed first: a controller
 * that waits for a Failed Pod sees one.
 *
 * What must stay true: as upstream's pod collector does it. A Pod that has ended is not patched, so
 * none is twice: after a crash between both calls the Pod is judged and deleted as it is by then.
 *
 * Not here: the calls (../reap.ts), which rules do so (ports/rule).
 */
import type { Rule } from '../../../core/model/rule/rule.ts'
import { timeText } from '../../../core/model/text.ts'
import type { MergeChange } from '../../../ports/cluster.ts'

type Json = Readonly<Record<string, unknown>>

/** Undefined: it has ended. `text`: the Pod, whole. `now`: wall time. */
export function failedStatus(
  text: string,
  rule: Pick<Rule, 'absent'>,
  now: number,
): MergeChange | undefined {
  const status = mappingIn(JSON.parse(text), 'status')
  const { phase, conditions } = status
  if (phase === 'Succeeded' || phase === 'Failed') return undefined
  const failed = { phase: 'Failed' }
  // Upstream says so of Pods whose Node is gone, and of no others.
  if (rule.absent === null) return { status: failed }
  const all: readonly unknown[] = Array.isArray(conditions) ? conditions : []
  const others = all.filter((each) => !isDisruption(each))
  return { status: { ...failed, conditions: [...others, disruption(all.find(isDisruption), now)] } }
}

const DISRUPTION = 'DisruptionTarget'

function isDisruption(condition: unknown): condition is Json {
  return isMapping(condition) && condition['type'] === DISRUPTION
}

function disruption(former: Json | undefined, now: number): Json {
  // Times of conditions are whole seconds.
  const at = timeText(Math.floor(now / 1_000) * 1_000)
  const lastTransitionTime = former?.['status'] === 'True' ? former['lastTransitionTime'] : at
  return {
    ...{ type: DISRUPTION, status: 'True', reason: 'DeletionByPodGC', lastTransitionTime },
    message: 'kinfold: node no longer exists',
  }
}

function mappingIn(value: unknown, key: string): Json {
  const found = isMapping(value) ? value[key] : undefined
  return isMapping(found) ? found : {}
}

function isMapping(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
