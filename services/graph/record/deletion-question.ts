/**
 * `GET /v1/deletions`: each object whose deletion is recorded, when, by whom as far as Kinfold
 * knows or an audit log says, and by which owner's deletion; a page at a time.
 *
 * What must stay true: the deletions of every client are listed; where `by`, `evidence` or `root`
 * is asked for and is no longer known, `partial` says how many were left out. An owner that the
 * user may not list is `hidden`.
 *
 * Not here: who deleted each (deletion-causes.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Identity, identityKey, identityOf } from '../../../core/graph/identity.ts'
import type { Evidence } from '../../../core/model/proof.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import type { DeletionList } from '../api/answer-schema.ts'
import type { AnswerOf } from '../api/document.ts'
import { type ClusterRef, documentOf } from '../api/document.ts'
import { COLLECTOR } from '../query/answer/actor.ts'
import { type Deletion, withoutRoot } from '../query/answer/deletion-cause.ts'
import { behindText } from '../query/answer/query.ts'
import { askedOf, selector } from '../query/ask/choice.ts'
import { Finder } from '../query/ask/finder.ts'
import { notFound } from '../query/ask/not-found.ts'
import type { ChangeParts } from './change-question.ts'
import { type Change, inOwnOrder } from './change-scan.ts'
import { causesAsked, DeletionCauses } from './deletion-causes.ts'
import type { Named } from './life.ts'
import { onePage } from './log-page.ts'
import { type AskedSpan, spanOf } from './span.ts'

/** `text`: why Kinfold deleted it, or how it was learnt. */
export interface Listed extends Named, Deletion {
  readonly cluster: ClusterRef
  /** Append time of the event by which it was learnt, in milliseconds, and where that is. */
  readonly at: number
  readonly partition: number
  readonly position: bigint
  /** How it was learnt: by a watch, a relist, a live GET. */
  readonly observed: Evidence | null
}

export interface DeletionPage extends Omit<AnswerOf<DeletionList>, 'deletions'> {
  readonly deletions: readonly Listed[]
}

type Words = Readonly<Record<string, string | undefined>>

export function addDeletions(server: FastifyInstance, parts: ChangeParts): void {
  server.get('/v1/deletions', async (request, reply) => {
    const words = askedOf(request)
    const span = spanOf(words)
    if (words['from'] !== undefined && (span.since ?? span.until) !== null) {
      throw new Problem(400, 'from says where to go on: it takes no since and no until')
    }
    const asked = await causesAsked(parts, request, reply)
    return asked ?? (await pageOf(parts, request, reply, words, span))
  })
}

/** An owner of a namespace has dependents in it only; one of none has them anywhere (empty). */
interface Scope {
  readonly cluster: string
  readonly namespace: string
}

interface Roots {
  /** By `identityKey`: all that have or had that name. */
  readonly keys: ReadonlySet<string>
  /** Their dependents are in these, and nowhere else. */
  readonly scopes: readonly Scope[]
  /** Why some are not among these. */
  readonly partial: string
}

interface Asked {
  /** `kinfold`, `others` or the name of a user. */
  readonly by: string | undefined
  readonly evidence: ReadonlySet<string> | undefined
  readonly roots: Roots | undefined
}

async function askedIn(
  parts: ChangeParts,
  request: FastifyRequest,
  reply: FastifyReply,
  words: Words,
): Promise<Asked> {
  const { by, evidence, root } = words
  if (by === '')
    throw new Problem(400, 'by is empty: it takes kinfold, others or the name of a user')
  return {
    by,
    evidence: evidence === undefined ? undefined : new Set(evidence.split(',')),
    roots: root === undefined ? undefined : await rootsIn(parts, request, reply, words),
  }
}

/** `KIND/NAME` in the namespace that is asked for, or `uid:UID`. */
async function rootsIn(
  parts: ChangeParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { cluster, namespace, root = '' }: Words,
): Promise<Roots> {
  const [, uid] = /^uid:(.+)$/s.exec(root) ?? []
  const [kind = '', name = '', more] = root.split('/')
  if (uid === undefined && (kind === '' || name === '' || more !== undefined)) {
    throw new Problem(400, `root ${root} is neither KIND/NAME nor uid:UID`)
  }
  const asked = selector({ cluster, namespace, ...(uid === undefined ? { kind, name } : { uid }) })
  try {
    const { clusters } = parts
    const finder = new Finder(parts, request, reply)
    const { matches, lacks, doubt } = await finder.find({ selector: asked, waits: true })
    const [first] = matches
    if (first === undefined) throw await notFound({ finder, clusters }, asked, doubt)
    await parts.access.object(request, first.object)
    const all = matches.map(({ object }) => identityKey(identityOf(object.cluster, object)))
    const unread =
      'deletions after older objects of the name of its root are left out: ask with uid'
    const scopes = matches.map(({ object }) => object)
    const partial = [lacks === 'nothing' ? '' : unread, doubt].filter((text) => text !== '')
    return { keys: new Set(all), scopes, partial: partial.join('; ') }
  } catch (error) {
    // Who may not see the graph learns nothing of what is there, or not.
    await parts.access.graph(request)
    throw error
  }
}

