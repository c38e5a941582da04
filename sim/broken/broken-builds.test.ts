/** Every broken build is noticed by what it names, the test or the small world that it names. */
import { equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { drawn, LEFT_OUT } from '../../testing/drawn.ts'
import { brokenText } from './broken-build.ts'
import { BROKEN_BUILDS } from './broken-builds.ts'
import { caughtBy, SKIPPED } from './broken-catch.ts'
import { placeOf, sourceFiles } from './broken-file.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
test('there are thirty broken builds at least, each once, and each breaks something', () => {
  const names = BROKEN_BUILDS.map(({ name }) => name)
  const files = sourceFiles()
  equal(new Set(names).size, names.length)
  ok(names.length >= 30, `there are ${names.length}`)
  for (const { changes } of BROKEN_BUILDS) {
    for (const change of changes) {
      const text = readFileSync(root + placeOf(change.file, files), 'utf8')
      const broken = brokenText(change, text)
      ok(broken !== text)
      // Throws where it is no program.
      stripTypeScriptTypes(broken)
    }
  }
})

/** Of all builds those that are run everywhere. */
const EVERY = 10
const wanted = new Set(drawn(BROKEN_BUILDS, EVERY))

suite('a build in which', { concurrency: 2 }, () => {
  for (const build of BROKEN_BUILDS) {
    const skip = wanted.has(build) ? false : LEFT_OUT
    test(`${build.name} is noticed`, { skip }, async (t) => {
      const caught = await caughtBy(build)
      if (caught?.wrong === SKIPPED) return t.skip('this machine cannot run what notices it')
      ok(caught, `npm run sim:broken -- --only "${build.name}" --search`)
    })
  }
})
