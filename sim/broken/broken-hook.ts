/**
 * Imported before a program (`node --import`), it breaks that program: the build named by
 * `KINFOLD_BROKEN_BUILD` replaces functions and constants of source files as they are loaded.
 * Nothing in the program itself knows of it, and without that variable nothing is replaced.
 *
 * What must stay true: a function that is not there exactly once, or a file that the program never
 * loads, ends the process: then nothing was broken, and nothing that follows would show anything.
 */
import { registerHooks } from 'node:module'
import { brokenBuild, brokenText } from './broken-build.ts'
import { BROKEN_BUILDS } from './broken-builds.ts'
import { placeOf, sourceFiles } from './broken-file.ts'

const ROOT = new URL('../..', import.meta.url)
/** Of a process whose program was never broken. */
const NOT_BROKEN = 70

const name = process.env['KINFOLD_BROKEN_BUILD']
if (name !== undefined) {
  const files = sourceFiles()
  const changes = brokenBuild(BROKEN_BUILDS, name).changes.map((change) => {
    return { change, url: new URL(placeOf(change.file, files), ROOT).href }
  })
  const left = new Set(changes)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const here = changes.filter((each) => each.url === url)
      if (here.length === 0) return loaded
      let source = String(loaded.source)
      for (const each of here) {
        source = brokenText(each.change, source)
        left.delete(each)
      }
      return { ...loaded, source }
    },
  })
  // Of what the program starts in turn, not all loads all of it.
  const isRoot = process.env['KINFOLD_BROKEN_ROOT'] !== undefined
  Reflect.deleteProperty(process.env, 'KINFOLD_BROKEN_ROOT')
  process.once('exit', () => {
    if (!isRoot) return
    for (const { change } of left) {
      console.error(`${change.file} was not loaded, so build "${name}" broke nothing.`)
      process.exitCode = NOT_BROKEN
    }
  })
}
