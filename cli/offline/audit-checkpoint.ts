/**
 * `kinfold audit checkpoint`: signed digests of the log, to be kept elsewhere, and the comparison
 * of the log with them.
 *
 * What must stay true: it makes no call and writes nothing but the file that it is given; what was
 * removed since is never called the same or different.
 *
 * Not here: what is compared (services/graph/evidence/checkpoint.ts).
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { openSigner, openVerifier } from '../../runtime/http/signature.ts'
import { EXIT, ExitError, stopSignal } from '../../runtime/lifecycle.ts'
import type { Checkpoint, Comparison } from '../../services/graph/evidence/checkpoint.ts'
import { Refusal } from '../../services/graph/evidence/refusal.ts'
import { DEFAULT_DATA } from '../config/data-directory.ts'
import { addBrokerOptions } from '../config/kafka-config.ts'
import { bad, moment } from '../config/setting.ts'
import { time } from '../print/table.ts'
import { judged } from './evidence.ts'
import type { RefoldFlags } from './refold.ts'

interface CheckpointFlags extends RefoldFlags {
  readonly signKey?: string
  readonly out?: string
  readonly configmap?: string
  readonly verify?: string
  readonly key?: string
  readonly from?: string
}

/** A ConfigMap has 1 MiB at most, all names included. */
const CONFIG_MAP_BYTES = 1_000_000
/** Records of compacted topics that are listed in one: a third of its room. */
const MOST_IN_CONFIG_MAP = 15_000
/** Each of these is listed, so it is known that no other was there, but not why one is absent. */
const ASKED_AFTER: ReadonlySet<string> = new Set(['orders'])
const MAX_FILE_BYTES = 64 * 1024 * 1024
const NAMES =
  /^(?<namespace>[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)\/(?<name>[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?)$/

export function addCheckpoint(audit: Command): void {
  const checkpoint = audit
    .command('checkpoint')
    .description(
      'sign digests of all that is on the log, to be kept where nobody who can write the log can write; with --verify: compare the log with them, which finds a log that was cut or rewritten',
    )
    .option('--sign-key <file>', 'private Ed25519 key, in PEM')
    .option('--out <file>', 'a new file for it (default: standard output)')
    .option('--configmap <ns/name>', 'as the manifest of a ConfigMap, for kubectl create -f -')
    .option('--verify <file>', 'compare the log with this checkpoint')
    .option('--key <file>', 'with --verify: public Ed25519 key of who signed it, in PEM')
    .option('--from <t>', 'with --verify: only what was appended since: how long ago, or RFC 3339')
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .option('--config <file>', 'YAML file with a kafka section; flags win')
  addBrokerOptions(checkpoint).action(async (flags: CheckpointFlags) => {
    await (flags.verify === undefined ? make(flags) : verify(flags, flags.verify))
  })
}

async function make(flags: CheckpointFlags): Promise<void> {
  const { signKey, out, configmap, key, from } = flags
  if (key !== undefined || from !== undefined) throw bad('--key and --from belong to --verify')
  if (signKey === undefined) throw bad('name a key to sign with (--sign-key), or --verify FILE')
  const names = configmap === undefined ? undefined : NAMES.exec(configmap)?.groups
  if (configmap !== undefined && names === undefined) {
    throw bad(`--configmap: expected NAMESPACE/NAME, not ${JSON.stringify(configmap)}`)
  }
  const { seal } = openSigner(signKey)
  const { readLog } = await import('./refold.ts')
  const { checkpointOf, checkpointStatement } = await import(
    '../../services/graph/evidence/checkpoint.ts'
  )
  const signal = stopSignal()
  const most = names === undefined ? undefined : MOST_IN_CONFIG_MAP
  const made = await readLog(flags, async (log) => await checkpointOf(log, signal, most))
  const envelope = seal(checkpointStatement(made))
  const text = names === undefined ? envelope : manifestOf(names, envelope)
  if (out === undefined) process.stdout.write(text)
  else writeNew(out, text)
  // The checkpoint itself may be on standard output.
  process.stderr.write(
    summaryOf(made)
      .map((line) => `${line}\n`)
      .join(''),
  )
}

/**
 * No user may edit it; one who may delete it can make another, so keep it in another cluster, or
 * where a deletion is on record.
 */
function manifestOf(
  { namespace = '', name = '' }: Readonly<Record<string, string>>,
  envelope: string,
): string {
  if (envelope.length > CONFIG_MAP_BYTES) {
    throw new ExitError(
      EXIT.failure,
      `the checkpoint has ${envelope.length} bytes, and a ConfigMap takes ${CONFIG_MAP_BYTES}: write it to a file`,
    )
  }
  const manifest = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name },
    immutable: true,
    data: { 'checkpoint.json': envelope },
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw bad(code === 'EEXIST' ? `${file} is there already: name another file` : message)
  }
}

