/**
 * Where a question looks, as kubectl would: the namespace of the kubeconfig's context, and the
 * cluster that a named context leads to.
 *
 * What must stay true: a cluster is known by its id, which its own API server says, never by the
 * name of a context: two people may call two clusters alike. Without `--context` no cluster is
 * chosen, and nothing is asked but Kinfold. What cannot be known is a sentence, never a guess.
 *
 * Not here: asking that API server (own-cluster.ts). It is loaded only where a context is named: a
 * question costs what it needs.
 */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { yaml } from '../print/yaml.ts'
import type { ObjectFlags, ObjectQuery, Scope, ScopeFlags, Server } from './client.ts'
import { answerTo, objectQuery, serverOf } from './client.ts'
import type { OwnCluster } from './own-cluster.ts'

const DEFAULT_NAMESPACE = 'default'

export interface Question {
  readonly server: Server
  readonly query: ObjectQuery
}

/** About one object. */
export async function questionOf(words: readonly string[], flags: ObjectFlags): Promise<Question> {
  // A uid needs no namespace: then a kubeconfig that cannot be read does not matter.
  const isByUid = words.length === 1 && words[0]?.startsWith('uid:') === true
  const { cluster, hint } = await clusterScopeOf(flags)
  const namespace = flags.namespace ?? (isByUid ? DEFAULT_NAMESPACE : namespaceOf(flags))
  const query = objectQuery(words, { namespace, cluster })
  return { query, server: { ...serverOf(flags), hint } }
}

/** The cluster that is meant, by name or id; undefined: none is chosen. */
export async function clusterScopeOf(
  flags: ScopeFlags,
): Promise<Pick<Scope, 'cluster'> & Pick<Server, 'hint'>> {
  const { cluster, context } = flags
  if (cluster !== undefined || context === undefined) return { cluster, hint: undefined }
  const { openOwnCluster } = await import('./own-cluster.ts')
  await using own = await openOwnCluster('question', flags, '; name the cluster with --cluster')
  return { cluster: own.id, hint: own.hint }
}

/**
 * The one that the context leads to, by its id; whatever else is named with --cluster has to be
 * that one.
 */
export async function clusterOfContext(
  server: Server,
  named: string | undefined,
  own: Pick<OwnCluster, 'id' | 'check'>,
): Promise<string> {
  if (named === undefined || named === own.id) return own.id
  const { clusters } = await answerTo(server, '/v1/clusters', {})
  const meant = clusters
    .map(({ cluster }) => cluster)
    .filter(({ name, id }) => {
      return name === named || id === named
    })
  const [first] = meant
  // Kinfold refuses it, and says which clusters there are.
  if (first === undefined) return named
  if (!meant.some(({ id }) => id === own.id)) own.check(first)
  return own.id
}

interface Kubeconfig {
  readonly 'current-context'?: unknown
  readonly contexts?: unknown
}

/** Of the context that is named, else of the current one. Where no kubeconfig says: `default`. */
export function namespaceOf({
  kubeconfig,
  context,
}: {
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
}): string {
  const files = filesOf(kubeconfig)
  const read = files.map(readKubeconfig)
  const current = read.map((each) => each['current-context']).find(isText)
  const name = context ?? current
  const contexts = read.flatMap(contextsIn)
  const found = contexts.find((each) => each.name === name)
  if (context !== undefined && found === undefined) {
    const names = contexts.map((each) => `"${each.name}"`).join(', ')
    throw new ExitError(
      EXIT.input,
      files.length === 0
        ? `no kubeconfig has context "${context}": $KUBECONFIG and ~/.kube/config name no file that exists; name one with --kubeconfig`
        : `the kubeconfig ${files.join(', ')} has no context "${context}"; it has ${names || 'none at all'}`,
    )
  }
  return found?.namespace ?? DEFAULT_NAMESPACE
}

/** For completion: what a kubeconfig calls its contexts. */
export function contextNames(kubeconfig: string | undefined): readonly string[] {
  return filesOf(kubeconfig)
    .map(readKubeconfig)
    .flatMap(contextsIn)
    .map(({ name }) => name)
}

/** As kubectl has it: one that is named, those of $KUBECONFIG that exist, or the usual one. */
function filesOf(named: string | undefined): readonly string[] {
  if (named !== undefined) return [named]
  const listed = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((each) => each !== '')
  return (listed.length > 0 ? listed : [join(homedir(), '.kube', 'config')]).filter((file) =>
    existsSync(file),
  )
}

function readKubeconfig(file: string): Kubeconfig {
  try {
    const text = readFileSync(file, 'utf8')
    const parsed: unknown = yaml().parse(text, { logLevel: 'error' })
    if (parsed === null) return {}
    if (typeof parsed !== 'object') throw new Error('it is no mapping')
    return parsed
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new ExitError(
      EXIT.input,
      `the kubeconfig ${file} cannot be read (${why}); correct it, or name the namespace with -n`,
    )
  }
}

interface NamedContext {
  readonly name: string
  readonly namespace: string | undefined
}

function contextsIn({ contexts }: Kubeconfig): readonly NamedContext[] {
  if (!Array.isArray(contexts)) return []
  return contexts.flatMap((each: unknown) => {
    const { name, context } = (each ?? {}) as { name?: unknown; context?: unknown }
    const { namespace } = (context ?? {}) as { namespace?: unknown }
    return isText(name) ? [{ name, namespace: isText(namespace) ? namespace : undefined }] : []
  })
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
