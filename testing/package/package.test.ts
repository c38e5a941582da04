/**
 * The package: packed, installed into an empty folder, and used as its documentation says, on the
 * Node of the checkout and on the oldest one that it supports.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { VERSION } from '../../cli/print/version.ts'
import { BUNDLED, runtimePackages } from '../../scripts/release/release-part.ts'
import { eventually } from '../eventually.ts'
import { InstalledPackage } from './installed.ts'
import { findOldestNode, missingOldestNode, OLDEST_NODE } from './node-22.ts'

const MOST_BYTES = 150 * 1024 ** 2
const MANIFEST = join(import.meta.dirname, '..', '..', 'package.json')

let installed: InstalledPackage
before(() => {
  installed = new InstalledPackage()
})
after(() => installed[Symbol.dispose]())

suite('the package', () => {
  test('has compiled modules, schemas and licence, and nothing that only people at work need', () => {
    const packed = installed.packed()
    const isExpected = (path: string): boolean =>
      /^dist\/[\w./-]+\.(js|avsc|tsv)$/.test(path) ||
      /^dist\/services\/graph\/page\/[\w.-]+$/.test(path) ||
      path === 'dist/package.json'
    deepEqual(packed.filter((path) => !isExpected(path)).sort(), [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'cli/kinfold.js',
      'package.json',
    ])
    deepEqual(
      packed.filter((path) => /test|contract|^dist\/(sim|testing|bench|scripts)/.test(path)),
      [],
    )
    ok(packed.includes('dist/schemas/lineage.avsc'))
    ok(packed.includes('dist/services/graph/page/page.js'))
  })

  test('brings no Node, and takes at most 150 MB with all that it needs', () => {
    ok(!existsSync(installed.path('.bin', 'node')))
    deepEqual(
      readdirSync(installed.path()).filter((name) => /^node-(bin|linux)/.test(name)),
      [],
    )
    ok(installed.bytes() <= MOST_BYTES, `${installed.bytes()} bytes`)
  })

  test('is released with notes, licences, a bill of materials and checksums of all', () => {
    const files = readdirSync(installed.release).sort()
    const kinfold = `kinfold-${VERSION}`
    const summed = [
      'NOTES.md',
      'THIRD-PARTY-LICENCES.txt',
      `${kinfold}.cdx.json`,
      `${kinfold}.tgz`,
      'kinfold.krew.yaml',
      'kinfold.rb',
      `kubectl-${kinfold}.tar.gz`,
    ]
    deepEqual(files, [...summed, 'SHA256SUMS'].sort())
    const sums = readFileSync(join(installed.release, 'SHA256SUMS'), 'utf8')
    deepEqual(
      [...sums.matchAll(/^[0-9a-f]{64} {2}(.*)$/gm)].map(([, name]) => name).sort(),
      summed.sort(),
    )
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: installed.release })
  })

  test('has a bill of materials that names what was installed with it, and what the page is made of', () => {
    const bill = readFileSync(join(installed.release, `kinfold-${VERSION}.cdx.json`), 'utf8')
    const { components } = JSON.parse(bill) as { components: readonly { name: string }[] }
    const lock = readFileSync(installed.path('.package-lock.json'), 'utf8')
    const installedNames = runtimePackages(lock).map(({ name }) => name)
    const expected = [...installedNames, ...BUNDLED].filter((name) => name !== 'kinfold')
    deepEqual(
      [...new Set(components.map(({ name }) => name))].sort(),
      [...new Set(expected)].sort(),
    )
  })

  test('names the oldest Node that is tested', () => {
    const { engines } = JSON.parse(readFileSync(MANIFEST, 'utf8'))
    ok(OLDEST_NODE.startsWith(engines.node.replace('>=', '')), OLDEST_NODE)
  })

  for (const [version, find, skip] of [
    ['24', () => process.execPath, undefined],
    [OLDEST_NODE, findOldestNode, missingOldestNode()],
  ] as const) {
    test(`on Node ${version}: npx, playground, tree, why, audit verify`, { skip }, async (t) => {
      const node = find()!
      const data = join(installed.folder, `data-${version}`)
      t.after(() => rmSync(data, { recursive: true, force: true }))
      deepEqual(await installed.npx(node, 'kinfold', '--version'), {
        code: 0,
        stdout: `${VERSION}\n`,
        stderr: '',
      })

      const at = ['--http', '127.0.0.1:0', '--data', data]
      const playground = installed.start(node, ['playground', ...at])
      t.after(() => playground.child.kill('SIGKILL'))
      await eventually('the playground says what to try', async () => {
        return playground.child.exitCode !== null || playground.output.stdout.includes('Ctrl-C')
      })
      equal(playground.child.exitCode, null, playground.output.stderr)
      const object = ['-n', 'shop', '--cluster', 'north', '--data', data]
      await eventually('the workload is there', async () => {
        const tree = await installed.run(node, 'tree', 'deploy/web', ...object)
        equal(tree.stderr, '')
        return /^Deployment\/web -n shop {2}\(cluster north\)\n.*Pod\/web-/s.test(tree.stdout)
      })
      await deleteWeb(playground.output.stdout)
      await eventually('why says that it was collected', async () => {
        const why = await installed.run(node, 'why', 'cm/web-settings', ...object)
        deepEqual([why.code, why.stderr], [0, ''])
        return /^Deleted .* \(the deletion was observed\)/m.test(why.stdout) || why.stdout
      })
      playground.child.kill('SIGTERM')
      const { code, stderr } = await playground.ended
      deepEqual([code, stderr], [0, ''])

      const audit = await installed.run(node, 'audit', 'verify', '--data', data)
      deepEqual([audit.code, audit.stderr], [0, ''])
      match(
        audit.stdout,
        /^partition 0: identical, events 0 to \d+ \(\d+ folded, [1-9]\d* commands/,
      )
    })
  }
})

/** As kubectl does by default. */
async function deleteWeb(welcome: string): Promise<void> {
  const file = /kubeconfig +(?<file>\S+)/.exec(welcome)?.groups?.['file'] ?? ''
  const server = /server: "(?<url>[^"]+)"/.exec(readFileSync(file, 'utf8'))?.groups?.['url']
  const path = '/apis/apps/v1/namespaces/shop/deployments/web'
  const response = await fetch(`${server}${path}?propagationPolicy=Background`, {
    method: 'DELETE',
  })
  equal(response.status, 200, await response.text())
}
