/**
 * The settings of `kinfold up`: a YAML file, overridden by flags.
 *
 * What must stay true: an unknown key or a value out of its range ends the start with a sentence
 * that names it; nothing is guessed.
 */
import type { Command } from 'commander'
import type { Budgets, Holds, Mode, Policy, Preset, Protection } from '../../core/model/policy.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { MarkSettings } from '../../ports/record/manager-mark.ts'
import { makeDirectory } from '../../runtime/directory.ts'
import type { TlsFiles } from '../../runtime/http/tls.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { Level, LogFormat } from '../../runtime/logger.ts'
import { DEFAULT_RETENTION, type RetentionConfig } from '../../services/graph/fold/retention.ts'
import type { LockWanted } from '../../services/reaper/lock.ts'
import { nameOf } from '../print/kind-name.ts'
import { marksOf, sharesOf } from './across-config.ts'
import { type ArchiveConfig, type ArchiveFlags, archiveConfig } from './archive-config.ts'
import { readConfigFile } from './config-file.ts'
import { configRules } from './config-rules.ts'
import { defaultDataDirectory } from './data-directory.ts'
import { approvalsOf, budgetsOf, holdsOf, mayRemoveOf, rememberOf } from './guard-config.ts'
import { type AuthorityConfig, httpAuthority } from './http-authority.ts'
import { kindSelection, listedKinds } from './listed-kind.ts'
import { type NotifyConfig, notifyConfig } from './notify-config.ts'
import { protectionOf } from './protection-config.ts'
import { bad, bytes, duration, flagOf, oneOf, type Setting, text, texts, whole } from './setting.ts'

export interface UpConfig extends AuthorityConfig {
  readonly kubeconfig: string | undefined
  readonly contexts: readonly string[]
  readonly data: string
  readonly mode: Mode
  readonly preset: Preset
  /** As the preset has them, but for what the file says. */
  readonly holds: Holds
  readonly budgets: Budgets | null
  /** How many people have to approve what waits for approval. */
  readonly approvals: number
  /** As the preset has it, and what the file adds. */
  readonly protection: Protection
  /** What is deleted for another reason than its owners; in dry run until an order enforces it. */
  readonly rules: readonly Rule[]
  /** Finalizers of others that an order may remove. */
  readonly mayRemove: readonly string[]
  /** By which answers find what a manager has in other clusters. */
  readonly marks: MarkSettings
  readonly lock: LockWanted
  /** To watch, as `deployments.apps`; null: all that a cluster serves. */
  readonly kinds: readonly string[] | null
  /** To leave out, the same way. */
  readonly ignoreKinds: readonly string[]
  /** Of these only what the account may list and watch. */
  readonly onlyAllowed: boolean
  /** Undefined: as many as the log has; a new one gets one. */
  readonly partitions: number | undefined
  readonly http: string
  /** What requests must show; undefined: nothing, on loopback. */
  readonly httpTokenFile: string | undefined
  /** What may be shown for the metrics alone. */
  readonly httpMetricsTokenFile: string | undefined
  /**
   * Of clusters whose API servers send their audit events; undefined: none has a token of its own.
   */
  readonly auditTokenFile: string | undefined
  readonly httpAdvertise: string | undefined
  /** Undefined: plain HTTP. */
  readonly httpTls: TlsFiles | undefined
  /** Whom this process trusts as well, where it asks another one of its service. */
  readonly httpTlsCaFile: string | undefined
  readonly logLevel: Level
  /** Undefined: text on a terminal, JSON otherwise. */
  readonly logFormat: LogFormat | undefined
  readonly keepMs: number
  readonly keepEvents: number
  /**
   * How long what facts were can be asked. Zero: not at all, and nothing is kept of it. Null: as
   * long as events are kept.
   */
  readonly keepPastMs: number | null
  readonly rememberMs: number
  readonly snapshotEvents: number
  /**
   * Of the data directory's disk: with less free nothing is deleted. Undefined: by the sizes of log
   * and disk.
   */
  readonly diskReserveBytes: number | undefined
  readonly archive: ArchiveConfig
  /** Receivers of a notification about what waits for a person; undefined: there are none. */
  readonly notify: NotifyConfig | undefined
}

/** As commander gives them; undefined where not given. */
export interface UpFlags extends ArchiveFlags {
  readonly kubeconfig?: string
  readonly context?: readonly string[]
  readonly data?: string
  readonly mode?: string
  readonly preset?: string
  readonly lock?: string
  readonly kinds?: string
  readonly ignoreKinds?: string
  readonly partitions?: string
  readonly http?: string
  readonly httpTokenFile?: string
  readonly httpMetricsTokenFile?: string
  readonly httpAdvertise?: string
  readonly httpTlsCertFile?: string
  readonly httpTlsKeyFile?: string
  readonly httpTlsCaFile?: string
  readonly httpAuth?: string
  readonly httpAuthorize?: string
  readonly auditTokenFile?: string
  readonly logLevel?: string
  readonly logFormat?: string
  readonly config?: string
}

