/**
 * The life of one command that may be sent: gate, one guarded call, the consequences of its answer,
 * until it is settled.
 *
 * What must stay true: every call of a command is sent directly after the gate, and each return to
 * the gate is counted, so every command ends. Carrying a command out twice has one effect.
 *
 * Not here: which command comes next (backlog.ts), the meaning of the answers (settle.ts),
 * appending the result (outbox.ts).
 */
import {
  type AnnotateObject,
  type Command,
  type DeleteObject,
  isOrdered,
  type OwnerClaim,
  ruleOf,
  type VerifyOwner,
} from '../../core/model/command.ts'
import type { ClusterId, ObjectMeta } from '../../core/model/object.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster, GetAnswer, ReadAnswer, ReapAnswer } from '../../ports/cluster.ts'
import type { Archive } from './archive.ts'
import type { Caller, CallVerb } from './call.ts'
import type { ReaperConfig } from './config.ts'
import { failedStatus } from './decide/fail-first.ts'
import {
  claimsToProve,
  disproof,
  type Facts,
  foundAgainst,
  isOutdated,
  isReadFirst,
  judge,
  marksAskedFor,
  type Pass,
  RULE_UNKNOWN,
  ruleObjection,
  sparedBecause,
} from './decide/gate.ts'
import { deleteGuard, mergeGuard, patchGuard } from './decide/guard.ts'
import { type Ended, type Result, settled, verified } from './decide/result.ts'
import {
  type Again,
  beforeDelete,
  type Effect,
  onAnswer,
  onLook,
  type Retry,
  readBack,
  type Settle,
  type Tried,
} from './decide/settle.ts'
import type { Moments } from './intake/moment.ts'
import { areOutdated, type ClaimLook, type Looking, lookAtAll } from './long-proof.ts'
import type { LookTurns } from './look-turns.ts'
import type { Policies } from './policy-proof.ts'
import { lookElsewhere, type Proofs } from './proof.ts'

/** The services of a cluster for a command. */
export interface Reaping {
  readonly clock: Clock
  readonly caller: Caller
  readonly proofs: Proofs
  /** Of the cluster, with the rules that they are. */
  readonly policies: Policies
  /** Of another cluster; undefined where this process has no connection to it. */
  proofsOf(cluster: ClusterId): Proofs | undefined
  /** Of live GETs of owners: what a command waits for here is not sent yet, so it does not age. */
  readonly turns: LookTurns
  readonly config: ReaperConfig
  /** An object to be deleted is archived there first; undefined: it is deleted at once. */
  readonly archive: Archive | undefined
  /** When a call to the cluster last failed. Monotonic. */
  troubledMs(): number
  /** As they are now. */
  facts(command: Command, moments: Moments): Facts
  /**
   * An owner exists that the graph holds to be deleted: the graph has to be notified, or it would
   * ask for its dependents again and again.
   */
  onFound(command: Command, claim: OwnerClaim, object: ObjectMeta): void
}

/** One command on its way. */
interface Life {
  readonly moments: Moments
  readonly site: Reaping
  readonly signal: AbortSignal
  readonly onCall: () => void
}

/** Rejects with the signal's reason when it aborts; then the command is not settled. */
export async function reap(
  command: Command,
  moments: Moments,
  site: Reaping,
  signal: AbortSignal,
): Promise<Ended> {
  let calls = 0
  const onCall = (): void => {
    calls++
  }
  const life = { moments, site, signal, onCall }
  const end =
    command.type === 'VerifyOwner' ? await verify(command, life) : await effect(command, life)
  if (end.type !== 'Settle') return { result: end, isSpared: false }
  return { result: settled(command, end, calls), isSpared: end.isSpared === true }
}

async function verify(command: VerifyOwner, life: Life): Promise<Settle | Result> {
  const { site, signal, onCall } = life
  for (let retries = 0; ; retries++) {
    const pass = await gate(command, life)
    if (pass.type === 'Blocked') return blocked(pass.reason, pass.isSpared)
    onCall()
    const look = await site.caller.send('GET', (to) =>
      to.get(command.target, signal, command.cluster, command.id),
    )
    const step = onLook(command, look, { ...FRESH, retries }, site.config)
    if (step.type === 'Settle') return step
    if (step.type !== 'Retry') return verified(command, step)
    await site.caller.wait(retries, step.afterMs, signal)
  }
}

