/**
 * What a restore would do, and did: line by line for people, as one document for programs
 * (restore-document.ts).
 *
 * What must stay true: both say the same; names and reasons come from clusters, and cannot steer a
 * terminal.
 */
import type { ArchivedObject } from '../../services/restore/archive-reader.ts'
import type { Restored } from '../../services/restore/restore-run.ts'
import {
  isUnmanaged,
  type LackingReference,
  type PlannedReference,
  type Step,
} from '../../services/restore/restore-step.ts'
import {
  documentOf,
  MAKES_ITS_OWN,
  RESTORED_BEFORE,
  type Restore,
  timeOf,
  WHAT_IS_ARCHIVED,
} from '../print/restore-document.ts'
import { lineOf } from '../print/terminal.ts'
import { yaml } from '../print/yaml.ts'
import { listed } from './restore-advice.ts'

export const RESTORE_OUTPUTS = ['text', 'json', 'yaml'] as const

export interface RestoreReport {
  add(restored: Restored): void
  end(): void
}

export function reportAs(
  output: (typeof RESTORE_OUTPUTS)[number],
  restore: Restore,
): RestoreReport {
  if (output === 'text') return asText(restore)
  const results: Restored[] = []
  return {
    add: (restored) => void results.push(restored),
    end() {
      const document = documentOf(restore, results)
      const text =
        output === 'json' ? `${JSON.stringify(document, null, 2)}\n` : yaml().stringify(document)
      process.stdout.write(text)
    },
  }
}

function asText(restore: Restore): RestoreReport {
  const { steps, rights, does, advice } = restore
  for (const line of opening(restore)) write(line)
  for (const step of steps) {
    const its = rights.get(step.object.uid) ?? []
    write(`  ${[...factsOf(step), ...its, asOf(step.object, restore)].join('; ')}`)
  }
  write(summary(steps))
  return {
    add({ step, object, uid, reason }) {
      const did = step === 'create' ? 'created' : 'linked'
      const done = does === 'checks' ? `would be ${did}` : `${did}, uid ${uid}`
      write(`${nameOf(object)}: ${uid === undefined ? `not ${did}: ${reason}` : done}`)
    },
    end() {
      for (const line of warningOf(steps)) write(line)
      if (does === 'plans') write(`Nothing was done${wayOn(steps)}.`)
      for (const line of advice) write(line)
    },
  }
}

function opening({ of, into }: Restore): readonly string[] {
  if (of.type === 'rule') {
    const { rule, since } = of.selector
    return [`What rule ${rule} had deleted since ${timeOf(since)}, into ${into}:`]
  }
  const { kind, name: called, uid } = of.root.identity
  const name = `${kind}/${called} (uid ${uid})`
  if (of.isArchived) return [`${name}, into ${into}:`]
  return [`${name} is not in the archive: ${WHAT_IS_ARCHIVED}.`, `Its dependents, into ${into}:`]
}

function wayOn(steps: readonly Step[]): string {
  const isIdle = steps.every(({ type }) => type !== 'create' && type !== 'link')
  return isIdle ? '' : ': --dry-run has the server check it, --yes does it'
}

function warningOf(steps: readonly Step[]): readonly string[] {
  const names = steps.filter(isUnmanaged).map(({ object }) => nameOf(object))
  if (names.length === 0) return []
  return [
    `warning: unmanaged without their controller, so that nothing scales, updates or deletes them: ${listed(names)}`,
  ]
}

function factsOf(step: Step): readonly string[] {
  const name = nameOf(step.object)
  switch (step.type) {
    case 'create':
      return [`create  ${name}`, ...step.references.map(ownerOf)]
    case 'link':
      return [
        `link    ${name}: ${RESTORED_BEFORE} (uid ${step.uid})`,
        ...step.references.map(addedOwner),
        ...step.lacks.map(lackOf),
      ]
    case 'keep': {
      const why = step.isRestored ? RESTORED_BEFORE : 'exists'
      return [`keep    ${name}: ${why} (uid ${step.uid})`, ...step.lacks.map(lackOf)]
    }
    case 'leave': {
      const { kind, name: controller } = step.controller
      return [`leave   ${name}: its controller ${kind}/${controller} ${MAKES_ITS_OWN}`]
    }
    case 'refuse':
      return [`refuse  ${name}: ${step.reason}`]
  }
}

/** How old that is which comes back. */
function asOf(
  { uid, at, keyId }: ArchivedObject,
  { failures, marksPlaintext }: Pick<Restore, 'failures' | 'marksPlaintext'>,
): string {
  const unproven = marksPlaintext && keyId === '' ? ', not encrypted, so nothing proves it' : ''
  const archived = `archived ${timeOf(at)}${unproven}`
  const failure = failures.get(uid)
  if (failure === undefined) return archived
  return `${archived}, and its DELETE then ended as ${failure}: it may have changed since`
}

function ownerOf({ reference, becomes, uid }: PlannedReference): string {
  const owner = `owner ${reference.kind}/${reference.name}`
  switch (becomes) {
    case 'same':
      return `${owner} exists`
    case 'other':
      return `${owner} is now uid ${uid}`
    case 'made':
      return `${owner} is created before`
    case 'dropped':
      return `${owner} is left out`
  }
}

function addedOwner({ reference, becomes, uid }: PlannedReference): string {
  const made = becomes === 'made' ? ', which is created before' : ` (uid ${uid})`
  return `gets owner ${reference.kind}/${reference.name}${made}`
}

const CAUSES: Readonly<Record<LackingReference['cause'], string>> = {
  'not-asked': 'which exists',
  controlled: 'since another controller owns it by now',
  absent: 'which does not exist',
  unknown: 'which could not be looked up',
}

function lackOf({ reference, cause }: LackingReference): string {
  return `without owner ${reference.kind}/${reference.name}, ${CAUSES[cause]}`
}

function summary(steps: readonly Step[]): string {
  const count = (type: Step['type']): number => steps.filter((step) => step.type === type).length
  const [links, left] = [count('link'), count('leave')]
  const parts = [
    `${count('create')} to create`,
    ...(links > 0 ? [`${links} to link to an owner`] : []),
    `${count('keep')} there already`,
    ...(left > 0 ? [`${left} left to controllers (--include-controlled restores them, too)`] : []),
    `${count('refuse')} refused`,
  ]
  return `${parts.join(', ')}.`
}

function nameOf({ kind, name, namespace }: ArchivedObject): string {
  return `${kind}/${name}${namespace === '' ? '' : ` -n ${namespace}`}`
}

function write(line: string): void {
  process.stdout.write(`${lineOf(line)}\n`)
}
