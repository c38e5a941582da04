/**
 * Numbers of a producer's records in one partition: 31 bits, and from their end on again from 0, as
 * brokers count.
 */
const COUNT = 2 ** 31

export function nextSequence(sequence: number, records: number): number {
  return (sequence + records) % COUNT
}