async function effect(command: Effect, life: Life): Promise<Settle> {
  let { resourceVersion } = command.target
  let tried: Tried = FRESH
  for (;;) {
    const pass = await gate(command, life)
    if (pass.type === 'Blocked') return blocked(pass.reason, pass.isSpared)
    tried = { ...tried, dryRun: pass.dryRun }
    const step = await carryOut(command, resourceVersion, tried, life)
    switch (step.type) {
      case 'Settle':
        return step.outcome === 'would-go' ? wouldGo(step, pass) : step
      case 'Retry':
        await life.site.caller.wait(tried.retries, step.afterMs, life.signal)
        tried = { ...tried, retries: tried.retries + 1 }
        break
      case 'Again':
        resourceVersion = step.resourceVersion
        tried = { ...tried, conflicts: tried.conflicts + 1 }
        break
    }
  }
}

const FRESH: Tried = { dryRun: false, retries: 0, conflicts: 0 }

/**
 * Facts, then proofs, then the facts as they are after the proofs: a pause may have been pressed
 * meanwhile.
 */
async function gate(command: Command, life: Life): Promise<Pass> {
  const { moments, site } = life
  const pass = judge(command, site.facts(command, moments), site.config)
  if (pass.type === 'Blocked') return pass
  // A retry repeats all live GETs: otherwise those shared with other commands would become outdated
  // one after the other.
  let since = Number.NEGATIVE_INFINITY
  for (let tries = 0; tries <= site.config.retries; tries++) {
    const proof = await prove(command, life, since)
    since = site.clock.monotonicMs()
    if (proof.type === 'Disproven')
      return { type: 'Blocked', reason: proof.reason, isSpared: false }
    if (proof.type === 'Proven') return judgeProven(command, site.facts(command, moments), site)
  }
  const reason = 'the cluster answers too late: what it reports of the owners is outdated'
  return { type: 'Blocked', reason, isSpared: false }
}

/** The rule of a policy is known by its proof, and all that is decided by it is decided here. */
function judgeProven(command: Command, facts: Facts, { config }: Reaping): Pass {
  if (ruleOf(command)?.policy == null || facts.rule !== undefined)
    return judge(command, facts, config)
  return { type: 'Blocked', reason: RULE_UNKNOWN, isSpared: false }
}

/** `Outdated`: an answer came so late that it proves nothing by now. */
type Proof = { type: 'Proven' } | { type: 'Disproven'; reason: string } | { type: 'Outdated' }

async function prove(
  command: Command,
  { moments, site, signal, onCall }: Life,
  since: number,
): Promise<Proof> {
  const { clock, config, policies, proofs, turns } = site
  const impostor = await proofs.identity(onCall, signal)
  if (impostor !== undefined) return { type: 'Disproven', reason: impostor }
  // By what the rule says another object is verified; that of a policy is read for it.
  const isBeside = ruleOf(command) !== null && 'owners' in command && command.owners.some(isOfRule)
  const unruled = isBeside ? await policies.objection(command, onCall, signal) : ''
  if (unruled !== '') return { type: 'Disproven', reason: unruled }
  // A failure meanwhile may have been a restore: then more has to be proven than before.
  const all = claimsToProve(command, site.facts(command, moments), config)
  const claims = all.filter(({ cluster }) => cluster === '')
  const looking: Looking = {
    bounds: config,
    now: () => clock.monotonicMs(),
    troubledMs: () => site.troubledMs(),
    // Only who has the turn sends it, so no command shares a GET that waits for another namespace.
    look: (claim, from) =>
      turns.run(command.target.namespace, () => proofs.owner(claim, from, onCall, signal)),
    attest: () => proofs.attest(onCall, signal),
  }
  const isDisproof = ({ claim, answer }: ClaimLook): boolean =>
    disproof(claim, answer, site.facts(command, moments)) !== undefined
  const found = await lookAtAll(claims, since, looking, isDisproof)
  if (typeof found === 'string') return { type: 'Disproven', reason: found }
  for (const { claim, answer } of found.looks) {
    const reason = disproof(claim, answer, site.facts(command, moments))
    if (reason === undefined) continue
    const object = foundAgainst(claim, answer)
    if (object !== undefined) site.onFound(command, claim, object)
    return { type: 'Disproven', reason }
  }
  // The GETs may have waited for their turns longer than the first proof is valid.
  const later = await proofs.identity(onCall, signal)
  if (later !== undefined) return { type: 'Disproven', reason: later }
  const lapsed = await policies.objection(command, onCall, signal)
  if (lapsed !== '') return { type: 'Disproven', reason: lapsed }
  if (areOutdated(found, looking)) return { type: 'Outdated' }
  const [elsewhere] = all.filter(({ cluster }) => cluster !== '')
  return elsewhere === undefined
    ? { type: 'Proven' }
    : await proveElsewhere(elsewhere, command, { moments, site, signal, onCall }, since)
}

