/**
 * `kinfold status`: each cluster's mode, freshness, what is held and what is in the way, and what
 * waits for a person. Exit code 1 where something does.
 *
 * What must stay true: what cannot be known is `?` and never fine; each need of a person is printed
 * with the command for it.
 *
 * Not here: what is held, object by object (held.ts); every check of one process (/readyz?verbose).
 */

import type { Command } from 'commander'
import { shellWord } from '../../core/model/text.ts'
import { EXIT } from '../../runtime/lifecycle.ts'
import type { Document } from '../../services/graph/api/document.ts'
import { ageText, labelOf, overdueText } from '../../services/graph/api/word.ts'
import type { ClusterList, Cluster as ClusterRef } from '../answer.ts'
import { outputOf, structured } from '../print/output.ts'
import { paint } from '../print/paint.ts'
import { table, time } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { countOf } from '../print/word.ts'
import type { ClientFlags, Server } from '../reach/client.ts'
import { answerTo, ask, askAnyway, serverOf, warnPartial, withServer } from '../reach/client.ts'
import { samplesOf } from '../reach/scrape.ts'

const OUTPUTS = ['table', 'json', 'yaml'] as const
type Output = (typeof OUTPUTS)[number]

/** Rows of clusters, and needs, that the table has. */
const SHOWN = 40
/** Watchers give a sign of life each five seconds. */
const SILENT_MS = 60_000
const FAILED = '[-]'
const WARNING = '[!]'
/** Of `--kinds allowed`. */
const DENIED = /^\[\+\]denied\/(\S+) ok: (.*)$/

/** As far as it is known there: a reaper that runs apart has its own endpoint. */
export type LockWord = 'in force' | 'not in force' | 'required, not in force'

interface ClusterRow {
  readonly cluster: ClusterRef
  readonly status: ClusterList['clusters'][number]['status']
  /** Null where this endpoint does not know. */
  readonly lock: LockWord | null
  /** The same. */
  readonly isConnected: boolean | null
}

/** What a person has to see to. */
export interface Need {
  /** Null: of the process that was asked. */
  readonly cluster: ClusterRef | null
  readonly what: string
  /** Empty where there is none for it. */
  readonly command: string
}

export interface Status extends Document {
  readonly isReady: boolean
  readonly clusters: readonly ClusterRow[]
  readonly needs: readonly Need[]
  /** Checks of the process that was asked, which are no reason to do anything at once. */
  readonly warnings: readonly string[]
  /** What its account may not see, by cluster: it needs no action, and no answer knows of it. */
  readonly unseen: readonly string[]
}

export interface Read {
  readonly list: ClusterList
  readonly isReady: boolean
  /** Lines of `/readyz?verbose`. */
  readonly checks: readonly string[]
  /** Text of `/metrics`. */
  readonly metrics: string
}

export function addStatus(program: Command): void {
  withServer(program.command('status'))
    .description('clusters, mode, freshness, what is held, and what waits for a person')
    .option('--all', `every cluster and every need; the table has the first ${SHOWN}`)
    .option('-o, --output <format>', OUTPUTS.join(', '), 'table')
    .action(async (flags: ClientFlags & { output: string; all?: boolean }) => {
      const output = outputOf(flags.output, OUTPUTS)
      const server = serverOf(flags)
      const read = await readFrom(server)
      const status = statusOf(read)
      warnPartial(status.partial)
      process.stdout.write(render(status, output, flags.all === true))
      // Several may run, and hints are pasted without flags.
      if (output === 'table') process.stdout.write(`Asked ${server.url}\n`)
      process.exitCode = status.needs.length > 0 ? EXIT.findings : EXIT.ok
    })
}

async function readFrom(server: Server): Promise<Read> {
  const [list, ready, metrics] = await Promise.all([
    answerTo(server, '/v1/clusters', {}),
    // Not ready is an answer, too.
    askAnyway(server, '/readyz?verbose'),
    ask(server, '/metrics'),
  ])
  return {
    list,
    isReady: ready.ok,
    checks: (await ready.text()).trimEnd().split('\n'),
    metrics: await metrics.text(),
  }
}

