/**
 * Faults between a process and an API server: answers that never come, come late, come from no
 * server, or are untrue.
 *
 * What must stay true: each hits one cluster for its time, and only what its row describes. None
 * forges a typed NotFound that names the requested object: no client can distinguish that from the
 * truth.
 */
import { ExchangeError, type ExchangeRequest, type ExchangeResponse } from '../../ports/exchange.ts'
import { type Chance, seeded } from '../../testing/seeded.ts'
import type { Fault, FaultContext } from '../model.ts'
import type { Passage } from '../network.ts'
import type { Site } from '../site.ts'
import type { Slot } from '../slot.ts'
import { answer, cutShort, plain, refusal, textOf } from './answer.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

export function siteOf({ world, fault }: FaultContext): Site {
  return world.sites[fault.target % world.sites.length]!
}

type Matches = (request: ExchangeRequest) => boolean

export const isWatch: Matches = ({ path }) => path.includes('watch=true')
export const isList: Matches = ({ method, path }) => method === 'GET' && path.includes('?limit=')
const isGet: Matches = ({ method, path }) => method === 'GET' && !path.includes('?')
const isChange: Matches = ({ method }) => method === 'DELETE' || method === 'PATCH'
const isDiscovery: Matches = ({ path }) => path === '/api' || path === '/apis'
const isAny: Matches = ({ path }) => !path.includes('/leases/')

/** Those that match, of one cluster, each with the fault's rate. */
export function hinder(
  context: FaultContext,
  matches: Matches,
  act: (passage: Passage, chance: Chance) => ReturnType<Parameters<typeof hinderAll>[1]>,
  rate: number = context.fault.rate,
): () => void {
  const site = siteOf(context)
  const chance = seeded(context.fault.seed)
  return hinderAll(context, (passage) => {
    if (passage.site !== site || !matches(passage.request) || chance.next() >= rate)
      return undefined
    return act(passage, chance)
  })
}

function hinderAll(
  { world }: FaultContext,
  act: (passage: Passage) => ExchangeResponse | undefined | Promise<ExchangeResponse | undefined>,
): () => void {
  return world.network.hinder(act)
}

/** One resource that users use. */
function ofOneKind({ fault }: FaultContext): Matches {
  const kinds = ['configmaps', 'secrets', 'replicasets', 'persistentvolumes', 'widgets'] as const
  const kind = seeded(fault.seed).pick(kinds)
  return ({ path }) => new RegExp(`/${kind}(\\?|/|$)`).test(path)
}

function both(one: Matches, other: Matches): Matches {
  return (request) => one(request) && other(request)
}

/** Its watches are to be opened again, and to find that they have to list. */
export function makeRelist(context: FaultContext): void {
  const site = siteOf(context)
  site.server.compact()
  context.world.network.cut(site.name)
}

function counted(context: FaultContext, response: ExchangeResponse): ExchangeResponse {
  context.world.reached(context.fault.row)
  return response
}

async function altered(
  context: FaultContext,
  { proceed }: Passage,
  alter: (list: ListBody) => ListBody,
): Promise<ExchangeResponse> {
  const response = await proceed()
  const text = await textOf(response)
  if (response.status !== 200) return answer(response.status, text, response.headers)
  const list = alter(JSON.parse(text) as ListBody)
  return counted(context, answer(200, JSON.stringify(list), response.headers))
}

interface ListBody {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly Item[]
}

interface Item {
  readonly metadata: { readonly name?: string }
}

