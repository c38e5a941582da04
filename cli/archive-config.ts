/**
 * Whether what is to be deleted is archived first, and how: flags, and the section `archive` of the config file.
 *
 * What must stay true: Secrets are archived encrypted or not at all; a key that is none ends the start.
 */
import type { Command } from 'commander'
import { openArchiveKey } from '../runtime/archive-key.ts'
import type { ArchiveSettings } from '../runtime/archive-record.ts'
import { bad, checkKey, duration, flag, type Setting, text } from './setting.ts'

export interface ArchiveFlags {
  readonly archive?: boolean
  readonly archiveSecrets?: boolean
  readonly archiveKeyFile?: string
}

export interface ArchiveConfig {
  /** Undefined: nothing is archived. */
  readonly settings: ArchiveSettings | undefined
  /** How long records stay; undefined: as long as they do by default. */
  readonly keepMs: number | undefined
}

const KEYS = ['enabled', 'secrets', 'keyFile', 'keep']

export function addArchiveOptions(command: Command): Command {
  return command
    .option('--archive', 'put each object away, whole, before it is deleted: no archive, no delete')
    .option('--archive-secrets', 'Secrets too; takes --archive-key-file')
    .option('--archive-key-file <file>', 'encrypt with it: 32 bytes, plain, hexadecimal or base64')
}

export function archiveConfig(flags: ArchiveFlags, section: unknown, file: string): ArchiveConfig {
  const from = mapping(section, file)
  const pick = (key: string, option: string, value: unknown): Setting => ({
    key,
    value: value ?? from[key],
    from: value === undefined ? `${file}: archive.${key}` : `--${option}`,
  })
  const enabled = flag(pick('enabled', 'archive', flags.archive))
  const secrets = pick('secrets', 'archive-secrets', flags.archiveSecrets)
  const keySetting = pick('keyFile', 'archive-key-file', flags.archiveKeyFile)
  const keyFile = text(keySetting)
  const keepMs = duration(pick('keep', 'archive-keep', undefined))
  const withSecrets = flag(secrets) ?? false
  if (withSecrets && keyFile === undefined) {
    throw bad(
      `${secrets.from}: Secrets are archived encrypted only; name a file with a key (--archive-key-file)`,
    )
  }
  const meant = withSecrets ? secrets : keyFile === undefined ? undefined : keySetting
  if (enabled === undefined && meant !== undefined) {
    throw bad(`${meant.from}: nothing is archived without --archive (archive.enabled); add it`)
  }
  if (enabled !== true) return { settings: undefined, keepMs }
  const key = keyFile === undefined ? undefined : openArchiveKey(keyFile)
  return { settings: { secrets: withSecrets, key }, keepMs }
}

function mapping(section: unknown, file: string): Record<string, unknown> {
  if (section === undefined) return {}
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${file}: archive: expected a mapping such as { enabled: true }`)
  }
  for (const key of Object.keys(section)) checkKey(key, KEYS, `${file}: archive`)
  return section as Record<string, unknown>
}
