/**
 * The settings of `kinfold up`: a YAML file, overridden by flags.
 *
 * What must stay true: an unknown key or a value out of its range ends the start with a sentence that names it; nothing is guessed.
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isMap, LineCounter, parseDocument } from 'yaml'
import type { Mode, Preset } from '../core/policy.ts'
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { Level } from '../runtime/logger.ts'
import { DEFAULT_RETENTION } from '../services/graph/retention.ts'

export interface UpConfig {
  readonly kubeconfig: string | undefined
  readonly contexts: readonly string[]
  readonly data: string
  readonly mode: Mode
  readonly preset: Preset
  /** Undefined: as many as the log has; a new one gets one. */
  readonly partitions: number | undefined
  readonly http: string
  /** What requests must show; undefined: nothing, on loopback. */
  readonly httpTokenFile: string | undefined
  readonly httpAdvertise: string | undefined
  readonly logLevel: Level
  readonly keepMs: number
  readonly keepEvents: number
  readonly snapshotEvents: number
}

/** As commander gives them; undefined where not given. */
export interface UpFlags {
  readonly kubeconfig?: string
  readonly context?: readonly string[]
  readonly data?: string
  readonly mode?: string
  readonly preset?: string
  readonly partitions?: string
  readonly http?: string
  readonly httpTokenFile?: string
  readonly httpAdvertise?: string
  readonly logLevel?: string
  readonly config?: string
}

const API_VERSION = 'kinfold/v1alpha1'
const MODES: readonly Mode[] = ['observe', 'dry-run', 'enforce']
const PRESETS: readonly Preset[] = ['parity', 'guarded']
const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error']
const MAX_PARTITIONS = 256
/** Beyond this a duration is a mistake. */
const MAX_DAYS = 36_500

export function defaultDataDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const base = env['XDG_DATA_HOME'] ?? join(homedir(), '.local', 'share')
  return join(base, 'kinfold')
}

export function upConfig(flags: UpFlags): UpConfig {
  const file = flags.config === undefined ? {} : readConfigFile(flags.config)
  const pick = (key: string, flag: unknown): Setting => ({
    key,
    value: flag ?? file[key],
    from: flag === undefined ? `${flags.config}: ${key}` : `--${key}`,
  })
  return {
    kubeconfig: text(pick('kubeconfig', flags.kubeconfig)),
    contexts: texts(pick('contexts', flags.context)),
    data: text(pick('data', flags.data)) ?? defaultDataDirectory(),
    mode: oneOf(pick('mode', flags.mode), MODES) ?? 'dry-run',
    preset: oneOf(pick('preset', flags.preset), PRESETS) ?? 'guarded',
    partitions: whole(pick('partitions', flags.partitions), 1, MAX_PARTITIONS),
    http: text(pick('http', flags.http)) ?? '127.0.0.1:7070',
    httpTokenFile: text(pick('httpTokenFile', flags.httpTokenFile)),
    httpAdvertise: text(pick('httpAdvertise', flags.httpAdvertise)),
    logLevel: oneOf(pick('logLevel', flags.logLevel), LEVELS) ?? 'info',
    keepMs: duration(pick('keep', undefined)) ?? DEFAULT_RETENTION.keepMs,
    keepEvents: whole(pick('keepEvents', undefined), 1, 1e12) ?? DEFAULT_RETENTION.keepEvents,
    snapshotEvents:
      whole(pick('snapshotEvents', undefined), 1, 1e12) ?? DEFAULT_RETENTION.snapshotEvents,
  }
}

const KEYS = [
  'apiVersion',
  'kind',
  'kubeconfig',
  'contexts',
  'data',
  'mode',
  'preset',
  'partitions',
  'http',
  'httpTokenFile',
  'httpAdvertise',
  'logLevel',
  'keep',
  'keepEvents',
  'snapshotEvents',
]

function readConfigFile(path: string): Record<string, unknown> {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw bad(`--config ${path} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines })
  const [error] = document.errors
  if (error !== undefined) throw bad(`--config ${path}: ${error.message}`)
  if (!isMap(document.contents)) {
    throw bad(`--config ${path}: expected a YAML mapping with apiVersion: ${API_VERSION}`)
  }
  const content = document.toJS() as Record<string, unknown>
  for (const key of Object.keys(content)) {
    if (!KEYS.includes(key)) {
      throw bad(`--config ${path}: unknown key ${key}; known are ${KEYS.join(', ')}`)
    }
  }
  if (content['apiVersion'] !== API_VERSION || content['kind'] !== 'Config') {
    throw bad(`--config ${path}: expected apiVersion: ${API_VERSION} and kind: Config`)
  }
  return content
}

interface Setting {
  readonly key: string
  readonly value: unknown
  /** Where it was set, for the sentence. */
  readonly from: string
}

function text({ value, from }: Setting): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '')
    throw bad(`${from}: expected a text, not ${show(value)}`)
  return value
}

function texts({ value, from }: Setting): readonly string[] {
  if (value === undefined) return []
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === 'string')
  if (!isTexts) throw bad(`${from}: expected a list of texts, not ${show(value)}`)
  return value as readonly string[]
}

function oneOf<T extends string>({ value, from }: Setting, allowed: readonly T[]): T | undefined {
  if (value === undefined) return undefined
  const found = allowed.find((each) => each === value)
  if (found === undefined) throw bad(`${from}: ${show(value)} is none of ${allowed.join(', ')}`)
  return found
}

function whole({ value, from }: Setting, least: number, most: number): number | undefined {
  if (value === undefined) return undefined
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number) || number < least || number > most) {
    throw bad(`${from}: expected a whole number from ${least} to ${most}, not ${show(value)}`)
  }
  return number
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 24 * 3_600_000,
}

function duration({ value, from }: Setting): number | undefined {
  if (value === undefined) return undefined
  const match = /^(\d+)([smhd])$/.exec(String(value))
  const ms = Number(match?.[1]) * (UNITS[match?.[2] ?? ''] ?? Number.NaN)
  if (!(ms > 0 && ms <= MAX_DAYS * 24 * 3_600_000)) {
    throw bad(`${from}: expected a duration such as 30s, 5m, 12h or 30d, not ${show(value)}`)
  }
  return ms
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value)
}

function bad(message: string): ExitError {
  return new ExitError(EXIT.input, message)
}
