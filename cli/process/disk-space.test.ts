/**
 * Below the reserve nothing is deleted; it begins again by itself, with a quarter more free, and
 * both are said once.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { verbose } from '../../runtime/health.ts'
import { DiskSpace } from './disk-space.ts'

const MIB = 1024 ** 2
const GIB = 1024 * MIB

interface Disk {
  freeMib: number
  readonly said: string[]
  readonly space: DiskSpace
}

function diskOf(
  freeMib: number,
  { reserveMib, archiveMib, allGib = 100, logGib = 0 }: Record<string, number> = {},
): Disk {
  const said: string[] = []
  const disk = { freeMib, said } as { freeMib: number; said: string[]; space?: DiskSpace }
  disk.space = new DiskSpace({
    directory: '/data',
    reserveBytes: reserveMib === undefined ? undefined : reserveMib * MIB,
    archiveBytes: archiveMib === undefined ? undefined : archiveMib * MIB,
    logBytes: () => logGib * GIB,
    clock: { sleep: async () => undefined },
    logger: { log: (level, message) => void said.push(`${level}: ${message}`) },
    measure: () => ({ freeBytes: disk.freeMib * MIB, allBytes: allGib * GIB }),
  })
  return disk as Disk
}

test('deleting stops below the reserve and begins again with a quarter more', () => {
  const disk = diskOf(1_000, { reserveMib: 400 })
  const states = [1_000, 400, 399, 400, 499, 500, 400, 399].map((freeMib) => {
    disk.freeMib = freeMib
    disk.space.look()
    return disk.space.lacking() === '' ? 'room' : 'low'
  })
  deepEqual(states, ['room', 'room', 'low', 'low', 'low', 'room', 'room', 'low'])
  deepEqual(disk.said, [
    'warn: the disk is low, so nothing is deleted',
    'info: the disk has room again',
    'warn: the disk is low, so nothing is deleted',
  ])
})

test('a start on a low disk deletes nothing from the first moment', () => {
  const { space } = diskOf(399, { reserveMib: 400 })
  match(space.lacking(), /^disk: /)
})

test('readiness has it as a warning with what is free and what is needed, and nothing while there is room', () => {
  equal(diskOf(1_000).space.checks().length, 0)
  match(
    verbose(diskOf(100, { reserveMib: 400 }).space.checks()),
    /^\[!\]disk warning: 100 MiB are free at \/data, so nothing is deleted until 500 MiB are; .*\nreadyz check passed\n$/,
  )
})

test('T3: the archive may take what is free beyond twice the reserve, so it alone never ends deleting', () => {
  const disk = diskOf(1_000, { reserveMib: 400 })
  const left = [1_000, 801, 800, 799, 399, 1_200].map((freeMib) => {
    disk.freeMib = freeMib
    disk.space.look()
    return disk.space.archive.leftBytes / MIB
  })
  deepEqual(left, [200, 1, 0, 0, 0, 400])
})

test('the archive may have a quarter of the file system, or what the settings say', () => {
  equal(diskOf(1_000).space.archive.mostBytes, 25 * GIB)
  equal(diskOf(1_000, { archiveMib: 300 }).space.archive.mostBytes, 300 * MIB)
})

for (const [what, sizes, reserveMib] of [
  ['of a small log', { allGib: 100, logGib: 1 }, 512],
  ['of a large log', { allGib: 100, logGib: 20 }, 2_048],
  ['on a small disk', { allGib: 1, logGib: 0 }, 256],
] as const) {
  test(`the reserve ${what} is ${reserveMib} MiB`, () => {
    equal(diskOf(10_000, sizes).space.reserveBytes, reserveMib * MIB)
  })
}