/** The last proof before the call: an owner in another cluster is not there. */
async function proveElsewhere(
  claim: OwnerClaim,
  command: Command,
  { moments, site, signal, onCall }: Life,
  since: number,
): Promise<Proof> {
  const { clock, config } = site
  const proofs = site.proofsOf(claim.cluster)
  const look = await lookElsewhere(claim, { proofs, since }, onCall, signal)
  if (typeof look === 'string') return { type: 'Disproven', reason: look }
  const reason = disproof(claim, look.answer, site.facts(command, moments))
  if (reason !== undefined) return { type: 'Disproven', reason }
  const isOld = isOutdated(claim, clock.monotonicMs() - look.askedAt, config)
  return { type: isOld ? 'Outdated' : 'Proven' }
}

function isOfRule({ claim }: OwnerClaim): boolean {
  return claim === 'beside'
}

/** An object as it was read before its DELETE. */
interface Seen {
  readonly type: 'Seen'
  readonly read: GetAnswer | ReadAnswer
  /** Under which it was read. */
  readonly marks: string
}

/**
 * Undefined, or the archived object: its DELETE may be sent now. It is sent directly after the
 * gate: live GETs of owners are shared for a moment, so mostly that costs no call.
 */
async function archive(
  command: Effect,
  resourceVersion: string,
  tried: Tried,
  life: Life,
): Promise<Settle | Again | Seen | undefined> {
  const { moments, site, signal, onCall } = life
  const { archive, caller, config } = site
  const spared = (read: GetAnswer): string =>
    keptBecause(command, read, site.facts(command, moments))
  if (archive === undefined || tried.dryRun) return undefined
  if (command.type !== 'DeleteObject' && !isOrdered(command)) return undefined
  const marks = marksAskedFor(site.facts(command, moments))
  const keeping = await archive.keep({ command, resourceVersion, caller, onCall }, signal)
  switch (keeping.type) {
    case 'Failed':
      return blocked(keeping.reason)
    case 'Moved':
      if (spared(keeping.read) !== '') return seenSpared(spared(keeping.read), keeping.read)
      return readBack(command, MOVED, keeping.read, tried, config)
    case 'Kept': {
      const { read } = keeping
      if (spared(read) !== '') return seenSpared(spared(read), read)
      const pass = await gate(command, life)
      if (pass.type === 'Blocked') return blocked(pass.reason, pass.isSpared)
      if (pass.dryRun) return blocked('became a dry run while it was archived')
      return { type: 'Seen', read, marks }
    }
  }
}

/** As the DELETE would have been answered. */
const MOVED: ReapAnswer = { type: 'Conflict', code: 409, reason: 'another resourceVersion' }

async function carryOut(
  command: Effect,
  resourceVersion: string,
  tried: Tried,
  life: Life,
): Promise<Settle | Retry | Again> {
  const kept = await archive(command, resourceVersion, tried, life)
  if (kept !== undefined && kept.type !== 'Seen') return kept
  return await attempt(command, resourceVersion, kept, tried, life)
}

