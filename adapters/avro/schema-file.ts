/**
 * The schemas on disk: `schemas/<type>.avsc` for each type, record or shared, and `schemas/history/<type>/<fingerprint>.avsc` for the former
 * versions of records.
 *
 * What must stay true: a file's name is its type's name in kebab case, so a named type is found without any list. A former version stands for
 * itself, since the shared types it used have moved on.
 *
 * Not here: what the types mean (schemas/README.md).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ComplexSchema, type Schema, standalone } from './schema.ts'

export const NAMESPACE = 'kinfold'

/** All that is ever read of one record type. */
export interface RecordSchema {
  readonly name: string
  /** What is written. */
  readonly current: Schema
  readonly former: readonly Schema[]
}

export function loadRecordSchema(directory: string, name: string): RecordSchema {
  const find = (fullName: string) => read(join(directory, fileName(fullName)))
  const history = join(directory, 'history', kebab(name))
  const formerFiles = existsSync(history) ? readdirSync(history).sort() : []
  return {
    name,
    current: standalone(find(`${NAMESPACE}.${name}`), find),
    former: formerFiles.map((file) => read(join(history, file))),
  }
}

/** `kinfold.ObjectMeta` lies in `object-meta.avsc`. */
export function fileName(fullName: string): string {
  return `${kebab(fullName.slice(fullName.lastIndexOf('.') + 1))}.avsc`
}

function kebab(name: string): string {
  return name.replace(/(?<=[a-z0-9])[A-Z]/g, '-$&').toLowerCase()
}

function read(path: string): ComplexSchema {
  return JSON.parse(readFileSync(path, 'utf8')) as ComplexSchema
}
