/**
 * services/graph/page: the page of web/ with the packages that it uses, as one script, one style
 * sheet and one document, written by `npm run pages`.
 *
 * What must stay true: the same sources give the same bytes, so a test compares them; there is no
 * address of anybody else in it but names of XML.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { bundledPackages, licenceTexts } from './release/release-part.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE_FOLDER = 'services/graph/page'
const HEAD =
  '/* Written by `npm run pages` from web/ (scripts/page.ts); not to be edited. Licences: licences.txt. */\n'

export async function pageFiles(): Promise<
  readonly { readonly file: string; readonly text: string }[]
> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['web/main.ts', 'web/page.css'],
    outdir: PAGE_FOLDER,
    entryNames: '[name]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['es2023', 'chrome123', 'firefox121', 'safari17.5'],
    legalComments: 'none',
    charset: 'utf8',
    write: false,
    define: { 'process.env.NODE_ENV': '"production"' },
    metafile: false,
  })
  const textOf = (ending: string): string =>
    outputFiles.find(({ path }) => path.endsWith(ending))!.text
  return [
    { file: `${PAGE_FOLDER}/page.js`, text: HEAD + textOf('main.js') },
    { file: `${PAGE_FOLDER}/page.css`, text: HEAD + textOf('page.css') },
    { file: `${PAGE_FOLDER}/licences.txt`, text: licences() },
    { file: `${PAGE_FOLDER}/index.html`, text: readFileSync(join(ROOT, 'web/index.html'), 'utf8') },
  ]
}

/** Of the packages whose code is in the script: wherever it is copied, they are beside it. */
function licences(): string {
  const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8')
  return licenceTexts(ROOT, bundledPackages(lock))
}