async function attempt(
  command: Effect,
  resourceVersion: string,
  kept: Seen | undefined,
  tried: Tried,
  life: Life,
): Promise<Settle | Retry | Again> {
  const { moments, site, signal, onCall } = life
  const answer = await call(command, resourceVersion, kept, tried, life)
  if (answer.type === 'Settle' || answer.type === 'Again') return answer
  const step = onAnswer(command, answer, tried, site.config)
  if (step.type !== 'ReadBack') return step
  const read = await site.caller.look(command.target, onCall, signal)
  const spared = sparedBecause(command, read, site.facts(command, moments))
  if (spared !== '') return seenSpared(spared, read)
  return readBack(command, answer, read, tried, site.config)
}

async function call(
  command: Effect,
  resourceVersion: string,
  kept: Seen | undefined,
  tried: Tried,
  life: Life,
): Promise<ReapAnswer | Settle | Again> {
  const { site, signal, onCall } = life
  const { dryRun } = tried
  const { id, target } = command
  const send = (
    verb: CallVerb,
    to: (cluster: Cluster) => Promise<ReapAnswer>,
  ): Promise<ReapAnswer> => {
    onCall()
    return site.caller.send(verb, to)
  }
  switch (command.type) {
    case 'DeleteObject':
      return await remove(command, resourceVersion, kept, tried, life)
    case 'AnnotateObject':
      return await annotate(command, resourceVersion, tried, life)
    case 'OrphanDependent':
    case 'RemoveFinalizer':
      return send('PATCH', (to) =>
        to.patch(target, patchGuard(command, resourceVersion), dryRun, signal, id),
      )
    case 'WarnObject': {
      if (dryRun) return WOULD_WARN
      const { reason, message } = command
      return send('WARN', (to) =>
        to.writeEvent(target, { type: 'Warning', reason, message }, signal, id),
      )
    }
  }
}

async function remove(
  command: DeleteObject,
  resourceVersion: string,
  kept: Seen | undefined,
  tried: Tried,
  life: Life,
): Promise<ReapAnswer | Settle | Again> {
  const { moments, site, signal, onCall } = life
  const { target } = command
  const facts = site.facts(command, moments)
  const failing = facts.rule?.failFirst === true ? facts.rule : undefined
  let seen: Seen | ReapAnswer | Settle | Again | undefined = kept
  if (seen === undefined && (failing !== undefined || isReadFirst(command, facts))) {
    seen = await readFirst(command, resourceVersion, failing !== undefined, tried, life)
    if (seen.type !== 'Seen') return seen
  }
  const late = seen && lateObjection(command, resourceVersion, seen, tried, life)
  if (late !== undefined) return late
  let version = resourceVersion
  if (failing !== undefined && seen !== undefined) {
    const failed = await failFirst(command, failing, seen, tried, life)
    if (failed.type !== 'Seen') return failed
    const objection = lateObjection(command, resourceVersion, failed, tried, life)
    if (objection !== undefined) return objection
    if (failed.read.type === 'Found') version = failed.read.object.resourceVersion
  }
  const options = deleteGuard(command, version, tried.dryRun)
  onCall()
  const answer = await site.caller.send('DELETE', (to) => to.delete(target, options, signal))
  site.policies.answered(command, answer)
  return answer
}

/** In the version that was judged, whatever was read since: any other one is judged anew. */
async function annotate(
  command: AnnotateObject,
  resourceVersion: string,
  tried: Tried,
  life: Life,
): Promise<ReapAnswer | Settle | Again> {
  const { moments, site, signal, onCall } = life
  const { target, annotation } = command
  if (isReadFirst(command, site.facts(command, moments))) {
    const seen = await readFirst(command, resourceVersion, false, tried, life)
    if (seen.type !== 'Seen') return seen
    const late = lateObjection(command, resourceVersion, seen, tried, life)
    if (late !== undefined) return late
  }
  const change = { annotations: { [annotation.key]: annotation.value } }
  const options = mergeGuard(command, resourceVersion, change, tried.dryRun)
  onCall()
  const answer = await site.caller.send('PATCH', (to) => to.merge(target, options, signal))
  site.policies.answered(command, answer)
  return answer
}