const MODES: readonly Mode[] = ['observe', 'dry-run', 'enforce']
export const PRESETS: readonly Preset[] = ['parity', 'guarded']
const LOCKS: readonly LockWanted[] = ['required', 'optional', 'off']
const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error']
const FORMATS: readonly LogFormat[] = ['text', 'json']
const MAX_PARTITIONS = 256

/** Of a config file, which all commands may share. */
export const CONFIG_KEYS: readonly string[] = [
  'apiVersion',
  'kind',
  'kubeconfig',
  'contexts',
  'data',
  'mode',
  'preset',
  'protection',
  'rules',
  'holds',
  'budgets',
  'approvals',
  'finalizers',
  'across',
  'lock',
  'kinds',
  'ignoreKinds',
  'partitions',
  'http',
  'httpTokenFile',
  'httpMetricsTokenFile',
  'httpAdvertise',
  'httpTlsCertFile',
  'httpTlsKeyFile',
  'httpTlsCaFile',
  'httpAuth',
  'httpAuthorize',
  'auditTokenFile',
  'logLevel',
  'logFormat',
  'keep',
  'keepEvents',
  'keepPast',
  'remember',
  'snapshotEvents',
  'diskReserve',
  'kafka',
  'archive',
  'notify',
]

function tlsFiles(certFile: string | undefined, keyFile: string | undefined): TlsFiles | undefined {
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile }
  if (certFile === undefined && keyFile === undefined) return undefined
  throw bad('httpTlsCertFile and httpTlsKeyFile are given together, or not at all')
}

/** What stands in the file; nothing without one. */
export function configFile({ config }: Pick<UpFlags, 'config'>): Record<string, unknown> {
  return config === undefined ? {} : readConfigFile(config, CONFIG_KEYS)
}

/** `http` is where the endpoint listens unless the flags or the file say otherwise. */
export function upConfig(flags: UpFlags, http: string = '127.0.0.1:7070'): UpConfig {
  return upConfigOf(flags, configFile(flags), http)
}

/** The same of what a file holds, whose keys are known. */
export function upConfigOf(
  flags: UpFlags,
  file: Readonly<Record<string, unknown>>,
  http: string = '127.0.0.1:7070',
): UpConfig {
  const pick = (key: string, flag: unknown): Setting => ({
    key,
    value: flag ?? file[key],
    from: flag === undefined ? `${flags.config}: ${key}` : flagOf(key),
  })
  const preset = oneOf(pick('preset', flags.preset), PRESETS) ?? 'guarded'
  const mode = oneOf(pick('mode', flags.mode), MODES) ?? 'dry-run'
  const watched = {
    ...kindSelection(pick('kinds', flags.kinds)),
    ignoreKinds: listedKinds(pick('ignoreKinds', flags.ignoreKinds))?.map(nameOf) ?? [],
  }
  const across = `${flags.config}: across`
  return {
    kubeconfig: text(pick('kubeconfig', flags.kubeconfig)),
    contexts: texts(pick('contexts', flags.context)),
    data: text(pick('data', flags.data)) ?? defaultDataDirectory(),
    mode,
    preset,
    holds: holdsOf(file['holds'], `${flags.config}: holds`, preset),
    budgets: budgetsOf(file['budgets'], `${flags.config}: budgets`, preset),
    approvals: approvalsOf(pick('approvals', undefined), pick('httpAuth', flags.httpAuth)),
    protection: protectionOf(file['protection'], `${flags.config}: protection`, preset),
    rules: configRules(file['rules'], `${flags.config}: rules`, sharesOf(file['across'], across)),
    mayRemove: mayRemoveOf(file['finalizers'], `${flags.config}: finalizers`),
    marks: marksOf(file['across'], across),
    lock: oneOf(pick('lock', flags.lock), LOCKS) ?? 'optional',
    ...watched,
    partitions: whole(pick('partitions', flags.partitions), 1, MAX_PARTITIONS),
    http: text(pick('http', flags.http)) ?? http,
    httpTokenFile: text(pick('httpTokenFile', flags.httpTokenFile)),
    httpMetricsTokenFile: text(pick('httpMetricsTokenFile', flags.httpMetricsTokenFile)),
    auditTokenFile: text(pick('auditTokenFile', flags.auditTokenFile)),
    httpAdvertise: text(pick('httpAdvertise', flags.httpAdvertise)),
    httpTls: tlsFiles(
      text(pick('httpTlsCertFile', flags.httpTlsCertFile)),
      text(pick('httpTlsKeyFile', flags.httpTlsKeyFile)),
    ),
    httpTlsCaFile: text(pick('httpTlsCaFile', flags.httpTlsCaFile)),
    ...httpAuthority(pick('httpAuth', flags.httpAuth), pick('httpAuthorize', flags.httpAuthorize)),
    logLevel: oneOf(pick('logLevel', flags.logLevel), LEVELS) ?? 'info',
    logFormat: oneOf(pick('logFormat', flags.logFormat), FORMATS),
    keepMs: duration(pick('keep', undefined)) ?? DEFAULT_RETENTION.keepMs,
    keepEvents: whole(pick('keepEvents', undefined), 1, 1e12) ?? DEFAULT_RETENTION.keepEvents,
    keepPastMs: keepPastOf(pick('keepPast', undefined)),
    rememberMs: rememberOf(pick('remember', undefined)),
    snapshotEvents:
      whole(pick('snapshotEvents', undefined), 1, 1e12) ?? DEFAULT_RETENTION.snapshotEvents,
    diskReserveBytes: bytes(pick('diskReserve', undefined)),
    archive: archiveConfig(flags, file['archive'], flags.config ?? 'archive', { ...watched, mode }),
    notify: notifyConfig(file['notify'], flags.config ?? 'config'),
  }
}

