/**
 * The moment of the past that `--at`, `--from` or `--to` names: a time, how long ago, a position,
 * or just before a command.
 *
 * What must stay true: how long ago is counted back once, by the clock of who asks, and sent as a
 * time: each page of an answer is about the same moment.
 *
 * Loaded only where one is asked about.
 *
 * Not here: how it is read (`moment` of setting.ts), whether it can be asked
 * (services/graph/query/answer/past.ts).
 */
import type { AsOf } from '../answer.ts'
import { moment } from '../config/setting.ts'

/** As the endpoint takes it. */
export function momentOf(
  text: string,
  now: number = Date.now(),
  flag = '--at',
): string | undefined {
  return moment({ key: 'at', value: text, from: flag }, now, 'place')
}

/** Which moment an answer is about, for people. */
export function momentText([first]: readonly AsOf[]): string {
  if (first === undefined) return ''
  const { partition, position, time } = first
  if (position === null) return `at ${time}`
  return `before pos:${partition}-${position}${time === null ? '' : `, ${time}`}`
}
