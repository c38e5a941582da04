/**
 * `kinfold rules`: the rules of the policy, what each deletes or would, what it says of an object,
 * and the orders that enforce a rule and put it back into dry run.
 *
 * What must stay true: what is enforced is what was shown: the order names the digest of the rule
 * that this very command printed, or that its user gives.
 *
 * Not here: what answers look like (rule-text.ts), how a rule is written (config), what needs
 * no running Kinfold (offline/rules.ts).
 */
import type { Command } from 'commander'
import { annotateCommand } from '../../core/model/rule/annotate.ts'
import { shellWord } from '../../core/model/text.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { RulePlan } from '../answer.ts'
import { bad } from '../config/setting.ts'
import { answerOn, isYes } from '../print/confirm.ts'
import { outputOf } from '../print/output.ts'
import { lineOf } from '../print/terminal.ts'
import type { ClientFlags, ObjectFlags, ScopeFlags, Server } from '../reach/client.ts'
import {
  answerTo,
  serverOf,
  warnPartial,
  withMoment,
  withScope,
  withServer,
} from '../reach/client.ts'
import { clusterScopeOf, questionOf } from '../reach/scope.ts'
import { give } from './directive.ts'
import {
  EXPLAIN_OUTPUTS,
  explanationText,
  LIST_OUTPUTS,
  listText,
  PLAN_OUTPUTS,
  planText,
  releaseText,
} from './rule-text.ts'

/** Of one page; a plan that is printed has as many pages as it takes. */
const PAGE = 500

interface RuleFlags extends ClientFlags, ScopeFlags {
  readonly namespace?: string
  readonly at?: string
  readonly limit: string
  readonly output: string
}

interface EnforceFlags extends ClientFlags {
  readonly why?: string
  readonly digest?: string
  readonly yes?: boolean
  readonly recordAnyway?: boolean
}

/** The group; in a client that opens no log, this is all that there is of it. */
export function addRules(program: Command): Command {
  const rules = program
    .command('rules')
    .description(
      'objects that are deleted or annotated for their age, fields or marks, whatever owns them',
    )
  addList(rules)
  addPlan(rules)
  addExplain(rules)
  addOrders(rules)
  return rules
}

const NAMESPACE = [
  '-n, --namespace <ns>',
  'only what is in this namespace (default: in all)',
] as const

function addList(rules: Command): void {
  withMoment(withScope(withServer(rules.command('list'))))
    .description('which there are, which of them are enforced, and how many objects are due')
    .option(...NAMESPACE)
    .option('-o, --output <format>', LIST_OUTPUTS.join(', '), 'table')
    .action(async (flags: RuleFlags) => {
      const output = outputOf(flags.output, LIST_OUTPUTS)
      const { server, query } = await asked(flags)
      const list = await answerTo(server, '/v1/rules', query)
      warnPartial(list.partial)
      process.stdout.write(listText(list, output))
    })
}

function addPlan(rules: Command): void {
  withMoment(withScope(withServer(rules.command('plan'))))
    .description(
      'what a rule deletes or annotates, or would: what is due, what holds it, and what comes later',
    )
    .argument('<rule>', 'its name')
    .option(...NAMESPACE)
    .option('--limit <n>', 'objects that are listed; all are counted', '100')
    .option('-o, --output <format>', PLAN_OUTPUTS.join(', '), 'table')
    .action(async (rule: string, flags: RuleFlags) => {
      const output = outputOf(flags.output, PLAN_OUTPUTS)
      const limit = limitOf(flags.limit)
      const { server, query } = await asked(flags)
      const plan = await planOf(server, { ...query, rule }, limit)
      warnPartial(plan.partial)
      process.stdout.write(planText(plan, output))
    })
}

function limitOf(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw bad(`--limit ${text} is no whole number from 1 on`)
  return Number(text)
}

interface Query {
  readonly cluster?: string | undefined
  readonly namespace?: string | undefined
  readonly at?: string | undefined
}

/** As many pages as the limit takes. */
async function planOf(
  server: Server,
  { rule, ...query }: Query & { readonly rule: string },
  limit: number,
): Promise<RulePlan> {
  const page = async (left: number, from?: string): Promise<RulePlan> => {
    const words = { ...query, limit: `${Math.min(left, PAGE)}`, continue: from }
    return await answerTo(server, '/v1/rules/{rule}/plan', words, { rule })
  }
  const first = await page(limit)
  const objects = [...first.objects]
  let next = first.continue
  while (next !== null && objects.length < limit) {
    // A page that is shorter than before is of another question's length, not of another question.
    const more = await page(limit - objects.length, next)
    objects.push(...more.objects)
    next = more.continue
  }
  return { ...first, objects, continue: next }
}

