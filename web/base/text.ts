/**
 * Counts, times and names as people read them on the page; no user can hide anything in a name.
 *
 * What must stay true: no control, invisible or direction-changing character of a name is shown
 * raw; what is copied for a shell is one command, whatever is in the name, or is not offered.
 *
 * Not here: words of records (services/graph/api/word.ts).
 */

import type { Cluster } from '../../cli/answer.ts'
import { labelOf } from '../../services/graph/api/word.ts'

/** As cli/print/terminal.ts has it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** One line, whatever is in it. */
export function lineOf(text: string): string {
  return text.replaceAll(UNSEEN, (unseen) => {
    const units = Array.from({ length: unseen.length }, (_, at) => unseen.charCodeAt(at))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}

/** As a shell takes it for one word; undefined where it has characters that a terminal acts on. */
export function shellWord(text: string): string | undefined {
  if (lineOf(text) !== text) return undefined
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

export function countOf(count: number, one: string, many: string = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

/** Direct ones, and those of all levels where there are more. */
export function relativesText(direct: number, all: number, one: 'dependent' | 'owner'): string {
  if (direct >= all) return countOf(direct, one)
  return `${countOf(direct, one)}, ${all.toLocaleString('en')} with theirs`
}

export interface Named {
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export function kindText({ group, kind }: Pick<Named, 'group' | 'kind'>): string {
  return group === '' ? kind : `${kind}.${group}`
}

export function nameText({ kind, name }: Pick<Named, 'kind' | 'name'>): string {
  return lineOf(`${kind}/${name}`)
}

/** Such as `12 s` and `3 min`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`
}

/**
 * Beside the time itself: what one thinks in. A clock of the browser that is behind is none of the
 * reader's business.
 */
export function agoText(at: string | null, now: number): string {
  return at === null ? 'at an unknown time' : `${spanText(now - Date.parse(at))} ago`
}

/** Of what is still to come. */
export function inText(at: string, now: number): string {
  const ms = Date.parse(at) - now
  return ms <= 0 ? agoText(at, now) : `in ${spanText(ms)}`
}

/** In UTC, as the command line and the log have it. */
export function timeText(at: string | null): string {
  return at === null ? '–' : at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')
}

/** Both: one thinks in the one, and compares by the other. */
export function momentText(at: string | null, now: number): string {
  return at === null ? 'at an unknown time' : `${inText(at, now)}, ${timeText(at)}`
}

export function clusterText(cluster: Pick<Cluster, 'name' | 'scope'>): string {
  return lineOf(labelOf(cluster))
}
