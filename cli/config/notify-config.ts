/**
 * The section `notify` of the config file: who is notified of what waits for a person.
 *
 * What must stay true: what cannot be understood ends the start.
 *
 * Not here: sending it (notify.ts).
 */
import { readFileSync } from 'node:fs'
import { checkSecret } from '../../runtime/file-access.ts'
import { openWebhookSecret, type WebhookOptions } from '../../runtime/http/webhook.ts'
import { ExitError } from '../../runtime/lifecycle.ts'
import type { NoticeType } from '../../services/notify/notifier.ts'
import { bad, checkKey, flag, type Setting, text, texts } from './setting.ts'

export interface NotifyConfig {
  /** Undefined: nothing is sent anywhere. */
  readonly webhook: WebhookOptions | undefined
  /** Whether Kubernetes Events are written. */
  readonly hasEvents: boolean
  readonly on: readonly NoticeType[]
}

const KEYS = ['url', 'urlFile', 'secretFile', 'on', 'insecure', 'events']
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
  const url = urlOf(setting('url'), setting('urlFile'))
  const hasEvents = flag(setting('events')) === true
  if (url === undefined && !hasEvents) throw bad(`${from}: url is missing, or events: true`)
  const urlFrom = fields['url'] === undefined ? `${from}.urlFile` : `${from}.url`
  if (url !== undefined) checkUrl(url, urlFrom, flag(setting('insecure')) === true)
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

/** An address may hold a token of the receiver's, so it may come from a file. */
function urlOf(url: Setting, file: Setting): string | undefined {
  const path = text(file)
  if (path === undefined) return text(url)
  if (url.value !== undefined)
    throw bad(`${file.from}: ${url.from} is given as well; leave one out`)
  try {
    checkSecret(path, file.from)
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (error instanceof ExitError) throw error
    const why = error instanceof Error ? error.message : error
    throw bad(`${file.from} ${path} cannot be read: ${why}`)
  }
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
