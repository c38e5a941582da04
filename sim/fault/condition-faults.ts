/**
 * What happens to the others that rules ask about: Pods or Nodes cannot be read, and some come, use
 * what is there and leave before they can.
 *
 * What must stay true: only worlds with such rules have these. The times are noted for the law, as
 * what came and left within them was seen by no watch.
 *
 * Not here: who makes others in quiet times (../rule/drawn-condition.ts).
 */
import { seeded } from '../../testing/seeded.ts'
import type { Fault } from '../model.ts'
import { CONDITIONED_FROM, type SimOptions } from '../options.ts'
import { noteUnread } from '../rule/condition-law.ts'
import { asksOthers, Others } from '../rule/drawn-condition.ts'
import { plain, refusal } from './answer.ts'
import { hinder, makeRelist, siteOf } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const asks = ({ seed, policy }: Omit<SimOptions, 'faults'>): boolean =>
  seed > CONDITIONED_FROM && policy.mode === 'enforce' && policy.rules.some(asksOthers)

export const conditionFaults: readonly Fault[] = [
  {
    row: 'others unread',
    what: 'lists and watches of Pods, or of Nodes, are refused, and some come and leave meanwhile',
    lastsMs: [30 * SECOND, 25 * MINUTE],
    most: 4,
    share: 0.6,
    suits: asks,
    begin(context) {
      const { world, fault } = context
      const site = siteOf(context)
      const chance = seeded(fault.seed)
      const resource = chance.pick(['pods', 'pods', 'nodes'] as const)
      const refused = chance.pick([
        () => refusal(403, 'Forbidden'),
        () => refusal(500, 'InternalError'),
        () => plain(404, '404 page not found'),
      ] as const)
      const others = new Others(site, chance, undefined, `u${fault.seed}-`)
      let isOver = false
      const act = (): void => {
        if (isOver) return
        others.visit(resource, (ms, leave) => world.time.at(world.time.monotonicMs() + ms, leave))
        world.time.at(world.time.monotonicMs() + (5 + chance.below(40)) * SECOND, act)
      }
      makeRelist(context)
      const end = hinder(
        context,
        ({ path }) => new RegExp(`/${resource}\\?`).test(path),
        () => {
          world.reached('others unread')
          return refused()
        },
        1,
      )
      const unread = noteUnread(world, site)
      act()
      return () => {
        isOver = true
        // Else a watch goes on where it was, and has missed nothing.
        if (chance.next() < 0.7) site.server.compact()
        end()
        unread.until = world.time.monotonicMs()
      }
    },
  },
]
