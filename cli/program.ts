/**
 * All commands.
 *
 * What must stay true: of a command line that begins with a command, nothing of the others is loaded, so that a question costs what it needs.
 *
 * Not here: how a command line is put together (command-line.ts), what the client has (client-command.ts).
 */
import type { Command } from 'commander'
import { CLIENT_COMMANDS, type Commands } from './client-command.ts'
import { addVersion, programOf } from './command-line.ts'

const COMMANDS: Commands = {
  up: async () => (await import('./up.ts')).addUp,
  playground: async () => (await import('./playground.ts')).addPlayground,
  watcher: async () => (await import('./service-command.ts')).addWatcher,
  graph: async () => (await import('./service-command.ts')).addGraph,
  reaper: async () => (await import('./service-command.ts')).addReaper,
  ...CLIENT_COMMANDS,
  delete: async () => (await import('./delete.ts')).addDelete,
  audit: async () => (await import('./audit.ts')).addAudit,
  evidence: async () => (await import('./evidence.ts')).addEvidence,
  restore: async () => (await import('./restore.ts')).addRestore,
  backup: async () => (await import('./backup.ts')).addBackup,
  upgrade: async () => (await import('./upgrade-command.ts')).addUpgrade,
  config: async () => (await import('./config-command.ts')).addConfig,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  rbac: async () => (await import('./rbac.ts')).addRbac,
  kubeconfig: async () => (await import('./account-kubeconfig.ts')).addKubeconfig,
  topics: async () => (await import('./topics.ts')).addTopics,
  completion: async () => (await import('./completion.ts')).addCompletion,
  version: async () => addVersion,
}

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS)

/** For this command line; every command is in it unless the first word names one. `name`: how it was called, for its help. */
export async function createProgram(
  words: readonly string[] = [],
  name = 'kinfold',
): Promise<Command> {
  return await programOf(COMMANDS, words, name)
}