export function statusOf({ list, isReady, checks, metrics }: Read): Status {
  const named = Map.groupBy(list.clusters, ({ cluster }) => cluster.name)
  const clusters = list.clusters.map(({ cluster, status }): ClusterRow => {
    // Watchers and reapers know clusters by name: of two that share one it is unknown here which is
    // meant.
    const isAlone = named.get(cluster.name)?.length === 1
    const mine = (name: string) =>
      isAlone
        ? samplesOf(metrics, name).filter(({ labels }) => labels['cluster'] === cluster.name)
        : []
    const [lock] = mine('kinfold_lock')
    const [connected] = mine('kinfold_cluster_connected')
    const required = lock?.labels['required'] === 'true' ? 'required, not in force' : 'not in force'
    return {
      ...{ cluster, status },
      lock: lock === undefined ? null : lock.value === 1 ? 'in force' : required,
      isConnected: connected === undefined ? null : connected.value === 1,
    }
  })
  const failed = checks.filter((check) => check.startsWith(FAILED))
  const needs: Need[] = failed.map((what) => {
    // A check cannot distinguish two clusters of one name.
    const alone = clusters.filter(({ cluster }) => named.get(cluster.name)?.length === 1)
    const found = alone.find(({ cluster }) => isAbout(what, cluster.name))
    return { cluster: found?.cluster ?? null, what, command: '' }
  })
  if (!isReady && failed.length === 0) {
    needs.push({ cluster: null, what: 'the process is not ready', command: '' })
  }
  if (clusters.length === 0) {
    needs.push({ cluster: null, what: 'no cluster was ever watched', command: '' })
  }
  return {
    ...{ apiVersion: 'kinfold/v1', kind: 'Status', partial: list.partial },
    ...{ isReady, clusters },
    needs: [...needs, ...clusters.flatMap(needsOf)],
    warnings: checks.filter((check) => check.startsWith(WARNING)),
    unseen: checks.flatMap((check) => {
      const [, cluster, kinds] = DENIED.exec(check) ?? []
      return cluster === undefined ? [] : [`${cluster}: ${kinds}`]
    }),
  }
}

/** A failed check, of a watcher's connection or of one of its kinds. */
function isAbout(check: string, cluster: string): boolean {
  return ['cluster/', 'synced/'].some((sort) => {
    const head = `${FAILED}${sort}${cluster}`
    return check.startsWith(`${head} `) || check.startsWith(`${head}/`)
  })
}

function needsOf({ cluster, status, lock, isConnected }: ClusterRow): readonly Need[] {
  const need = (what: string, command = ''): Need => ({ cluster, what, command })
  if (status === null)
    return [need('its status is unknown: the process that has it cannot be asked')]
  const { mode, heartbeatAgeMs, held, refused, overdue } = status
  const needs: Need[] = []
  if (isConnected === false) needs.push(need('its watcher is not connected', 'kinfold doctor'))
  if (heartbeatAgeMs === null || heartbeatAgeMs > SILENT_MS) {
    const since = heartbeatAgeMs === null ? 'ever' : `for ${ageText(heartbeatAgeMs)}`
    const effect = mode === 'observe' ? 'recorded' : 'deleted'
    needs.push(
      need(`no sign of life of its watcher ${since}: nothing is ${effect} there meanwhile`),
    )
  }
  if (held === null || refused === null) needs.push(need('what is held is still being counted'))
  if (overdue !== null && overdue.objects > 0) needs.push(overdueNeed(cluster, overdue))
  // In mode observe nothing is held, and no order or lock has anything to stop.
  if (mode !== 'observe') needs.push(...heldNeeds(cluster, status, lock))
  return needs
}

/** Whichever collector deletes there: also in mode observe. */
function overdueNeed(
  cluster: ClusterRef,
  overdue: NonNullable<NonNullable<ClusterRow['status']>['overdue']>,
): Need {
  const at = ` --cluster ${shellWord(cluster.scope)}`
  const { example } = overdue
  const what = overdueText(overdue)
  if (example === null) return { cluster, what, command: `kinfold history -A --change phase${at}` }
  const word = shellWord(`uid:${example.uid}`)
  const ask = example.phase === 'deleting' ? 'why' : 'cascade'
  return { cluster, what, command: `kinfold ${ask} ${word}${at}` }
}

/** What keeps Kinfold from deleting. */
function heldNeeds(
  cluster: ClusterRef,
  { openBreakers, pauses, held, refused, rules }: NonNullable<ClusterRow['status']>,
  lock: ClusterRow['lock'],
): readonly Need[] {
  const at = ` --cluster ${shellWord(cluster.scope)}`
  const need = (what: string, command: string): Need => ({ cluster, what, command })
  const needs = pauses.map(({ isOfAll, who, why }) => {
    const reason = why === '' ? '' : ` (${why})`
    return need(`it is paused by ${who}${reason}`, `kinfold resume${isOfAll ? '' : at} --why …`)
  })
  if (rules !== null && rules.overLimit > 0) {
    const what = `${countOf(rules.overLimit, 'rule')} over its limit, so that it deletes nothing`
    needs.push(need(what, `kinfold rules list${at}`))
  }
  if (openBreakers > 0) {
    needs.push(need(`${countOf(openBreakers, 'breaker')} open`, `kinfold held${at}`))
  }
  if (held !== null && held.approval > 0) {
    const what = `${countOf(held.approval, 'object')} held until a person approves or rejects`
    needs.push(need(what, `kinfold plan held${at}`))
  }
  if (refused !== null && refused > 0) {
    needs.push(
      need(`${countOf(refused, 'object')} that the cluster refuses to change`, `kinfold held${at}`),
    )
  }
  if (lock === 'required, not in force') {
    needs.push(
      need('the lock is required and not in force: only dry runs are made', 'kinfold doctor'),
    )
  }
  return needs
}