export const networkFaults: readonly Fault[] = [
  {
    row: 'F12',
    what: 'a continue token expires in the middle of a list, or a later page has another version',
    lastsMs: [5 * SECOND, 2 * MINUTE],
    most: 5,
    suits: ({ watcher }) => (watcher.listPageSize ?? 500) < 500,
    begin(context) {
      makeRelist(context)
      const later: Matches = (request) => isList(request) && request.path.includes('continue=')
      return hinder(context, later, (passage, chance) =>
        chance.next() < 0.5
          ? counted(context, refusal(410, 'Expired'))
          : altered(context, passage, (list) => {
              const resourceVersion = String(Number(list.metadata.resourceVersion) + 1)
              return { ...list, metadata: { ...list.metadata, resourceVersion } }
            }),
      )
    },
  },
  {
    row: 'F14',
    what: 'a list is suddenly empty, or lacks half of the objects',
    lastsMs: [10 * SECOND, 4 * MINUTE],
    most: 4,
    begin(context) {
      makeRelist(context)
      return hinder(context, both(isList, ofOneKind(context)), (passage, chance) =>
        altered(context, passage, ({ metadata: { resourceVersion }, ...list }) => ({
          ...list,
          metadata: { resourceVersion },
          items: chance.next() < 0.5 ? [] : list.items.filter(() => chance.next() < 0.5),
        })),
      )
    },
  },
  {
    row: 'F15',
    what: 'lists and watches of one kind are answered 404, as if the kind were removed',
    lastsMs: [5 * SECOND, 3 * MINUTE],
    most: 4,
    begin(context) {
      makeRelist(context)
      const refused = both(ofOneKind(context), (it) => isWatch(it) || isList(it))
      return hinder(context, refused, () => counted(context, plain(404, '404 page not found')))
    },
  },
  {
    row: 'F16',
    what: 'the right to read one kind is taken away (403)',
    lastsMs: [10 * SECOND, 10 * MINUTE],
    most: 3,
    begin(context) {
      makeRelist(context)
      const refused = both(ofOneKind(context), ({ method }) => method === 'GET')
      return hinder(context, refused, () => counted(context, refusal(403, 'Forbidden')), 1)
    },
  },
  {
    row: 'F18',
    what: 'the API server throttles, answers with errors, resets connections or stalls',
    lastsMs: [10 * SECOND, 5 * MINUTE],
    most: 6,
    begin: (context) =>
      hinder(context, isAny, (passage, chance) => trouble(context, passage, chance)),
  },
  {
    row: 'F19',
    what: 'the conversion webhook of one kind is broken (429 or 500)',
    lastsMs: [10 * SECOND, 8 * MINUTE],
    most: 3,
    begin(context) {
      makeRelist(context)
      const broken = both(ofOneKind(context), ({ method }) => method === 'GET')
      return hinder(
        context,
        broken,
        (_, chance) =>
          counted(
            context,
            chance.next() < 0.5
              ? refusal(500, 'InternalError')
              : refusal(429, 'TooManyRequests', { 'retry-after': '1' }),
          ),
        1,
      )
    },
  },
  {
    row: 'F20',
    what: 'an aggregated API is down: discovery marks it as stale, and it answers 503',
    lastsMs: [10 * SECOND, 8 * MINUTE],
    most: 3,
    begin(context) {
      const ofGroup: Matches = ({ path }) => path.startsWith('/apis/apps/')
      const down = hinder(context, ofGroup, () => plain(503, 'service unavailable'), 1)
      const stale = hinder(
        context,
        ({ path }) => path === '/apis',
        (passage) => {
          return altered(context, passage, (list) => ({
            ...list,
            items: list.items.map((item) =>
              item.metadata.name === 'apps' ? staleGroup(item) : item,
            ),
          }))
        },
        1,
      )
      return () => {
        down()
        stale()
      }
    },
  },
  {
    row: 'F21',
    what: 'an API server is starting and answers a plain 404 for objects that exist',
    lastsMs: [2 * SECOND, 20 * SECOND],
    most: 5,
    begin(context) {
      const { world } = context
      world.network.cut(siteOf(context).name)
      const rate = 0.6
      return hinder(context, isAny, () => counted(context, plain(404, '404 page not found')), rate)
    },
  },
  {
    row: 'F22',
    what: 'API servers of two versions: some discovery answers lack a group',
    lastsMs: [20 * SECOND, 10 * MINUTE],
    most: 3,
    begin: (context) =>
      hinder(
        context,
        ({ path }) => path === '/apis',
        (passage) =>
          altered(context, passage, (list) => ({
            ...list,
            items: list.items.filter(({ metadata }) => metadata.name !== 'apps'),
          })),
      ),
  },
  {
    row: 'F30',
    what: 'the address of a cluster leads to another cluster',
    lastsMs: [10 * SECOND, 5 * MINUTE],
    most: 2,
    suits: ({ clusters }) => clusters > 1,
    begin: swap,
  },
  {
    row: 'F87',
    what: 'a DELETE or PATCH takes effect, and its answer is lost',
    lastsMs: [10 * SECOND, 5 * MINUTE],
    most: 5,
    begin(context) {
      return hinder(context, isChange, async ({ proceed, until }, chance) => {
        await proceed()
        context.world.reached('F87')
        if (chance.next() < 0.5) throw new ExchangeError('CUT', 'cut after it was sent')
        await context.world.time.sleep(30 * SECOND, until)
        until.throwIfAborted()
        throw new ExchangeError('TIMEOUT', 'no answer within 30 s')
      })
    },
  },
  {
    row: 'F88',
    what: 'a GET is answered late, with what was true when it was asked',
    lastsMs: [10 * SECOND, 5 * MINUTE],
    most: 5,
    begin: (context) =>
      hinder(context, isGet, async ({ proceed, until }, chance) => {
        const response = await proceed()
        const text = await textOf(response)
        await context.world.time.sleep(chance.below(25 * SECOND), until)
        until.throwIfAborted()
        return counted(context, answer(response.status, text, response.headers))
      }),
  },
  {
    row: 'F13',
    what: 'a response body is cut off, is no JSON, or is an HTML page',
    lastsMs: [10 * SECOND, 5 * MINUTE],
    most: 5,
    begin: (context) =>
      hinder(
        context,
        (it) => isList(it) || isGet(it) || isDiscovery(it),
        (passage, chance) => broken(context, passage, chance),
      ),
  },
]

