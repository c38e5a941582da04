/**
 * What this process' partitions hold, for the questions that other graph processes answer.
 *
 * What must stay true: it reads what is committed and changes nothing; an answer is bounded in keys and bytes, so that the fold waits for none; a
 * partition that is not this process' is never answered for.
 *
 * Not here: the asking side (peer.ts), who may ask (http.ts).
 */
import type { FastifyInstance } from 'fastify'
import type { KeyRange } from '../../ports/store.ts'
import { StoreError } from '../../ports/store.ts'
import { Problem } from '../../runtime/problem.ts'
import type { CountsBody, PageBody, ValuesBody } from './peer.ts'
import { PEER_KEY_BYTES, PEER_KEYS } from './peer.ts'
import type { LocalPartition } from './viewed-partition.ts'

export interface PartitionParts {
  /** Undefined when it is somebody else's. */
  readonly here: (partition: number) => LocalPartition | undefined
}

/** Values of one answer; the last may lie beyond. */
const ANSWER_BYTES = 4 * 1024 * 1024
/** A request's: keys in JSON, and what is around them. */
const BODY_BYTES = 2 * PEER_KEY_BYTES
/** All orders of keys agree on these; `~` is the store's own. */
const KEY = /^[ -}][ -~]*$/

export function addPartitions(server: FastifyInstance, { here }: PartitionParts): void {
  const options = { bodyLimit: BODY_BYTES }
  server.post(
    '/internal/partition/:partition/get',
    options,
    async (request): Promise<ValuesBody> => {
      const keys = keysOf(request.body)
      return await answered(here, request.params, async ({ store, status }) => {
        const values: (string | null)[] = []
        let bytes = 0
        for (const key of keys) {
          const value = store.get(key)
          values.push(value === undefined ? null : textOf(value))
          bytes += value?.length ?? 0
          if (bytes > ANSWER_BYTES) break
        }
        return { ...stateOf(status()), values }
      })
    },
  )
  server.post(
    '/internal/partition/:partition/page',
    options,
    async (request): Promise<PageBody> => {
      const range = rangeOf(request.body)
      return await answered(here, request.params, async ({ store, status }) => {
        const entries: [string, string][] = []
        let bytes = 0
        const page = await store.page(range)
        for (const [key, value] of page) {
          entries.push([key, textOf(value)])
          bytes += value.length
          if (bytes > ANSWER_BYTES) break
        }
        return { ...stateOf(status()), entries, isCut: entries.length < page.length }
      })
    },
  )
  server.post(
    '/internal/partition/:partition/counts',
    options,
    async (request): Promise<CountsBody> => {
      return await answered(here, request.params, async ({ status, counts }) => {
        return { ...stateOf(status()), counts: counts() ?? null }
      })
    },
  )
}

async function answered<T>(
  here: PartitionParts['here'],
  params: unknown,
  answer: (partition: Omit<LocalPartition, 'partition'>) => Promise<T>,
): Promise<T> {
  const number = Number((params as { partition: string }).partition)
  const found = here(number)
  if (found === undefined) throw moved(number)
  try {
    const [status, counts] = [() => found.status(), () => found.counts()]
    return await answer({ store: found.store, status, counts })
  } catch (error) {
    if (error instanceof StoreError && error.code === 'CLOSED') throw moved(number)
    throw error
  }
}

function moved(partition: number): Problem {
  return new Problem(409, `partition ${partition} is not this process'; ask who has it now`)
}

function stateOf({ state, position }: ReturnType<LocalPartition['status']>): {
  state: string
  position: string
} {
  return { state, position: String(position) }
}

function textOf(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
}

function keysOf(body: unknown): readonly string[] {
  const { keys } = (body ?? {}) as { keys?: unknown }
  if (Array.isArray(keys) && keys.length <= PEER_KEYS && keys.every(isKey)) return keys
  throw new Problem(400, `expected keys, a list of ${PEER_KEYS} keys at most`)
}

function rangeOf(body: unknown): KeyRange {
  const { gte, lt, limit } = (body ?? {}) as Record<keyof KeyRange, unknown>
  const isLimit = Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= PEER_KEYS
  if (isBound(gte) && isBound(lt) && isLimit) return { gte, lt, limit: Number(limit) }
  throw new Problem(400, `expected gte and lt, two keys, and limit, ${PEER_KEYS} at most`)
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && KEY.test(value)
}

/** A page that goes on begins just behind a key. */
function isBound(value: unknown): value is string {
  return typeof value === 'string' && isKey(value.replace(/\0$/, ''))
}
