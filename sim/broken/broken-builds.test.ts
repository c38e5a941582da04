/** Every broken build is noticed by what it names: what is recorded of it notices it again. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { drawn, LEFT_OUT } from '../../testing/drawn.ts'
import { brokenText } from './broken-build.ts'
import { BROKEN_BUILDS } from './broken-builds.ts'
import { type Caught, replay, SKIPPED } from './broken-catch.ts'
import { placeOf, sourceFiles } from './broken-file.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const recorded = JSON.parse(readFileSync(`${root}sim/broken-seeds.json`, 'utf8')) as Readonly<
  Record<string, Caught>
>

test('there are thirty broken builds at least, each once, and each breaks something', () => {
  const names = BROKEN_BUILDS.map(({ name }) => name)
  const files = sourceFiles()
  equal(new Set(names).size, names.length)
  ok(names.length >= 30, `there are ${names.length}`)
  for (const { changes } of BROKEN_BUILDS) {
    for (const change of changes) {
      const text = readFileSync(root + placeOf(change.file, files), 'utf8')
      ok(brokenText(change, text) !== text)
    }
  }
})

test('no record is of a build that is not there', () => {
  const names = new Set(BROKEN_BUILDS.map(({ name }) => name))
  deepEqual(
    Object.keys(recorded).filter((name) => !names.has(name)),
    [],
  )
})

/** Of all builds those that are run everywhere. */
const EVERY = 10
const wanted = new Set(drawn(BROKEN_BUILDS, EVERY))

suite('a build in which', { concurrency: 2 }, () => {
  for (const build of BROKEN_BUILDS) {
    const skip = wanted.has(build) ? false : LEFT_OUT
    test(`${build.name} is noticed`, { skip }, async (t) => {
      const caught = await replay(build, recorded[build.name])
      if (caught?.wrong === SKIPPED) return t.skip('this machine cannot run what notices it')
      ok(caught, `npm run sim:broken -- --only "${build.name}"`)
    })
  }
})
