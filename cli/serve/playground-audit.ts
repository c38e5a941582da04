/**
 * Sends the audit logs of the playground's API servers to its Kinfold, as the audit webhook of a
 * real one would.
 *
 * What must stay true: what was not answered is sent again; a Kinfold that takes nothing ends
 * nothing, it is said once.
 *
 * Not here: what the events are (playground/audit-log.ts).
 */
import type { AuditLog } from '../../playground/audit-log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { ExitError } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { API_VERSION } from '../../services/graph/actors/audit-event.ts'
import { AUDIT_PATH } from '../../services/graph/api/route.ts'
import { refusalOf, type Server, sendAnyway } from '../reach/client.ts'

/** Events of one request. */
const SENT_AT_ONCE = 100
const AGAIN_MS = 1_000

export interface Sending {
  readonly server: Server
  readonly cluster: string
  readonly log: AuditLog
  readonly logger: Logger
}

/** Until the signal aborts. */
export async function sendAudit(sending: Sending, signal: AbortSignal): Promise<void> {
  const { server, cluster, log, logger } = sending
  const path = `${AUDIT_PATH}?${new URLSearchParams({ cluster })}`
  const clock = systemClock()
  let isTaken = true
  while (!signal.aborted) {
    const events = await log.next(signal)
    for (let from = 0; from < events.length && !signal.aborted; ) {
      const items = events.slice(from, from + SENT_AT_ONCE)
      const body = JSON.stringify({ kind: 'EventList', apiVersion: API_VERSION, items })
      const refusal = await refusalTo(server, path, body)
      if (refusal === undefined) from += SENT_AT_ONCE
      else {
        if (isTaken) logger.log('warn', 'audit events are not taken', { cluster, reason: refusal })
        await clock.sleep(AGAIN_MS, signal)
      }
      isTaken = refusal === undefined
    }
  }
}

/** Undefined: they are on Kinfold's log. */
async function refusalTo(server: Server, path: string, body: string): Promise<string | undefined> {
  try {
    const response = await sendAnyway(server, path, body)
    if (!response.ok) return (await refusalOf(response, server)).message
    await response.body?.cancel()
    return undefined
  } catch (error) {
    if (error instanceof ExitError) return error.message
    throw error
  }
}
