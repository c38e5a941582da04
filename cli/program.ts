/**
 * All commands.
 *
 * What must stay true: of a command line that begins with a command, nothing of the others is
 * loaded, so that a question costs what it needs.
 *
 * Not here: how a command line is put together (command-line.ts), what the client has
 * (client-command.ts).
 */
import type { Command } from 'commander'
import { CLIENT_COMMANDS, type Commands } from './client-command.ts'
import { addVersion, programOf } from './command-line.ts'

const COMMANDS: Commands = {
  up: async () => (await import('./serve/up.ts')).addUp,
  playground: async () => (await import('./serve/playground.ts')).addPlayground,
  watcher: async () => (await import('./serve/service-command.ts')).addWatcher,
  graph: async () => (await import('./serve/service-command.ts')).addGraph,
  reaper: async () => (await import('./serve/service-command.ts')).addReaper,
  ...CLIENT_COMMANDS,
  delete: async () => (await import('./ask/delete.ts')).addDelete,
  rules: async () => (await import('./offline/rules.ts')).addAllRules,
  audit: async () => (await import('./offline/audit.ts')).addAudit,
  evidence: async () => (await import('./offline/evidence.ts')).addEvidence,
  restore: async () => (await import('./offline/restore.ts')).addRestore,
  backup: async () => (await import('./offline/backup.ts')).addBackup,
  upgrade: async () => (await import('./offline/upgrade-command.ts')).addUpgrade,
  config: async () => (await import('./setup/config-command.ts')).addConfig,
  doctor: async () => (await import('./setup/doctor.ts')).addDoctor,
  rbac: async () => (await import('./setup/rbac.ts')).addRbac,
  kubeconfig: async () => (await import('./setup/account-kubeconfig.ts')).addKubeconfig,
  topics: async () => (await import('./setup/topics.ts')).addTopics,
  completion: async () => (await import('./completion.ts')).addCompletion,
  version: async () => addVersion,
}

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS)

/**
 * For this command line; every command is in it unless the first word names one. `name`: how it was
 * called, for its help.
 */
export async function createProgram(
  words: readonly string[] = [],
  name = 'kinfold',
): Promise<Command> {
  return await programOf(COMMANDS, words, name)
}
