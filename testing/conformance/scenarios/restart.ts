/**
 * A collector that is killed in the middle, or was not there when it happened: the result is the
 * same.
 */
import { CLUSTER_ROLE, CONFIG_MAP, type Made, remove, SECRET } from '../../process/objects.ts'
import { canary } from '../canary.ts'
import { define, PASSING, REALM, WIDGET } from '../kinds.ts'
import type { Scenario } from '../scenario.ts'
import { blocking, FOREGROUND, HOLD, type Propagation, type World } from '../world.ts'

const MANY = 400

export const RESTARTS: readonly Scenario[] = [
  {
    rows: 'B56',
    says: 'killed in the middle of three cascades, completes each',
    alone: true,
    async run(world) {
      const families = await Promise.all([
        makeFamily(world, 'background'),
        makeFamily(world, 'foreground'),
        makeFamily(world, 'orphan'),
      ])
      const [background, foreground, orphan] = families
      const live = await makeFamily(world, 'live')
      await world.quiet()
      for (const [{ owner }, propagationPolicy] of [
        [background, 'Background'],
        [foreground, 'Foreground'],
        [orphan, 'Orphan'],
      ] as const) {
        await world.removeWith(owner, { propagationPolicy })
      }
      await world.eventually('some are gone', async () => {
        const left = (await world.look()).size
        return left < 4 * MANY - MANY / 4 || `${left} left`
      })
      await world.collector.kill()
      await world.collector.start()
      const doomed = [background, foreground].flatMap((each) => [each.owner, ...each.dependents])
      await world.gone(...doomed, orphan.owner)
      await world.quiet()
      await world.untouched(live.owner, ...live.dependents)
      const seen = await world.look()
      for (const { uid, name } of orphan.dependents) {
        const { owners = ['gone'], deleting } = seen.get(uid) ?? {}
        if (owners.length > 0 || deleting) throw new Error(`${name} was not orphaned`)
      }
    },
  },
  {
    rows: 'B55 B56 B17 R1',
    says: 'catches up with everything that happened while it was stopped',
    alone: true,
    async run(world) {
      const owners = await world.makeMany(CONFIG_MAP, 'owner', 6)
      const [background, foreground, orphan, stays, released, refilled] = owners
      const under = async (owner: Made, name: string): Promise<Made> =>
        await world.make(SECRET, name, { owners: [blocking(owner)] })
      const taken = [await under(background!, 'a'), await under(foreground!, 'b')]
      const kept = await under(orphan!, 'c')
      const good = await under(stays!, 'good')
      const held = await world.make(WIDGET, 'held', {
        owners: [blocking(refilled!)],
        finalizers: [HOLD],
      })
      const bare = await under(released!, 'bare')
      await world.quiet()
      await world.collector.kill()
      await world.removeWith(background!, { propagationPolicy: 'Background' })
      await world.removeWith(foreground!, { propagationPolicy: 'Foreground' })
      await world.removeWith(orphan!, { propagationPolicy: 'Orphan' })
      await world.removeWith(refilled!, { propagationPolicy: 'Foreground' })
      await world.refer(bare, [])
      await world.removeWith(released!)
      const late = await under(background!, 'late')
      const astray = await world.make(SECRET, 'astray', {
        owners: [stays!],
        namespace: world.other,
      })
      const wide = await world.make(CLUSTER_ROLE, 'wide', { owners: [stays!] })
      await world.collector.start()
      await world.gone(background!, foreground!, orphan!, released!, ...taken, late, astray)
      await world.sees(kept, { owners: [], deleting: false })
      await world.sees(held, { deleting: true })
      await world.quiet()
      await world.untouched(stays!, good, wide)
      await world.still(bare, { owners: [], deleting: false })
      await world.still(refilled!, { deleting: true, finalizers: [FOREGROUND] })
      await world.finalize(held, [])
      await world.gone(held, refilled!)
    },
  },
  {
    rows: 'B51 B56 R13',
    says: 'leaves the dependents of the objects of a kind that were deleted with its CustomResourceDefinition while it was stopped',
    alone: true,
    async run(world) {
      const definition = await define(world.plane, PASSING)
      const owner = await world.make(PASSING, 'owner')
      const kept = await world.make(CONFIG_MAP, 'kept', { owners: [owner] })
      await canary(world.plane, [{ kind: PASSING, namespace: world.namespace }])
      await world.collector.kill()
      await remove(world.plane, definition)
      await world.gone(owner)
      await world.collector.start()
      await canary(world.plane, [{ kind: CONFIG_MAP, namespace: world.namespace }])
      await world.untouched(kept)
    },
  },
  {
    rows: 'B70 W P13',
    says: 'obeys the last of two requests made while it was stopped',
    alone: true,
    async run(world) {
      await world.make(SECRET, 'seen')
      await world.quiet()
      await world.collector.kill()
      const [freed, waiting] = await world.makeMany(REALM, 'owner', 2)
      const under = async (owner: Made, name: string): Promise<Made> =>
        await world.make(CONFIG_MAP, name, { owners: [blocking(owner)] })
      const kept = await under(freed!, 'kept')
      const taken = await under(waiting!, 'taken')
      await removeTwice(world, freed!, 'Foreground', 'Orphan')
      await removeTwice(world, waiting!, 'Orphan', 'Foreground')
      await world.collector.start()
      await world.gone(freed!, waiting!, taken)
      await world.sees(kept, { owners: [], deleting: false })
    },
  },
]

interface Family {
  readonly owner: Made
  readonly dependents: readonly Made[]
}

async function makeFamily(world: World, name: string): Promise<Family> {
  const owner = await world.make(CONFIG_MAP, name)
  const owners = [blocking(owner)]
  return { owner, dependents: await world.makeMany(SECRET, name, MANY, () => ({ owners })) }
}

async function removeTwice(
  world: World,
  made: Made,
  first: Propagation,
  second: Propagation,
): Promise<void> {
  await world.removeWith(made, { propagationPolicy: first })
  await world.removeWith(made, { propagationPolicy: second })
}
