/**
 * The section `notify` of the config file: who is told what waits for a person.
 *
 * What must stay true: what cannot be understood ends the start.
 *
 * Not here: telling it (notify.ts).
 */
import { openWebhookSecret, type WebhookOptions } from '../runtime/webhook.ts'
import type { NoticeType } from '../services/notify/notifier.ts'
import { bad, checkKey, flag, text, texts } from './setting.ts'

export interface NotifyConfig {
  /** Undefined: nothing is sent anywhere. */
  readonly webhook: WebhookOptions | undefined
  /** Whether Kubernetes Events are written. */
  readonly hasEvents: boolean
  readonly on: readonly NoticeType[]
}

const KEYS = ['url', 'secretFile', 'on', 'insecure', 'events']
const TYPES: readonly NoticeType[] = ['approval', 'breaker', 'held', 'lock']
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Undefined where the file has no such section. */
export function notifyConfig(section: unknown, file: string): NotifyConfig | undefined {
  if (section === undefined) return undefined
  const from = `${file}: notify`
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${from}: expected a mapping such as { url: https://… }`)
  }
  const fields = section as Record<string, unknown>
  for (const key of Object.keys(fields)) checkKey(key, KEYS, from)
  const setting = (key: string) => ({ key, value: fields[key], from: `${from}.${key}` })
  const url = text(setting('url'))
  const hasEvents = flag(setting('events')) === true
  if (url === undefined && !hasEvents) throw bad(`${from}: url is missing, or events: true`)
  if (url !== undefined) checkUrl(url, `${from}.url`, flag(setting('insecure')) === true)
  const on = texts(setting('on'))
  for (const each of on) {
    if (!TYPES.some((type) => type === each)) {
      throw bad(`${from}.on: ${JSON.stringify(each)} is none of ${TYPES.join(', ')}`)
    }
  }
  const secretFile = text(setting('secretFile'))
  if (url === undefined && secretFile !== undefined) {
    throw bad(`${from}: secretFile signs what is sent to url, which is missing`)
  }
  const secret = secretFile === undefined ? undefined : openWebhookSecret(secretFile)
  const webhook = url === undefined ? undefined : { url, secret }
  return { webhook, hasEvents, on: on.length === 0 ? TYPES : (on as readonly NoticeType[]) }
}

function checkUrl(text: string, from: string, isInsecure: boolean): void {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw bad(`${from}: expected a URL such as https://example.com/hook`)
  }
  if (url.username !== '' || url.password !== '') {
    throw bad(`${from}: takes no user and password; notify.secretFile signs what is sent`)
  }
  if (url.protocol === 'https:' || LOOPBACK.test(url.hostname) || isInsecure) return
  throw bad(
    `${from}: without TLS everybody on the way reads names of objects; take https, or say so with notify.insecure: true`,
  )
}
