/**
 * Checkers of rules about owners in other clusters: what one deletes, and that it was decided in
 * the epoch of the owner's cluster that is followed (I42).
 *
 * What must stay true: the law is that of ../rule/elsewhere-law.ts; of commands only what they
 * claim of their owner is read here, as they were appended.
 *
 * Not here: what holds of any rule (rule-checkers.ts).
 */
import type { DeleteObject, OwnerClaim } from '../../core/model/command.ts'
import type { Checker, EffectSeen, World } from '../model.ts'
import { objectionOfElsewhere } from '../rule/elsewhere-law.ts'
import { mayBeByOwners, ruleBehind } from '../rule/rule-law.ts'
import { EPOCH_MS, epochsOf } from './effect-checkers.ts'

/** By cluster and uid of the object: what the last commands say of the owner. */
const CLAIMS = new WeakMap<World, Map<string, readonly Claimed[]>>()

interface Claimed {
  readonly claim: OwnerClaim
  readonly resourceVersion: string
}

export const elsewhereCheckers: readonly Checker[] = [
  {
    invariant:
      'I42: a rule deletes what names an owner in another cluster only an hour after that was deleted there, where both sides share it, and by the epoch of that cluster',
    appended: (world, { topic, records }) => {
      for (const { value } of topic === 'commands' ? records : []) {
        const record = value === null ? undefined : world.codec.decode(value)
        if (record?.type === 'DeleteObject') noteClaim(world, record)
      }
      return ''
    },
    effect: (seen) => {
      const rule = ruleBehind(seen)
      if (rule === undefined || rule.elsewhere === null || mayBeByOwners(seen)) return ''
      const { world, site, before, acting } = seen
      world.reached('elsewhere rule')
      return (
        objectionOfElsewhere(world, site, before, { rule, by: acting.by }) || epochObjection(seen)
      )
    },
  },
]

function noteClaim(world: World, { cluster, target, owners }: DeleteObject): void {
  const all = CLAIMS.get(world) ?? new Map<string, readonly Claimed[]>()
  CLAIMS.set(world, all)
  const key = `${cluster}/${target.uid}`
  const own = owners.flatMap((claim): Claimed[] => {
    const isElsewhere = claim.claim === 'gone-elsewhere'
    return isElsewhere ? [{ claim, resourceVersion: target.resourceVersion }] : []
  })
  all.set(key, [...(all.get(key) ?? []), ...own])
}

/** Of several commands about one version the reaper may have the last or the one before it. */
function epochObjection({ world, site, before, acting }: EffectSeen): string {
  const { uid, resourceVersion } = before.metadata
  const all = CLAIMS.get(world)?.get(`${site.id}/${uid}`) ?? []
  const those = all.filter((each) => each.resourceVersion === resourceVersion)
  const last = those.at(-1)?.claim
  if (last === undefined) return 'no command says which owner elsewhere is gone (I42)'
  const begun = epochsOf(world).begunMs.get(last.cluster)
  if (begun === undefined || last.clusterEpoch >= begun.epoch) return ''
  const ms = acting.sentMs - begun.ms
  if (ms <= EPOCH_MS) return ''
  return `its owner was gone in epoch ${last.clusterEpoch}, and ${begun.epoch} began ${ms} ms ago (I42)`
}