async function asked(flags: Omit<RuleFlags, 'limit' | 'output'>): Promise<{
  readonly server: Server
  readonly query: Query
}> {
  const { cluster, hint } = await clusterScopeOf(flags)
  const at = await momentIn(flags.at)
  return {
    server: { ...serverOf(flags), hint },
    query: { cluster, namespace: flags.namespace, at },
  }
}

async function momentIn(text: string | undefined): Promise<string | undefined> {
  return text === undefined ? undefined : (await import('../reach/moment.ts')).momentOf(text)
}

interface ExplainFlags extends ObjectFlags {
  readonly at?: string
  readonly output: string
}

function addExplain(rules: Command): void {
  withMoment(withScope(withServer(rules.command('explain'))))
    .description('a rule whole, and which of its terms hold for an object')
    .argument('<rule>', 'its name')
    .argument('[object...]', 'one object: KIND/NAME, KIND NAME or uid:UID')
    .option(
      '-n, --namespace <ns>',
      "namespace of the object (default: of the kubeconfig's context)",
    )
    .option('-o, --output <format>', EXPLAIN_OUTPUTS.join(', '), 'text')
    .action(async (rule: string, words: string[], flags: ExplainFlags) => {
      const output = outputOf(flags.output, EXPLAIN_OUTPUTS)
      const at = await momentIn(flags.at)
      const { server, query } =
        words.length === 0 ? await ofAll(flags) : await questionOf(words, flags)
      const path = '/v1/rules/{rule}'
      const answer = await answerTo(server, path, { ...query, at }, { rule })
      warnPartial(answer.partial)
      process.stdout.write(explanationText(answer, output))
    })
}

async function ofAll(flags: ExplainFlags) {
  const { cluster, hint } = await clusterScopeOf(flags)
  return { server: { ...serverOf(flags), hint }, query: { cluster } }
}

function addOrders(rules: Command): void {
  withServer(rules.command('enforce'))
    .description(
      'have a rule delete or annotate what is due, exactly as it was shown; also what ends a hold of it',
    )
    .argument('<rule>', 'its name; of NAMESPACE/NAME the kubectl command is printed')
    .option('--why <text>', 'reason, which is recorded; required for a rule of the policy')
    .option('--digest <digest>', 'of the rule, as its plan showed it: does not ask')
    .option('--yes', 'do not ask, as in scripts')
    .option('--record-anyway', 'also where the mode cannot keep it, for a mode that comes later')
    .action(enforce)
  withServer(rules.command('suspend'))
    .description('put a rule back into dry run: from then on it changes nothing')
    .argument('<rule>', 'its name')
    .option('--why <text>', 'reason, which is recorded')
    .action(async (rule: string, flags: ClientFlags & { readonly why?: string }) => {
      await give(flags, { verb: 'suspend-rule', subject: rule })
    })
}

async function enforce(rule: string, flags: EnforceFlags): Promise<void> {
  if (flags.why === undefined && !rule.includes('/')) {
    throw bad('--why is missing: the reason is kept on record')
  }
  const server = serverOf(flags)
  const list = await answerTo(server, '/v1/rules', { name: rule })
  const [found] = list.rules
  if (found === undefined) throw new ExitError(EXIT.input, `the policy has no rule ${rule}`)
  warnPartial(list.partial)
  const { ruleDigest } = found.rule
  const digest = flags.digest ?? ruleDigest
  process.stdout.write(releaseText(found))
  if (rule.includes('/')) {
    const how = annotateCommand(rule, ruleDigest)
    process.stdout.write(`Nothing was ordered: an annotation of the object enforces it:\n${how}\n`)
    return
  }
  if (digest !== ruleDigest) {
    throw new ExitError(
      EXIT.refused,
      `rule ${rule} is another than the one with digest ${digest}: it has ${ruleDigest} now, and nothing was ordered; look at it again`,
    )
  }
  if (mustAsk(flags, process.stdin.isTTY === true, rule, ruleDigest)) {
    const question = `Enforce rule ${lineOf(rule)}? (y/N) `
    if (!isYes(await answerOn(question))) {
      throw new ExitError(EXIT.refused, 'nothing was ordered')
    }
  }
  await give(flags, { verb: 'enforce-rule', subject: rule, digest })
}

/** Throws where a person has to be asked and none can be. */
export function mustAsk(
  { yes, digest }: Pick<EnforceFlags, 'yes' | 'digest'>,
  isTerminal: boolean,
  rule: string,
  ruleDigest: string,
): boolean {
  if (yes === true || digest !== undefined) return false
  if (isTerminal) return true
  throw new ExitError(
    EXIT.input,
    `no person can be asked, since standard input is no terminal, and nothing was ordered; to order just this: "kinfold rules enforce ${shellWord(rule)} --digest ${ruleDigest} --why …"`,
  )
}
