/**
 * A moment of the past: by append time, in each partition all entries up to it; by position, all
 * entries of one partition before it.
 *
 * Not here: durations, which only who asks can count back from now (cli/reach/moment.ts), whether a
 * moment can be asked (past.ts).
 */
import { Problem } from '../../../../runtime/http/problem.ts'

export type Asked =
  | { readonly type: 'time'; readonly at: number }
  | { readonly type: 'position'; readonly partition: number; readonly position: bigint }

/**
 * What is before it holds; `at`: the append time of the first entry that does not, or the time that
 * was asked.
 */
export type Moment =
  | { readonly type: 'time'; readonly at: number }
  | { readonly type: 'position'; readonly position: number; readonly at: number }

/** What is known of a cluster begins here: at this offset, and with all of this append time. */
export interface Horizon {
  readonly position: number
  readonly at: number
}

/** Whether an entry is before the moment. */
export function holds(moment: Moment, position: number, at: number): boolean {
  return moment.type === 'time' ? at <= moment.at : position < moment.position
}

/** Of a question; undefined: it is about now. */
export function momentIn({ at }: Readonly<Record<string, string | undefined>>): Asked | undefined {
  return at === undefined ? undefined : askedIn(at)
}

/** Of a text that the table of routes let pass (api/route.ts). */
export function askedIn(text: string, name = 'at'): Asked {
  const [, partition, position] = /^(?:pos|before):(\d+)-(\d+)/.exec(text) ?? []
  if (partition !== undefined && position !== undefined) {
    return { type: 'position', partition: Number(partition), position: BigInt(position) }
  }
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new Problem(400, `${name} ${text} is no time of any calendar`)
  return { type: 'time', at }
}
