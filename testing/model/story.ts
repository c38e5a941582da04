/**
 * Stories: a whole life as text, steps and the result of each. `UPDATE=1` writes the present
 * results; review them as a diff.
 *
 * A line `then` comes before an event that results from a command, or for another reason cannot be
 * published before all events above it. A step is a line, and its results are indented under it:
 * `> COMMAND`, or `dropped: …`. The lines are those of `#eventsOf` and `#othersOf`,
 * `why KIND/NAME`, which prints the present verdict, and `plan`, which prints the sets that wait
 * for approval; objects are written as in notation.ts.
 */
import { finalizerSubject } from '../../core/admit/finalizer-order.ts'
import { factsOf } from '../../core/graph/facts.ts'
import { isMonitored } from '../../core/graph/kind-status.ts'
import type {
  Command,
  DeleteObject,
  RemoveFinalizer,
  Outcome as Result,
} from '../../core/model/command.ts'
import { CATCH_UP_MS } from '../../core/model/constant.ts'
import type {
  ElsewhereState,
  Event,
  KindServed,
  ObjectAdded,
  ObjectUpdated,
} from '../../core/model/event.ts'
import type { SetHash } from '../../core/model/hash.ts'
import { EMPTY_SET, withMember } from '../../core/model/hash.ts'
import { IGNORED } from '../../core/model/kind-reason.ts'
import { admissionOf, nodePhase } from '../../core/model/node.ts'
import type { GroupKind, ObjectMeta, Pair, Scope } from '../../core/model/object.ts'
import { isOfCollector, projectionHash } from '../../core/model/object.ts'
import type { Mode, Policy, Preset } from '../../core/model/policy.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Evidence } from '../../core/model/proof.ts'
import { isPolicyKind } from '../../core/model/rule/policy-content.ts'
import { ruleOfPolicy } from '../../core/model/rule/policy-in-force.ts'
import { type Rule, readsWithin, ruleDigest } from '../../core/model/rule/rule.ts'
import type { StateValue } from '../../core/model/state.ts'
import type { Folder } from './folder.ts'
import { folder } from './folder.ts'
import { KINDS, kindNotation, object, shortKind, UNREAD } from './notation.ts'
import { policyIn, ruleIn } from './rule-notation.ts'

/** A cluster as a story describes it. */
class Told {
  readonly cluster: string
  /** The objects on the server; unknown to the fold until they are published. */
  readonly objects: Map<string, ObjectMeta> = new Map()
  version = 0
  epoch = 1
  clusterEpoch = 1
  syncs = 0
  /** Kinds that the notation has in namespaces. */
  readonly clusterScoped: Set<string> = new Set()
  /** The events that a relist in progress has still to publish. */
  open: Event[] = []
  /** Epochs of other clusters, where they are not the first. */
  readonly followed: Map<string, number> = new Map()

  constructor(cluster: string) {
    this.cluster = cluster
  }
}

/** The clusters as a story describes them: it gives versions, epochs and the result of a relist. */
export class World {
  readonly folder: Folder = folder()
  readonly #clusters: Map<string, Told> = new Map()
  #at: Told = new Told('c')
  #now = 0
  #policy: Policy = policyFor('enforce', 'parity')
  #planned: SetHash = EMPTY_SET
  /** What objects use, whether any rule asks or not. */
  readonly #uses: Map<string, readonly Pair[]> = new Map()

  /**
   * Begins as most stories do: in enforce and parity, all kinds served and synced, nothing there.
   */
  begin(): void {
    this.tell({
      type: 'WatcherStarted',
      serverTime: null,
      cluster: this.#at.cluster,
      name: 'test',
      epoch: this.#at.epoch,
      clusterEpoch: this.#at.clusterEpoch,
    })
    for (const short of Object.keys(KINDS)) {
      if (LATER.includes(short)) continue
      this.tell(this.served(short, true))
      for (const event of this.relist(short)) this.tell(event)
    }
    this.tell(this.policy('enforce', 'parity'))
    this.tell(this.beat(CATCH_UP_MS / 1000))
  }

