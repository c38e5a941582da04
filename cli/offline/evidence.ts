/**
 * `kinfold evidence`: what Kinfold decided about an object, with the records that follows from,
 * signed, to be verified by another person on another machine.
 *
 * What must stay true: `export` makes no call and writes nothing but the bundle; `verify` needs
 * neither a log nor the network, and takes the key from its caller alone.
 *
 * Not here: what is in a bundle, and what is compared (services/graph/evidence).
 */
import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { openSigner, openVerifier } from '../../runtime/http/signature.ts'
import { EXIT, ExitError, stopSignal } from '../../runtime/lifecycle.ts'
import type { Question } from '../../services/graph/evidence/question.ts'
import { BeyondReachError, Refusal } from '../../services/graph/evidence/refusal.ts'
import type { About, Span } from '../../services/graph/evidence/statement.ts'
import { DEFAULT_DATA } from '../config/data-directory.ts'
import { addBrokerOptions } from '../config/kafka-config.ts'
import { bad, moment } from '../config/setting.ts'
import { lineOf } from '../print/terminal.ts'
import { countOf } from '../print/word.ts'
import type { RefoldFlags } from './refold.ts'

interface ExportFlags extends RefoldFlags {
  readonly uid?: string
  readonly cascade?: string
  readonly cluster?: string
  readonly from?: string
  readonly to?: string
  readonly out: string
  readonly signKey: string
}

export function addEvidence(program: Command): void {
  const evidence = program
    .command('evidence')
    .description('what was decided, with the records it follows from, signed')
  const exported = evidence
    .command('export')
    .description(
      'write the records about an object, a cascade or a span into a directory that another machine can verify; makes no call',
    )
    .requiredOption('--out <dir>', 'directory of the bundle; it must not be there yet')
    .requiredOption('--sign-key <file>', 'private Ed25519 key, in PEM')
    .option('--uid <uid>', 'about one object')
    .option('--cascade <uid>', 'about an owner and its dependents, and theirs')
    .option('--from <t>', 'from then on: how long ago (24h), or RFC 3339; alone: about all objects')
    .option('--to <t>', 'before then (default: as far as they are about it)')
    .option('--cluster <id>', 'of this cluster only, by its id')
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .option('--config <file>', 'YAML file with a kafka section; flags win')
  addBrokerOptions(exported).action(runExport)
  evidence
    .command('verify')
    .description(
      'fold the records of a bundle again and compare with what its signed statement says; needs no log and no network',
    )
    .argument('<dir>', 'directory of the bundle')
    .requiredOption('--key <file>', 'public Ed25519 key of who signed it, in PEM')
    .action(runVerify)
}

async function runExport(flags: ExportFlags): Promise<void> {
  const question = questionOf(flags)
  const { out } = flags
  if (out === '') throw bad('--out: a directory has to be named')
  if (existsSync(out)) throw bad(`${out} is there already: name another directory`)
  const parent = dirname(resolve(out))
  if (!existsSync(parent)) throw bad(`there is no directory ${parent}: make it first`)
  const { keyId, seal } = openSigner(flags.signKey)
  const { offline, readLog } = await import('./refold.ts')
  const { exportEvidence } = await import('../../services/graph/evidence/export.ts')
  const signal = stopSignal()
  const { codec, schemas, newStore } = offline()
  await using store = newStore()
  const { span, result, decisions, history, isCut } = await judged('', async () =>
    readLog(flags, async (log) => {
      const parts = { log, codec, schemas, store, seal }
      return await exportEvidence(parts, question, out, signal)
    }),
  )
  const made = `${countOf(decisions, 'decision')} and ${countOf(history, 'change')}`
  process.stdout.write(
    `${lineOf(out)}: ${made} ${aboutText(span.about)}, ${rangeText(span)}, with the ${countOf(result.events.count, 'event')} they follow from, ${baseText(result.base.position)}; signed with the key ${keyId}${isCut ? '; what was before is not kept' : ''}\n`,
  )
}

