/**
 * Bad input for fuzzing: names that break programs, and captured bodies with damage done to them.
 *
 * What must stay true: everything is drawn by fast-check, so a failure is shrunk, and printed with
 * the seed that finds it again. `RUNS=n` runs n times as many.
 */
import fc from 'fast-check'

const TIMES = Number(process.env['RUNS'] ?? 1)

export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * TIMES) }
}

/** Names that mean something to JavaScript, terminals, paths, URLs or storage keys. */
export const HOSTILE_NAMES: readonly string[] = [
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'],
  ...['a\0b', '\u202egnp.exe', 'a\u200bb', '\ud800', 'b\udfff', '\ufeffa', '\u{1f600}'],
  ...['%', '%00', '%2f..%2f', 'a%zzb', '..', '../../etc/passwd', 'a/b', '/', 'a//b', '~batch/1'],
  ...['\u001b[2J\u001b[31mred\u001b[0m', '\u001b]0;title\u0007', '\r\nX: y', 'a\tb', '\u009b31m'],
  ...['9007199254740993', '-0', '1e400', 'NaN', 'null', ' ', "'; DROP TABLE record; --", '"\\'],
]

/** Texts that are values in JSON, though no client would send them. */
const HOSTILE_VALUES: readonly string[] = [
  ...['null', 'true', '{}', '[]', '[null]', '[{}]', '""', '0', '-1', '0.5', '1e400', '-1e400'],
  ...['9007199254740993', '"1e3"', '"0001-01-01T00:00:00Z"', '"+275760-09-13T00:00:00Z"'],
  ...[
    '{"__proto__":{"uid":"x"}}',
    '{"constructor":1}',
    '"NotFound"',
    '"Status"',
    '404',
    '"Success"',
  ],
  ...HOSTILE_NAMES.map((name) => JSON.stringify(name)),
  `"${'x'.repeat(2_000)}"`,
  `${'['.repeat(3_000)}${']'.repeat(3_000)}`,
]

/** Done to a text at a place between 0 and 1. */
export interface Damage {
  readonly what: 'cut' | 'drop' | 'double' | 'flip' | 'put' | 'value'
  readonly at: number
  /** Which value of the line there. */
  readonly nth: number
  readonly size: number
  readonly put: string
}

/** Even; fast-check's doubles are mostly next to nothing. */
const place = fc.nat({ max: 999_999 }).map((millionth) => millionth / 1_000_000)

/** Most of the time, since everything else is no JSON afterwards and soon refused. */
const VALUES = Array.from({ length: 15 }, () => 'value' as const)

export const damages: fc.Arbitrary<readonly Damage[]> = fc.array(
  fc.record({
    what: fc.constantFrom('cut', 'drop', 'double', 'flip', 'put', ...VALUES),
    at: place,
    nth: fc.nat({ max: 10_000 }),
    size: fc.integer({ min: 1, max: 40 }),
    put: fc.constantFrom(...HOSTILE_VALUES),
  }),
  { minLength: 1, maxLength: 3 },
)

export function damaged(text: string, all: readonly Damage[]): string {
  return all.reduce(damagedOnce, text)
}

function damagedOnce(text: string, { what, at, nth, size, put }: Damage): string {
  const from = Math.floor(at * text.length)
  const [before, after] = [text.slice(0, from), text.slice(from)]
  switch (what) {
    case 'cut':
      return before
    case 'drop':
      return before + after.slice(size)
    case 'double':
      return before + after.slice(0, size) + after
    case 'flip':
      return before + String.fromCharCode(after.charCodeAt(0) ^ (1 << (size % 7))) + after.slice(1)
    case 'put':
      return before + put + after
    case 'value':
      return withOtherValue(text, at, nth, put)
  }
}

/**
 * Replaces one value of a JSON text, or of a line of several. Unchanged when it is no JSON by then.
 */
function withOtherValue(text: string, at: number, nth: number, put: string): string {
  const lines = text.trimEnd().split('\n')
  const line = Math.floor(at * lines.length)
  try {
    const root: Record<string, unknown> = { root: JSON.parse(lines[line] ?? '') }
    const places = placesIn(root)
    const [holder, key] = places[nth % places.length] ?? [root, 'root']
    // The text itself, since JSON.stringify would make null of 1e400.
    const marker = '\u0001here\u0001'
    Object.defineProperty(holder, key, { value: marker, enumerable: true })
    lines[line] = JSON.stringify(root['root']).replace(JSON.stringify(marker), () => put)
  } catch {
    return text
  }
  return `${lines.join('\n')}\n`
}

function placesIn(root: object): (readonly [object, string])[] {
  const places: (readonly [object, string])[] = []
  const left: object[] = [root]
  for (let holder = left.pop(); holder !== undefined; holder = left.pop()) {
    for (const [key, value] of Object.entries(holder)) {
      places.push([holder, key])
      if (typeof value === 'object' && value !== null) left.push(value)
    }
  }
  return places
}
