/**
 * Where a file is that a broken build names: by its basename where that is the only one, else by
 * its folders too.
 *
 * What must stay true: a file that is moved is found again without a change to the list, and where
 * two could be meant none is.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Of the repository, from its root. */
export function sourceFiles(): readonly string[] {
  return readdirSync(ROOT, { withFileTypes: true })
    .filter((each) => each.isDirectory() && !/^\.|^node_modules$/.test(each.name))
    .flatMap(({ name }) =>
      readdirSync(join(ROOT, name), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
        .map((file) => `${name}/${file}`),
    )
}

/** Folders that are not named may lie between the named ones. */
export function placeOf(file: string, files: readonly string[]): string {
  if (files.includes(file)) return file
  const named = file.split('/')
  const basename = named.pop()
  const same = files.filter((each) => each.split('/').pop() === basename)
  const near = same.filter((each) => hasInOrder(each.split('/').slice(0, -1), named))
  const [found, ...others] = same.length === 1 ? same : near
  if (found !== undefined && others.length === 0) return found
  throw new Error(
    `a broken build names ${file}, which may be ${same.join(', ') || 'no file that there is'}`,
  )
}

function hasInOrder(folders: readonly string[], named: readonly string[]): boolean {
  let next = 0
  for (const folder of folders) if (folder === named[next]) next++
  return next === named.length
}
