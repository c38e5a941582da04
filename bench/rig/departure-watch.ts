/**
 * A watch that records when each object of the benchmark's namespace was deleted, or lost its
 * owners: the one clock for all contenders.
 *
 * What must stay true: it costs the server and this process next to nothing: metadata only, one
 * watch for the whole run, lines that are searched and not parsed.
 */
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import type { ControlPlane } from '../../testing/cluster/control-plane.ts'
import { CONFIG_MAPS } from './family.ts'

export interface DepartureWatch extends Disposable {
  /**
   * Resolves with the monotonic time of its deletion, or at which it was left without owners; at
   * once if that is past.
   */
  departed(name: string): Promise<number>
  /** How many were deleted, or were left without owners, since it began. */
  readonly count: number
  /** Resolves with the times of the first and of the last of them. */
  allDeparted(names: readonly string[]): Promise<{ readonly first: number; readonly last: number }>
}

const DELETED = '{"type":"DELETED"'
const MODIFIED = '{"type":"MODIFIED"'
const ACCEPT = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
/**
 * After this long without an expected deletion, a hold and the turns of other contenders included,
 * something is broken.
 */
const PATIENCE_MS = 180_000

/** Of the objects at a path; of families unless one is given. */
export async function watchDepartures(
  plane: ControlPlane,
  path: string = CONFIG_MAPS,
): Promise<DepartureWatch> {
  const at = new Map<string, number>()
  const awaited = new Map<string, (at: number) => void>()
  const stop = new AbortController()
  let rest = ''
  let version = await currentVersion(plane, path)
  const took = (text: string): void => {
    const now = performance.now()
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      version = /"resourceVersion":"(\d+)"/.exec(line)?.[1] ?? version
      if (!line.startsWith(DELETED) && !isOrphaned(line)) continue
      const name = /"name":"([^"]*)"/.exec(line)?.[1] ?? ''
      at.set(name, now)
      awaited.get(name)?.(now)
      awaited.delete(name)
    }
  }
  const follow = async (): Promise<void> => {
    const { opened, ended } = openWatch({ plane, path, version, signal: stop.signal }, took)
    void ended.then(async () => {
      rest = ''
      if (!stop.signal.aborted) await follow()
    })
    await opened
  }
  await follow()
  const departed = async (name: string): Promise<number> => {
    const known = at.get(name)
    if (known !== undefined) return known
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const impatient = setTimeout(() => reject(new Error(`${name} does not go`)), PATIENCE_MS)
    awaited.set(name, resolve)
    return await promise.finally(() => clearTimeout(impatient))
  }
  return {
    departed,
    get count() {
      return at.size
    },
    async allDeparted(names) {
      let [first, last] = [Number.POSITIVE_INFINITY, 0]
      for (const name of names) {
        const at = await departed(name)
        first = Math.min(first, at)
        last = Math.max(last, at)
      }
      return { first, last }
    },
    [Symbol.dispose]: () => stop.abort(),
  }
}

/** An owner has no owners either, and one that is modified is being deleted. */
function isOrphaned(line: string): boolean {
  const isKept = line.startsWith(MODIFIED) && !line.includes('"deletionTimestamp":')
  return isKept && !line.includes('"ownerReferences":')
}

async function currentVersion(plane: ControlPlane, path: string): Promise<string> {
  const { body } = await plane.request<{ metadata: { resourceVersion: string } }>(
    'GET',
    `${path}?limit=1`,
  )
  return body.metadata.resourceVersion
}

interface WatchRequest {
  readonly plane: ControlPlane
  readonly path: string
  readonly version: string
  readonly signal: AbortSignal
}

/** The server may end it at any time, such as when it finds us slow. */
function openWatch(
  { plane, path, version, signal }: WatchRequest,
  took: (text: string) => void,
): { readonly opened: Promise<void>; readonly ended: Promise<void> } {
  const opened = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const query = `watch=true&timeoutSeconds=7200&resourceVersion=${version}`
  const options = {
    ca: readFileSync(plane.caFile),
    headers: { authorization: `Bearer ${plane.token}`, accept: ACCEPT },
    signal,
  }
  const sent = request(new URL(`${path}?${query}`, plane.server), options, (response) => {
    if (response.statusCode !== 200) opened.reject(new Error(`watch: ${response.statusCode}`))
    response.setEncoding('utf8')
    response.on('data', took)
    response.on('error', () => undefined)
    response.on('close', () => ended.resolve())
    opened.resolve()
  })
  sent.on('error', opened.reject)
  sent.end()
  return { opened: opened.promise, ended: ended.promise }
}
