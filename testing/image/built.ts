/**
 * The image, really built from the Dockerfile, by buildah: without a daemon, and without a registry
 * of images.
 *
 * What must stay true: the base that stands in for the Dockerfile's is made here, of Debian by
 * debootstrap and of the Node and npm that run this, under the name and tag that the Dockerfile
 * has, and without its digest; no image of that name is pulled. Its store is in a temporary folder,
 * so that no other image of the machine is seen or touched.
 *
 * Not here: the additions of a container runtime, such as health checks that are carried out, a
 * read-only root, networks.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { baseOf, dockerfile } from '../process/dockerfile.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const NAME = 'kinfold:test'
const CERTIFICATES = '/etc/ssl/certs/of-the-host.crt'

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * The reason why it cannot be built here, or undefined. A machine that brings the other servers
 * need not have these, so KINFOLD_REQUIRE_SERVERS does not ask for them: the forge builds the image
 * by docker (.github/workflows/ci.yml).
 */
export function missingBuilder(
  uid: number | undefined = process.getuid?.(),
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const missing = ['buildah', 'debootstrap'].filter(
    (name) => spawnSync(name, ['--version'], { env }).error,
  )
  const what = missing.length === 0 ? [] : [`${missing.join(' and ')} not installed`]
  const who = uid === 0 ? [] : ['debootstrap runs as root only']
  const why = [...what, ...who].join('; ')
  return why === '' ? undefined : `skipped: the image is not built: ${why}`
}

export class BuiltImage implements Disposable {
  readonly #folder: string
  readonly #container: string

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'kinfold-image-'))
    try {
      this.#makeBase()
      // Without this format there is no health check.
      const format = ['--format', 'docker', '--pull-never', '--isolation', 'chroot']
      const file = ['--file', this.#unpinned()]
      this.#buildah('bud', ...format, ...file, '--network', 'host', '--tag', NAME, ROOT)
      this.#container = this.#buildah('from', '--pull-never', NAME)
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  /** As `docker inspect` has it. */
  config(): Readonly<Record<string, unknown>> {
    const { Docker } = JSON.parse(this.#buildah('inspect', '--type', 'image', NAME)) as {
      Docker: { config: Record<string, unknown> }
    }
    return Docker.config
  }

  /** As the image's user, in its working folder. */
  run(...words: readonly string[]): Ran {
    const args = this.#args('run', '--isolation', 'chroot', this.#container, '--', ...words)
    const { status, stdout, stderr } = spawnSync('buildah', args, { encoding: 'utf8' })
    return { code: status, stdout, stderr }
  }

  [Symbol.dispose](): void {
    // Its layers are plain folders.
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** The Dockerfile without digests: what stands in for the base has another one. */
  #unpinned(): string {
    const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
    const file = join(this.#folder, 'Dockerfile')
    writeFileSync(file, text.replace(/^(FROM \S+?)@sha256:\w+/gm, '$1'))
    return file
  }

  #makeBase(): void {
    const [stage] = dockerfile()
    const { name, tag } = baseOf(stage?.from ?? '')
    const from = `${name}:${tag}`
    const [, suite] = /^node:[\d.]+-(\w+)-slim$/.exec(from) ?? []
    if (suite === undefined) throw new Error(`the base is none of Node's on a slim Debian: ${from}`)
    const base = join(this.#folder, 'base')
    const args = ['--variant=minbase', '--include=ca-certificates', suite, base]
    execFileSync('debootstrap', args, { stdio: 'pipe' })
    copyFileSync(process.execPath, join(base, 'usr/local/bin/node'))
    const npm = npmFolder()
    cpSync(npm, join(base, 'usr/local/lib/node_modules/npm'), { recursive: true })
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/local/bin/npm'))
    const certificates = process.env['NODE_EXTRA_CA_CERTS']
    const trusts = certificates !== undefined && existsSync(certificates)
    if (trusts) copyFileSync(certificates, join(base, CERTIFICATES))

    const container = this.#buildah('from', 'scratch')
    this.#buildah('add', container, base, '/')
    const env = ['PATH=/usr/local/bin:/usr/bin:/bin']
    if (trusts) env.push(`NODE_EXTRA_CA_CERTS=${CERTIFICATES}`)
    this.#buildah('config', ...env.flatMap((pair) => ['--env', pair]), container)
    this.#buildah('commit', '--rm', container, `docker.io/library/${from}`)
    rmSync(base, { recursive: true, force: true })
  }

  #buildah(...words: readonly string[]): string {
    const options = { encoding: 'utf8', stdio: 'pipe', maxBuffer: 64 * 1024 ** 2 } as const
    return execFileSync('buildah', this.#args(...words), options).trim()
  }

  #args(...words: readonly string[]): string[] {
    const at = (name: string): string => join(this.#folder, name)
    return ['--root', at('root'), '--runroot', at('run'), '--storage-driver', 'vfs', ...words]
  }
}

function npmFolder(): string {
  const command = execFileSync('which', ['npm'], { encoding: 'utf8' }).trim()
  return dirname(dirname(realpathSync(command)))
}
