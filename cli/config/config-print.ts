/**
 * A config file as it is understood, and with what it leaves out.
 *
 * What must stay true: what is printed is a config file that means the same
 * (config-command.test.ts); of the address of a webhook, which may hold a token, only the host is
 * printed.
 */
import { policyFor } from '../../core/model/policy.ts'
import { DEFAULT_RETENTION } from '../../services/graph/fold/retention.ts'
import { yaml } from '../print/yaml.ts'
import { CONFIG_KEYS, upConfigOf } from './config.ts'
import { CONFIG_HEAD } from './config-file.ts'

type Content = Readonly<Record<string, unknown>>

/** Without a value of their own: what happens where they are left out. */
const WITHOUT: Readonly<Record<string, string>> = {
  kubeconfig: '$KUBECONFIG, ~/.kube/config, or the service account of the pod',
  contexts: 'the current context',
  rules: 'nothing is deleted for another reason than its owners',
  kinds: 'all that a cluster serves',
  ignoreKinds: 'none, and Events are always left out',
  partitions: 'as many as the log has; 1 of a new one',
  http: '127.0.0.1:7070; 7071 of a watcher, 7072 of a reaper',
  httpTokenFile: 'no token, on loopback only',
  httpMetricsTokenFile: 'no token for the metrics alone',
  httpTlsCertFile: 'plain HTTP',
  httpTlsKeyFile: 'plain HTTP',
  httpTlsCaFile: 'the usual authorities',
  httpAdvertise: 'the address that is bound',
  httpAuth: 'no cluster says who asks',
  auditTokenFile: 'no API server sends its audit events with a token of its own',
  httpAuthorize: 'everyone who is let in may read',
  across: 'no mark of another tool is read',
  keepPast: 'as long as events are kept',
  logFormat: 'text on a terminal, else json',
  diskReserve: 'by the sizes of log and disk',
  kafka: 'for watcher, graph and reaper only',
  notify: 'nothing is sent',
}

export function printed(content: Content, withDefaults: boolean): string {
  const settings = withDefaults ? withDefaultsOf(content) : content
  const given = new Map(Object.entries({ ...settings, ...CONFIG_HEAD }))
  const rank = (key: string): number => CONFIG_KEYS.indexOf(key)
  const ordered = [...given].sort(([a], [b]) => rank(a) - rank(b)).map(hidden)
  const text = yaml().stringify(Object.fromEntries(ordered), { aliasDuplicateObjects: false })
  if (!withDefaults) return text
  const left = Object.entries(WITHOUT).filter(([key]) => !given.has(key))
  const comments = left.map(([key, value]) => `# ${key}: ${value}\n`)
  return comments.length === 0 ? text : `${text}# Left out:\n${comments.join('')}`
}

function withDefaultsOf(content: Content): Content {
  const read = upConfigOf({}, pick(content, POLICY_KEYS))
  const usual = upConfigOf({}, {})
  const { approvals, rememberMs } = policyFor(read.mode, read.preset)
  const { keepMs, keepEvents, snapshotEvents, archiveKeepMs } = DEFAULT_RETENTION
  const { mode, preset, holds, budgets, protection } = read
  const archive = { enabled: false, secrets: false, keep: spanOf(archiveKeepMs) }
  return {
    data: usual.data,
    approvals,
    finalizers: { mayRemove: read.mayRemove },
    ...{ lock: usual.lock, logLevel: usual.logLevel, keep: spanOf(keepMs), keepEvents },
    ...{ remember: spanOf(rememberMs), snapshotEvents },
    ...content,
    ...{ mode, preset, archive: { ...archive, ...asObject(content['archive']) } },
    // As they are understood: a preset has its own, former names of evidence are today's.
    holds: {
      ...{ deleted: spanOf(holds.deletedMs), missing: spanOf(holds.missingMs) },
      'not-found': spanOf(holds.notFoundMs),
    },
    budgets:
      budgets === null
        ? 'none'
        : { deleted: budgets.deleted, missing: budgets.missing, 'not-found': budgets.notFound },
    protection: {
      ...protection,
      kinds: protection.kinds.map(({ group, kind }) => (group === '' ? kind : `${kind}.${group}`)),
    },
  }
}

const POLICY_KEYS = ['mode', 'preset', 'holds', 'budgets', 'protection', 'finalizers']

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 24 * 3_600_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
]

/** As a setting takes it. */
function spanOf(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms > 0 && ms % each === 0) ?? ['s', 1_000]
  return `${ms / size}${unit}`
}

function hidden([key, value]: readonly [string, unknown]): readonly [string, unknown] {
  if (key !== 'notify' || !isMapping(value)) return [key, value]
  const { url } = value
  if (url === undefined) return [key, value]
  const { origin = '' } = typeof url === 'string' ? (URL.parse(url) ?? {}) : {}
  return [key, { ...value, url: url === origin ? url : `${origin}/<hidden>` }]
}

function pick(from: Content, keys: readonly string[]): Content {
  return Object.fromEntries(keys.flatMap((key) => (key in from ? [[key, from[key]]] : [])))
}

function asObject(value: unknown): Content {
  return isMapping(value) ? value : {}
}

function isMapping(value: unknown): value is Content {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
