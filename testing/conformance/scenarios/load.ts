/**
 * High load: many owners in several ways, more than a cache holds, objects that a client keeps
 * writing to.
 */
import { CONFIG_MAP, type Made, POD, SECRET } from '../../process/objects.ts'
import { REPLICATION_CONTROLLER } from '../kinds.ts'
import type { Scenario } from '../scenario.ts'
import { ORPHAN, RefusedError, type World } from '../world.ts'

/** Of the cache of absent owners in kube-controller-manager. */
const CACHE_CAPACITY = 500

export const LOADS: readonly Scenario[] = [
  {
    rows: 'R5 B67 B68',
    says: 'keeps 120 of 150 pods of fifty controllers deleted in five ways at once',
    run: stress,
  },
  {
    rows: 'B39 U12.17',
    says: 'deletes dependents that another client keeps writing to',
    async run(world) {
      const owner = await world.make(CONFIG_MAP, 'owner')
      const busy = await world.makeMany(CONFIG_MAP, 'busy', 5, () => ({ owners: [owner] }))
      await world.remove(owner, 'Background')
      const stop = new AbortController()
      const writers = busy.map((made) => write(world, made, stop.signal))
      await world.gone(owner, ...busy).finally(() => stop.abort())
      await Promise.all(writers)
    },
  },
  {
    rows: 'B49',
    says: `distinguishes ${CACHE_CAPACITY + 50} owners that are deleted at once from those that stay`,
    async run(world) {
      const owners = await world.makeMany(CONFIG_MAP, 'owner', CACHE_CAPACITY + 50)
      const dependents = await world.makeMany(SECRET, 'dependent', owners.length, (index) => ({
        owners: [owners[index]!],
      }))
      const doomed = owners.map((owner, index) => ({ owner, dependent: dependents[index]! }))
      const kept = doomed.splice(0, 25)
      for (let from = 0; from < doomed.length; from += 25) {
        const some = doomed.slice(from, from + 25)
        await Promise.all(some.map(({ owner }) => world.remove(owner, 'Background')))
      }
      await world.gone(...doomed.flatMap(({ owner, dependent }) => [owner, dependent]))
      await world.quiet()
      await world.untouched(...kept.flatMap(({ owner, dependent }) => [owner, dependent]))
    },
  },
]

/** Until it is deleted, or `signal` aborts. */
async function write(world: World, made: Made, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    try {
      await world.annotate(made, `${round}`)
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
      if (error.status === 404) return
    }
  }
}

/** The five ways of R5; four of them keep the pods. */
async function stress(world: World): Promise<void> {
  const ways: readonly { readonly finalizers: readonly string[]; readonly options: object }[] = [
    { finalizers: [], options: {} },
    { finalizers: [ORPHAN], options: {} },
    { finalizers: [ORPHAN], options: { propagationPolicy: 'Background' } },
    { finalizers: [], options: { propagationPolicy: 'Orphan' } },
    { finalizers: [], options: { orphanDependents: true } },
  ]
  const COLLECTIONS = 10
  const PODS = 3
  const DELETING = 2
  const deletions: (() => Promise<void>)[] = []
  const owners: Made[] = []
  const kept: Made[] = []
  const taken: Made[] = []
  await Promise.all(
    ways.flatMap(({ finalizers, options }, way) =>
      Array.from({ length: COLLECTIONS }, async (_, index) => {
        const name = `way-${way}-${index}`
        const owner = await world.make(REPLICATION_CONTROLLER, name, { finalizers })
        owners.push(owner)
        const pods = await world.makeMany(POD, name, PODS, () => ({ owners: [owner] }))
        ;(way === DELETING ? taken : kept).push(...pods)
        deletions.push(() => world.removeWith(owner, options))
      }),
    ),
  )
  await world.seen()
  await Promise.all(deletions.map((each) => each()))
  await world.gone(...owners, ...taken)
  await world.quiet()
  for (const pod of kept) await world.still(pod, { owners: [], deleting: false })
}
