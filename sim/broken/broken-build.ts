/**
 * A broken build: a program with a named mistake in it, which some check must notice. It exists in tests only.
 *
 * What must stay true: a change names a function or a text that occurs in its file exactly once, so that the list keeps up with the code.
 *
 * Not here: the list (broken-builds.ts), the path of a file (broken-file.ts), how a mistake gets into a program (broken-hook.ts), which check
 * notices it (broken-catch.ts).
 */

export type Change = BodyChange | TextChange

/** Where a mistake is all that a function does: it survives every change of the function's body. */
export interface BodyChange {
  /** As in broken-file.ts. */
  readonly file: string
  /** A function that is exported, or is at the top level of its file. */
  readonly function: string
  /** Its statements instead. */
  readonly body: string
}

/** For a mistake in one place of a function. */
export interface TextChange {
  /** As in broken-file.ts. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/** A test that must fail. */
export interface FailingTest {
  /** As in broken-file.ts. */
  readonly file: string
  /** Its whole name. */
  readonly test: string
}

/**
 * - `small`: a small world (small-world.ts). - `sim`: a seed of the simulator. - a test: for
 *   mistakes that neither can see, such as a damaged disk.
 */
export type Catcher = 'small' | 'sim' | FailingTest

export interface BrokenBuild {
  readonly name: string
  /** The mistake, and its consequence. */
  readonly mistake: string
  readonly changes: readonly Change[]
  readonly by: Catcher
}

export function brokenBuild(builds: readonly BrokenBuild[], name: string): BrokenBuild {
  const found = builds.find((build) => build.name === name)
  if (found === undefined) throw new Error(`there is no broken build "${name}"`)
  return found
}

export function brokenText(change: Change, text: string): string {
  return 'body' in change ? withBody(change, text) : withText(change, text)
}

/** As the formatter leaves them: a head begins its line, and its body ends with the first line that is a brace alone. */
function withBody({ file, function: name, body }: BodyChange, text: string): string {
  const lines = text.split('\n')
  const isHead = (line: string): boolean =>
    new RegExp(`^(export )?(async )?function ${name}\\b`).test(line)
  const head = lines.findIndex(isHead)
  if (head < 0 || lines.findLastIndex(isHead) !== head)
    throw new Error(`${file} has no function ${name}, or several, for a broken build`)
  const end = lines.indexOf('}', head)
  // The last of them: what it returns may be described over several lines.
  const begin = lines.slice(0, end).findLastIndex((line) => /^\S.*\{$/.test(line))
  return [...lines.slice(0, begin + 1), body, ...lines.slice(end)].join('\n')
}

function withText({ file, from, to }: TextChange, text: string): string {
  const places = text.split(from).length - 1
  if (places === 1) return text.replace(from, () => to)
  throw new Error(
    `the text of a broken build stands in ${file} ${places} times and not once: "${from}"`,
  )
}
