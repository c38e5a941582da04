/**
 * The package as its user has it: released from this checkout, installed into an empty folder, run
 * by a Node of the test's choice.
 *
 * What must stay true: nothing of the checkout is on its path, neither modules nor the checkout's
 * Node; packages that npm has cached are not requested from the registry again.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
/** Where a release would be; nothing is asked there. */
export const RELEASE_URL = 'https://releases.example/kinfold'
const QUIET = ['--no-audit', '--no-fund', '--loglevel=error']

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  /** As far as it was written. */
  readonly output: { readonly stdout: string; readonly stderr: string }
  readonly ended: Promise<Ended>
}

export class InstalledPackage implements Disposable {
  readonly folder: string
  /** All files of a release, as scripts/release/release.ts makes it. */
  readonly release: string
  readonly tarball: string
  /** Where it is installed. */
  readonly app: string

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'kinfold-package-'))
    this.app = join(this.folder, 'app')
    this.release = join(this.folder, 'release')
    mkdirSync(this.app)
    const flags = ['--url', RELEASE_URL, '--homepage', 'https://kinfold.example']
    execFileSync(
      process.execPath,
      [join(ROOT, 'scripts', 'release', 'release.ts'), this.release, ...flags],
      {
        env: environment(process.execPath),
        stdio: 'pipe',
      },
    )
    const file = readdirSync(this.release).find((name) => name.endsWith('.tgz'))
    if (file === undefined) throw new Error('the release has no package')
    this.tarball = join(this.release, file)
    writeFileSync(join(this.app, 'package.json'), '{ "private": true }')
    npm(this.app, ['install', '--prefer-offline', ...QUIET, this.tarball])
  }

  path(...names: readonly string[]): string {
    return join(this.app, 'node_modules', ...names)
  }

  /** Paths in the tarball, without its top folder. */
  packed(): readonly string[] {
    const listed = execFileSync('tar', ['-tzf', this.tarball], { encoding: 'utf8' })
    return listed
      .trimEnd()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''))
  }

  /** Of all files that are installed. */
  bytes(): number {
    const files = readdirSync(this.path(), { recursive: true, withFileTypes: true })
    return files
      .filter((file) => file.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  }

  start(node: string, args: readonly string[]): Running {
    return started(node, [this.path('kinfold', 'cli', 'kinfold.js'), ...args], node, this.app)
  }

  async run(node: string, ...args: readonly string[]): Promise<Ended> {
    return await this.start(node, args).ended
  }

  /** As npm finds the command; both run on the Node that is first on PATH. */
  async npx(node: string, ...args: readonly string[]): Promise<Ended> {
    return await started('npx', ['--no-install', ...args], node, this.app).ended
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function started(file: string, args: readonly string[], node: string, cwd: string): Running {
  const child = spawn(file, args, { cwd, env: environment(node) })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk) => {
      output[name] += chunk
    })
  }
  const ended = once(child, 'close').then(([code]): Ended => ({ code, ...output }))
  return { child, output, ended }
}

/** A user's own certificates (behind a proxy that has its own) are not the checkout's. */
const OF_THE_CHECKOUT = /^(npm_|NODE_(?!EXTRA_CA_CERTS$)|KINFOLD_)/i

/**
 * The PATH of a user whose only Node is this one: the folders that npm puts before it for a script
 * of the checkout are left out.
 */
function environment(node: string): NodeJS.ProcessEnv {
  const { PATH = '', ...env } = process.env
  const paths = PATH.split(delimiter).filter((path) => !path.includes('node_modules'))
  const kept = Object.entries(env).filter(([name]) => !OF_THE_CHECKOUT.test(name))
  return { ...Object.fromEntries(kept), PATH: [dirname(node), ...paths].join(delimiter) }
}

function npm(cwd: string, args: readonly string[]): void {
  execFileSync('npm', args, { cwd, stdio: 'pipe', env: environment(process.execPath) })
}
