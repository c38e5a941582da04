/**
 * The section `protection` of the config file: what is never deleted, beside what the preset has.
 *
 * What must stay true: it only ever adds to the preset's kinds; what cannot be understood ends the
 * start, so that no operator believes something protected that is not.
 */
import type { GroupKind } from '../../core/model/object.ts'
import type { Preset, Protection } from '../../core/model/policy.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Subject } from '../../core/model/subject.ts'
import { readSubject } from '../../core/model/subject.ts'
import { voidSubject } from '../../ports/record/void-subject.ts'
import { bad, checkKey, flag, texts } from './setting.ts'

const KEYS = ['kinds', 'namespaces', 'labels', 'annotations', 'othersMarks'] as const
/** All are looked at with each verdict that deletes. */
const MOST = 200

export function protectionOf(section: unknown, from: string, preset: Preset): Protection {
  const built = policyFor('dry-run', preset).protection
  if (section === undefined) return built
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${from}: expected a mapping with ${KEYS.join(', ')}`)
  }
  const fields = section as Record<string, unknown>
  for (const key of Object.keys(fields)) checkKey(key, KEYS, from)
  const list = (key: (typeof KEYS)[number], type: Subject['type']): readonly string[] => {
    const where = `${from}.${key}`
    const all = texts({ key, value: fields[key], from: where })
    if (all.length > MOST) throw bad(`${where}: ${all.length} entries, and ${MOST} are the most`)
    const wrong = all.find((each) => readSubject(`${type}/${each}`) === undefined)
    const vain = all.map((each) => voidSubject(`${type}/${each}`)).find((each) => each !== '')
    if (wrong === undefined && vain === undefined) return all
    if (wrong === undefined) throw bad(`${where}: ${vain}`)
    throw bad(`${where}: ${JSON.stringify(wrong)} is no ${type}${FORMS[type]}`)
  }
  const othersMarks = flag({
    key: 'othersMarks',
    value: fields['othersMarks'],
    from: `${from}.othersMarks`,
  })
  const kinds = list('kinds', 'kind').map(groupKindOf)
  return {
    kinds: [...built.kinds, ...kinds.filter((kind) => !isAmong(kind, built.kinds))],
    namespaces: list('namespaces', 'namespace'),
    labels: list('labels', 'label'),
    annotations: list('annotations', 'annotation'),
    othersMarks: othersMarks ?? built.othersMarks,
  }
}

const FORMS: Readonly<Record<Subject['type'], string>> = {
  kind: ', such as Secret or Widget.example.com',
  namespace: '',
  label: ', such as tier or tier=gold',
  annotation: ', such as example.com/keep or example.com/keep=true',
}

function groupKindOf(text: string): GroupKind {
  const [kind = '', ...group] = text.split('.')
  return { group: group.join('.'), kind }
}

function isAmong({ group, kind }: GroupKind, kinds: readonly GroupKind[]): boolean {
  return kinds.some((each) => each.kind === kind && each.group === group)
}
