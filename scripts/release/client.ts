/**
 * The client of a release: one JavaScript file with the commands that only ask
 * (cli/client-main.ts), and an archive of it that runs as a plugin of kubectl.
 *
 * What must stay true: nothing that runs Kinfold is in it; an older Node can read it as far as to
 * say that it is too old; the same checkout makes the same bytes.
 *
 * Not here: manifests of package managers (channel.ts).
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import { licenceTexts, runtimePackages } from './release-part.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** The file that starts it, in the archive; kubectl finds its plugins by this name. */
export const PLUGIN = 'kubectl-kinfold'
/** Of Node, as `engines` in package.json has it. */
const [LEAST_MAJOR, LEAST_MINOR] = [22, 19]

/** Of an archive, unpacked. */
const MOST_BYTES = 512 * 1024 ** 2

export interface ClientBundle {
  readonly code: string
  /** Files that are part of it, from the root of the checkout. */
  readonly inputs: readonly string[]
}

export async function clientBundle(): Promise<ClientBundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['cli/client-main.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    // An older Node must be able to parse its message.
    target: 'node18',
    banner: { js: banner() },
    charset: 'utf8',
    legalComments: 'none',
    minifyWhitespace: true,
    minifySyntax: true,
    write: false,
    metafile: true,
    logLevel: 'error',
    plugins: [withoutFiles],
  })
  const [file] = outputFiles
  if (file === undefined) throw new Error('esbuild has made nothing')
  return { code: file.text, inputs: Object.keys(metafile.inputs) }
}

/** One file has no package.json and no packages next to it. */
const withoutFiles: Plugin = {
  name: 'without-files',
  setup({ onLoad }) {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const resolveDir = join(ROOT, 'cli')
    onLoad({ filter: /\/cli\/print\/version\.ts$/ }, () => ({
      contents: `export const VERSION = ${JSON.stringify(version)}`,
    }))
    onLoad({ filter: OF_A_CLUSTER }, () => ({ contents: NO_CLUSTER, resolveDir }))
    onLoad({ filter: /\/cli\/print\/yaml\.ts$/ }, () => ({
      contents: `export const yaml = () => require('yaml')`,
      resolveDir,
    }))
  },
}

const OF_A_CLUSTER = /\/cli\/reach\/(own-cluster|label-selection)\.ts$/
/** Speaking to a cluster takes the Kubernetes client, which is ten times all the rest. */
const NO_CLUSTER = `import { EXIT, ExitError } from '../runtime/lifecycle.ts'
export const callSignal = undefined, targetOf = undefined, createLabelSelection = undefined
export function openOwnCluster() {
  throw new ExitError(EXIT.input, 'this client only asks Kinfold, never a cluster itself: name the cluster with --cluster instead of --context; --live, -l and delete are in the npm package and the image')
}`

function banner(): string {
  const least = `${LEAST_MAJOR}.${LEAST_MINOR}`
  return `#!/usr/bin/env node
{const [major, minor] = process.versions.node.split('.').map(Number);
if (major < ${LEAST_MAJOR} || (major === ${LEAST_MAJOR} && minor < ${LEAST_MINOR})) {
process.stderr.write('error: kinfold needs Node ${least} or newer, and ' + process.execPath + ' is ' + process.version + ': install Node 24\\n');
process.exit(4)}}`
}

/** Licence of Kinfold, and of the packages whose code is in the bundle. */
export function licencesOf({ inputs }: ClientBundle): string {
  const packages = runtimePackages(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const bundled = packages.filter(({ path }) =>
    inputs.some((input) => input.startsWith(`${path}/`)),
  )
  return licenceTexts(ROOT, bundled)
}

/** Writes a .tar.gz with the plugin. */
export function packClient(bundle: ClientBundle, file: string): void {
  packed(file, (folder) => {
    writeFileSync(join(folder, PLUGIN), LAUNCHER, { mode: 0o755 })
    writeFileSync(join(folder, `${PLUGIN}.cjs`), bundle.code, { mode: 0o644 })
    writeFileSync(join(folder, 'THIRD-PARTY-LICENCES.txt'), licencesOf(bundle), { mode: 0o644 })
  })
}

/**
 * Writes a .tar.gz of the files in the folder, and of the licence: the same bytes for the same
 * files.
 */
export function packed(file: string, fill: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-client-'))
  try {
    fill(folder)
    cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
    const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go+r,go-w']
    const same = ['--format=ustar', '--sort=name', '--mtime=@0', ...owner]
    const args = [...same, '-C', folder, '-c', ...readdirSync(folder).sort()]
    const tar = execFileSync('tar', args, { maxBuffer: MOST_BYTES })
    writeFileSync(resolve(file), gzipSync(tar))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** For a shell that knows nothing but POSIX; krew starts it by a link. */
const LAUNCHER = `#!/bin/sh
# Runs the client by the Node on PATH, or by that which KINFOLD_NODE names; says what to do where there is none.
self=$0
while [ -h "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=$(dirname "$self")/$link ;;
  esac
done
node=\${KINFOLD_NODE:-node}
if ! command -v "$node" >/dev/null 2>&1; then
  echo "error: kinfold needs Node ${LEAST_MAJOR}.${LEAST_MINOR} or newer, and there is no $node: install Node 24, or name one in KINFOLD_NODE" >&2
  exit 4
fi
exec "$node" "$(dirname "$self")/${PLUGIN}.cjs" "$@"
`
