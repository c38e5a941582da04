/**
 * The commands that only ask a running Kinfold, or give it an order: all that the client has, a
 * bundle that needs nothing of the rest (scripts/release/client.ts).
 *
 * What must stay true: none of them loads an adapter or a service; a command that opens a log or a
 * cluster belongs to program.ts.
 */
import type { Command } from 'commander'

export type Add = (program: Command) => void
/** Command → what adds it, in the order of `--help`. */
export type Commands = Readonly<Record<string, () => Promise<Add>>>

const directives = async (): Promise<Add> => (await import('./ask/directive.ts')).addDirectives
const forget = async (): Promise<Add> => (await import('./order/forget.ts')).addForget

export const CLIENT_COMMANDS: Commands = {
  status: async () => (await import('./ask/status.ts')).addStatus,
  get: async () => (await import('./ask/get.ts')).addGet,
  tree: async () => (await import('./ask/tree.ts')).addTree,
  why: async () => (await import('./ask/why.ts')).addWhy,
  history: async () => (await import('./ask/history.ts')).addHistory,
  deletions: async () => (await import('./ask/deletions.ts')).addDeletions,
  diff: async () => (await import('./ask/diff.ts')).addDiff,
  cascade: async () => (await import('./ask/cascade.ts')).addCascade,
  plan: async () => (await import('./ask/plan.ts')).addPlan,
  held: async () => (await import('./ask/held.ts')).addHeld,
  finalizers: async () => (await import('./ask/finalizers.ts')).addFinalizers,
  rules: async () => (await import('./ask/rules.ts')).addRules,
  pause: directives,
  resume: directives,
  protect: directives,
  unprotect: directives,
  approve: directives,
  reject: directives,
  'close-breaker': directives,
  'confirm-clock': directives,
  'forget-cluster': forget,
  'remember-cluster': forget,
  lineage: async () => (await import('./ask/lineage.ts')).addLineage,
  shadow: async () => (await import('./ask/shadow.ts')).addShadow,
  audit: async () => (await import('./ask/horizon.ts')).addAuditQuestions,
}
