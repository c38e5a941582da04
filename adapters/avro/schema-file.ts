/**
 * The schemas on disk: `schemas/<type>.avsc` for each type, record or shared, and
 * `schemas/history/<type>/<fingerprint>.avsc` for the versions of records that were ever released.
 *
 * What must stay true: a file's name is its type's name in kebab case, so a named type is found
 * without any list. A version in history is self-contained, since the shared types it used change
 * later.
 *
 * Not here: the meaning of the types (schemas/README.md).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ComplexSchema, fingerprintOf, type Schema, standalone } from './schema.ts'

export const NAMESPACE = 'kinfold'

/** All schemas with which records of one type are ever read. */
export interface RecordSchema {
  readonly name: string
  /** The schema for writing. */
  readonly current: Schema
  /** Other versions that may be met: older ones, and newer ones that may not be written yet. */
  readonly former: readonly Schema[]
}

export function loadRecordSchema(directory: string, name: string): RecordSchema {
  const find = (fullName: string) => read(join(directory, fileName(fullName)))
  const current = standalone(find(`${NAMESPACE}.${name}`), find)
  const history = historyOf(directory, name)
  const versions = existsSync(history) ? readdirSync(history).sort() : []
  return {
    name,
    current,
    former: versions
      .filter((file) => file !== `${fingerprintOf(current)}.avsc`)
      .map((file) => read(join(history, file))),
  }
}

/** Puts the current version of each record type into history, as every release does. */
export function keepVersions(directory: string, names: readonly string[]): void {
  for (const name of names) {
    const { current } = loadRecordSchema(directory, name)
    const history = historyOf(directory, name)
    mkdirSync(history, { recursive: true })
    const text = JSON.stringify(current, null, 2)
    writeFileSync(join(history, `${fingerprintOf(current)}.avsc`), `${text}\n`)
  }
}

function historyOf(directory: string, name: string): string {
  return join(directory, 'history', kebab(name))
}

/** `kinfold.ObjectMeta` is in `object-meta.avsc`. */
export function fileName(fullName: string): string {
  return `${kebab(fullName.slice(fullName.lastIndexOf('.') + 1))}.avsc`
}

function kebab(name: string): string {
  return name.replace(/(?<=[a-z0-9])[A-Z]/g, '-$&').toLowerCase()
}

function read(path: string): ComplexSchema {
  return JSON.parse(readFileSync(path, 'utf8')) as ComplexSchema
}