function keepPastOf(setting: Setting): number | null {
  const { value } = setting
  return value === 0 || value === '0' ? 0 : (duration(setting) ?? null)
}

export function addClusterOptions(
  command: Command,
  contexts = 'context to use; repeat it for several clusters',
): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig (default: $KUBECONFIG, ~/.kube/config, or this pod)')
    .option('--context <name>', contexts, collect)
}

export function addPolicyOptions(command: Command): Command {
  return command
    .option('--mode <mode>', 'observe, dry-run or enforce (default: dry-run)')
    .option('--preset <preset>', 'parity or guarded (default: guarded)')
}

export const IGNORE_HINT = 'kinds to leave out, beside Events, which are never watched'

export function addKindsOption(command: Command): Command {
  const hint =
    'kinds to watch, as pods,deployments.apps or @FILE, or allowed: all that the account may list and watch, later ones too (default: all that a cluster serves)'
  return command.option('--kinds <list>', hint).option('--ignore-kinds <list>', IGNORE_HINT)
}

export function addLogOptions(command: Command, level = 'info'): Command {
  return command
    .option('--log-level <level>', `debug, info, warn or error (default: ${level})`)
    .option('--log-format <format>', 'text or json (default: text on a terminal, else json)')
}

export function addLockOption(command: Command): Command {
  const hint =
    'required, optional or off: the lock inside the cluster that kinfold rbac prints (default: optional)'
  return command.option('--lock <lock>', hint)
}

export const AUDIT_TOKEN_HINT =
  'file of tokens of clusters that send their audit events, CLUSTER TOKEN a line'

/** Of an option that may be repeated. */
export function collect(value: string, former: readonly string[] = []): readonly string[] {
  return [...former, value]
}

/** Of a graph service, what the settings say. */
export function graphOptionsOf(
  config: Pick<
    UpConfig,
    | 'mode'
    | 'preset'
    | 'holds'
    | 'budgets'
    | 'approvals'
    | 'protection'
    | 'rules'
    | 'mayRemove'
    | 'marks'
    | 'keepMs'
    | 'keepEvents'
    | 'keepPastMs'
    | 'rememberMs'
    | 'snapshotEvents'
    | 'archive'
  >,
): {
  readonly policy: {
    readonly policy: Policy
    readonly who: string
    readonly marks: MarkSettings
  }
  readonly retention: RetentionConfig
} {
  const { mode, preset, holds, budgets, approvals, protection, rules, rememberMs } = config
  const { mayRemove } = config
  const decided = { holds, budgets, approvals, protection, rememberMs, rules, mayRemove }
  const { keepMs, keepEvents, keepPastMs, snapshotEvents } = config
  const { everyMs } = DEFAULT_RETENTION
  const archiveKeepMs = config.archive.keepMs ?? DEFAULT_RETENTION.archiveKeepMs
  return {
    policy: {
      policy: { ...policyFor(mode, preset), ...decided },
      who: 'command line',
      marks: config.marks,
    },
    retention: { keepMs, keepEvents, keepPastMs, snapshotEvents, everyMs, archiveKeepMs },
  }
}

export function makeDataDirectory(path: string): void {
  try {
    makeDirectory(path)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(EXIT.failure, `the directory ${path} cannot be made: ${why}; name another`)
  }
}
