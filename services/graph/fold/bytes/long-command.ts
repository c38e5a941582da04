/**
 * A command about an object with many owner references, as it is on the log: with a digest of the
 * list in place of it, and the references that it drops.
 *
 * What must stay true: the digest resists tampering, since a DELETE that met another version is
 * sent again where the list is the one it was judged by (services/reaper/decide/settle.ts).
 * Commands with lists of usual length are on the log as the fold made them.
 *
 * Not here: how results name such a list (edited-object.ts).
 */
import { type Command, droppedBy } from '../../../../core/model/command.ts'
import { LONG_LIST } from '../../../../core/model/constant.ts'
import type { OwnerReference } from '../../../../core/model/object.ts'
import { listDigest } from '../../../../runtime/list-digest.ts'

export function loggedCommand(command: Command): Command {
  if (command.type !== 'DeleteObject' && command.type !== 'OrphanDependent') return command
  const { references } = command
  if (references.length <= LONG_LIST) return command
  return { ...command, references: keptOf(command), listDigest: digestOf(references) }
}

function keptOf(command: Extract<Command, { references: unknown }>): readonly OwnerReference[] {
  if (command.type === 'DeleteObject') return []
  return [...droppedBy(command).values()].filter((reference) => reference !== undefined)
}

/**
 * Of lists of the state, which never change: an object's commands are many where its owners are.
 */
const digests = new WeakMap<readonly OwnerReference[], string>()

function digestOf(references: readonly OwnerReference[]): string {
  const known = digests.get(references)
  if (known !== undefined) return known
  const digest = listDigest(references)
  digests.set(references, digest)
  return digest
}
