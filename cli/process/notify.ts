/**
 * Who is notified of what waits for a person, as the section `notify` of the config file has it: a
 * webhook, and Kubernetes Events.
 *
 * What must stay true: without the section nothing is sent anywhere; a receiver that is away makes
 * no process unready, but it is a warning.
 */
import type { Meter } from '@opentelemetry/api'
import type { Clock } from '../../ports/clock.ts'
import { type Check, warned } from '../../runtime/health.ts'
import { openWebhook } from '../../runtime/http/webhook.ts'
import type { Logger } from '../../runtime/logger.ts'
import { observeCounter } from '../../runtime/metrics.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import type { ClusterCount } from '../../services/graph/census.ts'
import { cloudEventOf } from '../../services/notify/cloud-event.ts'
import {
  createNotifier,
  type NoticeType,
  type Notifier,
  type NotifierParts,
} from '../../services/notify/notifier.ts'
import {
  EVENT_FATES,
  EventRecorder,
  type EventSubject,
} from '../../services/reaper/event-recorder.ts'
import type { LockStatus } from '../../services/reaper/lock.ts'
import type { ConnectedCluster, ReaperNote } from '../../services/reaper/reaper.ts'
import type { NotifyConfig } from '../config/notify-config.ts'
import { isKnownIn, noticesOf } from './notice.ts'

export interface Notifications {
  readonly loops: readonly ((signal: AbortSignal) => Promise<void>)[]
  /** Of what the reaper of this process reports, Events are made where they are asked for. */
  observe(note: ReaperNote): void
  checks(): readonly Check[]
}

export interface NotificationParts {
  readonly config: NotifyConfig | undefined
  readonly counts: () => readonly ClusterCount[]
  readonly locks: () => readonly LockStatus[]
  /** Where Events are written; undefined: this process has no connections. */
  readonly clusters?: readonly ConnectedCluster[]
  readonly nameOf: (cluster: string) => string
  readonly clock: Clock
  readonly logger: Logger
  readonly cuts: Cuts
  readonly meter: Meter
}

export function openNotifications(parts: NotificationParts): Notifications {
  const { config, counts, locks, clusters, nameOf, clock, logger, cuts, meter } = parts
  const notifierOf = (tell: NotifierParts['tell']): Notifier =>
    createNotifier({
      tell,
      notices: () =>
        noticesOf(counts(), nameOf, locks()).filter(({ type }) => config?.on.includes(type)),
      isKnown: (notice) => isKnownIn(notice, counts(), locks()),
      clock,
      onFailed: (reason) => logger.log('warn', 'a notification was not taken', { reason }),
    })
  const webhook = config?.webhook && openWebhook(config.webhook)
  const notifier =
    webhook && notifierOf((telling, signal) => webhook.send(cloudEventOf(telling), signal))
  const described = 'Events that the webhook of notify took.'
  observeCounter(meter, 'kinfold_notifications', described, () => [
    { value: notifier?.sent ?? 0, labels: {} },
  ])
  const events = config?.hasEvents && clusters ? recorderOf(clusters, clock, cuts) : undefined
  const fates =
    'Kubernetes Events: written, refused by the server, or left out since there were too many. 0 without notify.events.'
  observeCounter(meter, 'kinfold_kubernetes_events', fates, () =>
    EVENT_FATES.map((result) => ({ value: events?.counts().get(result) ?? 0, labels: { result } })),
  )
  const ofEvents = events && notifierOf(tellerOf(events))
  return {
    observe(note) {
      if (note.type === 'Settled') events?.settled(note.command, note.result)
    },
    loops: [notifier, ofEvents, events].flatMap((each) =>
      each === undefined ? [] : [(signal: AbortSignal) => each.run(signal)],
    ),
    checks: () => {
      const failure = notifier?.failure() ?? ''
      return failure === '' ? [] : [warned('notify', failure)]
    },
  }
}

function recorderOf(
  clusters: readonly ConnectedCluster[],
  clock: Clock,
  cuts: Cuts,
): EventRecorder {
  const clusterOf = (of: string) => clusters.find(({ id }) => id === of)
  return new EventRecorder({ clusters: clusterOf, clock, cuts })
}

const REASONS: Readonly<Record<NoticeType, string>> = {
  approval: 'HeldForApproval',
  breaker: 'BreakerOpen',
  held: 'Held',
  lock: 'LockNotInForce',
}

/**
 * About the namespace whose uid is the cluster's id: Events about a cluster as a whole have no
 * other object.
 */
function tellerOf(events: EventRecorder): NotifierParts['tell'] {
  return async ({ notice: { type, cluster, message, command }, what }) => {
    const isOver = what === 'over'
    const about: EventSubject = {
      ...{ group: '', version: 'v1', kind: 'Namespace', resource: 'namespaces' },
      ...{ namespace: '', name: 'kube-system', uid: cluster.id },
    }
    events.tell(cluster.id, about, {
      type: isOver ? 'Normal' : 'Warning',
      reason: `${REASONS[type]}${isOver ? 'IsOver' : ''}`,
      message: isOver ? `over: ${message}` : `${message}; see "${command}"`,
    })
  }
}
