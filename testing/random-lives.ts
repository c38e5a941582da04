/**
 * Random owners and dependents, and what two users delete of them: for a test that knows who sent
 * which request.
 *
 * What must stay true: the same for the same seed; a user deletes an object once, and no other user
 * does, so that who did it is one name.
 */
import type { PropagationPolicy } from '../core/model/object.ts'
import type { Random } from '../ports/random.ts'
import { CONFIG_MAP, type Kind, POD, REPLICA_SET, SECRET } from './process/objects.ts'

export interface PlannedObject {
  readonly kind: Kind
  readonly name: string
  /** Names of objects before it. */
  readonly owners: readonly string[]
}

export interface PlannedDelete {
  readonly user: string
  /** Of an object. */
  readonly name: string
  readonly policy: PropagationPolicy
}

export interface Lives {
  readonly objects: readonly PlannedObject[]
  /** Of each user, in order. */
  readonly deletes: ReadonlyMap<string, readonly PlannedDelete[]>
}

/** A controller makes no pod of it. */
const IDLE_SET: Kind = {
  ...REPLICA_SET,
  body: { spec: { ...(REPLICA_SET.body as { spec: object }).spec, replicas: 0 } },
}
const KINDS = [IDLE_SET, CONFIG_MAP, SECRET, POD]
const POLICIES: readonly PropagationPolicy[] = ['Background', 'Background', 'Foreground', 'Orphan']
const MOST_BELOW = 5
/**
 * How likely an object has an owner of another life, and the other user deletes one that is not the
 * root.
 */
const CROSSED = 0.2
const MEDDLED = 0.4

export function livesOf(count: number, users: readonly [string, string], random: Random): Lives {
  const one = <T>(all: readonly T[]): T => all[Math.floor(random.next() * all.length)] as T
  const objects: PlannedObject[] = []
  const deletes = new Map<string, PlannedDelete[]>(users.map((user) => [user, []]))
  for (let life = 0; life < count; life++) {
    const strangers = objects.map(({ name }) => name)
    const own: string[] = [`life-${life}-0`]
    objects.push({ kind: one(KINDS), name: `life-${life}-0`, owners: [] })
    const below = 1 + Math.floor(random.next() * MOST_BELOW)
    for (let index = 1; index <= below; index++) {
      const isCrossed = strangers.length > 0 && random.next() < CROSSED
      const owners = new Set([one(own), ...(isCrossed ? [one(strangers)] : [])])
      const name = `life-${life}-${index}`
      objects.push({ kind: one(KINDS), name, owners: [...owners] })
      own.push(name)
    }
    const [user, other] = life % 2 === 0 ? users : [users[1], users[0]]
    deletes.get(user)?.push({ user, name: `life-${life}-0`, policy: one(POLICIES) })
    if (random.next() >= MEDDLED) continue
    deletes.get(other)?.push({ user: other, name: one(own.slice(1)), policy: one(POLICIES) })
  }
  return { objects, deletes }
}
