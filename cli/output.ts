/** The format of an answer, as `-o` names it. What must stay true: another word is refused with those there are. */
import { EXIT, ExitError } from '../runtime/lifecycle.ts'

export function outputOf<T extends string>(word: string, outputs: readonly T[]): T {
  const output = outputs.find((each) => each === word)
  if (output !== undefined) return output
  throw new ExitError(EXIT.input, `-o ${word} is none of ${outputs.join(', ')}`)
}
