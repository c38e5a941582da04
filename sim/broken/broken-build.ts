/**
 * A broken build: a program with a named mistake in it, which some check must notice. It exists in
 * tests only.
 *
 * What must stay true: a change names a file and a function of it, and says what that does instead;
 * of the text in the function it knows nothing. What is not there exactly once is refused, and so
 * is a body with a name that its file does not know.
 *
 * Not here: the list (broken-builds.ts), the path of a file (broken-file.ts), where a function
 * stands in its file (broken-function.ts), how a mistake gets into a program (broken-hook.ts),
 * which check notices it (broken-catch.ts).
 */
import type { Family } from '../small/small-world.ts'
import { functionIn } from './broken-function.ts'

export type Change = BodyChange | ConstantChange

export interface BodyChange {
  /** As in broken-file.ts. */
  readonly file: string
  /** `name`, `Class.method`, or `outer.inner` for a function inside of another one. */
  readonly function: string
  /**
   * The lines of its body instead. The parameters have the names that they have in the program;
   * `original` is the function as it was, with its `this`.
   */
  readonly body: readonly string[]
}

/** For a bound that the program has once, at the top level of a file. */
export interface ConstantChange {
  /** As in broken-file.ts. */
  readonly file: string
  readonly constant: string
  readonly value: string
}

/** A test that must fail. */
export interface FailingTest {
  /** As in broken-file.ts. */
  readonly file: string
  /** Its whole name. */
  readonly test: string
}

/** A small world that must go wrong (small-world.ts). */
export interface FailingWorld {
  readonly family: Family
  readonly world: string
}

export interface BrokenBuild {
  readonly name: string
  /** The mistake, and its consequence. */
  readonly mistake: string
  readonly changes: readonly Change[]
  readonly by: FailingTest | FailingWorld
}

export function brokenBuild(builds: readonly BrokenBuild[], name: string): BrokenBuild {
  const found = builds.find((build) => build.name === name)
  if (found === undefined) throw new Error(`there is no broken build "${name}"`)
  return found
}

export function brokenText(change: Change, text: string): string {
  return 'body' in change ? withBody(change, text) : withConstant(change, text)
}

function withBody({ file, function: path, body }: BodyChange, text: string): string {
  const lines = text.split('\n')
  const found = functionIn(lines, path)
  if (found === undefined)
    throw new Error(`${file} has no function ${path}, or several, for a broken build`)
  const unknown = unknownName(body, text)
  if (unknown !== undefined)
    throw new Error(`the body for ${path} says ${unknown}, which ${file} does not know`)
  const { head, begin, end, name, kind } = found
  const isWrapped = /\boriginal\(/.test(body.join('\n'))
  const former = `${name}Original`
  const shown = lines.slice(head, begin + 1)
  const wrapped = kind === 'method' ? `this.${former}.bind(this)` : former
  return [
    ...lines.slice(0, head),
    ...(isWrapped ? renamed(lines.slice(head, end + 1), name, former) : []),
    ...shown,
    ...(isWrapped ? [`const original = ${wrapped}`] : []),
    ...body,
    ...lines.slice(end),
  ].join('\n')
}

function renamed([first = '', ...rest]: readonly string[], from: string, to: string): string[] {
  return [first.replace('export ', '').replace(from, () => to), ...rest]
}

function withConstant({ file, constant, value }: ConstantChange, text: string): string {
  const places = [...text.matchAll(new RegExp(`^(export )?const ${constant} = .*$`, 'gm'))]
  const [place] = places
  if (place === undefined || places.length > 1)
    throw new Error(`${file} has no constant ${constant}, or several, for a broken build`)
  return text.replace(place[0], () => `${place[1] ?? ''}const ${constant} = ${value}`)
}

/** Of the language, and what a change has besides the names of its file. */
const KNOWN =
  'arguments async await bind catch const delete else finally for function if in instanceof let new null of original return this throw true try false typeof undefined void while yield ' +
  'JSON Map Math Number Object Promise Set'

/** Not names: what follows a dot, keys, and what stands in quotes or between slashes. */
function unknownName(body: readonly string[], text: string): string | undefined {
  const bare = body.join('\n').replaceAll(/'[^']*'|\/[^/\n]+\/|(?<!\.\.)\.\s*#?\w+|\w+: /g, ' ')
  const own = [...bare.matchAll(/(?:const|let) (?:\{([^}]*)\}|\[([^\]]*)\]|(\w+))/g)]
  const parameters = [...bare.matchAll(/(?:\(([^()]*)\)|(\w+)) =>|catch \((\w+)/g)]
  const declared = [...own, ...parameters].flatMap((found) => found.slice(1))
  const known = new Set(`${KNOWN} ${declared.join(' ')}`.match(/\w+/g))
  const names = bare.match(/(?<![\w$])[A-Za-z_]\w*/g) ?? []
  return names.find((name) => !known.has(name) && !new RegExp(`\\b${name}\\b`).test(text))
}
