/**
 * Moments of the past as a person types them, and which of two is the earlier.
 *
 * What must stay true: how long ago is counted back once, so that each page of an answer, and the
 * address of the view, is about the same moment.
 *
 * Not here: whether a moment can be asked, which only the server knows.
 */

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const
const AGO = /^(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/

/** As the server takes it, to the second; what is no duration is left as it is. */
export function momentOf(text: string, now: number): string {
  const [whole, ...counts] = AGO.exec(text) ?? []
  if (whole === undefined) return text
  const ms = Object.values(UNITS).reduce((sum, unit, at) => sum + unit * Number(counts[at] ?? 0), 0)
  const then = now - ms
  if (Math.abs(then) > 8.64e15) return text
  return new Date(then).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** The earlier first, where that is known; empty is now. */
export function inOrder(one: string, other: string): readonly [from: string, to: string] {
  return isLater(one, other) ? [other, one] : [one, other]
}

function isLater(one: string, other: string): boolean {
  if (one === '' || other === '') return one === ''
  const [a, b] = [positionIn(one), positionIn(other)]
  if (a !== undefined && b !== undefined) return a.partition === b.partition && a.offset > b.offset
  return Date.parse(one) > Date.parse(other)
}

function positionIn(
  moment: string,
): { readonly partition: string; readonly offset: number } | undefined {
  const [, partition, offset] = /^(?:pos|before):(\d+)-(\d+)/.exec(moment) ?? []
  return partition === undefined ? undefined : { partition, offset: Number(offset) }
}
