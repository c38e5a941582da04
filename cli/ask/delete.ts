/**
 * `kinfold delete`: shows what a deletion would delete, asks, and sends one DELETE of the object as
 * the user, with the user's own kubeconfig.
 *
 * What must stay true: what is deleted is what was shown. The DELETE names uid and resourceVersion
 * that were read before anybody was asked, so a change of the object since then is a conflict; a
 * plan that is another after the answer is refused, too. A plan that is not whole is never taken
 * without a person. Kinfold itself deletes nothing here: dependents are the business of whichever
 * collector the cluster has.
 *
 * Not here: the plan (plan.ts), which cluster it is (own-cluster.ts).
 */
import { type Command, Option } from 'commander'
import type { PropagationPolicy } from '../../core/model/object.ts'
import { shellWord } from '../../core/model/text.ts'
import type { ReapAnswer } from '../../ports/cluster.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { Plan, Queries } from '../answer.ts'
import { answerOn, isYes } from '../print/confirm.ts'
import { lineOf } from '../print/terminal.ts'
import { objectName } from '../print/word.ts'
import type { ObjectFlags } from '../reach/client.ts'
import { answerTo, objectQuery, serverOf, warnPartial, withObject } from '../reach/client.ts'
import type { OwnCluster } from '../reach/own-cluster.ts'
import { namespaceOf } from '../reach/scope.ts'
import { CASCADES, type Cascade, render } from './plan.ts'

/** Objects; above it the name of the object has to be typed. */
const MOST_BY_YES = 10

interface DeleteFlags extends ObjectFlags {
  readonly cascade: Cascade
  readonly limit: string
  readonly yes?: boolean
  readonly dryRun?: boolean
}

type Root = Plan['root']
type PlanQuery = Queries['/v1/plan']

const POLICIES: Readonly<Record<Cascade, PropagationPolicy>> = {
  background: 'Background',
  foreground: 'Foreground',
  orphan: 'Orphan',
}

export function addDelete(program: Command): void {
  withObject(program.command('delete'))
    .description(
      'show what a deletion would delete, ask, and delete the object with your own kubeconfig',
    )
    .argument('<object...>', 'one object: KIND/NAME, KIND NAME or uid:UID')
    .addOption(
      new Option('--cascade <policy>', 'propagation policy')
        .choices(CASCADES)
        .default('background'),
    )
    .option('--limit <n>', 'objects that are listed; all are counted', '100')
    .option('--yes', 'do not ask, as in scripts; takes a plan that is complete')
    .option('--dry-run', 'show the plan, and delete nothing')
    .action(deleteObject)
}

async function deleteObject(words: string[], flags: DeleteFlags): Promise<void> {
  // Loaded here: it has the client of the API server.
  const { openOwnCluster } = await import('../reach/own-cluster.ts')
  await using own = await openOwnCluster('delete', flags)
  const asked = askedOf(words, flags, own)
  const hint = flags.cluster === undefined ? own.hint : undefined
  const server = { ...serverOf(flags), hint }
  const plan = await answerTo(server, '/v1/plan', asked)
  own.check(plan.cluster)
  warnPartial(plan.partial)
  process.stdout.write(render(plan, 'table'))
  if (flags.dryRun) return
  const confirmation = confirmationFor(plan, flags.yes === true, process.stdin.isTTY === true)
  const { root } = plan
  const version = await versionOf(own, root)
  if (confirmation !== 'none' && !(await isConfirmed(confirmation, root))) {
    throw new ExitError(EXIT.refused, 'nothing was deleted')
  }
  // Another version may differ in its status alone. The user took time to answer: meanwhile there
  // may be other dependents.
  if (confirmation !== 'none' || version !== root.resourceVersion) {
    const now = await answerTo(server, '/v1/plan', ofUid(asked, root))
    if (identityOf(now) !== identityOf(plan)) {
      throw new ExitError(
        EXIT.refused,
        'the plan changed since it was shown, and nothing was deleted; look at it again',
      )
    }
  }
  process.stdout.write(`${lineOf(await deleted(own, root, version, flags.cascade))}\n`)
}

/**
 * As kubectl: in the cluster of the context. Whatever else is named with --cluster has to be that
 * one.
 */
function askedOf(words: readonly string[], flags: DeleteFlags, own: OwnCluster): PlanQuery {
  const isByUid = words.length === 1 && words[0]?.startsWith('uid:') === true
  const namespace = flags.namespace ?? (isByUid ? 'default' : namespaceOf(flags))
  const { cascade, limit, cluster = own.id } = flags
  return { ...objectQuery(words, { namespace, cluster }), cascade, limit }
}

/** The very object that was shown, whatever has its name by now. */
function ofUid({ kind: _kind, name: _name, ...asked }: PlanQuery, { uid }: Root): PlanQuery {
  return { ...asked, uid }
}

/** Equal for plans of the same. One that is not whole has no digest. */
export function identityOf({ digest, total, counts, partial }: Plan): string {
  return digest ?? JSON.stringify([total, counts, partial])
}

export type Confirmation = 'none' | 'yes' | 'name'

