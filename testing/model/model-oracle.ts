/**
 * The oracle over objects of the model cluster, in the nouns of the core.
 *
 * What must stay true: only nouns and the kinds of the notation are read; the meaning of an owner's
 * state is in oracle.ts.
 */
import type { ObjectMeta, OwnerReference } from '../../core/model/object.ts'
import { UNMONITORED, UNSERVED } from './model-cluster.ts'
import { KINDS } from './notation.ts'
import * as oracle from './oracle.ts'

export type { Ground } from './oracle.ts'

/** All objects of the server. */
export type Truth = Iterable<ObjectMeta>

const UNWATCHED: ReadonlySet<string> = new Set(
  UNMONITORED.flatMap((short) => spellings(KINDS[short]?.kind ?? '')),
)
/** By apiVersion and kind. */
const SERVED: ReadonlyMap<string, oracle.OracleKind> = new Map(
  Object.entries(KINDS)
    .filter(([short]) => !UNSERVED.includes(short))
    .flatMap(([, { group, version, kind, scope }]) =>
      spellings(kind).map((written): [string, oracle.OracleKind] => [
        `${group === '' ? version : `${group}/${version}`} ${written}`,
        { group, kind, isNamespaced: scope === 'Namespaced' },
      ]),
    ),
)

function spellings(kind: string): readonly string[] {
  return [kind, kind.toLowerCase()]
}

export function groundOf(
  truth: Truth,
  dependent: ObjectMeta,
  reference: OwnerReference,
): oracle.Ground {
  return oracle.groundOf(serverOf(truth), objectOf(dependent), reference)
}

/** Why the server may not be asked to delete it; empty when it may. */
export function objection(truth: Truth, meta: ObjectMeta): string {
  const [server, object] = [serverOf(truth), objectOf(meta)]
  return oracle.objectionTo(object.references, (each) => oracle.groundOf(server, object, each))
}

/** The work that is left when all is quiet; empty when nothing is. */
export function leftovers(truth: ReadonlyMap<string, ObjectMeta>): readonly oracle.Leftover[] {
  const server = serverOf(truth.values())
  const watched = [...truth.values()].filter(({ kind }) => server.isWatched(kind))
  return oracle.leftoversOf(server, watched.map(objectOf))
}

function objectOf(meta: ObjectMeta): oracle.OracleObject {
  const { uid, group, kind, namespace, name, ownerReferences, deletedAt, finalizers } = meta
  const isDeleting = deletedAt !== null
  return { uid, group, kind, namespace, name, references: ownerReferences, isDeleting, finalizers }
}

function serverOf(truth: Truth): oracle.OracleServer {
  const objects = [...truth]
  return {
    kindOf: ({ apiVersion, kind }) => SERVED.get(`${apiVersion} ${kind}`) ?? 'unresolvable',
    find({ uid, group, kind, namespace, name }) {
      const found = objects.find(
        (each) =>
          each.uid === uid &&
          each.kind === kind &&
          each.group === group &&
          each.name === name &&
          each.namespace === namespace,
      )
      return found && objectOf(found)
    },
    isWatched: (kind) => !UNWATCHED.has(kind),
  }
}