export function render(status: Status, output: Output, isAll = false): string {
  return output === 'table' ? text(status, isAll) : structured(status, output)
}

const HEAD = [
  ...['CLUSTER', 'MODE', 'PRESET', 'KINDS', 'SEEN', 'LAG', 'HELD', 'REFUSED', 'BREAKERS', 'LOCK'],
  'STATE',
]

/** Clusters that need a person come first. */
function text({ clusters: all, needs, warnings, unseen }: Status, isAll: boolean): string {
  const most = isAll ? Number.POSITIVE_INFINITY : SHOWN
  const needy = new Set(needs.map(({ cluster }) => cluster?.id))
  const [amiss = [], fine = []] = [true, false].map((isAmiss) =>
    all.filter(({ cluster }) => needy.has(cluster.id) === isAmiss),
  )
  const clusters = [...amiss, ...fine].slice(0, most)
  const states = clusters.map(({ cluster }) => (needy.has(cluster.id) ? 'needs a person' : 'fine'))
  const rows = clusters.map((row, index) => [...cellsOf(row), states[index] ?? '?'])
  const styleOf = (row: number, column: number) => {
    if (HEAD[column] !== 'STATE') return undefined
    return states[row] === 'fine' ? 'green' : 'yellow'
  }
  const lines = needs.slice(0, most).map(({ cluster, what, command }) => {
    const where = cluster === null ? '' : `${labelOf(cluster)}: `
    return lineOf(`- ${where}${what}${command === '' ? '' : `: ${command}`}`)
  })
  return [
    clusters.length === 0 ? '' : table(HEAD, rows, styleOf),
    moreText(all.length - clusters.length, 'cluster'),
    ...(needs.length === 0
      ? ['Nothing needs a person.\n']
      : [`${paint('Needs a person:', 'yellow')}\n`, ...lines.map((line) => `${line}\n`)]),
    moreText(needs.length - lines.length, 'need'),
    ...clusters.map(rulesText),
    ...clusters.flatMap(cutOffText),
    ...clusters.flatMap(forgottenText),
    ...warnings.map((warning) => `${lineOf(warning)}\n`),
    ...unseen.map((each) => `Not watched in ${lineOf(each)}\n`),
  ].join('')
}

function moreText(left: number, what: string): string {
  return left <= 0 ? '' : `and ${countOf(left, `more ${what}`)}: --all lists them\n`
}

/** Empty where the policy has none. */
function rulesText({ cluster, status }: ClusterRow): string {
  if (status?.rules == null) return ''
  const { dryRun, enforced, due } = status.rules
  const counts = [
    ...(dryRun > 0 ? [`${dryRun} in dry run`] : []),
    ...(enforced > 0 ? [`${enforced} enforced`] : []),
  ].join(', ')
  const objects = due === null ? '' : `; ${countOf(due, 'object')} due`
  return `Rules of ${lineOf(labelOf(cluster))}: ${counts}${objects} (kinfold rules list)\n`
}

/** It ends by itself, unless that cluster is gone for good. */
function cutOffText({ cluster, status }: ClusterRow): readonly string[] {
  return (status?.cutOff ?? []).map(({ ownerCluster, because }) => {
    const what = `Rules of ${labelOf(cluster)} wait for owners in cluster ${labelOf(ownerCluster)}`
    const command = `kinfold plan forget-cluster ${shellWord(ownerCluster.scope)}`
    return `${lineOf(`${what}, ${because} (should it be gone for good: ${command})`)}\n`
  })
}

function forgottenText({ cluster, status }: ClusterRow): readonly string[] {
  return (status?.forgotten ?? []).map(({ ownerCluster, who, why, since }) => {
    const when = since === null ? '' : ` at ${time(since)}`
    const what = `Rules of ${labelOf(cluster)} delete nothing by owners in cluster ${labelOf(ownerCluster)}`
    const command = `kinfold remember-cluster ${shellWord(ownerCluster.scope)} --why …`
    return `${lineOf(`${what}, which ${who} had forgotten${when} (${why}; ${command} ends it)`)}\n`
  })
}

function cellsOf({ cluster, status, lock }: ClusterRow): readonly string[] {
  const name = labelOf(cluster)
  if (status === null) return [name, ...Array.from({ length: 8 }, () => '?'), lock ?? '?']
  const { mode, preset, monitored, synced, heartbeatAgeMs, lagEntries, held } = status
  const total = held === null ? '?' : `${Object.values(held).reduce((sum, each) => sum + each, 0)}`
  return [
    ...[name, mode, preset, `${synced}/${monitored}`],
    heartbeatAgeMs === null ? '?' : `${ageText(heartbeatAgeMs)} ago`,
    `${lagEntries}`,
    total,
    status.refused === null ? '?' : `${status.refused}`,
    `${status.openBreakers}${status.isPaused && mode !== 'observe' ? ', paused' : ''}`,
    lock ?? (mode === 'observe' ? '-' : '?'),
  ]
}