async function pageOf(
  parts: ChangeParts,
  request: FastifyRequest,
  reply: FastifyReply,
  words: Words,
  span: AskedSpan,
): Promise<unknown> {
  const change = 'gone'
  return await onePage(parts, request, reply, { words, span, change }, async (page) => {
    const { since, horizon, resume, asOf, scan, turns } = page
    const behind = behindText(await parts.index.caughtUp())
    const asked = await askedIn(parts, request, reply, words)
    const causes = new DeletionCauses(parts, request, reply, turns)
    const unnamed = await causes.unnamed()
    const deletions: Listed[] = []
    let unknown = 0
    while (deletions.length < span.limit) {
      const change = await scan.next((each) => causes.mayAsk(each))
      if (change === undefined) break
      const { deletion, owners } = await causes.of(change, scan, span.limit - deletions.length)
      const row = rowOf(change.record, deletion, page.refOf)
      switch (fits(asked, row, owners)) {
        case 'yes':
          deletions.push(await shown(parts, request, row))
          break
        case 'unknown':
          unknown += 1
          break
        case 'no':
      }
    }
    const doubts = [
      page.partial,
      behind,
      asked.roots?.partial ?? '',
      unnamed,
      causes.doubt(),
      unknown === 0 ? '' : unknownText(unknown, asked),
    ]
    const rest = { since, until: span.until, hidden: 0, horizon, resume } as const
    const listed = { continue: page.next(), deletions: inOwnOrder(deletions) }
    const answer: DeletionPage = { ...rest, ...listed }
    const partial = doubts.filter((text) => text !== '').join('; ')
    return documentOf('DeletionList', { answer, partial, asOf })
  })
}

/** Why they are neither listed nor ruled out. */
function unknownText(count: number, { by, evidence, roots }: Asked): string {
  const isUser = by !== undefined && by !== 'kinfold' && by !== 'others'
  const isOurs = (by !== undefined && !isUser) || evidence !== undefined
  const [more, them] = count === 1 ? ['deletion', 'it'] : ['deletions', 'them']
  const unknown = [
    ...(isUser ? [`who deleted ${them}`] : []),
    ...(isOurs ? [`whether Kinfold deleted ${them}`] : []),
    ...(roots === undefined ? [] : ["after which owner's deletion"]),
  ]
  return `${count} more ${more} may fit: it is not known ${unknown.join(', or ')}`
}

function rowOf(
  record: Change['record'],
  deletion: Deletion,
  refOf: (cluster: string) => ClusterRef,
): Listed {
  const { cluster, uid, group, kind, namespace, name, at, partition, position } = record
  return {
    ...{ cluster: refOf(cluster), group, kind, namespace, name, uid, at, partition, position },
    observed: record.evidence,
    ...deletion,
    text: deletion.text === '' ? record.text : deletion.text,
  }
}

type Fit = 'yes' | 'no' | 'unknown'

/** What is not known is neither what was asked for nor anything else. */
function fits(asked: Asked, row: Listed, owners: readonly Identity[]): Fit {
  const all = [fitsBy(asked, row), fitsEvidence(asked, row), fitsRoot(asked, row, owners)]
  if (all.includes('no')) return 'no'
  return all.includes('unknown') ? 'unknown' : 'yes'
}

function fitsBy({ by }: Asked, row: Listed): Fit {
  if (by === undefined) return 'yes'
  if (by !== 'kinfold' && by !== 'others') return fitsUser(by, row)
  if (row.by === 'unknown') return 'unknown'
  return row.by === by ? 'yes' : 'no'
}

/** Of a guess that names another user, requests of this one may fit as well. */
function fitsUser(user: string, { by, deletedBy: found }: Listed): Fit {
  // Of what Kinfold itself deleted it is known who did, also where no audit log names its account.
  if (found === null) return by === 'kinfold' ? 'no' : 'unknown'
  if (isNamed(found.user, user) || isNamed(found.impersonated, user)) return 'yes'
  return found.others > 0 ? 'unknown' : 'no'
}

/**
 * By the whole name. Those of the cluster's own accounts are known by their last part as well, and
 * upstream's collector by the name under which answers have it. A tenant may name a service account
 * as a user.
 */
export function isNamed(user: string | null, asked: string): boolean {
  if (user === null) return false
  if (user === COLLECTOR && asked === COLLECTOR_SHOWN) return true
  return user === asked || SHORT_NAME.exec(user)?.[1] === asked
}

const SHORT_NAME = /^system:(?:(?:serviceaccount:kube-system|node):)?([^:]+)$/
const COLLECTOR_SHOWN = 'kube-controller-manager'

function fitsEvidence({ evidence }: Asked, row: Listed): Fit {
  if (evidence === undefined) return 'yes'
  if (row.by === 'unknown') return 'unknown'
  return row.evidence !== null && evidence.has(row.evidence) ? 'yes' : 'no'
}

/** It is that owner itself, or was deleted after it. */
function fitsRoot({ roots }: Asked, row: Listed, owners: readonly Identity[]): Fit {
  if (roots === undefined) return 'yes'
  const own = identityOf(row.cluster.id, row)
  if ([own, ...owners].some((each) => roots.keys.has(identityKey(each)))) return 'yes'
  const mayFollow = roots.scopes.some(({ cluster, namespace }) => {
    return cluster === own.cluster && (namespace === '' || namespace === own.namespace)
  })
  return row.isRootKnown || !mayFollow ? 'no' : 'unknown'
}

async function shown(
  { access }: ChangeParts,
  request: FastifyRequest,
  row: Listed,
): Promise<Listed> {
  const { root, cluster } = row
  if (root === null || (await access.mayList(request, { ...root, cluster: cluster.id }))) return row
  return withoutRoot(row)
}
