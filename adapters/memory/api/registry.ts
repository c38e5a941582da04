/**
 * The kinds served at this moment: the built-in ones, and those that CustomResourceDefinitions have
 * added.
 *
 * What must stay true: an unserved group answers as an unknown path does, an unserved part of a
 * built-in group as a typed NotFound without details. Clients distinguish an unserved kind from a
 * deleted object by exactly this.
 *
 * Not here: how a CustomResourceDefinition is added and deleted (sweep.ts), documents about it
 * (discovery.ts).
 */

import { ALL_VERBS, BUILT_IN, DEFINITION, type Kind, type PrinterColumn } from './kind.ts'
import { type ApiObject, arrayAt, isJsonObject, objectAt } from './object.ts'
import { type Cause, invalid, noSuchPath, noSuchResource, type Refusal } from './status.ts'

const BUILT_IN_GROUPS: ReadonlySet<string> = new Set(BUILT_IN.map(({ group }) => group))

export class Registry {
  readonly #builtIn: readonly Kind[]
  readonly #custom = new Map<string, Kind>()
  /** How often the set of served kinds has changed. */
  changes = 0

  constructor(serves: (kind: Kind) => boolean = () => true) {
    this.#builtIn = BUILT_IN.filter(serves)
  }

  /** Undefined when this version of it is not served. */
  find(group: string, version: string, resource: string): Kind | undefined {
    const kind = this.kind(group, resource)
    return kind?.versions.includes(version) === true ? kind : undefined
  }

  /** In any version. */
  kind(group: string, resource: string): Kind | undefined {
    const isIt = (kind: Kind): boolean => kind.resource === resource && kind.group === group
    const builtIn = this.#builtIn.find(isIt)
    if (builtIn !== undefined) return builtIn
    for (const kind of this.#custom.values()) if (isIt(kind)) return kind
    return undefined
  }

  *kinds(): Generator<Kind, void, undefined> {
    yield* this.#builtIn
    yield* this.#custom.values()
  }

  /** How a path in this group is refused when nothing answers it. */
  refusal(group: string): Refusal {
    return BUILT_IN_GROUPS.has(group) ? noSuchResource() : noSuchPath()
  }

  serve(definition: ApiObject): void {
    const kind = kindOf(definition)
    this.#custom.set(kind.store, kind)
    this.changes++
  }

  unserve(definition: ApiObject): void {
    this.#custom.delete(kindOf(definition).store)
    this.changes++
  }
}

/** The kind that a CustomResourceDefinition describes. */
export function kindOf(definition: ApiObject): Kind {
  const spec = objectAt(definition, 'spec')
  const names = objectAt(spec, 'names')
  const group = text(spec['group'])
  const resource = text(names['plural'])
  const kind = text(names['kind'])
  const served = versionsOf(definition).filter((version) => version['served'] === true)
  return {
    group,
    kind,
    resource,
    singular: text(names['singular']) || kind.toLowerCase(),
    scope: spec['scope'] === 'Cluster' ? 'Cluster' : 'Namespaced',
    versions: served.map((version) => text(version['name'])),
    shortNames: arrayAt(names, 'shortNames').map(text),
    categories: arrayAt(names, 'categories').map(text),
    store: `${resource}.${group}`,
    custom: true,
    createdByPut: false,
    countsGenerations: true,
    hasStatus: served.some((version) => 'status' in objectAt(version, 'subresources')),
    hasScale: served.some((version) => 'scale' in objectAt(version, 'subresources')),
    defaultPolicy: 'Background',
    answersRemoved: false,
    graceful: false,
    verbs: ALL_VERBS,
    columns: Object.fromEntries(
      served.map((version) => [text(version['name']), columnsOf(version)] as const),
    ),
    schemas: Object.fromEntries(
      served.map((version) => [text(version['name']), schemaOf(version)] as const),
    ),
    warning: '',
  }
}

/** Throws if no kind can be made of it. */
export function checkDefinition(definition: ApiObject): void {
  const { group, resource, kind, versions } = kindOf(definition)
  const causes: Cause[] = []
  if (definition.metadata.name !== `${resource}.${group}`) {
    const message = `Invalid value: "${definition.metadata.name}": must be spec.names.plural+"."+spec.group`
    causes.push({ reason: 'FieldValueInvalid', message, field: 'metadata.name' })
  }
  const required = [
    ['spec.group', group],
    ['spec.names.plural', resource],
    ['spec.names.kind', kind],
    ['spec.versions', versions.join()],
  ] as const
  for (const [field, value] of required) {
    if (value !== '') continue
    causes.push({ reason: 'FieldValueRequired', message: 'Required value', field })
  }
  if (causes.length > 0) throw invalid(DEFINITION, definition.metadata.name, causes)
}

/** As the server adds them: singular and list names, and that the names are accepted. */
export function establishedStatus(definition: ApiObject, at: string): object {
  const kind = kindOf(definition)
  const condition = (type: string, reason: string, message: string): object => {
    return { type, status: 'True', lastTransitionTime: at, reason, message }
  }
  return {
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
    acceptedNames: {
      plural: kind.resource,
      singular: kind.singular,
      kind: kind.kind,
      listKind: `${kind.kind}List`,
    },
    storedVersions: versionsOf(definition)
      .filter((version) => version['storage'] === true)
      .map((version) => version['name']),
  }
}

/** The versions that a group serves, preferred first. */
export function versionsOfGroup(kinds: Iterable<Kind>, group: string): readonly string[] {
  const versions = new Set<string>()
  for (const kind of kinds)
    if (kind.group === group) for (const it of kind.versions) versions.add(it)
  return [...versions]
}

function versionsOf(definition: ApiObject): readonly Readonly<Record<string, unknown>>[] {
  return arrayAt(definition['spec'], 'versions').filter(isJsonObject)
}

function columnsOf(version: Readonly<Record<string, unknown>>): readonly PrinterColumn[] {
  return arrayAt(version, 'additionalPrinterColumns')
    .filter(isJsonObject)
    .map((column) => ({
      name: text(column['name']),
      type: text(column['type']) || 'string',
      priority: Number(column['priority'] ?? 0),
      jsonPath: text(column['jsonPath']),
    }))
}

function schemaOf(version: Readonly<Record<string, unknown>>): Kind['schemas'][string] {
  return objectAt(objectAt(version, 'schema'), 'openAPIV3Schema')
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
