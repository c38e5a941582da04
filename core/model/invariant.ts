/**
 * The impossible. What must stay true: no code catches an `InvariantError`; the process ends and
 * the partition moves elsewhere.
 *
 * Not here: failures that a cluster, a log or a person can cause; those are answers and events.
 */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

export function invariant(claim: boolean, message: string): asserts claim {
  if (!claim) throw new InvariantError(message)
}

/** For the end of a switch that the types say cannot be reached. */
export function never(value: never): never {
  throw new InvariantError(`no such case: ${String(value)}`)
}