async function runVerify(directory: string, flags: { readonly key: string }): Promise<void> {
  if (!(statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false)) {
    throw bad(`there is no directory ${lineOf(directory)}`)
  }
  const verifier = openVerifier(flags.key)
  const { offline } = await import('./refold.ts')
  const { verifyEvidence } = await import('../../services/graph/evidence/verify.ts')
  const signal = stopSignal()
  const { codec, schemas, newStore } = offline()
  await using store = newStore()
  const proven = await judged(directory, async () =>
    verifyEvidence({ codec, schemas, store, verifier }, directory, signal),
  )
  const { span, result, decisions, history, lineage } = proven
  const { first, last, gaps } = result.events
  const time = (ms: number | null): string => (ms === null ? '-' : new Date(ms).toISOString())
  const lines = [
    `proven: signed with the key ${verifier.keyId}, and every file is as it was signed`,
    `proven: ${countOf(decisions, 'decision')}, ${countOf(history, 'change')} and ${countOf(lineage, 'state')} ${aboutText(span.about)} follow from the records, ${rangeText(span)}, appended from ${time(first)} to ${time(last)}`,
    `not proven: that ${result.base.position === 0n ? 'the records' : `the snapshot before event ${result.base.position} and the records after it`} are what was observed${gaps === 0n ? '' : `, and that the ${gaps} offsets without a record had none (on Kafka, marks of transactions have some)`}: for that rely on who signed, or compare the log with a checkpoint`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

function questionOf({ uid, cascade, cluster, from, to }: ExportFlags): Question {
  const now = Date.now()
  const ms = (key: string, value: string | undefined): number | undefined => {
    const text = moment({ key, value, from: `--${key}` }, now)
    return text === undefined ? undefined : Date.parse(text)
  }
  const [fromMs, toMs] = [ms('from', from), ms('to', to)]
  if (fromMs !== undefined && toMs !== undefined && toMs <= fromMs) {
    throw bad(`--to ${to} is not after --from ${from}`)
  }
  if (uid !== undefined && cascade !== undefined) throw bad('--uid and --cascade: name one of them')
  const about = uid ?? cascade
  if (about === undefined && fromMs === undefined) {
    throw bad('name an object (--uid), an owner (--cascade) or a span (--from)')
  }
  if (about === '') throw bad('--uid, --cascade: a uid has to be named')
  const type = uid !== undefined ? 'object' : cascade !== undefined ? 'cascade' : 'span'
  return {
    type,
    ...(about === undefined ? {} : { uid: about }),
    ...(cluster === undefined ? {} : { cluster }),
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
  }
}

/** What is refuted, and what cannot be judged, by their exit codes. */
export async function judged<T>(about: string, judge: () => Promise<T>): Promise<T> {
  try {
    return await judge()
  } catch (error) {
    const where = about === '' ? '' : `${lineOf(about)}: `
    if (error instanceof Refusal) {
      throw new ExitError(EXIT.findings, `${where}refused: ${lineOf(error.message)}`)
    }
    if (error instanceof BeyondReachError) {
      throw new ExitError(EXIT.failure, `${where}${lineOf(error.message)}`)
    }
    throw error
  }
}

function aboutText(about: About): string {
  switch (about.type) {
    case 'object':
      return `about the object ${lineOf(about.uid)} of the cluster ${lineOf(about.cluster)}`
    case 'cascade':
      return `about ${lineOf(about.uid)} of the cluster ${lineOf(about.cluster)} and its dependents`
    case 'span':
      return about.cluster === null
        ? 'about all objects'
        : `about all objects of the cluster ${lineOf(about.cluster)}`
  }
}

function rangeText({ partition, from, to }: Span): string {
  return `events ${from} to ${to} of partition ${partition}`
}

function baseText(position: bigint): string {
  return position === 0n
    ? 'from the first one of the log on'
    : `from a snapshot before ${position} on`
}