async function readFirst(
  command: DeleteObject | AnnotateObject,
  resourceVersion: string,
  isWhole: boolean,
  { dryRun }: Tried,
  life: Life,
): Promise<ReapAnswer | Settle | Seen> {
  const { moments, site, signal, onCall } = life
  const marks = marksAskedFor(site.facts(command, moments))
  const { caller } = site
  const read = isWhole
    ? await caller.read(command.target, onCall, signal)
    : await caller.look(command.target, onCall, signal)
  const spared = keptBecause(command, read, site.facts(command, moments))
  if (spared !== '') return seenSpared(spared, read)
  const answer = beforeDelete(command, resourceVersion, read)
  if (answer !== undefined) return answer
  // The GET may have taken long: a pause, an owner that orphans by now, or a failure meanwhile
  // counts.
  const pass = await gate(command, life)
  if (pass.type === 'Blocked') return blocked(pass.reason, pass.isSpared)
  if (pass.dryRun && !dryRun) return blocked('became a dry run while the object was read')
  return { type: 'Seen', read, marks }
}

/**
 * The Pod as it is after the patch, or as it was seen where it has ended. Whatever happens between
 * this call and the DELETE, the Pod is due as it is then, and has ended.
 */
async function failFirst(
  command: DeleteObject,
  rule: Rule,
  seen: Seen,
  { dryRun }: Tried,
  life: Life,
): Promise<ReapAnswer | Settle | Seen> {
  const { site, signal, onCall } = life
  const { read } = seen
  if (read.type !== 'Found' || !('text' in read)) return blocked('the Pod was not read whole')
  const change = failedStatus(read.text, rule, site.clock.now())
  if (change === undefined) return seen
  const options = mergeGuard(command, read.object.resourceVersion, change, dryRun)
  onCall()
  const answer = await site.caller.send('PATCH', (to) => to.merge(command.target, options, signal))
  if (answer.type === 'Refused') site.policies.answered(command, answer)
  if (answer.type === 'WouldGo' && dryRun) return seen
  if (answer.type !== 'Changed') return answer
  const pass = await gate(command, life)
  if (pass.type === 'Blocked') return blocked(pass.reason, pass.isSpared)
  if (pass.dryRun && !dryRun) return blocked('became a dry run while its Pod was set to Failed')
  const { object, code } = answer
  return { ...seen, read: { type: 'Found', object, code } }
}

/**
 * Protections that users gave since it was read: the last gate sees kinds and namespaces, and
 * nothing of the object itself.
 */
function lateObjection(
  command: Effect,
  resourceVersion: string,
  { read, marks }: Seen,
  { conflicts }: Tried,
  { moments, site }: Life,
): Settle | Again | undefined {
  const facts = site.facts(command, moments)
  const spared = sparedBecause(command, read, facts)
  if (spared !== '') return seenSpared(spared, read)
  if (marksAskedFor(facts) === marks) return undefined
  if (conflicts < site.config.conflicts) return { type: 'Again', resourceVersion }
  return blocked('the protections changed each time that they were read')
}

/** An Event has no dry run, so none is sent. */
const WOULD_WARN: ReapAnswer = { type: 'WouldGo', code: 200 }

/**
 * If an effect was requested it is requested again: the command has to wait, and is not finished.
 */
function wouldGo(step: Settle, { insteadBecause }: Extract<Pass, { type: 'Go' }>): Settle {
  if (insteadBecause === undefined) return step
  return { ...step, outcome: 'blocked', reason: `it would be carried out, but ${insteadBecause}` }
}

/** Protected, or not what the command's rule decided about; empty for neither. */
function keptBecause(command: Effect, read: GetAnswer, facts: Facts): string {
  return sparedBecause(command, read, facts) || ruleObjection(command, read, facts)
}

/** The fold gets the object as it was seen, and holds it by itself. */
function seenSpared(reason: string, read: GetAnswer): Settle {
  const object = read.type === 'Found' ? read.object : null
  return { type: 'Settle', outcome: 'stale', reason, code: read.code, object, isSpared: true }
}

function blocked(reason: string, isSpared = false): Settle {
  return { type: 'Settle', outcome: 'blocked', reason, code: null, object: null, isSpared }
}
