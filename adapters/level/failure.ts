/**
 * LevelDB's errors as StoreErrors: decided here once, so that no caller reads a message.
 */
import { StoreError, type StoreErrorCode } from '../../ports/store.ts'

export function storeErrorOf(error: unknown, directory: string): StoreError {
  if (error instanceof StoreError) return error
  const code = codeOf(error)
  return new StoreError(code, sentence(code, directory, textOf(error)), { cause: error })
}

function codeOf(error: unknown): StoreErrorCode {
  if (hasCode(error, 'LEVEL_LOCKED')) return 'LOCKED'
  if (hasCode(error, 'LEVEL_CORRUPTION')) return 'DAMAGED'
  const text = textOf(error)
  // A limit on the size of files is a disk that is full for us.
  if (/No space left on device|Disk quota exceeded|File too large|ENOSPC|EDQUOT/.test(text))
    return 'FULL'
  // LevelDB refers to a file that is not there: a table, a manifest, or no such name because
  // CURRENT is damaged.
  if (/No such file or directory|Corruption: /.test(text)) return 'DAMAGED'
  return 'IO'
}

function sentence(code: StoreErrorCode, directory: string, text: string): string {
  switch (code) {
    case 'LOCKED':
      return `the store in ${directory} is in use by another process; end that one, or use another directory`
    case 'DAMAGED':
      return `the store in ${directory} is damaged; wipe it and replay the changelog (${text})`
    case 'FULL':
      return `the disk of the store in ${directory} is full; make room and start again (${text})`
    case 'FORMAT':
    case 'CLOSED':
    case 'IO':
      return `the store in ${directory} cannot be read or written; see to its disk and permissions, then start again (${text})`
  }
}

/** classic-level wraps the error of an opening in another one. */
function hasCode(error: unknown, code: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ((at as NodeJS.ErrnoException).code === code) return true
  }
  return false
}

function textOf(error: unknown): string {
  const texts: string[] = []
  for (let at = error; at instanceof Error; at = at.cause) texts.push(at.message)
  return texts.length > 0 ? texts.join(': ') : String(error)
}
