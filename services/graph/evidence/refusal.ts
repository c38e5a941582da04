/**
 * Why evidence, or a log that it would be made of, does not prove what it says; and why it could
 * not be asked. What must stay true: the two are never confused.
 */

/** One sentence without an end, for the person who relies on it. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** What is asked for is not kept, or this program cannot judge it: neither proven nor refuted. */
export class BeyondReachError extends Error {
  override readonly name = 'BeyondReachError'
}
