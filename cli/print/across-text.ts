/**
 * What `kinfold tree --across` prints, and what `plan delete` and `cascade` say of the same below
 * their own: what tools' marks name as managed, by cluster, and what names it as its owner by
 * `kinfold.io/owner`, or did.
 *
 * What must stay true: it says that these are marks and no owner references, and that the tool
 * decides, or a rule.
 */
import { shellWord } from '../../core/model/text.ts'
import { FAR_TOOL, labelOf, marksText, phaseText } from '../../services/graph/api/word.ts'
import type { Across as AcrossDocument, AcrossPartDocument as Part } from '../answer.ts'
import { structured } from './output.ts'
import { paint, styleOfPhase } from './paint.ts'
import { table } from './table.ts'
import { lineOf } from './terminal.ts'
import { countOf, objectName } from './word.ts'

export const ACROSS_OUTPUTS = ['tree', 'wide', 'name', 'json', 'yaml'] as const
export type AcrossOutput = (typeof ACROSS_OUTPUTS)[number]

export function acrossText(answer: AcrossDocument, output: AcrossOutput): string {
  switch (output) {
    case 'json':
    case 'yaml':
      return structured(answer, output)
    case 'name':
      return answer.parts
        .flatMap(({ objects }) => objects.map((object) => `${lineOf(objectName(object))}\n`))
        .join('')
    case 'wide':
      return `${rows(answer)}${below(answer)}`
    case 'tree':
      return `${lines(answer).map(lineOf).join('\n')}\n${below(answer)}`
  }
}

function below({ text, parts }: AcrossDocument): string {
  const more = parts.reduce((sum, { marked, objects }) => sum + marked - objects.length, 0)
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  const left = more > 0 ? `${countOf(more, 'object')} not listed (raise --limit).\n` : ''
  return `${left}${lineOf(sentence)} ${marksText(parts)}\n`
}

function lines({ asked, managers, parts }: AcrossDocument): readonly string[] {
  const [first, ...others] = managers
  const said = others.length === 0 ? first?.because : undefined
  const head =
    first === undefined
      ? [`${asked.kind}/${asked.name}  (no manager of that kind and name is seen here)`]
      : [first, ...others].map((each) => {
          const at = each.namespace === '' ? '' : ` -n ${each.namespace}`
          return `${each.kind}/${each.name}${at}  (cluster ${labelOf(each.cluster)}; ${each.because})`
        })
  const below = parts.flatMap((part, index) => {
    const isLast = index === parts.length - 1
    const [head, ...objects] = linesOfPart(part, said)
    return [
      `${isLast ? '└─ ' : '├─ '}${head}`,
      ...objects.map((each) => `${isLast ? '   ' : '│  '}${each}`),
    ]
  })
  return [...head, ...below]
}

/** `said`: above it. */
function linesOfPart(part: Part, said: string | undefined): readonly string[] {
  const { objects } = part
  return [
    `cluster ${labelOf(part.cluster)}  (${partText(part, said)})`,
    ...objects.map(({ kind, name, namespace, phase, isKept }, index) => {
      const at = namespace === '' ? '' : ` -n ${namespace}`
      const state = phase === 'observed' ? '' : paint(phaseText(phase), styleOfPhase(phase))
      const notes = [state, isKept ? 'kept by a mark' : ''].filter((each) => each !== '')
      const beside = notes.length === 0 ? '' : `  (${notes.join('; ')})`
      return `${index === objects.length - 1 ? '└─ ' : '├─ '}${kind}/${name}${at}${beside}`
    }),
  ]
}

function partText(part: Part, said: string | undefined): string {
  const { marked, dependents, manager, managers, because } = part
  const owned = dependents === 0 ? '' : ` and ${countOf(dependents, 'dependent')}`
  const mark =
    manager.tool === FAR_TOOL ? 'by kinfold.io/owner' : `by the mark of ${manager.toolName}`
  const of = `${mark}${ofWhich({ manager, managers })}`
  const why = because === said ? '' : `; ${because}`
  return `${countOf(marked, 'object')}${owned}, ${of}${why}`
}

