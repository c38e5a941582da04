/** Standing of one owner reference. */
export type Standing = 'solid' | 'waiting' | 'orphaned' | 'dangling' | 'unverified' | 'unresolvable'
