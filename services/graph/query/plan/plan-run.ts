/**
 * One plan being made: what each command that the rehearsed fold issues would do to its object, as
 * the API server would have it, and what then prevents the rest.
 *
 * What must stay true: what cannot be foreseen (an owner to be verified, another controller's
 * finalizer) is noted and never assumed, except what Kubernetes itself removes
 * (known-finalizer.ts); it ends at its limit.
 *
 * Not here: what the answer says of it (plan.ts), the fold over an overlay (rehearsal.ts).
 */
import type {
  DeleteObject,
  OrphanDependent,
  RemoveFinalizer,
} from '../../../../core/model/command.ts'
import type { Node } from '../../../../core/model/node.ts'
import { admissionOf } from '../../../../core/model/node.ts'
import type { ObjectMeta, PropagationPolicy, Uid } from '../../../../core/model/object.ts'
import {
  FINALIZER_FOREGROUND,
  FINALIZER_ORPHAN,
  foreignFinalizers,
} from '../../../../core/model/object.ts'
import type { Evidence } from '../../../../core/model/proof.ts'
import type { PlannedObject } from '../../api/part-schema.ts'
import type { Turns } from '../../turns.ts'
import { finalizersLeft } from '../answer/known-finalizer.ts'
import type { Fate } from './planned-object.ts'
import { becauseOf, effectOf } from './planned-object.ts'
import type { Issued, Rehearsal } from './rehearsal.ts'

/** Of a definition: it is taken off when no object of its kind is left. */
const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io'
/** Owners that a reason names. */
const MOST_OWNERS = 5

/** One plan being made. */
export class PlanRun {
  readonly #rehearsal: Rehearsal
  readonly #limit: number
  readonly #fates = new Map<Uid, Fate>()
  isCut = false

  constructor(rehearsal: Rehearsal, limit: number) {
    this.#rehearsal = rehearsal
    this.#limit = limit
  }

  /** `along`: what the API server deletes with it by itself. */
  async make(
    root: ObjectMeta,
    cascade: PropagationPolicy,
    along: readonly Uid[] = [],
  ): Promise<void> {
    const node = this.#rehearsal.node(root.uid)
    if (node === undefined) return
    const fate = this.#fateOf(node.object)
    if (fate === undefined) return
    if (along.length === 0) this.#delete(fate, node.object, cascade, 'it is deleted')
    else await this.#deleteWith(fate, cascade, along)
    await this.#settle()
    // What lost a reference is judged by those it has left.
    for (const { object, isDropped } of this.#fates.values()) {
      const left = isDropped ? this.#rehearsal.node(object.uid) : undefined
      if (left !== undefined) this.#noteBlocked(left)
    }
  }

  /** It is there until all that is deleted with it is removed. */
  async #deleteWith(fate: Fate, cascade: PropagationPolicy, along: readonly Uid[]): Promise<void> {
    const { object } = fate
    for (const uid of along) {
      const member = this.#rehearsal.node(uid)?.object
      const its = member && this.#fateOf(member)
      if (its !== undefined) {
        this.#delete(its, its.object, 'Background', `deleted with ${object.kind}/${object.name}`)
      }
    }
    await this.#settle()
    const left = along.filter((uid) => this.#rehearsal.node(uid) !== undefined).length
    const finalizers = object.finalizers.filter((each) => each !== CLEANUP)
    if (left === 0) return this.#delete(fate, { ...object, finalizers }, cascade, 'it is deleted')
    fate.isDeleted = true
    fate.because = 'it is deleted'
    fate.blockedBecause = `it waits for ${left} ${left === 1 ? 'object' : 'objects'} deleted with it`
    this.#rehearsal.tell(object, { ...object, finalizers, deletedAt: object.deletedAt ?? 1 })
  }

