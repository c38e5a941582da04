/**
 * Words that comments no longer use, and the standard term for each: the worst of those that a
 * reader of Kubernetes and Kafka has to translate.
 *
 * What must stay true: a word is here only if no comment needs it in another sense. Names of code
 * (in backticks), quoted text and file names are not read.
 *
 * Identifiers are counted, not refused (tidy.test.ts): as many as there were, and no more.
 */

const OLD_WORDS: readonly (readonly [old: RegExp, instead: string])[] = [
  [/\btold\b/i, 'published, reported, recorded or notified'],
  [/\b(nobody|somebody|whoever)\b/i, 'the actor: user, watcher, reaper, API server'],
  [/\b(seen|saw \w+) to go\b/i, 'its deletion was observed'],
  [/\b(hangs?|hung) on (it|them|an owner)\b/i, 'its dependents'],
  [/\blet go of\b/i, 'released or orphaned'],
  [/\bmass cause\b/i, 'a bulk deletion'],
  [/\bvouch(es|ed)?\b/i, 'confirmed'],
  [/\bin doubt\b/i, 'untrusted, or if it is unclear'],
  [/\b(served|watched|there|known) (no|any) more\b/i, 'absent from discovery, unwatched, deleted'],
  [/\bfor want of\b/i, 'for lack of'],
  [/\breigns?\b/i, 'the term of a lease'],
]

/** Each old word in the comments of a source, as a sentence that says what to write. */
export function oldWordsIn(text: string): readonly string[] {
  const comments = commentsOf(text)
  return OLD_WORDS.flatMap(([old, instead]) => {
    const [word] = old.exec(comments) ?? []
    return word === undefined ? [] : [`says "${word}" in a comment: name it (${instead})`]
  })
}

const OLD_PART = /^(told|tells?|nobody|somebody|whoever|vouch(es|ed)?|reigns?)$/i

/** Each use of an identifier that has an old word in it; texts and comments have none. */
export function oldNamesIn(text: string): readonly string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|'[^'\n]*'/gm, '')
  return (code.match(/[A-Za-z_$][\w$]*/g) ?? []).filter((name) =>
    (name.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? []).some((part) => OLD_PART.test(part)),
  )
}

/** On one line, so that a phrase is found across a line break. */
function commentsOf(text: string): string {
  return [...text.matchAll(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/ .*$/gm)]
    .map(([comment]) => comment.replace(/\n\s*\*/g, ' ').replace(/`[^`]*`|"[^"]*"|\S+\.ts\b/g, ''))
    .join('\n')
    .replace(/[ \t]+/g, ' ')
}
