/**
 * A value as one word of a command that a text names.
 *
 * What must stay true: a user who pastes that command runs it and nothing else, whatever others put into the value.
 */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
