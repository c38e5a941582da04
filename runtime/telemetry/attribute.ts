/**
 * Names of spans and of their attributes, all of them ours: OpenTelemetry's own for messaging are
 * in development, and change.
 *
 * What must stay true: docs/operate/telemetry.md has each of them; a test compares.
 */

/** Span → what it covers. Followed by the verb, where there is one. */
export const SPAN = {
  watch: 'watch event',
  append: 'append events',
  fold: 'fold',
  command: 'command',
  reap: 'reap',
  call: 'call',
} as const

export const ATTRIBUTE = {
  cluster: 'kinfold.cluster',
  eventType: 'kinfold.event.type',
  group: 'kinfold.object.group',
  kind: 'kinfold.object.kind',
  namespace: 'kinfold.object.namespace',
  name: 'kinfold.object.name',
  uid: 'kinfold.object.uid',
  partition: 'kinfold.log.partition',
  records: 'kinfold.log.records',
  unlinked: 'kinfold.fold.unlinked',
  commands: 'kinfold.fold.commands',
  commandId: 'kinfold.command.id',
  verb: 'kinfold.command.verb',
  result: 'kinfold.command.result',
  reason: 'kinfold.command.reason',
  method: 'kinfold.call.verb',
  resource: 'kinfold.call.resource',
  outcome: 'kinfold.call.outcome',
  code: 'kinfold.call.code',
} as const
