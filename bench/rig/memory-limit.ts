/**
 * Limits the memory of a process, as a container's limit does: a memory cgroup of its own, which
 * root may make.
 *
 * What must stay true: the kernel takes back pages of mapped files before it ends the process for
 * memory that it cannot take back.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'

const ROOT = '/sys/fs/cgroup'

export interface MemoryLimit extends Disposable {
  /** From here on; memory that it has already is counted where it was. */
  add(pid: number): void
}

/**
 * Throws `ExitError` where this user or system has none to give. Dispose of it when its process has
 * ended.
 */
export function memoryLimit(megabytes: number): MemoryLimit {
  const isOld = existsSync(`${ROOT}/memory`)
  const folder = isOld ? `${ROOT}/memory${ownGroup()}/kinfold-bench` : `${ROOT}/kinfold-bench`
  const file = isOld ? 'memory.limit_in_bytes' : 'memory.max'
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(`${folder}/${file}`, String(megabytes * 1e6))
  } catch (error) {
    throw new ExitError(
      EXIT.input,
      `--limit needs a memory cgroup, which Linux lets root make: ${(error as Error).message}`,
    )
  }
  return {
    add: (pid) => writeFileSync(`${folder}/cgroup.procs`, String(pid)),
    [Symbol.dispose]: () => rmdirSync(folder),
  }
}

/** Of cgroups of version 1. */
function ownGroup(): string {
  const lines = readFileSync('/proc/self/cgroup', 'utf8')
  return /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(lines)?.[1]?.replace(/\/$/, '') ?? ''
}
