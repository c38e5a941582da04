/**
 * The ids by which records name each other: of a command, and of a relist.
 *
 * What must stay true: it imports nothing, so that every record may name every other one without a
 * cycle of files.
 *
 * Not here: ids of objects and clusters (object.ts).
 */

/** `partition-offset-index`: the place in the log that decided it. */
export type CommandId = string

/** Unique and growing within a cluster: watcher epoch times a million plus a counter. */
export type SyncId = number