function staleGroup(item: Item): Item {
  const { versions = [] } = item as { versions?: readonly object[] }
  return { ...item, versions: versions.map((each) => ({ ...each, freshness: 'Stale' })) } as Item
}

async function broken(
  context: FaultContext,
  { proceed }: Passage,
  chance: Chance,
): Promise<ExchangeResponse> {
  context.world.reached('F13')
  const lot = chance.below(3)
  if (lot === 0) return answer(200, '<html>sign in</html>', { 'content-type': 'text/html' })
  if (lot === 1) return answer(200, '{"kind":"Sta')
  const { body, ...head } = await proceed()
  return { ...head, body: cutShort(body, chance.below(600)) }
}

async function trouble(
  context: FaultContext,
  { until }: Passage,
  chance: Chance,
): Promise<ExchangeResponse | undefined> {
  const { time } = context.world
  context.world.reached('F18')
  switch (chance.below(8)) {
    case 0:
      throw new ExchangeError('UNREACHABLE', 'refused')
    case 1:
      return refusal(429, 'TooManyRequests', { 'retry-after': '1' })
    case 2:
      return refusal(500, 'InternalError')
    case 3:
      return plain(503, 'no healthy upstream')
    case 4:
      return refusal(504, 'Timeout')
    case 5:
      await time.sleep(60 * SECOND, until)
      return undefined
    case 6:
      throw new ExchangeError('CUT', 'reset')
    default:
      await time.sleep(chance.below(5 * SECOND), until)
      return undefined
  }
}

/**
 * A process that starts meanwhile may find two names that are one cluster: that is the same
 * mistake, and reported as such (F32).
 */
export function swap(context: FaultContext): () => void {
  const { world } = context
  const site = siteOf(context)
  const other = world.sites[(world.sites.indexOf(site) + 1) % world.sites.length]!
  world.network.route(site.name, other)
  world.reached(context.fault.row)
  const excuse = (error: unknown): boolean =>
    error instanceof Error && ['WatcherError', 'TwinError'].includes(error.name)
  world.excuses.add(excuse)
  // A process that slept, or met the other cluster at its start, finds out any time later.
  return () => {
    world.network.route(site.name, site)
    // After correcting an address, an operator restarts the processes that met another cluster
    // there: a reaper keeps to the one that it met first (docs/operate/deploy.md).
    for (const slot of world.slots) if (hasMetAnother(slot, site)) slot.terminate()
  }
}

/** A reaper keeps to the cluster that it met first under a name. */
export function hasMetAnother({ process }: Slot, { name, id }: Site): boolean {
  return process?.connected.some((met) => met.cluster.name === name && met.id !== id) === true
}
