/**
 * A broken build: a program with a named mistake in it, which some check must notice. It exists in tests only.
 *
 * What must stay true: a change names a text that stands in its file exactly once, so that the list keeps up with the code.
 *
 * Not here: the list (broken-builds.ts), how a mistake gets into a program (broken-hook.ts), who notices it (broken-catch.ts).
 */

export interface Change {
  /** From the root of the repository. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/** A test that must fail. */
export interface FailingTest {
  readonly file: string
  /** Its whole name. */
  readonly test: string
}

/**
 * - `small`: a small world (small-world.ts). - `sim`: a seed of the simulator. - a test: for what neither can see, such as a damaged disk.
 */
export type Catcher = 'small' | 'sim' | FailingTest

export interface BrokenBuild {
  readonly name: string
  /** What it does, and what comes of it. */
  readonly mistake: string
  readonly changes: readonly Change[]
  readonly by: Catcher
}

export function brokenBuild(builds: readonly BrokenBuild[], name: string): BrokenBuild {
  const found = builds.find((build) => build.name === name)
  if (found === undefined) throw new Error(`there is no broken build "${name}"`)
  return found
}

export function brokenText({ file, from, to }: Change, text: string): string {
  const places = text.split(from).length - 1
  if (places === 1) return text.replace(from, () => to)
  throw new Error(
    `the text of a broken build stands in ${file} ${places} times and not once: "${from}"`,
  )
}