/** Where the mark says more than what was asked for. */
function ofWhich({ manager, managers }: Pick<Part, 'manager' | 'managers'>): string {
  if (managers === 1 || !manager.namespace) return ''
  return `, of ${manager.kind ?? 'claim'} ${manager.namespace}/${manager.name}`
}

function rows({ parts }: AcrossDocument): string {
  const cells = parts.flatMap(({ cluster, manager, objects }) =>
    objects.map(({ namespace, kind, name, phase, uid, isKept }) => [
      ...[labelOf(cluster), namespace, `${kind}/${name}`, phaseText(phase), uid],
      ...[manager.toolName, isKept ? 'kept by a mark' : ''],
    ]),
  )
  return table(['CLUSTER', 'NAMESPACE', 'OBJECT', 'STATE', 'UID', 'BY MARK OF', 'NOTES'], cells)
}

/** Below a plan; empty where nothing is marked. */
export function besidePlan(answer: AcrossDocument): string {
  return rootText(answer) + alongText(answer)
}

/** What names objects that go with it. */
function alongText({ along }: AcrossDocument): string {
  if (along.length === 0) return ''
  return [
    'What goes with it has dependents in other clusters, too, seen by annotations:',
    ...along.map((part) => {
      const { kind, namespace, name } = part.manager
      return `  ${labelOf(part.cluster)}: ${partText({ ...part, managers: 1 }, undefined)}; of ${kind}/${name} -n ${namespace}`
    }),
  ]
    .map((line, index) => `${index === 0 ? '\n' : ''}${lineOf(line)}\n`)
    .join('')
}

function rootText({ text, parts, managers }: AcrossDocument): string {
  const [manager] = managers
  if (parts.length === 0 || manager === undefined) return ''
  const { group, kind, name, namespace, cluster, tool } = manager
  const isFar = tool === FAR_TOOL
  const word = shellWord(group === '' ? `${kind}/${name}` : `${kind}.${group}/${name}`)
  const at = namespace === '' ? '' : ` -n ${shellWord(namespace)}`
  const seen = isFar ? 'annotations' : 'marks'
  return [
    `\nBeside that, seen by ${seen} and not by owner references: ${text}.`,
    ...(isFar ? [] : [`${manager.because.charAt(0).toUpperCase()}${manager.because.slice(1)}.`]),
    ...parts.map((part) => `  ${labelOf(part.cluster)}: ${partText(part, manager.because)}`),
    `"kinfold tree --across ${word}${at} --cluster ${shellWord(cluster.scope)}" lists them.`,
  ]
    .map((line, index) => (index === 0 ? `\n${lineOf(line.trimStart())}` : lineOf(line)))
    .join('\n')
    .concat('\n')
}

/** Below the cascade of an owner; empty where nothing of it is elsewhere. */
export function besideCascade({ text, parts, gone }: AcrossDocument): string {
  if (parts.length + gone.length === 0) return ''
  return [
    `Beside that, seen by annotations and marks, not by owner references: ${text}.`,
    ...gone.map((row) => `  ${labelOf(row.cluster)}: ${goneText(row)}`),
    ...parts.map((part) => `  ${labelOf(part.cluster)}: ${partText(part, undefined)}`),
  ]
    .map((line) => `${lineOf(line)}\n`)
    .join('')
}

type Gone = AcrossDocument['gone'][number]

function goneText({ gone, dependents, left, because, objects }: Gone): string {
  const owned = dependents === 0 ? '' : ` and ${countOf(dependents, 'dependent')}`
  const stays = left === 0 ? '' : `; ${countOf(left, 'dependent')} of these still there`
  const names = objects.slice(0, NAMED).map(objectName)
  const more = gone > names.length ? [...names, '…'] : names
  const which = ` (${more.join(', ')})`
  return `${countOf(gone, 'object')}${owned} deleted${which} ${because}${stays}`
}

/** Objects that one line names. */
const NAMED = 3
