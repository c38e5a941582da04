/**
 * Tests that fill a disk, on a small tmpfs of their own: each runs in a process of its own in a mount namespace, so that no root is needed
 * where the kernel lets users make namespaces, and nothing stays mounted whatever ends it.
 *
 * What must stay true: where KINFOLD_REQUIRE_SERVERS is 1, as on CI, a machine that cannot have such a disk fails instead of skipping.
 */
import { equal, match } from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

export interface SmallDisk {
  readonly path: string
  /** As mount takes it: `600k`, `6m`. */
  resize(size: string): void
}

/** Set within the namespace: where its disk is mounted. */
const INSIDE = 'KINFOLD_TEST_SMALL_DISK'
/** A user's own namespace first; root in a container may mount and yet not make users' namespaces. */
const WAYS: readonly (readonly string[])[] = [['-rm'], ['-m']]
/** Mounts, then becomes what follows. */
const MOUNT = 'mount -t tmpfs -o "size=$1,mode=700" none "$2" && shift 2 && exec "$@"'

/** `file` is the test's own. */
export function testOnSmallDisk(
  file: string,
  name: string,
  size: string,
  run: (disk: SmallDisk, t: TestContext) => Promise<void>,
): void {
  const path = process.env[INSIDE]
  if (path !== undefined) {
    test(name, (t) => run({ path, resize: (to) => resize(path, to) }, t))
    return
  }
  const way = wayInside()
  test(name, { skip: way === undefined ? missing() : false }, () => {
    return rerun(file, name, size, way ?? [])
  })
}

/** A shell in a namespace that may mount; undefined where there is none. */
function wayInside(): readonly string[] | undefined {
  const tried = ['-c', MOUNT, 'sh', '600k', '/tmp', 'true']
  return WAYS.find((way) => spawnSync('unshare', [...way, 'sh', ...tried]).status === 0)
}

function missing(): string {
  const reason = 'no small disk: needs Linux, and root or a user who may make namespaces'
  if (process.env['KINFOLD_REQUIRE_SERVERS'] === '1') throw new Error(reason)
  return `skipped: ${reason}`
}

async function rerun(
  file: string,
  name: string,
  size: string,
  way: readonly string[],
): Promise<void> {
  const mountPoint = await mkdtemp(join(tmpdir(), 'kinfold-disk-'))
  const pattern = `--test-name-pattern=^${RegExp.escape(name)}$`
  const node = [process.execPath, '--test-reporter=spec', pattern, file]
  const env: NodeJS.ProcessEnv = { ...process.env, [INSIDE]: mountPoint }
  // Else it would tell its results to the runner that started us, as if they were another file's.
  delete env['NODE_TEST_CONTEXT']
  const args = [...way, 'sh', '-c', MOUNT, 'sh', size, mountPoint, ...node]
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile('unshare', args, { env }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, output: stdout + stderr })
    })
  })
  await rmdir(mountPoint)
  equal(code, 0, output)
  match(output, /^ℹ pass 1$/m)
}

function resize(path: string, size: string): void {
  const { status, stderr } = spawnSync('mount', ['-o', `remount,size=${size}`, path])
  equal(status, 0, String(stderr))
}
