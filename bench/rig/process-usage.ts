/**
 * The resource usage of a process, as Linux counts it. Not on other systems: the servers of these
 * benchmarks are not built there either.
 */
import { readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second, whatever the kernel's own tick. */
const TICKS_PER_SECOND = 100

/** Of all its threads, in user and kernel mode. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in brackets may hold blanks; the fields after it are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

export interface Memory {
  readonly residentMb: number
  /** Without files that are mapped, whose pages the kernel takes back when it needs them. */
  readonly anonymousMb: number
  /** The most it ever was. */
  readonly peakMb: number
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1])
  const megabytes = (name: string): number => (kib(name) * 1_024) / 1e6
  return {
    residentMb: megabytes('VmRSS'),
    anonymousMb: megabytes('RssAnon'),
    peakMb: megabytes('VmHWM'),
  }
}
