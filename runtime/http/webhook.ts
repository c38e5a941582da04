/**
 * A webhook over HTTP: one POST an event, CloudEvents 1.0 in JSON, signed as Standard Webhooks have
 * it.
 *
 * What must stay true: the secret is never in an error; a redirect is not followed, since it would
 * lead what is signed elsewhere; an answer is waited for ten seconds at most, and not read.
 *
 * Not here: when something is sent, and again (services/notify).
 */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Webhook, WebhookEvent } from '../../ports/webhook.ts'
import { checkSecret } from '../file-access.ts'
import { EXIT, ExitError } from '../lifecycle.ts'

const ANSWER_WITHIN_MS = 10_000
const PREFIX = 'whsec_'
const LEAST_BYTES = 16
const MOST_BYTES = 1_024

export interface WebhookOptions {
  readonly url: string
  /** Undefined: nothing is signed. */
  readonly secret: Uint8Array | undefined
}

export function openWebhook({ url, secret }: WebhookOptions): Webhook {
  return {
    async send(event, signal) {
      const body = textOf(event)
      const seconds = String(Math.floor(Date.now() / 1_000))
      const headers = {
        'content-type': 'application/cloudevents+json; charset=utf-8',
        'webhook-id': event.id,
        'webhook-timestamp': seconds,
        ...(secret && { 'webhook-signature': signed(secret, `${event.id}.${seconds}.${body}`) }),
      }
      const either = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)])
      const response = await answered(url, { method: 'POST', headers, body }, either)
      await response.body?.cancel()
      if (!response.ok) throw new Error(`the webhook answered ${response.status}`)
    },
  }
}

/**
 * Throws `ExitError` when it holds none, or one that other users may read. `whsec_` and base64, or
 * any text.
 */
export function openWebhookSecret(file: string): Uint8Array {
  const what = 'the file with the webhook secret'
  let text: string
  try {
    checkSecret(file, what)
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (error instanceof ExitError) throw error
    throw new ExitError(EXIT.input, `${what} ${file} cannot be read: ${messageOf(error)}`)
  }
  const isEncoded = text.startsWith(PREFIX)
  const secret = Buffer.from(
    text.slice(isEncoded ? PREFIX.length : 0),
    isEncoded ? 'base64' : 'utf8',
  )
  if (secret.length >= LEAST_BYTES && secret.length <= MOST_BYTES) return secret
  const expected = `expected ${LEAST_BYTES} to ${MOST_BYTES} bytes, plain or as whsec_ with base64`
  throw new ExitError(EXIT.input, `${what} ${file}: ${expected}; "openssl rand -hex 32" makes one`)
}

/** What fetch throws says nothing; its cause does. */
async function answered(url: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, { ...init, signal, redirect: 'manual' })
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    throw new Error(`the webhook cannot be reached: ${messageOf(cause)}`)
  }
}

function textOf({ id, type, source, subject, timeMs, data }: WebhookEvent): string {
  return JSON.stringify({
    specversion: '1.0',
    ...{ id, type, source, subject },
    time: new Date(timeMs).toISOString(),
    datacontenttype: 'application/json',
    data,
  })
}

function signed(secret: Uint8Array, text: string): string {
  return `v1,${createHmac('sha256', secret).update(text).digest('base64')}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
