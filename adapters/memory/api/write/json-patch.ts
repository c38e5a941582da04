/**
 * RFC 6902 on immutable JSON: the result shares the parts that a patch does not touch with the
 * original.
 *
 * What must stay true: a test that fails, or a path that is not there, fails the whole patch; a
 * value that lacks a field differs from one that has it as false.
 *
 * Not here: which answer a failure gets (patch.ts).
 */
import { isJsonObject, isSameJson } from '../object.ts'

export interface Operation {
  readonly op: string
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

/** A test failed, or a path leads nowhere. */
export class PatchFailure extends Error {
  override readonly name = 'PatchFailure'
}

export function applyJsonPatch(document: unknown, operations: readonly Operation[]): unknown {
  let result = document
  for (const operation of operations) result = applyOne(result, operation)
  return result
}

function applyOne(document: unknown, operation: Operation): unknown {
  const { op, from, value } = operation
  const path = pointer(operation.path)
  switch (op) {
    case 'test':
      if (isSameJson(read(document, path), value)) return document
      throw new PatchFailure(`the test of ${operation.path} failed`)
    case 'add':
      return write(document, path, value, 'add')
    case 'replace':
      return write(document, path, value, 'replace')
    case 'remove':
      return write(document, path, undefined, 'remove')
    case 'copy':
      return write(document, path, read(document, pointer(from)), 'add')
    case 'move': {
      const source = pointer(from)
      const moved = read(document, source)
      return write(write(document, source, undefined, 'remove'), path, moved, 'add')
    }
    default:
      throw new PatchFailure(`no operation is called ${op}`)
  }
}

function pointer(text: string | undefined): readonly string[] {
  if (text === '') return []
  if (!text?.startsWith('/')) throw new PatchFailure(`${text} is no JSON pointer`)
  return text
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function read(document: unknown, path: readonly string[]): unknown {
  let found = document
  for (const part of path) {
    if (Array.isArray(found)) found = found[indexIn(found, part)]
    else if (isJsonObject(found) && Object.hasOwn(found, part)) found = found[part]
    else throw new PatchFailure(`there is no ${part}`)
  }
  return found
}

type Change = 'add' | 'replace' | 'remove'

function write(document: unknown, path: readonly string[], value: unknown, how: Change): unknown {
  const [part, ...rest] = path
  if (part === undefined) return value
  if (Array.isArray(document)) {
    const copy = document.slice()
    if (rest.length > 0) {
      const index = indexIn(document, part)
      copy[index] = write(document[index], rest, value, how)
    } else if (how === 'add') copy.splice(insertionIn(document, part), 0, value)
    else if (how === 'replace') copy[indexIn(document, part)] = value
    else copy.splice(indexIn(document, part), 1)
    return copy
  }
  if (!isJsonObject(document)) throw new PatchFailure(`there is no ${part}`)
  if ((rest.length > 0 || how !== 'add') && !Object.hasOwn(document, part)) {
    throw new PatchFailure(`there is no ${part}`)
  }
  const copy: Record<string, unknown> = { ...document }
  if (rest.length > 0) copy[part] = write(document[part], rest, value, how)
  else if (how === 'remove') delete copy[part]
  else copy[part] = value
  return copy
}

function indexIn(array: readonly unknown[], part: string): number {
  const index = /^(0|[1-9][0-9]*)$/.test(part) ? Number(part) : -1
  if (index < 0 || index >= array.length) throw new PatchFailure(`there is no index ${part}`)
  return index
}

function insertionIn(array: readonly unknown[], part: string): number {
  if (part === '-' || part === String(array.length)) return array.length
  return indexIn(array, part)
}
