/**
 * `kinfold rules import FILE`: policies of kube-janitor, k8s-cleaner or Kyverno as rules of a
 * config file.
 *
 * What must stay true: what is printed is a section that a start takes; a policy that it cannot say
 * exactly is left out and named, never approximated.
 *
 * Not here: what rules are (ports/rule), how each tool is read (janitor.ts, cleaner.ts,
 * kyverno.ts).
 */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { Mapping } from '../../../ports/rule/rule-term.ts'
import { EXIT, ExitError } from '../../../runtime/lifecycle.ts'
import { configRules } from '../../config/config-rules.ts'
import { bad, oneOf } from '../../config/setting.ts'
import { lineOf } from '../../print/terminal.ts'
import { countOf } from '../../print/word.ts'
import { yaml } from '../../print/yaml.ts'
import { importCleaner } from './cleaner.ts'
import { type Import, type Imported, isMapping } from './imported.ts'
import { importJanitor } from './janitor.ts'
import { importKyverno, KYVERNO_KINDS, KYVERNO_NOTES } from './kyverno.ts'

const TOOLS = ['kube-janitor', 'k8s-cleaner', 'kyverno'] as const
type Tool = (typeof TOOLS)[number]
const MOST_BYTES = 1_048_576
/** An entry is often moved into a policy, and kubectl reads YAML 1.1: there `yes` is no text. */
const PRINTED = { aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const

export function addRuleImport(rules: Command): void {
  rules
    .command('import')
    .description('print policies of another tool as the section rules of a config file')
    .argument('<file>', 'YAML: a rules file of kube-janitor, Cleaners, policies of Kyverno')
    .option('--from <tool>', `${TOOLS.join(', ')} (default: by what the file is)`)
    .action((file: string, flags: { readonly from?: string }) => {
      const tool = oneOf({ key: 'from', value: flags.from, from: '--from' }, TOOLS)
      const { policies, notes } = checked(importOf(documentsIn(file), tool, file))
      const rules = policies.flatMap((each) => each.rules)
      configRules(rules, `rules of ${file}`)
      process.stdout.write(yaml().stringify({ rules }, PRINTED))
      const left = policies.filter(({ leftOut }) => leftOut !== '')
      for (const { from, leftOut } of left) {
        process.stderr.write(`left out: ${lineOf(`${from}: ${leftOut}`)}\n`)
      }
      for (const note of notes) process.stderr.write(`note: ${note}\n`)
      if (left.length === 0) return
      process.stderr.write(`${countOf(left.length, 'policy', 'policies')} left out\n`)
      process.exitCode = EXIT.findings
    })
}

function documentsIn(file: string): readonly unknown[] {
  let source: string
  try {
    source = readFileSync(file, 'utf8')
  } catch (error) {
    throw bad(`${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  return parsed(source, file)
}

function parsed(source: string, file: string): readonly unknown[] {
  if (source.length > MOST_BYTES) throw bad(`${file}: more than ${MOST_BYTES} characters`)
  try {
    const documents = yaml().parseAllDocuments(source)
    if (!Array.isArray(documents)) return []
    return documents.map((document) => {
      const [error] = document.errors
      if (error !== undefined) throw error
      return document.toJS() as unknown
    })
  } catch (error) {
    throw bad(`${file}: ${error instanceof Error ? error.message : error}`)
  }
}

/** In lists, as kubectl prints them, too. */
function importOf(documents: readonly unknown[], tool: Tool | undefined, file: string): Import {
  const objects = documents.flatMap((each) =>
    isMapping(each) && String(each['kind']).endsWith('List') && Array.isArray(each['items'])
      ? (each['items'] as readonly unknown[])
      : [each],
  )
  const made = objects.filter((each) => each !== null).map((each) => ofObject(each, tool, file))
  const policies = made.flatMap((each) => each.policies)
  if (policies.length === 0) throw bad(`${file}: has no policies`)
  return {
    policies,
    notes: [...new Set(made.flatMap(({ notes }) => notes))],
  }
}

function ofObject(object: unknown, tool: Tool | undefined, file: string): Import {
  const found = isMapping(object) ? toolOf(object) : undefined
  if (isMapping(object) && found !== undefined && (tool ?? found) === found) {
    return imported(object, found, file)
  }
  const what = isMapping(object) ? `${object['kind'] ?? 'a document'}` : 'a document'
  throw bad(`${file}: ${what} is no policy of ${tool ?? TOOLS.join(', ')}`)
}

function imported(object: Mapping, tool: Tool, file: string): Import {
  const { kind, spec, metadata } = object
  const { name, namespace } = isMapping(metadata) ? metadata : {}
  switch (tool) {
    case 'kube-janitor':
      return importJanitor(rulesIn(object, file))
    case 'k8s-cleaner':
      return { policies: [importCleaner(String(name), spec)], notes: [] }
    case 'kyverno': {
      const isOfAll = kind === 'DeletingPolicy' || kind === 'ClusterCleanupPolicy'
      const where = isOfAll ? '' : String(namespace ?? 'default')
      const policy = { kind: String(kind), name: String(name), namespace: where, spec }
      return { policies: [importKyverno(policy)], notes: KYVERNO_NOTES }
    }
  }
}

function toolOf({ apiVersion, kind, rules }: Mapping): Tool | undefined {
  const group = String(apiVersion).split('/')[0] ?? ''
  if (kind === 'Cleaner' && group === 'apps.projectsveltos.io') return 'k8s-cleaner'
  if (/^(policies\.)?kyverno\.io$/.test(group) && KYVERNO_KINDS.includes(String(kind))) {
    return 'kyverno'
  }
  const isFile = apiVersion === undefined && Array.isArray(rules)
  return isFile || kind === 'ConfigMap' ? 'kube-janitor' : undefined
}

/** In a file, or as its deployments have it: in a ConfigMap. */
function rulesIn({ rules, data }: Mapping, file: string): readonly unknown[] {
  if (Array.isArray(rules)) return rules
  return Object.values(isMapping(data) ? data : {}).flatMap((text) => {
    const [content] = typeof text === 'string' ? parsed(text, file) : []
    const own = isMapping(content) ? content['rules'] : undefined
    return Array.isArray(own) ? (own as readonly unknown[]) : []
  })
}

/** What a start would refuse is left out, with its sentence. */
function checked({ policies, notes }: Import): Import {
  const names = new Set<string>()
  const taken = policies.map((policy): Imported => {
    try {
      for (const { name } of configRules(policy.rules, policy.from)) {
        if (names.has(name)) throw bad(`another rule is called ${name}`)
        names.add(name)
      }
      return policy
    } catch (error) {
      if (!(error instanceof ExitError)) throw error
      const leftOut = error.message.replace(`${policy.from}.`, 'rule ')
      return { ...policy, rules: [], leftOut }
    }
  })
  return { policies: taken, notes }
}
