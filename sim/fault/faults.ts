/**
 * Every fault that a world knows, by its row, those that happen by themselves, and why others are
 * not here.
 *
 * What must stay true: a fault counts only when it happened: the thing that it breaks did break.
 * Each row that could be simulated is in one of the three lists.
 *
 * Not here: the type of a fault (model.ts).
 */

import type { Fault, World } from '../model.ts'
import type { ScheduledFault } from '../options.ts'
import type { Users } from '../workload.ts'
import { approvalFaults } from './approvals.ts'
import { assignmentFaults } from './assignments.ts'
import { conditionFaults } from './condition-faults.ts'
import { configFaults } from './configured.ts'
import { elsewhereFaults } from './elsewhere-faults.ts'
import { lifeFaults } from './life-faults.ts'
import { logFaults } from './log-faults.ts'
import { networkFaults } from './network-faults.ts'
import { policyFaults } from './policy-tenant.ts'
import { processFaults } from './process-faults.ts'
import { ruleFaults } from './rule-faults.ts'
import { streamFaults } from './stream-faults.ts'
import { tenantFaults } from './tenant.ts'

export interface Begun {
  end(): void
}

export const FAULTS: readonly Fault[] = [
  ...networkFaults,
  ...streamFaults,
  ...logFaults,
  ...processFaults,
  ...lifeFaults,
  ...approvalFaults,
  ...configFaults,
  ...assignmentFaults,
  ...tenantFaults,
  ...ruleFaults,
  ...policyFaults,
  ...conditionFaults,
  ...elsewhereFaults,
]

export function beginFault(world: World, users: readonly Users[], fault: ScheduledFault): Begun {
  const found = FAULTS.find(({ row }) => row === fault.row)
  if (found === undefined) throw new Error(`there is no fault ${fault.row}`)
  const end = found.begin({ world, users, fault })
  return { end: () => end?.() }
}

/** Not drawn: they happen in every world that has their preconditions, and are counted there. */
export const BY_THEMSELVES: Readonly<Record<string, string>> = {
  F10: 'with F9, when an object that was deleted exists again',
  F25: 'users write references to kinds in groups that are not served',
  F27: 'a tenant writes references with longer kinds than are taken in',
  F62: 'each log is folded again at the end, in other batches',
  F66: 'users misspell names, kinds and versions',
  F73: 'users delete an object and create another one under its name',
  F74: 'users delete objects that a finalizer of their own holds',
  rule: 'in worlds with rules, when one deletes an object',
  'unused rule': 'in worlds with such rules, when one deletes an object',
  'keep rule': 'in worlds with such rules, when one deletes an object',
  'absent rule': 'in worlds with such rules, when one deletes an object',
  'elsewhere rule': 'in worlds with such rules, when one deletes an object',
  'policy rule': 'in worlds with policies of namespaces, when one deletes an object',
  'cluster policy rule': 'in worlds with policies of clusters, when one deletes an object',
  'policy forbidden':
    'in worlds with policies of namespaces, when the account of one may not delete an object',
  'rule enforced': 'in worlds with rules, a person enforces them, again where that is lost',
  F92: 'in guarded worlds with small budgets, when a budget is spent and graph processes have restarted',
}

/** Rows of simulation that happen in no world, and the tests that show them instead. */
export const UNCOVERED: Readonly<Record<string, string>> = {
  F34: 'records have no sequence per source; an append that is made twice after a lost answer is F38',
  F35: 'records have no sequence per source',
  F36: 'records have no sequence per source',
  F42: 'it is compared where stores and logs are opened, before the loops begin',
  F50: 'a cluster is one partition: no owner is in another one than its dependents',
  F96: 'commands are not signed',
  F99: 'one version of the fold decides for a partition',
}
