/**
 * Values out of the text of `/metrics`, as far as questions of the command need them.
 *
 * What must stay true: what is not there is undefined, never 0.
 */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** All series of one name. */
export function samplesOf(text: string, name: string): readonly Sample[] {
  const series = new RegExp(`^${name}\\{(?<labels>.*)\\} (?<value>\\S+)`, 'gm')
  return [...text.matchAll(series)].map(({ groups }) => {
    const pairs = (groups?.['labels'] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)
    const labels = Object.fromEntries([...pairs].map(([, key, value]) => [key, unescaped(value)]))
    return { labels, value: Number(groups?.['value']) }
  })
}

function unescaped(value = ''): string {
  return value.replaceAll(/\\(.)/g, (_, after: string) => (after === 'n' ? '\n' : after))
}
