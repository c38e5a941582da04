/**
 * Ownership cycles: no object outside owns them, so they are deleted when one member is deleted,
 * and not before.
 */
import { CONFIG_MAP, type Made, SECRET } from '../../process/objects.ts'
import { WIDGET } from '../kinds.ts'
import type { Scenario } from '../scenario.ts'
import { blocking, FOREGROUND, HOLD, RefusedError, type World } from '../world.ts'

const HANGS = 'upstream never completes an ownership cycle whose members all wait for each other'

export const RINGS: readonly Scenario[] = [
  {
    rows: 'C5 U3',
    says: 'leaves an ownership cycle of two that no client deletes, and deletes it when one member is deleted in the background',
    async run(world) {
      const ring = await ringOf(world, 2)
      await world.quiet()
      for (const each of ring) await world.still(each, { deleting: false })
      await world.remove(ring[0]!, 'Background')
      await world.gone(...ring)
    },
  },
  {
    rows: 'C5 D11',
    says: 'deletes an ownership cycle of two of which one is deleted in the foreground',
    async run(world) {
      const ring = await ringOf(world, 2)
      await world.quiet()
      await world.remove(ring[0]!, 'Foreground')
      await world.gone(...ring)
    },
  },
  {
    rows: 'C5 B28',
    says: 'deletes an ownership cycle of three custom resources of which one is deleted in the foreground',
    async run(world) {
      const ring = await ringOf(world, 3, WIDGET)
      await world.quiet()
      await world.remove(ring[1]!, 'Foreground')
      await world.gone(...ring)
    },
  },
  {
    rows: 'C5',
    says: 'leaves an object that owns itself, and removes it when it is deleted in the background',
    async run(world) {
      const [self] = await ringOf(world, 1)
      await world.quiet()
      await world.still(self!, { deleting: false })
      await world.remove(self!, 'Background')
      await world.gone(self!)
    },
  },
  ...foregroundAll(1, 'an object that owns itself'),
  ...foregroundAll(2, 'an ownership cycle of two'),
  ...foregroundAll(4, 'an ownership cycle of four'),
  {
    rows: 'C5 B28',
    says: 'deletes two ownership cycles that share an object that no client deletes',
    async run(world) {
      const [shared, left, right] = await world.makeMany(CONFIG_MAP, 'node', 3)
      await world.refer(shared!, [blocking(left!), blocking(right!)])
      await world.refer(left!, [blocking(shared!)])
      await world.refer(right!, [blocking(shared!)])
      await world.quiet()
      await removeAll(world, [left!, right!])
      await world.gone(shared!, left!, right!)
    },
  },
  {
    rows: 'C5 B28 P13',
    says: 'removes two ownership cycles that share an object, all of it deleted in the foreground',
    better: HANGS,
    async run(world) {
      const [shared, left, right] = await world.makeMany(CONFIG_MAP, 'node', 3)
      await world.refer(shared!, [blocking(left!), blocking(right!)])
      await world.refer(left!, [blocking(shared!)])
      await world.refer(right!, [blocking(shared!)])
      await world.quiet()
      await removeAll(world, [shared!, left!, right!])
      await world.gone(shared!, left!, right!)
    },
  },
  {
    rows: 'B28 B30 B38',
    says: 'keeps an owner waiting though one further down was deleted in the foreground before, and there is no ownership cycle',
    better: 'upstream takes that for an ownership cycle, and objects in between no longer block',
    async run(world) {
      const top = await world.make(CONFIG_MAP, 'top')
      const middle = await world.make(CONFIG_MAP, 'middle', { owners: [blocking(top)] })
      const low = await world.make(CONFIG_MAP, 'low', { owners: [blocking(middle)] })
      const options = { owners: [blocking(low)], finalizers: [HOLD] }
      const held = await world.make(SECRET, 'held', options)
      await world.remove(low, 'Foreground')
      await world.sees(held, { deleting: true })
      await world.remove(top, 'Foreground')
      await world.sees(middle, { deleting: true, finalizers: [FOREGROUND] })
      await world.quiet()
      const waits = { deleting: true, finalizers: [FOREGROUND] }
      for (const each of [top, middle, low]) await world.still(each, waits)
      await world.finalize(held, [])
      await world.gone(held, low, middle, top)
    },
  },
  {
    rows: 'C5 R7',
    says: 'deletes an ownership cycle and leaves a dependent of it that has a solid owner, too',
    async run(world) {
      const ring = await ringOf(world, 2)
      const live = await world.make(CONFIG_MAP, 'live')
      const shared = await world.make(SECRET, 'shared', { owners: [blocking(ring[0]!), live] })
      await world.quiet()
      await world.remove(ring[0]!, 'Background')
      await world.gone(...ring)
      await world.sees(shared, { owners: ['live'], deleting: false })
      await world.quiet()
      await world.untouched(live)
    },
  },
]

function foregroundAll(size: number, what: string): Scenario[] {
  return [
    {
      rows: 'C5 P13',
      says: `removes ${what}, all of it deleted in the foreground`,
      better: HANGS,
      async run(world) {
        const ring = await ringOf(world, size)
        await world.quiet()
        await removeAll(world, ring)
        await world.gone(...ring)
      },
    },
  ]
}

/** At once, in the foreground: one after the other would let the first deletion delete the rest. */
async function removeAll(world: World, ring: readonly Made[]): Promise<void> {
  const options = { propagationPolicy: 'Foreground' }
  await Promise.all(ring.map((each) => world.removeWith(each, options).catch(ignoreGone)))
}

/** Another member's deletion may have taken it already. */
function ignoreGone(error: Error): void {
  if (!(error instanceof RefusedError) || error.status !== 404) throw error
}

async function ringOf(world: World, size: number, kind = CONFIG_MAP): Promise<Made[]> {
  const ring = await world.makeMany(kind, 'ring', size)
  for (const [index, each] of ring.entries()) {
    await world.refer(each, [blocking(ring[(index + 1) % size]!)])
  }
  return ring
}