  tell(event: Event): string[] {
    return this.folder
      .fold(event, this.#now)
      .flatMap((outcome) => [
        ...outcome.commands.map((command) => `> ${show(command)}`),
        ...outcome.relists.map(({ kind, why }) => `> relist ${kind.kind}: ${why}`),
        ...(outcome.dropped === null ? [] : [`dropped: ${outcome.dropped}`]),
      ])
  }

  /** Append time of the next event, in milliseconds. */
  get now(): number {
    return this.#now
  }

  policy(mode: Mode, preset: Preset): Event {
    const { rules, mayRemove } = this.#policy
    this.#policy = { ...policyFor(mode, preset), rules, mayRemove }
    return { type: 'PolicyChanged', policy: this.#policy, who: 'test', why: 'test' }
  }

  /** Adds a rule, or changes the one of that name: `ruleIn` has the notation. */
  #rule(text: string): Event {
    const rule = ruleIn(text)
    const others = this.#policy.rules.filter(({ name }) => name !== rule.name)
    this.#policy = { ...this.#policy, rules: [...others, rule] }
    return { type: 'PolicyChanged', policy: this.#policy, who: 'test', why: 'test' }
  }

  /** Of the policy, and of the objects on the server that have one. */
  #rules(): readonly Rule[] {
    const own = [...this.#at.objects.values()].flatMap((object) => ruleOfPolicy(object) ?? [])
    return [...this.#policy.rules, ...own]
  }

  /** A CleanupPolicy or a ClusterCleanupPolicy: `OBJECT = RULE`, as `policyIn` reads it. */
  #putPolicy(text: string): Event {
    const [about = '', rule = ''] = text.split(' = ')
    const sighting = this.#sighting(about)
    const { uid } = sighting.object
    const seen = policyIn(sighting.object, rule, this.#at.objects.get(uid))
    this.#at.objects.set(uid, seen)
    return { ...sighting, object: seen }
  }

  /** An object as a watcher publishes it that reads what the rules read. */
  #read(object: ObjectMeta): ObjectMeta {
    const { projected } = object
    if (projected?.reads === UNREAD) return { ...object, projected: null }
    if (isPolicyKind(object)) return object
    const read = readsWithin(this.#rules(), object)
    if (read === null) return projected === null ? object : { ...object, projected: null }
    const { digest: reads, uses = [] } = read
    if (reads === '') return { ...object, projected: null }
    const plain = projected?.fields.filter(({ key }) => !key.startsWith('uses/')) ?? []
    const used = uses.map(({ key, used: { kind } }) => {
      const known = this.#uses.get(object.uid)?.find((each) => each.key === `uses/${kind}`)
      return { key, value: known?.value ?? '' }
    })
    return { ...object, projected: { reads, fields: [...plain, ...used], policy: null } }
  }

  served(short: string, monitored: boolean, versions?: readonly string[]): KindServed {
    const { group, kind, resource, scope, version } = kindNotation(short)
    return {
      type: 'KindServed',
      cluster: this.#at.cluster,
      epoch: this.#at.epoch,
      group,
      kind,
      resource,
      scope,
      versions: versions ?? [version],
      monitored,
      reason: '',
      ambiguous: false,
      aggregated: false,
    }
  }

  gone(short: string): Event {
    const { group, kind, resource } = kindNotation(short)
    return {
      type: 'KindGone',
      cluster: this.#at.cluster,
      epoch: this.#at.epoch,
      group,
      kind,
      resource,
    }
  }

  /** Adds or changes an object on the server, and returns the event of a watch. */
  put(text: string): Event {
    const sighting = this.#sighting(text)
    this.#at.objects.set(sighting.object.uid, sighting.object)
    return sighting
  }

  #sighting(text: string): ObjectAdded | ObjectUpdated {
    this.#at.version += 1
    const written = object(text, String(this.#at.version))
    this.#uses.set(written.uid, written.projected?.fields ?? [])
    // It is never changed afterwards.
    const { createdAt } = this.#at.objects.get(written.uid) ?? written
    const seen = this.#read({ ...written, createdAt })
    const type = this.#at.objects.has(seen.uid) ? 'ObjectUpdated' : 'ObjectAdded'
    return { type, cluster: this.#at.cluster, epoch: this.#at.epoch, sync: null, object: seen }
  }

  remove(text: string): Event {
    const { uid } = object(text, '0')
    const last = this.#at.objects.get(uid) ?? object(text, '0')
    this.#at.objects.delete(uid)
    this.#at.version += 1
    const removed = { ...last, resourceVersion: String(this.#at.version) }
    return {
      type: 'ObjectDeleted',
      cluster: this.#at.cluster,
      epoch: this.#at.epoch,
      object: removed,
      ageMs: 0,
    }
  }

  /** All events of a relist of a kind. */
  relist(short: string): Event[] {
    const { group, kind } = kindNotation(short)
    this.#at.syncs += 1
    const about = {
      cluster: this.#at.cluster,
      epoch: this.#at.epoch,
      group,
      kind,
      sync: this.#at.epoch * 1_000_000 + this.#at.syncs,
    }
    const listed = [...this.#at.objects.values()].filter(
      (o) => o.group === group && o.kind === kind,
    )
    const set = listed.reduce((all, { uid }) => withMember(all, uid), EMPTY_SET)
    return [
      { type: 'SyncStarted', ...about },
      ...listed.map(
        (o): Event => ({
          type: 'ObjectUpdated',
          cluster: this.#at.cluster,
          epoch: this.#at.epoch,
          sync: about.sync,
          object: this.#read(o),
        }),
      ),
      {
        type: 'SyncFinished',
        ...about,
        resourceVersion: String(this.#at.version),
        listed: set,
      },
    ]
  }

  restart(clusterEpoch: number = this.#at.clusterEpoch): Event {
    this.#at.epoch += 1
    this.#at.clusterEpoch = clusterEpoch
    const epoch = this.#at.epoch
    return {
      type: 'WatcherStarted',
      serverTime: null,
      cluster: this.#at.cluster,
      name: 'test',
      epoch,
      clusterEpoch,
    }
  }

  /**
   * Perhaps with for how long the watch of a kind has delivered nothing, and that those of all
   * others are alive; `-KIND`: that it has no watch.
   */
  beat(seconds: number, short = '', silentSeconds = 0): Event {
    this.#now += seconds * 1000
    const { cluster, epoch } = this.#at
    const about = short.replace('-', '')
    const facts = factsOf(this.folder.graph, cluster)
    const watched = Object.keys(KINDS).filter((each) => isMonitored(facts.kind(groupKindOf(each))))
    const reported = short === '' ? [] : watched.filter((each) => `-${each}` !== short)
    const kinds = reported.map((each) => {
      return { ...groupKindOf(each), ageMs: each === about ? silentSeconds * 1000 : 0 }
    })
    return { type: 'Heartbeat', cluster, epoch, kinds }
  }

  found(text: string): Event {
    const seen = object(text, '1')
    const { command, uid, clusterEpoch } = this.#verification(text)
    return {
      type: 'OwnerFound',
      cluster: this.#at.cluster,
      clusterEpoch,
      owner: place(seen),
      uid,
      object: seen,
      command,
    }
  }

  absent(text: string): Event {
    const seen = object(text, '1')
    const { command, uid, clusterEpoch } = this.#verification(text)
    return {
      type: 'OwnerAbsent',
      cluster: this.#at.cluster,
      clusterEpoch,
      owner: this.#at.clusterScoped.has(seen.kind)
        ? { ...place(seen), namespace: '' }
        : place(seen),
      uid,
      how: 'NotFound',
      otherUid: null,
      command,
    }
  }

  /** The result of the last command about an object. */
  settle(text: string, outcome: Result, reason: string, seen: ObjectMeta | null = null): Event {
    const target = object(text, '0')
    const command = this.folder.commands.findLast((each) => each.target.uid === target.uid)
    if (command === undefined) throw new Error(`no command about ${text}`)
    return {
      type: 'CommandSettled',
      cluster: this.#at.cluster,
      clusterEpoch: this.#at.clusterEpoch,
      command: command.id,
      verb: command.type,
      uid: target.uid,
      place: place(target),
      outcome,
      reason,
      code: null,
      object: seen,
      calls: 1,
      list: null,
    }
  }

  /** The last command about an object is carried out, and the server returns it as it is then. */
  #answer(text: string): Event {
    const sighting = this.#sighting(text)
    this.#at.objects.set(sighting.object.uid, sighting.object)
    return this.settle(text, 'done', '', sighting.object)
  }

  /** The same, after a watch has published it. */
  #answerLate(text: string): Event {
    const written = object(text, '')
    const { resourceVersion, createdAt } = this.#at.objects.get(written.uid) ?? written
    return this.settle(text, 'done', '', this.#read({ ...written, resourceVersion, createdAt }))
  }

  /**
   * Of the last command about an object: its result is one of the epoch in which it was decided.
   */
  #verification(text: string): { command: string; uid: string; clusterEpoch: number } {
    const { uid } = object(text, '0')
    const command = this.folder.commands.findLast((each) => each.target.uid === uid)
    const clusterEpoch = command?.clusterEpoch ?? this.#at.clusterEpoch
    return { command: command?.id ?? 'none', uid, clusterEpoch }
  }

  step(line: string): string[] {
    const [word = '', first = ''] = wordsOf(line)
    if (word === 'why') return [this.#why(first)]
    if (word === 'plan') return [this.#plan()]
    if (word === 'cluster') return this.#goTo(first)
    if (word === 'followed') return this.#followed(Number(first), line)
    return this.events(line).flatMap((event) => this.tell(event))
  }

  /** The records that a step appends to the log, not yet folded. */
  events(line: string): readonly Event[] {
    const [word = '', first = '', second = ''] = wordsOf(line)
    const rest = line.trim().slice(word.length).trim()
    return this.#eventsOf(word, rest, first, second)
  }

  /** The present verdict on an object. */
  #why(text: string): string {
    const node = factsOf(this.folder.graph, this.#at.cluster).node(object(text, '0').uid)
    if (node === undefined) return '= gone'
    const { verdict } = node
    const phase = nodePhase(node)
    if (verdict === null) return `= ${phase}, no verdict`
    const admission = admissionOf(node)
    const held = admission === null ? '' : `; held by ${admission.by}: ${admission.because}`
    return `= ${phase}, ${verdict.type}${evidenceText(verdict.evidence)}: ${verdict.because}${held}`
  }

  #goTo(name: string): string[] {
    this.#clusters.set(this.#at.cluster, this.#at)
    const known = this.#clusters.get(name)
    this.#at = known ?? new Told(name)
    if (known === undefined) this.begin()
    return []
  }

  #touched(text: string, isOther: boolean): Event {
    this.#at.version += 1
    const meant = object(text, String(this.#at.version))
    const held = this.#at.objects.get(meant.uid) ?? meant
    const { group, kind, uid } = meant
    const hash = isOther ? 'other' : projectionHash(this.#read(held))
    return {
      type: 'Touched',
      cluster: this.#at.cluster,
      epoch: this.#at.epoch,
      sync: null,
      group,
      kind,
      entries: [{ uid, hash, resourceVersion: String(this.#at.version) }],
    }
  }

  /** As `put` for each of so many, named by number. */
  #many(count: number, text: string): Event[] {
    return Array.from({ length: count }, (_, index) => this.put(text.replaceAll('#', `${index}`)))
  }

  #scoped(short: string, scope: Scope): Event {
    const served = this.served(short, true)
    if (scope === 'Cluster') this.#at.clusterScoped.add(served.kind)
    return { ...served, scope }
  }

  #finish(): Event[] {
    const { open } = this.#at
    this.#at.open = []
    return open
  }

  /** For this cluster, or `all`. */
  #directive(verb: string, subject: string, scope: string): Event {
    const cluster = scope === 'all' ? '' : this.#at.cluster
    const rule = this.#policy.rules.find(({ name }) => name === subject)
    const digest = verb === 'enforce-rule' && rule !== undefined ? ruleDigest(rule) : null
    const nothing = { digest, listed: EMPTY_SET, isProven: false }
    return { type: 'Directive', verb, cluster, subject, ...nothing, who: 'ann', why: 'test' }
  }

  #open(short: string): Event[] {
    const [first, ...rest] = this.relist(short)
    this.#at.open = rest
    return first === undefined ? [] : [first]
  }

  /** In parity, with this number of required approvals. */
  #approvals(approvals: number): Event {
    const policy = { ...policyFor('enforce', 'parity'), approvals }
    return { type: 'PolicyChanged', policy, who: 'test', why: 'test' }
  }

  /** Guarded, with these budgets for `deleted`, `missing` and `not-found`. */
  #budgets([deleted = 0, missing = 0, notFound = 0]: readonly number[]): Event {
    const policy = { ...policyFor('enforce', 'guarded'), budgets: { deleted, missing, notFound } }
    return { type: 'PolicyChanged', policy, who: 'test', why: 'test' }
  }

  /** About the plan that was requested last. `user:NAME` was authenticated by a cluster. */
  #ruling(verb: string, who: string): Event {
    const { cluster } = this.#at
    return {
      type: 'Directive',
      verb,
      cluster,
      subject: '',
      digest: null,
      listed: this.#planned,
      who,
      isProven: who.startsWith('user:'),
      why: 'it is meant',
    }
  }

  /** `followed SECONDS CLUSTER`: each minute, as a bridge publishes it. */
  #followed(seconds: number, line: string): string[] {
    const [, , ownerCluster = ''] = wordsOf(line)
    const minutes = Array.from({ length: Math.ceil(seconds / 60) }, (_, minute) => 60 * minute)
    return minutes.flatMap((from) => [
      ...this.tell(this.beat(Math.min(60, seconds - from))),
      ...this.tell(this.#follow('follow', ownerCluster, '')),
    ])
  }

  /** Another cluster whose owners objects here name: as it was, or in another epoch. */
  #follow(word: string, ownerCluster: string, ownerEpoch: string): Event {
    if (ownerEpoch !== '') this.#at.followed.set(ownerCluster, Number(ownerEpoch))
    const { cluster, epoch, followed } = this.#at
    const of = { cluster, epoch, ownerCluster, ownerEpoch: followed.get(ownerCluster) ?? 1 }
    return word === 'follow'
      ? { type: 'ClusterElsewhere', ...of, state: 'followed', because: '' }
      : { type: 'ClusterElsewhere', ...of, state: 'cut-off', because: 'nothing is heard' }
  }

  /** `STATE CLUSTER OBJECT`, newer than what was published before; with `older` it is not. */
  #elsewhere(state: ElsewhereState, ownerCluster: string, rest: string): Event {
    const isOlder = rest.endsWith(' older')
    const about = rest.slice(rest.indexOf(ownerCluster) + ownerCluster.length).trim()
    const owner = object(isOlder ? about.slice(0, -' older'.length) : about, '0')
    if (!isOlder) this.#at.version += 1
    const { cluster, epoch, followed, version: position } = this.#at
    const { uid, version, resource, createdAt } = owner
    return {
      ...{ type: 'OwnerElsewhere', cluster, epoch, ownerCluster },
      ownerEpoch: followed.get(ownerCluster) ?? 1,
      ...{ place: place(owner), uid, version, resource, createdAt, state },
      position: isOlder ? 0n : BigInt(position),
    }
  }

  #mayRemove(mayRemove: readonly string[]): Event {
    this.#policy = { ...this.#policy, mayRemove }
    return { type: 'PolicyChanged', policy: this.#policy, who: 'test', why: 'test' }
  }

  /** Of the object as it is now, or at the version that is named. */
  #removeFinalizer(object: string, finalizer: string, version?: string): Event {
    const uid = object.replace('/', '-')
    const facts = factsOf(this.folder.graph, this.#at.cluster)
    const node = facts.node(uid)
    const seen = node && facts.seen(node.object, uid)
    const resourceVersion = version ?? seen?.resourceVersion ?? '1'
    const subject = finalizerSubject({ uid, resourceVersion, finalizer })
    return this.#directive('remove-finalizer', subject, '')
  }

  #plan(): string {
    this.#planned = factsOf(this.folder.graph, this.#at.cluster).plan
    return `= ${this.#planned.count} to approve`
  }

  #eventsOf(word: string, rest: string, first: string, second: string): readonly Event[] {
    switch (word) {
      case 'policy':
        return [this.policy(first as Mode, second as Preset)]
      case 'approvals':
        return [this.#approvals(Number(first))]
      case 'budgets':
        return [this.#budgets(rest.split(' ').map(Number))]
      case 'serve':
        return [
          {
            ...this.served(first, second !== 'unmonitored' && second !== 'ignored'),
            aggregated: second === 'aggregated',
            reason: second === 'ignored' ? IGNORED : '',
          },
        ]
      case 'scope':
        return [this.#scoped(first, second as Scope)]
      case 'versions':
        return [this.served(first, true, second.split(','))]
      case 'unserve':
        return [this.gone(first)]
      case 'put':
        return [this.put(rest)]
      case 'delete':
        return [this.remove(rest)]
      case 'lose':
        this.remove(rest)
        return []
      case 'many':
        return this.#many(Number(first), rest.slice(first.length).trim())
      case 'delete-many':
        return Array.from({ length: Number(first) }, (_, i) =>
          this.remove(second.replaceAll('#', `${i}`)),
        )
      case 'lose-many':
        for (let i = 0; i < Number(first); i++) this.remove(second.replaceAll('#', `${i}`))
        return []
      case 'touch':
        return [this.#touched(first, second === 'other')]
      case 'older':
        return [{ ...this.#sighting(rest), object: object(rest, '0') }]
      case 'open':
        return this.#open(first)
      case 'finish':
        return this.#finish()
      case 'hide':
        this.put(rest)
        return []
      case 'relist':
        return this.relist(first)
      default:
        return this.#othersOf(word, rest, first, second)
    }
  }

  /** What comes from watchers as a whole, reapers and people. */
  #othersOf(word: string, rest: string, first: string, second: string): readonly Event[] {
    switch (word) {
      case 'restart':
        return [this.restart()]
      case 'rollback':
        return [this.restart(this.#at.clusterEpoch + 1)]
      case 'then':
        return []
      case 'beat':
        return [this.beat(Number(first), second, Number(wordsOf(rest)[2] ?? 0))]
      case 'found':
        return [this.found(rest)]
      case 'absent':
        return [this.absent(rest)]
      case 'settle':
        return [this.settle(first, second as Result, '')]
      case 'answer':
        return [this.#answer(rest)]
      case 'answer-late':
        return [this.#answerLate(rest)]
      case 'pause':
      case 'resume':
        return [this.#directive(word, '', first)]
      case 'rule':
        return [this.#rule(rest)]
      case 'put-policy':
        return [this.#putPolicy(rest)]
      case 'put-policies':
        return Array.from({ length: Number(first) }, (_, index) =>
          this.#putPolicy(rest.slice(first.length).trim().replaceAll('#', `${index}`)),
        )
      case 'enforce-rule':
      case 'suspend-rule':
        return [this.#directive(word, first, 'all')]
      case 'forget-cluster':
      case 'remember-cluster':
        return [this.#directive(word, first, '')]
      case 'may-remove':
        return [this.#mayRemove(wordsOf(rest))]
      case 'remove-finalizer':
        return [this.#removeFinalizer(first, second, wordsOf(rest)[2])]
      case 'protect':
      case 'unprotect':
        return [this.#directive(word, first, second)]
      case 'approve':
      case 'reject':
      case 'close-breaker':
        return [this.#ruling(word, first)]
      case 'follow':
      case 'unfollow':
        return [this.#follow(word, first, second)]
      case 'elsewhere':
        return [this.#elsewhere(first as ElsewhereState, second, rest)]
      case 'unreadable':
        return [{ type: 'Unreadable', home: rest, reason: 'garbage' }]
      default:
        throw new Error(`no such step: ${word}`)
    }
  }
}

function evidenceText(evidence: Evidence | null): string {
  return evidence === null ? '' : ` ${evidence}`
}

function groupKindOf(short: string): GroupKind {
  const { group, kind } = kindNotation(short)
  return { group, kind }
}

function place(object: ObjectMeta): Pick<ObjectMeta, 'group' | 'kind' | 'namespace' | 'name'> {
  const { group, kind, namespace, name } = object
  return { group, kind, namespace, name }
}

export function show(command: Command): string {
  const { target } = command
  const where = command.cluster === 'c' ? '' : `${command.cluster}:`
  const at = `${where}${shortKind(target.group, target.kind)}/${target.name}`
  switch (command.type) {
    case 'DeleteObject':
      return `DeleteObject ${at} ${command.propagationPolicy}${graceText(command)} ${basisText(command)}: ${command.because}`
    case 'AnnotateObject': {
      const { key, value } = command.annotation
      return `AnnotateObject ${at} ${key}=${value} ${basisText(command)}: ${command.because}`
    }
    case 'OrphanDependent':
      return `OrphanDependent ${at} drop ${command.drop.join()} ${basisText(command)}: ${command.because}`
    case 'RemoveFinalizer':
      return `RemoveFinalizer ${at} ${command.finalizer}${orderText(command)}`
    case 'VerifyOwner':
      return `VerifyOwner ${at}${target.namespace === '' ? '' : ` in ${target.namespace}`}`
    case 'WarnObject':
      return `WarnObject ${at}: ${command.message}`
  }
}

function graceText({ gracePeriodSeconds }: DeleteObject): string {
  return gracePeriodSeconds === null ? '' : ` grace ${gracePeriodSeconds}`
}

/** Nothing of the finalizers of the collector, which no order removes. */
function orderText({ finalizer, because }: RemoveFinalizer): string {
  return isOfCollector(finalizer) ? '' : `: ${because}`
}

/** `recheck` only where the cause does not ask for it anyway. */
function basisText({ evidence, freshness }: Pick<DeleteObject, 'evidence' | 'freshness'>): string {
  const isSeen = evidence === 'orphaning' || evidence === 'deleted' || evidence === 'waiting'
  return isSeen && freshness === 'recheck' ? `${evidence} recheck` : evidence
}

function wordsOf(line: string): readonly string[] {
  return line.trim().split(/\s+/)
}

/** Kinds that a story has served when it needs them. */
const LATER = [
  ...['sa', 'role', 'clusterrole', 'binding', 'user'],
  'widget',
  'namespace',
  'crd',
  'pvc',
  'secret',
  'cleanup',
  'clustercleanup',
]

/**
 * Steps with one event of one watch each, so that the watches of several kinds may overtake each
 * other.
 */
const LIVE = ['put', 'delete', 'many', 'touch', 'older']

/**
 * The state in which a story ends when the watches of its kinds overtake each other between two
 * steps of another sort. `mix` makes another legal order of the streams' events, each of which
 * keeps its own.
 */
export function endOf(
  text: string,
  mix: (streams: readonly (readonly Event[])[]) => readonly Event[],
): ReadonlyMap<string, StateValue> {
  const world = new World()
  world.begin()
  let streams = new Map<string, Event[]>()
  const flush = (): void => {
    for (const event of mix([...streams.values()])) world.tell(event)
    streams = new Map()
  }
  for (const line of text.split('\n').filter(isStep)) {
    const [word = '', first = ''] = wordsOf(line)
    if (LIVE.includes(word)) {
      const kind = (word === 'many' ? wordsOf(line)[2] : first)?.split(/[./]/)[0] ?? ''
      streams.set(kind, [...(streams.get(kind) ?? []), ...world.events(line)])
    } else if (word !== 'why') {
      flush()
      world.step(line)
    }
  }
  flush()
  world.folder.commit()
  return world.folder.state
}

export function isStep(line: string): boolean {
  return line.trim() !== '' && !line.startsWith('  ') && !line.startsWith('#')
}

/** Runs a story's steps anew and returns its text as it should be then. */
export function retell(text: string): string {
  const world = new World()
  world.begin()
  const lines: string[] = []
  for (const line of text.split('\n')) {
    if (line.startsWith('  ')) continue
    lines.push(line)
    if (!isStep(line)) continue
    for (const answer of world.step(line)) lines.push(`  ${answer}`)
  }
  return lines.join('\n')
}
