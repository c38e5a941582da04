/**
 * The webhook that the section `notify` of the config file asks for.
 *
 * What must stay true: without the section nothing is sent anywhere; a receiver that is away makes nobody unready, but it is said.
 */
import type { Meter } from '@opentelemetry/api'
import type { Clock } from '../ports/clock.ts'
import { type Check, warned } from '../runtime/health.ts'
import type { Logger } from '../runtime/logger.ts'
import { observeCounter } from '../runtime/metrics.ts'
import { openWebhook } from '../runtime/webhook.ts'
import type { ClusterCount } from '../services/graph/census.ts'
import { createNotifier } from '../services/notify/notifier.ts'
import type { LockStatus } from '../services/reaper/lock.ts'
import { isKnownIn, noticesOf } from './notice.ts'
import type { NotifyConfig } from './notify-config.ts'

export interface Notifications {
  readonly loops: readonly ((signal: AbortSignal) => Promise<void>)[]
  checks(): readonly Check[]
}

export interface NotificationParts {
  readonly config: NotifyConfig | undefined
  readonly counts: () => readonly ClusterCount[]
  readonly locks: () => readonly LockStatus[]
  readonly nameOf: (cluster: string) => string
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
}

export function openNotifications(parts: NotificationParts): Notifications {
  const { config, counts, locks, nameOf, clock, logger, meter } = parts
  const notifier =
    config &&
    createNotifier({
      webhook: openWebhook(config),
      notices: () =>
        noticesOf(counts(), nameOf, locks()).filter(({ type }) => config.on.includes(type)),
      isKnown: (notice) => isKnownIn(notice, counts(), locks()),
      clock,
      onFailed: (reason) => logger.log('warn', 'a notification was not taken', { reason }),
    })
  const described = 'Events that the webhook of notify took.'
  observeCounter(meter, 'kinfold_notifications', described, () => [
    { value: notifier?.sent ?? 0, labels: {} },
  ])
  if (notifier === undefined) return { loops: [], checks: () => [] }
  return {
    loops: [(signal) => notifier.run(signal)],
    checks: () => {
      const failure = notifier.failure()
      return failure === '' ? [] : [warned('notify', failure)]
    },
  }
}
