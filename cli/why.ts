/** `kinfold why`: how an object stands and how it came to that, also after it is gone. */
import type { Command } from 'commander'
import type { Why } from '../services/graph/query/query.ts'
import type { Others } from '../services/graph/query/question.ts'
import type { ObjectFlags } from './client.ts'
import { ask, selectorParams, serverOf, withObject } from './client.ts'
import { outputOf } from './output.ts'
import { time } from './table.ts'
import { lineOf } from './terminal.ts'

export function addWhy(program: Command): void {
  withObject(program.command('why'))
    .description('why an object is there, goes or went: events, verdict, evidence, command, result')
    .argument('<object...>', 'KIND/NAME, KIND NAME or uid:UID')
    .option('-o, --output <format>', 'text or json', 'text')
    .action(async (words: string[], flags: ObjectFlags & { output: string }) => {
      const output = outputOf(flags.output, ['text', 'json'])
      const response = await ask(serverOf(flags), `/v1/why?${selectorParams(words, flags)}`)
      const body = (await response.json()) as { answer: Why; partial: string; others: Others }
      if (body.partial !== '')
        process.stderr.write(`warning: this may be incomplete: ${body.partial}\n`)
      const text =
        output === 'json'
          ? `${JSON.stringify({ ...body.answer, others: body.others }, null, 2)}\n`
          : tell(body.answer) + tellOthers(body.others)
      process.stdout.write(text)
    })
}

export function tell(why: Why): string {
  const { object, phase, verdict, attempt } = why
  const at = object.namespace === '' ? '' : ` in namespace ${object.namespace}`
  const out = [`${object.kind}/${object.name}${at}, cluster ${why.clusterName}, uid ${object.uid}`]
  out.push(phase === null ? 'It is gone.' : `It is ${phase}.`)
  for (const reference of why.references) {
    out.push(
      `  owner ${reference.kind}/${reference.name} (${reference.uid}): ${reference.standing}, ${reference.reason}`,
    )
  }
  if (verdict !== null) {
    const evidence = verdict.evidence === null ? '' : `, evidence ${verdict.evidence}`
    out.push(
      `Verdict: ${verdict.type}${evidence}: ${verdict.because} (events ${verdict.basis.join(', ')})`,
    )
  }
  if (attempt !== null) {
    const reason = attempt.reason === '' ? '' : `: ${attempt.reason}`
    out.push(
      `Command ${attempt.command}: ${attempt.verb} ${attempt.state}, attempt ${attempt.count}${reason}`,
    )
  }
  if (why.obstacle !== null) out.push(obstacleText(why.obstacle))
  if (why.asOwner?.proof != null)
    out.push(`As an owner it is ${why.asOwner.state}: ${why.asOwner.proof}`)
  if (why.history.length > 0) out.push('', 'WHEN                      POSITION      WHAT')
  for (const entry of why.history) {
    const when = new Date(Number(entry.at)).toISOString().padEnd(25)
    const position = `${entry.partition}-${entry.position}`.padEnd(13)
    const evidence = entry.evidence === null ? '' : ` [${entry.evidence}]`
    const command = entry.command === null ? '' : ` {${entry.command}}`
    out.push(`${when} ${position} ${entry.change}: ${entry.text}${evidence}${command}`)
  }
  return `${out.map(lineOf).join('\n')}\n`
}

/** Whoever asked by name may have meant another. */
function tellOthers(others: Others): string {
  if (others.length === 0) return ''
  const lines = others.map(({ clusterName, uid, isThere, at }) => {
    const what = isThere ? 'is there' : `gone, last heard of ${time(at)}`
    return lineOf(`  cluster ${clusterName}, ${what}: kinfold why uid:${uid}`)
  })
  return `\nOf the same name:\n${lines.join('\n')}\n`
}

function obstacleText({ by, reason, since, count, until }: NonNullable<Why['obstacle']>): string {
  const facts = [
    since === null ? '' : `since ${time(since)}`,
    count === null ? '' : `tried ${count} ${count === 1 ? 'time' : 'times'}`,
    until === null ? 'not tried again before something changes' : `next try at ${time(until)}`,
  ].filter((fact) => fact !== '')
  return `Blocked (${by}): ${reason}; ${facts.join(', ')}`
}
