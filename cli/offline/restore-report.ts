/**
 * What a restore would do, and did: line by line for people, as one document for programs
 * (restore-document.ts).
 *
 * What must stay true: both say the same; names and reasons come from clusters, and cannot steer a
 * terminal.
 */
import type { Uid } from '../../core/model/object.ts'
import { OWNER_ANNOTATION } from '../../core/model/rule/elsewhere.ts'
import type { ArchivedObject } from '../../services/restore/archive-reader.ts'
import type { Restored } from '../../services/restore/restore-run.ts'
import {
  isUnmanaged,
  type LackingReference,
  type PlannedElsewhere,
  type PlannedReference,
  type Step,
} from '../../services/restore/restore-step.ts'
import {
  documentOf,
  type FarRestore,
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
  /** `from`: the cluster that it is of. */
  add(restored: Restored, from: string): void
  end(): void
}

export function reportAs(
  output: (typeof RESTORE_OUTPUTS)[number],
  restore: Restore,
): RestoreReport {
  if (output === 'text') return asText(restore)
  const results = new Map<string, Restored[]>()
  return {
    add(restored, from) {
      const known = results.get(from)
      if (known === undefined) results.set(from, [restored])
      else known.push(restored)
    },
    end() {
      const document = documentOf(restore, results)
      const text =
        output === 'json' ? `${JSON.stringify(document, null, 2)}\n` : yaml().stringify(document)
      process.stdout.write(text)
    },
  }
}

function asText(restore: Restore): RestoreReport {
  const { steps, across, from, does, advice } = restore
  for (const line of opening(restore)) write(line)
  for (const step of steps) write(lineOfStep(step, restore))
  write(summary(steps))
  for (const part of across) {
    write(openingOf(part))
    for (const step of part.steps) write(lineOfStep(step, restore))
    for (const object of part.unplanned) {
      write(`  -       ${nameOf(object)}; ${asOf(object, restore)}`)
    }
    write(part.into === null ? NOT_PLANNED : summary(part.steps))
  }
  return {
    add({ step, object, uid, reason }, of) {
      const did = step === 'create' ? 'created' : 'linked'
      const done = does === 'checks' ? `would be ${did}` : `${did}, uid ${uid}`
      const where = of === from ? '' : ` in cluster ${of}`
      write(`${nameOf(object)}${where}: ${uid === undefined ? `not ${did}: ${reason}` : done}`)
    },
    end() {
      const all = [...steps, ...across.flatMap((part) => part.steps)]
      for (const line of warningOf(all)) write(line)
      if (does === 'plans') write(`Nothing was done${wayOn(all)}.`)
      for (const line of advice) write(line)
    },
  }
}

function lineOfStep(step: Step, restore: Restore): string {
  const its = restore.rights.get(step.object.uid) ?? []
  return `  ${[...factsOf(step), ...its, asOf(step.object, restore)].join('; ')}`
}

const NOT_PLANNED = `None of these is restored: add --context NAME, of a context that leads to that cluster.`

function openingOf({ from, into }: FarRestore): string {
  const where = into === null ? 'to which no --context leads' : `into ${into}`
  return `In cluster ${from}, ${where}, what names these as its owner by ${OWNER_ANNOTATION}:`
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
      return [
        `create  ${name}`,
        ...step.references.map(ownerOf),
        ...(step.elsewhere === null ? [] : [elsewhereOf(step.elsewhere)]),
      ]
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
  return ownerText(`owner ${reference.kind}/${reference.name}`, becomes, uid)
}

/** By its annotation, which is written as the owner is by then. */
function elsewhereOf({ owner, becomes, uid }: PlannedElsewhere): string {
  const { kind, name, cluster } = owner
  const named = `owner ${kind}/${name} in cluster ${cluster}`
  if (becomes !== 'unseen') return ownerText(named, becomes, uid)
  return `${named} is named as it was (uid ${uid}), since no --context leads there`
}

function ownerText(owner: string, becomes: PlannedReference['becomes'], uid: Uid): string {
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
