/**
 * Imported before a program (`node --import`), it breaks that program: the build named by `KINFOLD_BROKEN_BUILD` replaces texts of source files as
 * they are loaded. Nothing in the program itself knows of it, and without that variable nothing is replaced.
 *
 * What must stay true: a text that is not there exactly once, or a file that the program never loads, ends the process: then nothing was broken, and
 * nothing that follows would show anything.
 */
import { registerHooks } from 'node:module'
import { brokenBuild, brokenText } from './broken-build.ts'
import { BROKEN_BUILDS } from './broken-builds.ts'

const ROOT = new URL('..', import.meta.url)
/** Of a process whose program was never broken. */
const NOT_BROKEN = 70

const name = process.env['KINFOLD_BROKEN_BUILD']
if (name !== undefined) {
  const { changes } = brokenBuild(BROKEN_BUILDS, name)
  const left = new Set(changes)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const here = changes.filter(({ file }) => new URL(file, ROOT).href === url)
      if (here.length === 0) return loaded
      let source = String(loaded.source)
      for (const change of here) {
        source = brokenText(change, source)
        left.delete(change)
      }
      return { ...loaded, source }
    },
  })
  // Of what the program starts in turn, not all loads all of it.
  const isRoot = process.env['KINFOLD_BROKEN_ROOT'] !== undefined
  Reflect.deleteProperty(process.env, 'KINFOLD_BROKEN_ROOT')
  process.once('exit', () => {
    if (!isRoot) return
    for (const { file } of left) {
      console.error(`${file} was not loaded, so build "${name}" broke nothing.`)
      process.exitCode = NOT_BROKEN
    }
  })
}
