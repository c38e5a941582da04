/**
 * The client as krew and Homebrew install it, and as one executable: bundled, packed, installed by
 * a real krew; run where Node is, is too old, or is missing.
 *
 * What must stay true: it is unpacked away from the checkout, so nothing of the checkout is on its
 * path.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { VERSION } from '../../cli/print/version.ts'
import { homebrewFormula, krewManifest } from '../../scripts/release/channel.ts'
import { type ClientBundle, clientBundle, packClient } from '../../scripts/release/client.ts'
import {
  canMakeExecutable,
  EXECUTABLE,
  packExecutable,
} from '../../scripts/release/client-executable.ts'
import { missingServers, requireBinary } from '../cluster/binaries.ts'
import { eventually } from '../eventually.ts'
import { startKinfold } from '../process/kinfold-command.ts'
import { findOldestNode, missingOldestNode } from './node-22.ts'

const AT = { version: VERSION, url: 'https://a.example/files', homepage: 'https://a.example' }
/** As krew's own index takes it: one line, short. */
const SHORT_MOST = 50

let folder: string
let bundle: ClientBundle
let archive: string
let plugin: string
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kinfold-client-test-'))
  bundle = await clientBundle()
  archive = join(folder, 'client.tar.gz')
  packClient(bundle, archive)
  mkdirSync(join(folder, 'unpacked'))
  execFileSync('tar', ['-xzf', archive, '-C', join(folder, 'unpacked')])
  plugin = join(folder, 'unpacked', 'kubectl-kinfold')
})
after(() => rmSync(folder, { recursive: true, force: true }))

interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** With this Node alone on PATH, next to the system's own programs. */
function run(file: string, args: readonly string[], env: Record<string, string> = {}): Ran {
  const { status, stdout, stderr } = spawnSync(file, args, {
    cwd: folder,
    encoding: 'utf8',
    env: {
      HOME: folder,
      PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
      ...env,
    },
  })
  return { code: status, stdout, stderr }
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

suite('the client', () => {
  test('has only what asks: no adapter, no core but its words, of the packages two', () => {
    const ours = bundle.inputs.filter((path) => !path.startsWith('node_modules/'))
    deepEqual(
      ours.filter((path) => !/^(cli|runtime)\//.test(path)),
      [
        // Flags are checked as rules are.
        'ports/rule/setting.ts',
        ...['core/model/text.ts', 'services/graph/api/word.ts'],
        // One sentence says who deleted an object, here and on the page.
        ...['web/base/text.ts', 'web/deletion-text.ts'],
        // How kubectl enforces a policy of a cluster.
        ...['core/model/rule/policy-content.ts', 'core/model/rule/annotate.ts'],
      ],
    )
    const packages = bundle.inputs.map((path) => /^node_modules\/([^/]+)/.exec(path)?.[1])
    deepEqual([...new Set(packages)].filter((name) => name !== undefined).sort(), [
      'commander',
      'yaml',
    ])
    const licences = readFileSync(join(dirname(plugin), 'THIRD-PARTY-LICENCES.txt'), 'utf8')
    match(licences, /^commander [\d.]+\nMIT\n.*^yaml [\d.]+\nISC\n/ms)
  })

  test('is packed into the same bytes each time', () => {
    const again = join(folder, 'again.tar.gz')
    packClient(bundle, again)
    equal(sha256(again), sha256(archive))
  })

  test('says its version and its name, also by a link', () => {
    const link = join(folder, 'kubectl-kinfold')
    symlinkSync(plugin, link)
    deepEqual(run(link, ['--version']), { code: 0, stdout: `${VERSION}\n`, stderr: '' })
    match(run(link, ['--help']).stdout, /^Usage: kubectl kinfold .* npm package and the image/ms)
    const unknown = run(link, ['up'])
    deepEqual([unknown.code, unknown.stdout], [2, ''])
    match(unknown.stderr, /unknown command 'up'/)
  })

  test('says what to do where there is no Node, and where it is too old', () => {
    const none = run(plugin, ['--version'], { KINFOLD_NODE: 'no-such-node' })
    deepEqual([none.code, none.stdout], [4, ''])
    match(none.stderr, /^error: kinfold needs Node 22\.19 or newer, and there is no no-such-node: /)
    // The same Node, with the version of an older one.
    const old = join(folder, 'old.cjs')
    const claim = `Object.defineProperty(process.versions, 'node', { value: '22.18.0' })\n`
    writeFileSync(old, claim)
    const tooOld = run(process.execPath, ['--require', old, `${plugin}.cjs`, '--version'])
    deepEqual([tooOld.code, tooOld.stdout], [4, ''])
    match(tooOld.stderr, /^error: kinfold needs Node 22\.19 or newer, and .*: install Node 24\n$/)
  })

  test('runs on the oldest Node that is supported', { skip: missingOldestNode() ?? false }, () => {
    const ran = run(plugin, ['--version'], { KINFOLD_NODE: findOldestNode()! })
    deepEqual(ran, { code: 0, stdout: `${VERSION}\n`, stderr: '' })
  })

  test('says what to do where a cluster itself would be asked', () => {
    for (const flags of [
      ['--context', 'a'],
      ['-l', 'app=web'],
    ]) {
      const ran = run(plugin, ['get', 'pods', ...flags])
      deepEqual([ran.code, ran.stdout], [2, ''])
      match(ran.stderr, /^error: this client only asks Kinfold, .* --cluster instead of --context/)
    }
  })

  test('asks a running Kinfold: tree, as text and as YAML, and a failure', async (t) => {
    await asks(t, plugin)
  })
})

suite('the client as an executable', {
  skip: canMakeExecutable() ? false : 'skipped: it is made on Linux only',
}, () => {
  let executable: string
  before(() => {
    const packed = join(folder, 'executable.tar.gz')
    packExecutable(bundle, packed)
    mkdirSync(join(folder, 'executable'))
    execFileSync('tar', ['-xzf', packed, '-C', join(folder, 'executable')])
    executable = join(folder, 'executable', EXECUTABLE)
  })

  test('says its version where there is no Node, and its name by a link', () => {
    const none = { PATH: '/no-such-folder' }
    deepEqual(run(executable, ['--version'], none), {
      code: 0,
      stdout: `${VERSION}\n`,
      stderr: '',
    })
    match(run(executable, ['--help'], none).stdout, /^Usage: kinfold-client /)
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    symlinkSync(executable, join(bin, 'kubectl-kinfold'))
    match(run('kubectl-kinfold', ['--help'], { PATH: bin }).stdout, /^Usage: kubectl kinfold /)
  })

  test('has the licences of Node and of what is bundled', () => {
    const licence = (name: string): string => readFileSync(join(folder, 'executable', name), 'utf8')
    match(licence('NODE-LICENCE.txt'), /^Node\.js is licensed/)
    match(licence('THIRD-PARTY-LICENCES.txt'), /^commander /)
    match(licence('LICENSE'), /Apache License/)
  })

  test('asks a running Kinfold', async (t) => {
    await asks(t, executable)
  })
})

async function asks(t: TestContext, client: string): Promise<void> {
  const data = mkdtempSync(join(folder, 'data-'))
  const playground = startKinfold(['playground', '--http', '127.0.0.1:0', '--data', data])
  t.after(() => playground.child.kill('SIGKILL'))
  const object = ['deploy/web', '-n', 'shop', '--cluster', 'north', '--data', data]
  await eventually('the workload is there', async () => {
    const { code, stdout, stderr } = run(client, ['tree', ...object])
    return (code === 0 && stdout.includes('Pod/web-')) || stderr || stdout
  })
  const yaml = parse(run(client, ['tree', ...object, '-o', 'yaml']).stdout)
  equal(yaml.kind, 'Tree')
  const other = ['cm/no-such', '-n', 'shop', '--cluster', 'north', '--data', data]
  const none = run(client, ['why', ...other])
  equal(none.code, 2)
  match(none.stderr, /^error: /)
}

suite('the manifest for krew', () => {
  const manifest = (sum: string): string => krewManifest(AT, { name: 'client.tar.gz', sha256: sum })

  test('keeps the rules of krew and of its index', () => {
    const { apiVersion, kind, metadata, spec } = parse(manifest(sha256(archive)))
    deepEqual(
      [apiVersion, kind, metadata.name, spec.version],
      ['krew.googlecontainertools.github.com/v1alpha2', 'Plugin', 'kinfold', `v${VERSION}`],
    )
    ok(spec.shortDescription.length <= SHORT_MOST && !/[.\n]/.test(spec.shortDescription))
    const [platform] = spec.platforms
    equal(spec.platforms.length, 1)
    match(platform.sha256, /^[0-9a-f]{64}$/)
    equal(platform.uri, 'https://a.example/files/client.tar.gz')
    deepEqual(platform.selector.matchExpressions[0].key, 'os')
    const names = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).split('\n')
    ok(names.includes(platform.bin))
  })

  test('is what a real krew installs by, and refuses for other bytes', {
    skip: missingServers('krew') ?? false,
  }, () => {
    const krew = requireBinary('krew')
    const file = join(folder, 'kinfold.yaml')
    const env = { KREW_ROOT: join(folder, 'krew'), KREW_NO_UPGRADE_CHECK: '1' }
    const install = ['install', '--no-update-index', `--manifest=${file}`, `--archive=${archive}`]
    writeFileSync(file, manifest('a'.repeat(64)))
    const refused = run(krew, install, env)
    ok(refused.code !== 0)
    match(refused.stderr, /checksum/)
    writeFileSync(file, manifest(sha256(archive)))
    const installed = run(krew, install, env)
    equal(installed.code, 0, installed.stderr)
    match(installed.stderr, /Node 22\.19/)
    const ran = run(join(folder, 'krew', 'bin', 'kubectl-kinfold'), ['--version'])
    deepEqual(ran, { code: 0, stdout: `${VERSION}\n`, stderr: '' })
  })
})

suite('the formula for Homebrew', () => {
  const formula = homebrewFormula(AT, { name: 'kinfold-1.tgz', sha256: 'a'.repeat(64) })

  test('names the package and its checksum, and needs Node', () => {
    match(formula, /^ {2}url "https:\/\/a\.example\/files\/kinfold-1\.tgz"$/m)
    match(formula, /^ {2}sha256 "a{64}"$/m)
    match(formula, /^ {2}depends_on "node"$/m)
    equal(formula.match(/^\s*(class|def|test do)\b/gm)?.length, formula.match(/^\s*end$/gm)?.length)
  })

  const { error } = spawnSync('ruby', ['--version'])
  const skip = error === undefined ? false : 'skipped: there is no ruby'
  test('is Ruby', { skip }, () => {
    equal(execFileSync('ruby', ['-wc'], { input: formula, encoding: 'utf8' }), 'Syntax OK\n')
  })
})
