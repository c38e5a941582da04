/**
 * Which record of an object counts: the youngest of those that a given key proves, or what has to
 * be said where none does.
 *
 * What must stay true: an unproven record never replaces a proven one; where a key is given, or any
 * record is encrypted, a record in plaintext counts only if the user says so. A producer that may
 * write the topic `archive` without having the key would otherwise choose what a restore creates.
 * Of two records the one of the later time counts, so a copy that is appended again brings no
 * former state back.
 *
 * Not here: what a record is bound to (runtime/archive/archive-record.ts), reading
 * (archive-reader.ts).
 */
import type { Uid } from '../../core/model/object.ts'
import type { Archived } from '../../ports/record/service-record.ts'
import type { ArchiveKey } from '../../runtime/archive/archive-key.ts'
import { type ArchivedHead, openedPieces } from '../../runtime/archive/archive-record.ts'

/** By their ids. */
export type ArchiveKeys = ReadonlyMap<string, ArchiveKey>

export interface Trust {
  readonly keys: ArchiveKeys
  /** Also what is not encrypted: of the time before there was a key. */
  readonly allowPlaintext: boolean
}

/** Of one cluster. */
export interface Untrusted {
  /** Records that do not open with the key that they name: a field or the content was changed. */
  readonly changed: number
  /** Records that are not encrypted, where a key was given or others are encrypted. */
  readonly plaintext: number
  /** Records whose key was not given. */
  readonly unopened: number
  readonly unopenedKeys: ReadonlySet<string>
  /** No key was given, so those count as they are: for a plan, which `checkKeys` ends. */
  readonly showsUnopened: boolean
}

/** As a record's head has it. */
type Head = ArchivedHead & Pick<Archived, 'keyId' | 'nonce'>

export interface Counted<Kept> {
  readonly objects: ReadonlyMap<Uid, Kept>
  /**
   * Of those whose deletion was observed afterwards: the record from before the DELETE, which alone
   * has its command and its rule.
   */
  readonly before: ReadonlyMap<Uid, Kept>
  readonly untrusted: Untrusted
}

export class TrustedRecords<Kept extends Head> {
  readonly #trust: Trust
  readonly #proven = new Youngest<Kept>()
  readonly #unopened = new Youngest<Kept>()
  readonly #plain = new Youngest<Kept>()
  #changed = 0
  #plaintext = 0
  #unopenedRecords = 0

  constructor(trust: Trust) {
    this.#trust = trust
  }

  /** A whole record, in the order of the log. */
  add(object: Kept, bytes: Uint8Array): void {
    if (object.keyId === '') {
      this.#plaintext++
      return this.#plain.add(object)
    }
    const key = this.#trust.keys.get(object.keyId)
    if (key === undefined) {
      this.#unopenedRecords++
      return this.#unopened.add(object)
    }
    if (openedPieces(object, bytes, key) === undefined) this.#changed++
    else this.#proven.add(object)
  }

  counted(): Counted<Kept> {
    const { keys, allowPlaintext } = this.#trust
    const unopenedKeys = new Set(this.#unopened.last.values().map(({ keyId }) => keyId))
    const showsUnopened = keys.size === 0
    const takesPlaintext = allowPlaintext || (showsUnopened && this.#unopenedRecords === 0)
    const taken = [
      ...(takesPlaintext ? [this.#plain] : []),
      ...(showsUnopened ? [this.#unopened] : []),
      this.#proven,
    ]
    const objects = new Map(taken.flatMap(({ last }) => [...last]))
    const before = new Map(
      taken
        .flatMap(({ commanded }) => [...commanded])
        .filter(([uid]) => objects.get(uid)?.command === ''),
    )
    const untrusted = {
      changed: this.#changed,
      plaintext: takesPlaintext ? 0 : this.#plaintext,
      unopened: this.#unopenedRecords,
      ...{ unopenedKeys, showsUnopened },
    }
    return { objects, before, untrusted }
  }
}

/** Of each object the record of the latest time. */
class Youngest<Kept extends Head> {
  readonly last = new Map<Uid, Kept>()
  /** Among those that were made before a DELETE. */
  readonly commanded = new Map<Uid, Kept>()

  add(object: Kept): void {
    keepYounger(this.last, object)
    if (object.command !== '') keepYounger(this.commanded, object)
  }
}

function keepYounger<Kept extends Head>(objects: Map<Uid, Kept>, object: Kept): void {
  const known = objects.get(object.uid)
  if (known === undefined || object.at >= known.at) objects.set(object.uid, object)
}

/** For people: what was left out, and what brings it in; empty: nothing was. */
export function untrustedText(untrusted: Untrusted): string {
  const { changed, plaintext, unopened, unopenedKeys, showsUnopened } = untrusted
  const keys = [...unopenedKeys].sort().slice(0, SHOWN_KEYS).join(', ')
  const what = `encrypted with a key that was not given (${keys})`
  return [
    changed > 0 &&
      `records that were changed after they were encrypted, or are of an unreleased Kinfold, are left out: ${changed}`,
    plaintext > 0 &&
      `records that are not encrypted, so that nothing proves them, are left out: ${plaintext} (--allow-plaintext takes what was archived before there was a key)`,
    unopened > 0 &&
      (showsUnopened
        ? `what is ${what} is shown without proof: name its file with --archive-key-file`
        : `records that are ${what} are left out: ${unopened} (name its file, too, with --archive-key-file)`),
  ]
    .filter((text) => text !== false)
    .join('; ')
}

const SHOWN_KEYS = 5
