/** A node. */
export type Phase = 'observed' | 'deleting' | 'waiting' | 'orphaning' | 'reaped' | 'suspect'
