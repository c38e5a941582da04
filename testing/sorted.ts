/** Keys of a half-open range, in ASCII order. For tests: it looks at all of them. */
export function enclosed(keys: Iterable<string>, gte: string, lt: string): string[] {
  return [...keys].filter((key) => key >= gte && key < lt).sort()
}
