/**
 * What a restore would do, and did: line by line for people, as one document for programs.
 *
 * What must stay true: both say the same; names and reasons come from clusters, and cannot steer a terminal.
 */
import { stringify } from 'yaml'
import type { Uid } from '../core/model/object.ts'
import type { ArchivedObject } from '../services/restore/archive-reader.ts'
import type { PlannedReference, Step } from '../services/restore/restore-plan.ts'
import type { Restored } from '../services/restore/restore-run.ts'
import type { Root } from '../services/restore/selection.ts'
import { lineOf } from './terminal.ts'

export const RESTORE_OUTPUTS = ['text', 'json', 'yaml'] as const

export interface Restore {
  readonly root: Root
  /** Uid of the cluster that it was deleted from. */
  readonly from: string
  /** Name of the cluster that it is made in. */
  readonly into: string
  readonly steps: readonly Step[]
  /** How the DELETE ended of those that were not deleted then. */
  readonly failures: ReadonlyMap<Uid, string>
  readonly does: 'plans' | 'checks' | 'makes'
}

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
        output === 'json' ? `${JSON.stringify(document, null, 2)}\n` : stringify(document)
      process.stdout.write(text)
    },
  }
}

function asText({ root, into, steps, failures, does }: Restore): RestoreReport {
  write(`${root.kind}/${root.name} (uid ${root.uid}), into ${into}:`)
  for (const step of steps) {
    write(`  ${[...told(step), asOf(step.object, failures)].join('; ')}`)
  }
  write(summary(steps))
  return {
    add({ object, uid, reason }) {
      const done = does === 'checks' ? 'would be created' : `created, uid ${uid}`
      write(`${nameOf(object)}: ${uid === undefined ? `not created: ${reason}` : done}`)
    },
    end() {
      if (does !== 'plans') return
      write('Nothing was done: --dry-run=server has the server check it, --yes makes it.')
    },
  }
}

function documentOf({ failures, ...restore }: Restore, results: readonly Restored[]): object {
  const { root, from, into, does, steps } = restore
  const { kind, name, uid } = root
  return {
    ...{ apiVersion: 'kinfold/v1', kind: 'Restore', does, from, into, root: { kind, name, uid } },
    steps: steps.map((step) => ({ ...placeOf(step.object), ...planned(step, failures) })),
    results:
      does === 'plans'
        ? null
        : results.map(({ object, uid: made, reason }) => {
            // What the server only checked gets no uid that counts.
            const uidNow = does === 'checks' ? null : (made ?? null)
            return { ...placeOf(object), done: made !== undefined, becomes: uidNow, reason }
          }),
  }
}

function placeOf({ group, kind, namespace, name, uid }: ArchivedObject): object {
  return { group, kind, namespace, name, uid }
}

function planned(step: Step, failures: ReadonlyMap<Uid, string>): object {
  const { at, uid } = step.object
  const archived = { archivedAt: timeOf(at), deleteFailed: failures.get(uid) ?? null }
  switch (step.type) {
    case 'create': {
      const owners = step.references.map(({ reference, becomes, uid: now }) => {
        const { apiVersion, kind, name, uid: was } = reference
        return { apiVersion, kind, name, uid: was, becomes, ...(becomes === 'other' && { now }) }
      })
      return { step: 'create', owners, reason: '', ...archived }
    }
    case 'keep':
      return { step: 'keep', becomes: step.uid, reason: step.why, ...archived }
    case 'refuse':
      return { step: 'refuse', reason: step.reason, ...archived }
  }
}

function told(step: Step): readonly string[] {
  const name = nameOf(step.object)
  switch (step.type) {
    case 'create':
      return [`create  ${name}`, ...step.references.map(ownerOf)]
    case 'keep':
      return [`keep    ${name}: ${step.why} (uid ${step.uid})`]
    case 'refuse':
      return [`refuse  ${name}: ${step.reason}`]
  }
}

/** How old that is which comes back. */
function asOf({ uid, at }: ArchivedObject, failures: ReadonlyMap<Uid, string>): string {
  const archived = `archived ${timeOf(at)}`
  const failure = failures.get(uid)
  if (failure === undefined) return archived
  return `${archived}, and its DELETE then ended as ${failure}: it may have changed since`
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

function ownerOf({ reference, becomes, uid }: PlannedReference): string {
  const owner = `owner ${reference.kind}/${reference.name}`
  switch (becomes) {
    case 'same':
      return `${owner} lives`
    case 'other':
      return `${owner} is now uid ${uid}`
    case 'made':
      return `${owner} is created before`
    case 'dropped':
      return `${owner} is left out`
  }
}

function summary(steps: readonly Step[]): string {
  const refused = steps.filter(({ type }) => type === 'refuse').length
  const created = steps.filter(({ type }) => type === 'create').length
  return `${created} to create, ${steps.length - created - refused} there already, ${refused} refused.`
}

function nameOf({ kind, name, namespace }: ArchivedObject): string {
  return `${kind}/${name}${namespace === '' ? '' : ` -n ${namespace}`}`
}

function write(line: string): void {
  process.stdout.write(`${lineOf(line)}\n`)
}
