/**
 * What people order a running Kinfold: pause, resume, protect, unprotect, approve, reject,
 * close-breaker, confirm-clock.
 *
 * Not here: the orders that show what they mean before: one that removes a finalizer
 * (finalizers.ts), those about a cluster of owners (../order/forget.ts).
 */
import { userInfo } from 'node:os'
import { type Command, Option } from 'commander'
import type { DirectiveAnswer } from '../../services/graph/orders/directive-http.ts'
import { bad } from '../config/setting.ts'
import { lineOf } from '../print/terminal.ts'
import { type ClientFlags, order, serverOf, withServer } from '../reach/client.ts'

export interface DirectiveFlags extends ClientFlags {
  readonly cluster?: string
  readonly why?: string
  readonly recordAnyway?: boolean
  /** As commands about one object take it; here it is a mistake. */
  readonly namespace?: string
}

const WHY = '--why <text>'
const SUBJECT = 'namespace/NAME, kind/KIND.GROUP, label/KEY[=VALUE] or annotation/KEY[=VALUE]'

export function addDirectives(program: Command): void {
  const about = (name: string, description: string, otherwise = 'all'): Command =>
    withServer(program.command(name).description(description)).option(
      '--cluster <c>',
      `name or id of the one cluster that it is about (default: ${otherwise})`,
    )
  const vain = (command: Command): Command =>
    command.option(
      '--record-anyway',
      'also where the mode cannot keep it, for a mode that comes later',
    )
  vain(
    about(
      'pause',
      'stop all deletes and updates at once (from 2 s from now), in all clusters or in one',
    ),
  )
    .option(WHY, 'reason, which is recorded')
    .action(async (flags: DirectiveFlags) => await give(flags, { verb: 'pause' }))
  about('resume', 'end a pause; what it held is judged again')
    .requiredOption(WHY, 'reason, which is recorded')
    .action(async (flags: DirectiveFlags) => await give(flags, { verb: 'resume' }))
  vain(about('protect', 'never delete these objects, whatever becomes of their owners'))
    .argument('<subject>', SUBJECT)
    .option(WHY, 'reason, which is recorded')
    .addOption(new Option('-n, --namespace <ns>').hideHelp())
    .action(
      async (what: string, flags: DirectiveFlags) =>
        await give(flags, { verb: 'protect', subject: subjectOf(what, flags) }),
    )
  about(
    'unprotect',
    'end a protection; with preset guarded it lasts ten minutes more, but in mode observe',
  )
    .argument('<subject>', SUBJECT)
    .option(WHY, 'reason, which is recorded')
    .addOption(new Option('-n, --namespace <ns>').hideHelp())
    .action(
      async (what: string, flags: DirectiveFlags) =>
        await give(flags, { verb: 'unprotect', subject: subjectOf(what, flags) }),
    )
  for (const verb of ['approve', 'reject'] as const) {
    const description =
      verb === 'approve'
        ? 'release what is held for approval, exactly as it was shown'
        : 'keep what is held for approval, exactly as it was shown'
    vain(about(verb, description, 'the only one'))
      .argument('<digest>', 'of what is held, as it was shown')
      .requiredOption(WHY, 'reason, which is recorded')
      .action(async (digest: string, flags: DirectiveFlags) => await give(flags, { verb, digest }))
  }
  vain(about('close-breaker', 'allow deletes again after a breaker opened'))
    .requiredOption(WHY, 'reason, which is recorded')
    .action(async (flags: DirectiveFlags) => await give(flags, { verb: 'close-breaker' }))
  withServer(program.command('confirm-clock'))
    .description("say that this machine's clock is right where Kinfold does not believe it")
    .requiredOption(WHY, 'reason, which is recorded')
    .action(async (flags: DirectiveFlags) => await give(flags, { verb: 'confirm-clock' }))
}

export interface Given {
  readonly verb: string
  readonly subject?: string
  readonly digest?: string
}

export async function give(flags: DirectiveFlags, given: Given): Promise<void> {
  const { cluster, why, recordAnyway } = flags
  // An unset variable of a shell is not all clusters.
  if (cluster === '') throw bad('--cluster takes a name or id')
  const body = {
    ...{ ...given, cluster: cluster ?? '', why: why ?? '', claimed: userName() },
    ...(recordAnyway === true && { record: true }),
  }
  const response = await order(serverOf(flags), '/v1/directives', body)
  const { verb, about: what, who, effective } = (await response.json()) as DirectiveAnswer
  process.stdout.write(lineOf(`${DONE[verb] ?? verb} ${what}, by ${who}. ${effective}`) + '\n')
}

const DONE: Readonly<Record<string, string>> = {
  pause: 'Paused',
  resume: 'Resumed',
  protect: 'Protected',
  unprotect: 'Unprotected',
  approve: 'Approved',
  reject: 'Rejected',
  'close-breaker': 'Closed',
  'enforce-rule': 'Enforced',
  'suspend-rule': 'Suspended',
  'remove-finalizer': 'Ordered to remove',
  'forget-cluster': 'Forgot',
  'remember-cluster': 'Remembered',
  'confirm-clock': 'Confirmed',
}

/** As kubectl has it. */
function subjectOf(words: string, { namespace }: DirectiveFlags): string {
  if (namespace !== undefined) {
    throw bad(
      `${words} -n ${namespace}: expected ${SUBJECT}; one object is protected by its annotation kinfold.dev/protected`,
    )
  }
  return words.replace(/^(ns|namespaces)\//, 'namespace/')
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // Such as in a container that runs as a number without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