function summaryOf(checkpoint: Checkpoint): readonly string[] {
  return checkpoint.map(({ topic, partition, start, end }) => {
    return `${topic} of partition ${partition}: ${start} to ${end}`
  })
}

async function verify(flags: CheckpointFlags, file: string): Promise<void> {
  const { key, signKey, out, configmap } = flags
  if (signKey !== undefined || out !== undefined || configmap !== undefined) {
    throw bad('--sign-key, --out and --configmap make a checkpoint: not with --verify')
  }
  if (key === undefined) throw bad('--verify: name the public key of who signed it (--key)')
  const from = moment({ key: 'from', value: flags.from, from: '--from' }, Date.now())
  const verifier = openVerifier(key)
  const text = contentOf(file)
  const { readLog } = await import('./refold.ts')
  const { compareWith, readCheckpoint } = await import(
    '../../services/graph/evidence/checkpoint.ts'
  )
  const checkpoint = await judged(file, async () => {
    const opened = verifier.open(text)
    if (opened.type === 'refused') throw new Refusal(opened.why)
    return readCheckpoint(opened.payload)
  })
  const signal = stopSignal()
  const sinceMs = from === undefined ? Number.MIN_SAFE_INTEGER : Date.parse(from)
  const found = await readLog(flags, async (log) => compareWith(log, checkpoint, sinceMs, signal))
  process.stdout.write(found.map((each) => `${textOf(each)}\n`).join(''))
  const isDifferent = found.some(({ different }) => different !== null)
  const isUnknown = found.some(({ topic, unknown, records }) => {
    return unknown !== null || (ASKED_AFTER.has(topic) && (records?.replaced ?? 0) > 0)
  })
  const isNothing = found.every(({ same, records }) => same === null || records !== null)
  process.exitCode = isDifferent ? EXIT.findings : isUnknown || isNothing ? EXIT.failure : EXIT.ok
}

function contentOf(file: string): string {
  try {
    const { size } = statSync(file)
    if (size > MAX_FILE_BYTES) throw new Error(`it has ${size} bytes`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw bad(`the checkpoint ${file} cannot be read: ${(error as Error).message}`)
  }
}

function textOf({ topic, partition, same, different, unknown, records }: Comparison): string {
  const parts = [
    different && `different from ${different.from} to ${different.to}: ${different.what}`,
    same &&
      records &&
      `what is left from ${same.from} to ${same.to} is as in the checkpoint: records ${records.same}`,
    same &&
      records &&
      records.replaced > 0 &&
      `not there any more: ${records.replaced}, replaced by later ones of their keys, or removed by a user who can write the log`,
    same && records === null && `as in the checkpoint from ${same.from} to ${same.to}`,
    unknown &&
      `${unknown.from} to ${unknown.to} cannot be compared: removed since, the newest ${unknown.until === null ? 'at an unknown time' : `from ${time(unknown.until)}`}, by retention or by a user who can write the log`,
  ].filter((part) => typeof part === 'string')
  const text = parts.length === 0 ? 'nothing to compare' : parts.join('; ')
  return `${topic} of partition ${partition}: ${text}`
}
