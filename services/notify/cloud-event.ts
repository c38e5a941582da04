/**
 * What a webhook gets of a notification: a CloudEvent (docs/operate/notify.md).
 *
 * What must stay true: the same notification has the same id, however often it is sent.
 */
import type { WebhookEvent } from '../../ports/webhook.ts'
import type { Telling } from './notifier.ts'

export function cloudEventOf({ id, notice, what, sinceMs, timeMs }: Telling): WebhookEvent {
  const { type, cluster, message, command } = notice
  const isOver = what === 'over'
  const since = new Date(sinceMs).toISOString()
  return {
    id,
    type: `dev.kinfold.${type}.${isOver ? 'over' : 'waiting'}`,
    source: `/clusters/${cluster.id}`,
    subject: cluster.name,
    timeMs,
    data: { cluster, since, message: isOver ? `over: ${message}` : message, command },
  }
}
