/**
 * Reads the log of a data directory from outside, also while its process runs: for a test that can
 * ask no process.
 *
 * What must stay true: it takes no lock and writes nothing.
 */
import { join } from 'node:path'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import type { Topic } from '../../ports/log.ts'
import type { Writable } from '../../ports/record/codec.ts'
import { systemClock } from '../../runtime/clock.ts'

const PAGE_LIMIT = 5_000

/** All records of a topic, partition after partition. */
export async function recordsOf(data: string, topic: Topic): Promise<Writable[]> {
  const directory = join(data, 'log')
  await using log = await openSqliteLog({ directory, clock: systemClock(), readOnly: true })
  const codec = avroCodec()
  const records: Writable[] = []
  for (let partition = 0; partition < log.partitions(topic); partition++) {
    const { start, end } = await log.bounds(topic, partition)
    for (let next = start; next < end; ) {
      const page = await log.read(topic, partition, next, { limit: PAGE_LIMIT, waitMs: 0 })
      for (const { value } of page.entries) if (value !== null) records.push(codec.decode(value))
      next = page.next
    }
  }
  return records
}

/** Commands that no event settles. */
export async function unsettledCommands(data: string): Promise<string[]> {
  const open = new Map<string, string>()
  for (const command of await recordsOf(data, 'commands')) {
    if ('id' in command)
      open.set(command.id, `${command.type} ${command.target.name} ${command.id}`)
  }
  for (const event of await recordsOf(data, 'events')) {
    if (event.type === 'CommandSettled') open.delete(event.command)
    // A gate publishes results about owners, too, in the name of a command that is still under way.
    const isAnswer = event.type === 'OwnerFound' || event.type === 'OwnerAbsent'
    if (isAnswer && open.get(event.command)?.startsWith('VerifyOwner ')) open.delete(event.command)
  }
  return [...open.values()]
}

/** Uids for which the watcher has published that their version moved and their content did not. */
export async function touchedUids(data: string): Promise<ReadonlySet<string>> {
  const events = await recordsOf(data, 'events')
  return new Set(
    events.flatMap((event) =>
      event.type === 'Touched' ? event.entries.map(({ uid }) => uid) : [],
    ),
  )
}
