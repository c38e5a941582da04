/**
 * Whether what is to be deleted is archived first, of which kinds also what others delete, and how:
 * flags, and the section `archive` of the config file.
 *
 * What must stay true: Secrets are archived encrypted or not at all; a key that is none ends the
 * start, and so does a kind that is not watched, and an archive that would stay empty since Kinfold
 * deletes nothing.
 */
import type { Command } from 'commander'
import type { Mode } from '../../core/model/policy.ts'
import { openArchiveKey } from '../../runtime/archive/archive-key.ts'
import type { ArchiveSettings } from '../../runtime/archive/archive-record.ts'
import { IGNORED_KINDS } from '../../services/watcher/config.ts'
import type { ArchivedKinds } from '../../services/watcher/publish/deletion-archive.ts'
import { nameOf } from '../print/kind-name.ts'
import { listedKinds } from './listed-kind.ts'
import { bad, bytes, checkKey, duration, flag, type Setting, text } from './setting.ts'

export interface ArchiveFlags {
  readonly archive?: boolean
  readonly archiveSecrets?: boolean
  readonly archiveKeyFile?: string
  readonly archiveKinds?: string
}

export interface ArchiveConfig {
  /** Undefined: nothing is archived. */
  readonly settings: ArchiveSettings | undefined
  /** Of these also what others delete; undefined: of none. */
  readonly observed: ArchivedKinds | undefined
  /** How long records stay; undefined: as long as they do by default. */
  readonly keepMs: number | undefined
  /** What the archive of an embedded log may have; undefined: a part of the file system. */
  readonly mostBytes: number | undefined
}

/** What the other settings have: kinds to watch, and to leave out. */
export interface OtherSettings {
  readonly mode: Mode
  readonly kinds: readonly string[] | null
  readonly ignoreKinds: readonly string[]
}

/** Of what a person would have again; they work in each mode. */
export const KINDS_EXAMPLE = '--archive-kinds deployments.apps,configmaps'

const KEYS = ['enabled', 'kinds', 'secrets', 'keyFile', 'keep', 'maxSize']

export function addArchiveOptions(command: Command): Command {
  return command
    .option(
      '--archive',
      'put each object away, whole, before Kinfold deletes it: no archive, no delete',
    )
    .option('--archive-secrets', 'Secrets too; takes --archive-key-file')
    .option('--archive-key-file <file>', 'encrypt with it: 32 bytes, plain, hexadecimal or base64')
}

/** For processes that watch. */
export function addArchiveKindsOption(command: Command): Command {
  const hint = 'kinds of which also what others delete is put away, as deployments.apps,configmaps'
  return command.option('--archive-kinds <list>', hint)
}

export function archiveConfig(
  flags: ArchiveFlags,
  section: unknown,
  file: string,
  others: OtherSettings,
): ArchiveConfig {
  const from = mapping(section, file)
  const pick = (key: string, option: string, value: unknown): Setting => ({
    key,
    value: value ?? from[key],
    from: value === undefined ? `${file}: archive.${key}` : `--${option}`,
  })
  const switchedOn = pick('enabled', 'archive', flags.archive)
  const enabled = flag(switchedOn)
  const secrets = pick('secrets', 'archive-secrets', flags.archiveSecrets)
  const kinds = pick('kinds', 'archive-kinds', flags.archiveKinds)
  const listed = listedKinds(kinds)?.map(nameOf)
  const keySetting = pick('keyFile', 'archive-key-file', flags.archiveKeyFile)
  const keyFile = text(keySetting)
  const keepMs = duration(pick('keep', 'archive-keep', undefined))
  const mostBytes = bytes(pick('maxSize', 'archive-max-size', undefined))
  const withSecrets = flag(secrets) ?? false
  if (withSecrets && keyFile === undefined) {
    throw bad(
      `${secrets.from}: Secrets are archived encrypted only; name a file with a key (--archive-key-file)`,
    )
  }
  if (listed !== undefined) checkObserved(listed, kinds.from, withSecrets, others)
  const given = [withSecrets && secrets, listed && kinds, keyFile !== undefined && keySetting]
  const meant = given.find((each) => typeof each === 'object')
  if (enabled === undefined && meant !== undefined) {
    throw bad(`${meant.from}: nothing is archived without --archive (archive.enabled); add it`)
  }
  if (enabled !== true) return { settings: undefined, observed: undefined, keepMs, mostBytes }
  if (others.mode === 'observe' && (listed ?? []).length === 0) {
    throw bad(
      `${switchedOn.from}: in mode observe Kinfold deletes nothing, so nothing would be archived: name kinds of which what others delete is archived, such as ${KINDS_EXAMPLE} (archive.kinds)`,
    )
  }
  const key = keyFile === undefined ? undefined : openArchiveKey(keyFile)
  const settings = { secrets: withSecrets, key }
  const observed = listed && { ...settings, kinds: new Set(listed) }
  return { settings, observed, keepMs, mostBytes }
}

function checkObserved(
  listed: readonly string[],
  from: string,
  withSecrets: boolean,
  { kinds, ignoreKinds }: OtherSettings,
): void {
  if (listed.includes('secrets') && !withSecrets) {
    throw bad(
      `${from}: Secrets are archived encrypted only; take --archive-secrets (archive.secrets) and a key`,
    )
  }
  for (const name of listed) {
    const isLeftOut = [...ignoreKinds, ...IGNORED_KINDS].includes(name)
    if (!isLeftOut && (kinds?.includes(name) ?? true)) continue
    throw bad(`${from}: ${name} is not watched, so none of its deletions is observed: watch it`)
  }
}

function mapping(section: unknown, file: string): Record<string, unknown> {
  if (section === undefined) return {}
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${file}: archive: expected a mapping such as { enabled: true }`)
  }
  for (const key of Object.keys(section)) checkKey(key, KEYS, `${file}: archive`)
  return section as Record<string, unknown>
}
