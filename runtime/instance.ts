/**
 * Which process this is, for clients that found it by an address that may have been reused.
 *
 * What must stay true: it imports nothing of ours or of npm, since a command that only asks loads
 * it.
 */
import { randomUUID } from 'node:crypto'

/** A client that means another process says so in `INSTANCE_HEADER`, and is refused. */
export const INSTANCE: string = randomUUID()
export const INSTANCE_HEADER = 'kinfold-instance'
