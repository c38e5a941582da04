/**
 * Tests that fill a disk, on a small tmpfs of their own: each runs in a process of its own in a
 * mount namespace, so that no root is needed where the kernel lets users make namespaces, and
 * nothing stays mounted however it ends. Elsewhere no file of that process may grow beyond that
 * size, which any user may ask for.
 */
import { equal, match } from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { limitFiles, withoutFileLimits } from './file-limit.ts'

export interface SmallDisk {
  readonly path: string
  resize(kib: number): void
}

/** Set within that process: where its disk is. */
const INSIDE = 'KINFOLD_TEST_SMALL_DISK'
/** Set where its files are limited instead. */
const LIMITED = 'KINFOLD_TEST_LIMITED_FILES'
/**
 * A user's own namespace first; root in a container may mount and yet not make users' namespaces.
 */
const WAYS: readonly (readonly string[])[] = [['-rm'], ['-m']]
/** Mounts, then becomes what follows. */
const MOUNT = 'mount -t tmpfs -o "size=$1,mode=700" none "$2" && shift 2 && exec "$@"'

/** `file` is the test's own. */
export function testOnSmallDisk(
  file: string,
  name: string,
  kib: number,
  run: (disk: SmallDisk, t: TestContext) => Promise<void>,
): void {
  const path = process.env[INSIDE]
  if (path !== undefined) {
    test(name, (t) => run({ path, resize: (to) => resize(path, to) }, t))
    return
  }
  const way = wayInside()
  const skip = way === undefined && withoutFileLimits()
  test(name, { skip }, async (t) => {
    if (way === undefined) t.diagnostic('no namespaces here: its files are limited instead')
    const disk = await mkdtemp(join(tmpdir(), 'kinfold-disk-'))
    t.after(() => rm(disk, { recursive: true }))
    const command = [process.execPath, '--test-reporter=spec', onlyThis(name), file]
    await (way === undefined
      ? rerun(['prlimit', `--fsize=${kib * 1024}:`, ...command], { [INSIDE]: disk, [LIMITED]: '1' })
      : rerun(['unshare', ...way, ...mounting(kib, disk), ...command], { [INSIDE]: disk }))
  })
}

/** Into a namespace that may mount; undefined where there is none. */
function wayInside(): readonly string[] | undefined {
  const tried = [...mounting(600, '/tmp'), 'true']
  return WAYS.find((way) => spawnSync('unshare', [...way, ...tried]).status === 0)
}

function mounting(kib: number, path: string): readonly string[] {
  return ['sh', '-c', MOUNT, 'sh', `${kib}k`, path]
}

function onlyThis(name: string): string {
  return `--test-name-pattern=^${RegExp.escape(name)}$`
}

async function rerun(
  [program = '', ...args]: readonly string[],
  more: Readonly<Record<string, string>>,
): Promise<void> {
  const env: NodeJS.ProcessEnv = { ...process.env, ...more }
  // Otherwise it would report its results to the runner that started us, as if they were another
  // file's.
  delete env['NODE_TEST_CONTEXT']
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(program, args, { env }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, output: stdout + stderr })
    })
  })
  equal(code, 0, output)
  match(output, /^ℹ pass 1$/m)
}

function resize(path: string, kib: number): void {
  if (process.env[LIMITED] !== undefined) {
    limitFiles(kib * 1024)
    return
  }
  const { status, stderr } = spawnSync('mount', ['-o', `remount,size=${kib}k`, path])
  equal(status, 0, String(stderr))
}
