/**
 * Lets a command that stays run in little memory: puts in the place of this process the same
 * command with flags that Node takes only at its start.
 *
 * What must stay true: the process keeps its id, its arguments and its streams; it happens once; a
 * user who sets one of these flags, or runs where a process cannot be replaced, gets Node as it is.
 * It changes what is used, never what is done.
 *
 * Not here: what is kept in memory.
 */
import { flushCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * V8 sizes its heap by the machine's memory: on a large one its young generation alone takes 100
 * MB, and the old one grows to thrice what lives. These cost garbage collections, which count less
 * here than memory.
 */
const NODE_FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=50'] as const

/**
 * glibc gives every thread a heap of its own, of which little is ever given back; two are enough
 * for one busy thread.
 */
const ARENAS = '2'

/**
 * Beyond so many bytes memory is the system's own and goes back to it at once. Left to itself glibc
 * learns from large buffers to keep up to 64 MB: after a sync a dozen of them were kept for
 * nothing.
 */
const KEPT_BYTES = String(256 * 1024)

/** Replaces this process, unless it is lean already. Returns in one that is. */
export function becomeLean(): void {
  const { execPath, execArgv, env, argv } = process
  const given = [...execArgv, env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-')
  const isSet = NODE_FLAGS.some((flag) => given.includes(flag.slice(0, flag.indexOf('='))))
  if (isSet || process.execve === undefined) return
  process.execve(execPath, [execPath, ...NODE_FLAGS, ...execArgv, ...argv.slice(1)], {
    ...env,
    MALLOC_ARENA_MAX: env['MALLOC_ARENA_MAX'] ?? ARENAS,
    MALLOC_MMAP_THRESHOLD_: env['MALLOC_MMAP_THRESHOLD_'] ?? KEPT_BYTES,
    MALLOC_TRIM_THRESHOLD_: env['MALLOC_TRIM_THRESHOLD_'] ?? KEPT_BYTES,
    NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'] ?? cacheDirectory(),
  })
}

/**
 * Call it once all is loaded: the next start then needs no compiler of TypeScript, which alone
 * takes 25 MB.
 */
export function keepCompiled(): void {
  flushCompileCache()
}

/** Of the user alone: a user who may write there decides what code runs. */
function cacheDirectory(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'kinfold', 'compiled')
}
