/**
 * The commands that only ask a running Kinfold, or give it an order: all that the client has, a bundle that needs nothing of the rest (scripts/client.ts).
 *
 * What must stay true: none of them loads an adapter or a service; a command that opens a log or a cluster belongs to program.ts.
 */
import type { Command } from 'commander'

export type Add = (program: Command) => void
/** Command → what adds it, in the order of `--help`. */
export type Commands = Readonly<Record<string, () => Promise<Add>>>

const directives = async (): Promise<Add> => (await import('./directive.ts')).addDirectives

export const CLIENT_COMMANDS: Commands = {
  status: async () => (await import('./status.ts')).addStatus,
  get: async () => (await import('./get.ts')).addGet,
  tree: async () => (await import('./tree.ts')).addTree,
  why: async () => (await import('./why.ts')).addWhy,
  history: async () => (await import('./history.ts')).addHistory,
  deletions: async () => (await import('./deletions.ts')).addDeletions,
  diff: async () => (await import('./diff.ts')).addDiff,
  cascade: async () => (await import('./cascade.ts')).addCascade,
  plan: async () => (await import('./plan.ts')).addPlan,
  held: async () => (await import('./held.ts')).addHeld,
  pause: directives,
  resume: directives,
  protect: directives,
  unprotect: directives,
  approve: directives,
  reject: directives,
  'close-breaker': directives,
  'confirm-clock': directives,
  lineage: async () => (await import('./lineage.ts')).addLineage,
  shadow: async () => (await import('./shadow.ts')).addShadow,
  audit: async () => (await import('./horizon.ts')).addAuditQuestions,
}
