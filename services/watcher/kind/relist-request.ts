/** A wish that a kind be listed anew, and how several of them become one. */
export interface RelistRequest {
  /** Every object in full, whatever the memory holds. */
  readonly full: boolean
  /** Its place in `control`; null when it is our own. */
  readonly offset: bigint | null
}

/** In full if either is; as old as the older one. */
export function merged(a: RelistRequest | null, b: RelistRequest | null): RelistRequest | null {
  if (a === null || b === null) return a ?? b
  return { full: a.full || b.full, offset: older(a.offset, b.offset) }
}

export function older(a: bigint | null, b: bigint | null): bigint | null {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}
