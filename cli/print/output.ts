/**
 * What `-o json` and `-o yaml` print: the document that `/v1` answers, as it is
 * (services/graph/api/document.ts).
 */
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { Document } from '../../services/graph/api/document.ts'
import { yaml } from './yaml.ts'

export type Structured = 'json' | 'yaml'

export type Structurable = Omit<Document, 'kind'> & { readonly kind: string }

export function outputOf<T extends string>(word: string, outputs: readonly T[]): T {
  const output = outputs.find((each) => each === word)
  if (output !== undefined) return output
  throw new ExitError(EXIT.input, `-o ${word} is none of ${outputs.join(', ')}`)
}

/** Also of what only the command line knows. */
export function structured(document: Structurable, output: Structured): string {
  return output === 'json' ? `${JSON.stringify(document, null, 2)}\n` : yaml().stringify(document)
}

/** One of many, as they come. */
export function structuredPart(document: Document, output: Structured): string {
  return output === 'json' ? `${JSON.stringify(document)}\n` : `---\n${yaml().stringify(document)}`
}
