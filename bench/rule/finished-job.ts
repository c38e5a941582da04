/**
 * Finished Jobs on a real server, each with a time to live, and the config of the rule that deletes
 * them.
 *
 * What must stay true: a Job is as the Job controller leaves it, and all are there before anything
 * is measured; when one is due was decided before.
 *
 * Not here: what is measured (expiry.ts).
 */
import { stringify } from 'yaml'
import { configRules } from '../../cli/config/config-rules.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { ControlPlane } from '../../testing/cluster/control-plane.ts'
import { mergePatch } from '../../testing/process/objects.ts'

/** Another tenant's than the cascades beside them. */
const NAMESPACE = 'jobs'
export const JOBS: string = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`
/** They finished long ago, so that none has finished in the future. */
const TTL_S = 7_200
/** Concurrent requests; more only wait in the server. */
const IN_FLIGHT = 32

export interface RuleConfig {
  readonly rule: Rule
  /** A config file with it. */
  readonly yaml: string
}

/** The built-in rule, or the same with another policy of propagation. */
export function jobRule(isForeground: boolean): RuleConfig {
  const rules = [isForeground ? { builtin: 'finished-jobs' } : IN_BACKGROUND]
  const [rule] = configRules(rules, 'rules')
  if (rule === undefined) throw new Error('no rule')
  return { rule, yaml: stringify({ apiVersion: 'kinfold/v1alpha1', kind: 'Config', rules }) }
}

const COMPLETE = 'status.conditions[type=Complete]'

const IN_BACKGROUND = {
  name: 'finished-jobs',
  match: { kinds: ['Job.batch'] },
  cases: [
    {
      when: { [`${COMPLETE}.status`]: 'True' },
      since: { field: `${COMPLETE}.lastTransitionTime` },
      after: { seconds: 'spec.ttlSecondsAfterFinished' },
    },
  ],
}

export function jobName(index: number): string {
  return `job-${index}`
}

/** Not finished yet. */
export async function createJobs(plane: ControlPlane, count: number): Promise<void> {
  await plane.request('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  const container = { name: 'main', image: 'none.invalid/none' }
  const template = { spec: { restartPolicy: 'Never', containers: [container] } }
  const spec = { ttlSecondsAfterFinished: TTL_S, template }
  await eachOf(count, async (index) => {
    const body = { metadata: { name: jobName(index) }, spec }
    const answer = await plane.request('POST', JOBS, body)
    if (answer.status === 201) return
    throw new Error(`POST ${JOBS}: ${answer.status} ${JSON.stringify(answer.body)}`)
  })
}

/** `dueMs`: wall time at which each is due, in whole seconds. */
export async function finishJobs(plane: ControlPlane, dueMs: readonly number[]): Promise<void> {
  await eachOf(dueMs.length, async (index) => {
    const at = new Date((dueMs[index] ?? 0) - TTL_S * 1_000).toISOString().replace('.000', '')
    const condition = { status: 'True', lastTransitionTime: at, lastProbeTime: at }
    const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, ...condition }))
    const status = { startTime: at, completionTime: at, succeeded: 1, conditions }
    await mergePatch(plane, `${JOBS}/${jobName(index)}/status`, { status })
  })
}

async function eachOf(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const some = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, some))
}
