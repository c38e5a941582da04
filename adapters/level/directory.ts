/**
 * A directory with a LevelDB database in it: held by one opener, checked before LevelDB touches it.
 *
 * What must stay true: within this process nothing opens a directory that is open. LevelDB would
 * open and close its lock file, and with that give the lock of the first opener to any other
 * process.
 */
import { chmod, mkdir, readdir, realpath } from 'node:fs/promises'
import { ClassicLevel } from 'classic-level'
import { StoreError } from '../../ports/store.ts'
import { storeErrorOf } from './failure.ts'
import { type Books, type Database, loadBooks, startBooks } from './own-keys.ts'
import { checkTables } from './table-file.ts'

/** Real paths. Of this thread: stores are opened in the main one only. */
const openDirectories = new Set<string>()

/** Makes the directory and gives its real path; `LOCKED` when this process has it open. */
export async function claimDirectory(path: string): Promise<string> {
  try {
    await mkdir(path, { recursive: true, mode: OWN })
    const directory = await realpath(path)
    await closeToOthers(directory)
    if (!openDirectories.has(directory)) {
      openDirectories.add(directory)
      return directory
    }
  } catch (error) {
    throw storeErrorOf(error, path)
  }
  throw new StoreError(
    'LOCKED',
    `the store in ${path} is open in this process already; close it first, or use another directory`,
  )
}

export function releaseDirectory(directory: string): void {
  openDirectories.delete(directory)
}

export async function openDatabase(
  directory: string,
  identity: string,
): Promise<readonly [Database, Books]> {
  await assertWholeDirectory(directory)
  await checkTables(directory)
  const database: Database = new ClassicLevel(directory, {
    keyEncoding: 'utf8',
    valueEncoding: 'view',
    // table-file.ts reads index blocks; and Avro leaves little to compress.
    compression: false,
  })
  await database.open()
  try {
    await using snapshot = database.snapshot()
    const books = await loadBooks(database, snapshot, identity, directory)
    return [database, books ?? (await startBooks(database, identity))]
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Takes away LevelDB's files and nothing else. */
export async function emptyDirectory(directory: string): Promise<void> {
  await ClassicLevel.destroy(directory)
  // An empty directory is deleted with its files.
  await mkdir(directory, { recursive: true, mode: OWN })
}

/** The files in it have the mode that the process's umask leaves them: LevelDB asks for 0644. */
const OWN = 0o700

/**
 * An older version made it open. Another user's is his to close, and some file systems have no
 * modes: neither is a reason not to work.
 */
async function closeToOthers(directory: string): Promise<void> {
  try {
    await chmod(directory, OWN)
  } catch {}
}

/** Without CURRENT, LevelDB would begin anew and delete the existing files. */
async function assertWholeDirectory(directory: string): Promise<void> {
  const names = await readdir(directory)
  const isUsed = names.some((name) => /^MANIFEST-\d+$|^\d+\.(ldb|sst|log)$/.test(name))
  if (isUsed && !names.includes('CURRENT')) {
    throw new StoreError(
      'DAMAGED',
      `the store in ${directory} has lost its file CURRENT; wipe it and replay the changelog`,
    )
  }
}