/** What the user has to type. Throws where a user has to be asked and none can be. */
export function confirmationFor(plan: Plan, isYes: boolean, isTerminal: boolean): Confirmation {
  const { digest, total, counts } = plan
  // The plan says that a dependent may be of a kind that is not watched. What was left out by
  // choice is deleted with a namespace for certain, and the plan does not count it.
  const { group, kind } = plan.root
  const notes = group === '' && kind === 'Namespace' ? plan.notes : ''
  const isWhole = digest !== null && total !== null && plan.partial === '' && notes === ''
  if (isYes && notes !== '') {
    throw new ExitError(
      EXIT.refused,
      `${notes}, and --yes takes a plan that has all; nothing was deleted: answer on a terminal`,
    )
  }
  if (isYes && !isWhole) {
    throw new ExitError(
      EXIT.refused,
      'the plan is incomplete, so what would be deleted is unknown, and --yes takes a complete one; nothing was deleted: ask again later, or answer on a terminal',
    )
  }
  if (isYes) return 'none'
  if (!isTerminal) {
    throw new ExitError(
      EXIT.input,
      'nobody can be asked, since standard input is no terminal, and nothing was deleted; add --yes to delete without being asked',
    )
  }
  const taken = counts.filter(({ effect }) => effect === 'deleted' || effect === 'stuck')
  const number = taken.reduce((sum, { count }) => sum + count, 0)
  return isWhole && number <= MOST_BY_YES ? 'yes' : 'name'
}

async function isConfirmed(confirmation: 'yes' | 'name', root: Root): Promise<boolean> {
  const what = lineOf(objectName(root))
  const question =
    confirmation === 'yes'
      ? `Delete ${what}? (y/N) `
      : `To delete ${what}, type its name (${lineOf(root.name)}): `
  const answer = await answerOn(question)
  return confirmation === 'yes' ? isYes(answer) : answer?.trim() === root.name
}

/** As the user reads it, before anybody is asked. */
async function versionOf(own: OwnCluster, root: Root): Promise<string> {
  const { callSignal, targetOf } = await import('../reach/own-cluster.ts')
  const served = await own.kind(root)
  const name = objectName(root)
  if (served === undefined) {
    throw new ExitError(EXIT.failure, `the cluster serves no kind of ${name}; nothing was deleted`)
  }
  const answer = await own.cluster.get(targetOf(served, root), callSignal(), own.id)
  switch (answer.type) {
    case 'Absent':
      throw new ExitError(EXIT.refused, `${name} no longer exists; nothing was deleted`)
    case 'Unknown':
      throw new ExitError(
        EXIT.failure,
        `${name} cannot be read with your kubeconfig (${answer.reason}); nothing was deleted`,
      )
    case 'Found': {
      const { uid, resourceVersion, deletedAt } = answer.object
      if (uid !== root.uid) {
        throw new ExitError(
          EXIT.refused,
          `${name} is another object by now, with uid ${uid}; nothing was deleted: look at its plan`,
        )
      }
      if (deletedAt !== null) {
        throw new ExitError(
          EXIT.refused,
          `${name} is being deleted already; "kinfold cascade ${wordsFor(root, own.id)}" shows how far it is`,
        )
      }
      return resourceVersion
    }
  }
}

/** One call; a sentence of what became of it. */
async function deleted(
  own: OwnCluster,
  root: Root,
  resourceVersion: string,
  cascade: Cascade,
): Promise<string> {
  const { callSignal, targetOf } = await import('../reach/own-cluster.ts')
  const served = await own.kind(root)
  if (served === undefined) throw new Error('its kind was served just now')
  const propagationPolicy = POLICIES[cascade]
  const options = { uid: root.uid, resourceVersion, propagationPolicy, dryRun: false }
  return outcomeOf(
    await own.cluster.delete(targetOf(served, root), options, callSignal()),
    root,
    own.id,
  )
}

export function outcomeOf(answer: ReapAnswer, root: Root, cluster: string): string {
  const name = objectName(root)
  switch (answer.type) {
    case 'Removed':
    case 'WouldGo':
      return `${name} deleted`
    case 'Changed':
      return `${name} is being deleted; to follow it: kinfold cascade ${wordsFor(root, cluster)} -w`
    case 'Absent':
      throw new ExitError(EXIT.refused, `${name} no longer exists: it was deleted meanwhile`)
    case 'Conflict':
      throw new ExitError(
        EXIT.refused,
        `${name} changed since the plan was shown, and nothing was deleted (${answer.reason}); look at it again`,
      )
    case 'Refused':
      throw new ExitError(
        EXIT.refused,
        `the cluster refused, and nothing was deleted: ${answer.reason}`,
      )
    case 'Unknown':
      throw new ExitError(
        EXIT.failure,
        `whether ${name} was deleted is unknown: ${answer.reason}; "kinfold why ${wordsFor(root, cluster)}" says what is seen of it`,
      )
  }
}

/** On a command line: two clusters may have objects of one uid. */
function wordsFor({ uid }: Root, cluster: string): string {
  return `${shellWord(`uid:${uid}`)} --cluster ${shellWord(cluster)}`
}
