/**
 * Single values that users write, each checked, each mistake a sentence that names where it was
 * made.
 *
 * What must stay true: an unknown key, or a value out of its range, is refused; nothing is guessed.
 *
 * Not here: what a process does about a mistake (cli/config/setting.ts ends its start).
 */

/** For people, and nothing else: what is wrong, and where. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

export function bad(message: string): SettingError {
  return new SettingError(message)
}

/** Refuses what is no key of ours. */
export function checkKey(key: string, keys: readonly string[], where: string): void {
  if (keys.includes(key)) return
  throw bad(`${where}: unknown key ${key}; known are ${keys.join(', ')}`)
}

export interface Setting {
  readonly key: string
  readonly value: unknown
  /** Where it was set, for the sentence. */
  readonly from: string
}

export function text({ value, from }: Setting): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '')
    throw bad(`${from}: expected a text, not ${show(value)}`)
  return value
}

export function texts({ value, from }: Setting): readonly string[] {
  if (value === undefined) return []
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === 'string')
  if (!isTexts) throw bad(`${from}: expected a list of texts, not ${show(value)}`)
  return value as readonly string[]
}

export function oneOf<T extends string>(
  { value, from }: Setting,
  allowed: readonly T[],
): T | undefined {
  if (value === undefined) return undefined
  const found = allowed.find((each) => each === value)
  if (found === undefined) throw bad(`${from}: ${show(value)} is none of ${allowed.join(', ')}`)
  return found
}

export function flag({ value, from }: Setting): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value
  throw bad(`${from}: expected true or false, not ${show(value)}`)
}

export function whole({ value, from }: Setting, least: number, most: number): number | undefined {
  if (value === undefined) return undefined
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number) || number < least || number > most) {
    throw bad(`${from}: expected a whole number from ${least} to ${most}, not ${show(value)}`)
  }
  return number
}

/** What it is, or only that it is no single value: a YAML anchor may hold itself. */
export function show(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Array.isArray(value) ? 'a list' : 'a mapping'
  }
}
