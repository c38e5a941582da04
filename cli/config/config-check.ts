/**
 * All that is wrong with a config file, as a start would say it.
 *
 * What must stay true: what is refused here is refused at a start, in the same sentences, and the
 * other way round as far as the file decides it; files that it names are read.
 *
 * Not here: what values may be (config.ts, kafka-config.ts). It loads what serves the endpoint, so
 * it is loaded when it is needed.
 */
import { openAuditTokens } from '../../runtime/http/cluster-token.ts'
import { checkHttp } from '../../runtime/http/endpoint.ts'
import { openToken } from '../../runtime/http/http-token.ts'
import { openTlsOf } from '../../runtime/http/tls.ts'
import { ExitError } from '../../runtime/lifecycle.ts'
import { CONFIG_KEYS, PRESETS, upConfigOf } from './config.ts'
import { checkHead, HEAD_KEYS } from './config-file.ts'
import { kafkaConfig } from './kafka-config.ts'
import { checkKey } from './setting.ts'

/** Key → another one that it is understood with. */
const BESIDE: Readonly<Record<string, string>> = {
  holds: 'preset',
  budgets: 'preset',
  protection: 'preset',
  approvals: 'httpAuth',
  httpAuthorize: 'httpAuth',
  httpTlsCertFile: 'httpTlsKeyFile',
  httpTlsKeyFile: 'httpTlsCertFile',
}

/** One of each key at most: within a section the first. */
export function faultsOf(
  content: Readonly<Record<string, unknown>>,
  file: string,
): readonly string[] {
  const faults = new Set<string>()
  const isGood = (check: () => unknown): boolean => {
    try {
      check()
      return true
    } catch (error) {
      if (!(error instanceof ExitError)) throw error
      faults.add(error.message)
      return false
    }
  }
  isGood(() => checkHead(content, file))
  const known: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(content)) {
    if (isGood(() => checkKey(key, CONFIG_KEYS, `--config ${file}`))) known[key] = value
  }
  const read = (settings: Record<string, unknown>) => upConfigOf({ config: file }, settings)
  let isWhole = true
  for (const [key, value] of Object.entries(known)) {
    if (HEAD_KEYS.includes(key)) continue
    const isTaken = isGood(() =>
      key === 'kafka' ? checkKafka(value, file) : read({ ...besideOf(key, known), [key]: value }),
    )
    isWhole &&= isTaken
  }
  if (isWhole) isGood(() => checkEndpoint(read(known)))
  return [...faults]
}

/** A preset that is none is a fault of its own, and of nothing else. */
function besideOf(key: string, known: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const other = BESIDE[key] ?? ''
  const value = known[other]
  if (value === undefined) return {}
  return other === 'preset' && !PRESETS.some((preset) => preset === value) ? {} : { [other]: value }
}

/** Brokers may come by a flag. */
function checkKafka(section: unknown, file: string): void {
  const hasBrokers = typeof section !== 'object' || section === null || 'brokers' in section
  kafkaConfig(hasBrokers ? {} : { brokers: '127.0.0.1:9092' }, section, file)
}

function checkEndpoint(config: ReturnType<typeof upConfigOf>): void {
  const { http: address, httpAdvertise: advertise, httpReview } = config
  const [token, metricsToken] = [config.httpTokenFile, config.httpMetricsTokenFile].map((file) =>
    file === undefined ? undefined : openToken(file),
  )
  openTlsOf(config)
  openAuditTokens(config)
  // Where a cluster says who asks, any address is taken: it is asked at a start only.
  const isReviewed = token === undefined && httpReview !== undefined
  checkHttp({
    // A cluster that says who asks is enough for it.
    metricsToken: isReviewed ? undefined : metricsToken,
    address: isReviewed ? address.replace(/^.*:/, '127.0.0.1:') : address,
    ...{ token, authority: undefined, advertise },
  })
}
