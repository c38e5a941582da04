/**
 * The section `across` of the config file: by which tools' marks answers find what a manager has in
 * other clusters, and which owners clusters export to each other.
 *
 * What must stay true: left out it reads nothing; what cannot be understood ends the start.
 */
import { type MarkSettings, NO_MARKS, TOOLS } from '../../ports/record/manager-mark.ts'
import { type AcrossSettings, acrossOf, NO_ACROSS } from '../../ports/rule/rule-elsewhere.ts'
import { bad, checkKey, orExit, text, texts } from './setting.ts'

const KEYS = ['marks', 'argoInstanceLabel', 'aliases', 'exports'] as const
/** As an API server takes it: a name of 63 characters, below a domain of 253. */
const LABEL = /^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/

export function marksOf(section: unknown, from: string): MarkSettings {
  if (section === undefined) return NO_MARKS
  const fields = fieldsOf(section, from)
  const where = `${from}.marks`
  const named = texts({ key: 'marks', value: fields['marks'], from: where })
  const unknown = named.find((each) => !TOOLS.some((tool) => tool === each))
  if (unknown !== undefined) {
    throw bad(`${where}: ${JSON.stringify(unknown)} is none of ${TOOLS.join(', ')}`)
  }
  const tools = TOOLS.filter((tool) => named.includes(tool))
  const of = { key: 'argoInstanceLabel', value: fields['argoInstanceLabel'] }
  const label = text({ ...of, from: `${from}.argoInstanceLabel` }) ?? null
  if (label === null) return { tools, argoInstanceLabel: null }
  if (!tools.includes('argo')) {
    throw bad(`${from}.argoInstanceLabel: it is of Argo CD, add argo to marks or leave it out`)
  }
  if (LABEL.test(label)) return { tools, argoInstanceLabel: label }
  throw bad(`${from}.argoInstanceLabel: ${JSON.stringify(label)} is no label`)
}

/** What clusters export, for rules about owners in other clusters. */
export function sharesOf(section: unknown, from: string): AcrossSettings {
  if (section === undefined) return NO_ACROSS
  return orExit(() => acrossOf(fieldsOf(section, from), from))
}

function fieldsOf(section: unknown, from: string): Readonly<Record<string, unknown>> {
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${from}: expected a mapping with ${KEYS.join(', ')}`)
  }
  for (const key of Object.keys(section)) checkKey(key, KEYS, from)
  return section as Readonly<Record<string, unknown>>
}
