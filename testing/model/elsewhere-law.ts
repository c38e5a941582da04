/**
 * Owners in other clusters, written once more from what is promised: an object is due only by a
 * deletion that was watched, in the epoch of its owner's cluster that is followed, and is deleted
 * only after an hour in which that cluster was followed without a break, and none while an order
 * forgets that cluster, or within an hour afterwards.
 *
 * What must stay true: it shares no code with the core, and knows the events alone, and which
 * objects there are.
 *
 * Not here: whether an order enforces the rule, and what else holds an object.
 */
import type { ClusterElsewhere, Directive, Event, OwnerElsewhere } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { RuleElsewhere } from '../../core/model/rule/elsewhere.ts'

interface KnownFact {
  readonly event: OwnerElsewhere
  readonly since: number
}

interface KnownCluster {
  readonly event: ClusterElsewhere
  /** Null: it is not followed. */
  readonly since: number | null
  readonly heardAt: number
}

const HOUR_MS = 3_600_000
const SILENT_MS = 180_000

export class ElsewhereLaw {
  /** By `CLUSTER/UID`. */
  readonly #facts = new Map<string, KnownFact>()
  readonly #clusters = new Map<string, KnownCluster>()
  /** Since when its owners count again; null: it is forgotten. */
  readonly #forgotten = new Map<string, number | null>()

  /** What was published, in the order of the log. `objects`: all that are known by then. */
  tell(event: Event, now: number, objects: readonly ObjectMeta[]): void {
    if (event.type === 'OwnerElsewhere') this.#owner(event, now, objects)
    else if (event.type === 'ClusterElsewhere') this.#cluster(event, now)
    else if (event.type === 'Directive') this.#order(event, now)
    else if (event.type === 'WatcherStarted' || event.type === 'Unreadable') this.#unfollow()
  }

  /** Nothing is remembered of an owner that no object names. */
  keepNamed(objects: readonly ObjectMeta[]): void {
    const named = new Set(objects.map(ownerText).map(([cluster, , uid]) => `${cluster}/${uid}`))
    for (const key of this.#facts.keys()) if (!named.has(key)) this.#facts.delete(key)
  }

  isDue({ cluster, kinds, namespaces, exports }: RuleElsewhere, object: ObjectMeta): boolean {
    const [of, place, uid, kind, namespace] = ownerText(object)
    const known = this.#facts.get(`${of}/${uid}`)
    const followed = this.#clusters.get(of)
    if (object.ownerReferences.length > 0 || of !== cluster) return false
    const isIn = (each: Pick<RuleElsewhere, 'kinds' | 'namespaces'>): boolean => {
      const isKind = each.kinds.some((one) => `${one.group}/${one.kind}` === kind)
      return isKind && each.namespaces.includes(namespace)
    }
    const isShared = exports.some((each) => isIn(each) && each.to.includes('c'))
    if (!isIn({ kinds, namespaces }) || !isShared) return false
    if (known === undefined || followed === undefined) return false
    if (this.#forgotten.get(of) === null) return false
    if (known.event.ownerEpoch !== followed.event.ownerEpoch) return false
    return known.event.state === 'deleted' && placeText(known.event) === place
  }

  /** For a command that is issued now. */
  mayDelete(rule: RuleElsewhere, object: ObjectMeta, now: number): boolean {
    const [of, , uid] = ownerText(object)
    const since = this.#facts.get(`${of}/${uid}`)?.since ?? now
    const followed = this.#clusters.get(of)
    if (!this.isDue(rule, object) || followed == null || followed.since === null) return false
    if (now - followed.heardAt > SILENT_MS) return false
    const countsFrom = Math.max(since, followed.since, this.#forgotten.get(of) ?? 0)
    return now - countsFrom >= HOUR_MS
  }

  #owner(event: OwnerElsewhere, now: number, objects: readonly ObjectMeta[]): void {
    const key = `${event.ownerCluster}/${event.uid}`
    const isNamed = objects.map(ownerText).some(([cluster, , uid]) => `${cluster}/${uid}` === key)
    const former = this.#facts.get(key)
    if (!isNamed) return
    if (former !== undefined && isOlder(event, former.event)) return
    const isSame = former !== undefined && stateText(former.event) === stateText(event)
    this.#facts.set(key, { event, since: isSame ? former.since : now })
  }

  #cluster(event: ClusterElsewhere, now: number): void {
    const former = this.#clusters.get(event.ownerCluster)
    if (former !== undefined && event.ownerEpoch < former.event.ownerEpoch) return
    const isSame = former?.event.ownerEpoch === event.ownerEpoch
    const isUnbroken = isSame && former.since !== null && now - former.heardAt <= SILENT_MS
    const since = event.state === 'cut-off' ? null : isUnbroken ? former.since : now
    this.#clusters.set(event.ownerCluster, { event, since, heardAt: now })
  }

  #order({ verb, subject }: Directive, now: number): void {
    if (verb === 'forget-cluster') this.#forgotten.set(subject, null)
    const isForgotten = this.#forgotten.get(subject) === null
    if (verb === 'remember-cluster' && isForgotten) this.#forgotten.set(subject, now)
  }

  #unfollow(): void {
    for (const [key, known] of this.#clusters) this.#clusters.set(key, { ...known, since: null })
  }
}

function isOlder(a: OwnerElsewhere, b: OwnerElsewhere): boolean {
  return a.ownerEpoch < b.ownerEpoch || (a.ownerEpoch === b.ownerEpoch && a.position < b.position)
}

/** The whole name in five parts: its cluster, place, uid, kind and namespace. */
function ownerText({ annotations }: ObjectMeta): [string, string, string, string, string] {
  const value = annotations.find(({ key }) => key === 'kinfold.io/owner')?.value ?? ''
  const parts = /^([^/]+)\/(([^/]*\/[^/]+)\/([^/]*)\/[^/]+)\/([^/]+)$/.exec(value) ?? []
  const [, cluster = '', place = '', kind = '', namespace = '', uid = ''] = parts
  return [cluster, place, uid, kind, namespace]
}

function placeText({ place }: OwnerElsewhere): string {
  return [place.group, place.kind, place.namespace, place.name].join('/')
}

function stateText(event: OwnerElsewhere): string {
  return [event.state, event.ownerEpoch, placeText(event)].join(' ')
}