  async #settle(): Promise<void> {
    const carryOut = this.#carryOut.bind(this)
    const isEnough = (): boolean => this.isCut
    while (await this.#rehearsal.settle(carryOut, isEnough)) {
      // What is on its way already is removed without being asked again, and so may its dependents
      // be.
      const going = await this.#lookAtDependents()
      for (const { object } of going) this.#leave(object)
      if (going.length === 0) break
    }
  }

  #fateOf(object: ObjectMeta): Fate | undefined {
    const known = this.#fates.get(object.uid)
    if (known !== undefined) return known
    if (this.#fates.size >= this.#limit) {
      this.isCut = true
      return undefined
    }
    const fate: Fate = {
      object,
      because: '',
      isDropped: false,
      isOrphaned: false,
      isDeleted: false,
      evidence: new Set(),
      blockedBecause: '',
    }
    this.#fates.set(object.uid, fate)
    return fate
  }

  #carryOut({ command, node }: Issued): void {
    switch (command.type) {
      case 'DeleteObject':
      case 'OrphanDependent':
      case 'RemoveFinalizer':
        if (node !== undefined) this.#takeEffect(command, node)
        return
      case 'AnnotateObject':
      case 'VerifyOwner':
      case 'WarnObject':
        return
    }
  }

  #takeEffect(
    command: DeleteObject | OrphanDependent | RemoveFinalizer,
    { object, verdict }: Node,
  ): void {
    const fate = this.#fateOf(object)
    if (fate === undefined) return
    if (verdict?.evidence != null) fate.evidence.add(verdict.evidence)
    switch (command.type) {
      case 'DeleteObject':
        // Its deletion may be reported already, and not yet folded.
        if (fate.isDeleted) return
        return this.#delete(
          fate,
          object,
          command.propagationPolicy,
          `owned by ${ownersText(object.ownerReferences)}`,
        )
      case 'OrphanDependent': {
        const ownerReferences = object.ownerReferences.filter((_, i) => !command.drop.includes(i))
        fate.isDropped = true
        // What dangles or waits is claimed to; what is dropped beside it is orphaned.
        const others = command.owners.filter(({ claim }) => claim !== 'orphaning')
        fate.isOrphaned ||= others.length < command.drop.length
        const dropped = object.ownerReferences.filter((_, i) => command.drop.includes(i))
        fate.because = `its reference to ${ownersText(dropped)} is removed`
        return this.#rehearsal.tell(object, { ...object, ownerReferences })
      }
      case 'RemoveFinalizer': {
        const finalizers = object.finalizers.filter((each) => each !== command.finalizer)
        const isGone = object.deletedAt !== null && finalizers.length === 0
        return this.#rehearsal.tell(object, isGone ? null : { ...object, finalizers })
      }
    }
  }

  /** As the API server does: finalizers as the policy asks, and what has none left is removed. */
  #delete(fate: Fate, object: ObjectMeta, policy: PropagationPolicy, because: string): void {
    fate.isDeleted = true
    fate.because = because
    const others = finalizersLeft(object)
    const asked =
      policy === 'Foreground'
        ? [FINALIZER_FOREGROUND]
        : policy === 'Orphan'
          ? [FINALIZER_ORPHAN]
          : []
    const finalizers = [...others, ...asked]
    const deletedAt = object.deletedAt ?? 1
    this.#rehearsal.tell(
      object,
      finalizers.length === 0 ? null : { ...object, finalizers, deletedAt },
    )
  }

  #leave(object: ObjectMeta): void {
    const fate = this.#fateOf(object)
    if (fate === undefined) return
    fate.isDeleted = true
    fate.because = 'it is being deleted already'
    this.#rehearsal.tell(object, null)
  }

  /**
   * Of all that was deleted: notes what keeps dependents, and returns those that are on their way
   * already.
   */
  async #lookAtDependents(): Promise<readonly Node[]> {
    const going = new Map<Uid, Node>()
    const owners = [...this.#fates.values()].filter(({ isDeleted }) => isDeleted)
    for (const { object } of owners) {
      for await (const node of this.#rehearsal.dependents(object)) {
        if (isLeaving(node)) going.set(node.object.uid, node)
        else this.#noteBlocked(node)
        if (this.isCut) return []
      }
    }
    return [...going.values()]
  }

  #noteBlocked(node: Node): void {
    const because = blockedBecause(node)
    if (because === '') return
    const fate = this.#fateOf(node.object)
    if (fate !== undefined) fate.blockedBecause = because
  }

  /**
   * Of how many objects what absence is the ground. No hold delays those that the API server
   * deletes `along`.
   */
  evidence(along: readonly Uid[] = []): Map<Evidence, number> {
    const counts = new Map<Evidence, number>()
    const notHeld = new Set(along)
    for (const [uid, { evidence }] of this.#fates) {
      if (notHeld.has(uid)) continue
      for (const each of evidence) counts.set(each, (counts.get(each) ?? 0) + 1)
    }
    return counts
  }

  /** The state of each at the end. */
  async objects(turns: Turns): Promise<PlannedObject[]> {
    const planned: PlannedObject[] = []
    for (const fate of this.#fates.values()) {
      planned.push(this.#planned(fate))
      await turns.take()
    }
    return planned
  }

  #planned(fate: Fate): PlannedObject {
    const { object } = fate
    const { group, kind, namespace, name, uid, resourceVersion } = object
    const now = this.#rehearsal.node(uid)?.object
    const effect = effectOf(fate, now)
    return {
      group,
      kind,
      namespace,
      name,
      uid,
      resourceVersion,
      effect,
      because: becauseOf(effect, fate, now),
      owners: now?.ownerReferences.map((owner) => `${owner.kind}/${owner.name}`) ?? [],
      finalizers: now?.finalizers ?? [],
    }
  }
}

/** In a plan everything exists still: a reason names the owners, and not what became of them. */
function ownersText(references: ObjectMeta['ownerReferences']): string {
  const named = references.slice(0, MOST_OWNERS).map(({ kind, name }) => `${kind}/${name}`)
  const more = references.length - named.length
  return named.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/**
 * It is removed without a further command: only a grace period, or the confirmation of our own
 * DELETE, is still awaited.
 */
function isLeaving({ deletion, object }: Node): boolean {
  return deletion?.isGone === true || (object.deletedAt !== null && object.finalizers.length === 0)
}

/** Why it is neither deleted nor loses its owner; empty when it is only waiting for that one. */
function blockedBecause(node: Node): string {
  const { doubt, object, verdict } = node
  if (doubt !== null) return 'it is untrusted until its kind is listed again'
  if (object.deletedAt !== null) {
    const others = foreignFinalizers(object.finalizers)
    if (others.length > 0) return `it is being deleted and has finalizers ${others.join(', ')}`
    return verdict?.type === 'wait' ? verdict.because : 'it is being deleted'
  }
  if (verdict?.type === 'blocked') return verdict.because
  if (verdict?.type === 'verify') return `${verdict.because}, and is looked up first`
  const held = admissionOf(node)
  return held === null ? '' : `${verdict?.because}; ${held.because}`
}
