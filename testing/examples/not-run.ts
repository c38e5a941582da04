/** Which commands of the documents are not run, by the table. */
import type { Example } from './example.ts'
import { NOT_RUN } from './table.ts'

/** Undefined for one that is run. */
export function whyNotRun({ command }: Pick<Example, 'command'>): string | undefined {
  return NOT_RUN.find(([match]) => match.test(command))?.[1]
}
