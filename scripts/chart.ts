/**
 * `npm run chart` writes the parts of the Helm chart that follow from the code: the lock's
 * sentences, the definitions of policies (for kubectl in deploy/crds, too), the kinds that are in
 * no namespace, the schema of the values with their table in docs/operate/helm.md, and the
 * kustomize base, which Helm renders.
 *
 * What must stay true: its output can be written again at any time; a test compares.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { lockManifests } from '../cli/setup/lock-policy.ts'
import { CLUSTER_SCOPED, type Manifest } from '../cli/setup/role-manifest.ts'
import { requireBinary } from '../testing/cluster/binaries.ts'
import { VALUES } from './chart-values.ts'
import { POLICY_DEFINITIONS, POLICY_ROLES } from './policy-definition.ts'

export const CHART = 'deploy/helm/kinfold'
const BASE = 'deploy/kustomize/base/kinfold.yaml'
const DEFINITIONS = 'deploy/crds/cleanup-policies.yaml'
/** Of the kustomize base; the same release and namespace as in docs/operate/helm.md. */
const BASE_VALUES = 'deploy/kustomize/values.yaml'
const TABLE = /(?<=<!-- values -->\n)[\s\S]*(?=<!-- end of values -->)/

interface Written {
  readonly file: string
  readonly text: string
}

interface Validation {
  readonly expression: string
  readonly message: string
  readonly reason: string
}

/** Without those that take Helm. */
export function chartFiles(root: string): readonly Written[] {
  const page = readFileSync(join(root, 'docs/operate/helm.md'), 'utf8')
  return [
    written(`${CHART}/files/lock.json`, json(lockForms())),
    written(`${CHART}/files/cluster-scoped.json`, json([...CLUSTER_SCOPED].sort())),
    written(DEFINITIONS, definitionsText()),
    written(`${CHART}/files/cleanup-policies.json`, json(POLICY_MANIFESTS)),
    written(`${CHART}/values.schema.json`, json(valuesSchema())),
    written(`${CHART}/values.yaml`, commentedValues(root)),
    written(
      'docs/operate/helm.md',
      page.replace(TABLE, () => valuesTable(root)),
    ),
  ]
}

const POLICY_MANIFESTS = [...POLICY_DEFINITIONS, ...POLICY_ROLES]

/** For kubectl apply. */
function definitionsText(): string {
  const head = '# Written by `npm run chart`: docs/operate/cleanup-policies.md.\n'
  const plain = { lineWidth: 0, aliasDuplicateObjects: false }
  return head + POLICY_MANIFESTS.map((each) => stringify(each, plain)).join('---\n')
}

export function kustomizeBase(root: string): Written {
  const values = join(root, BASE_VALUES)
  const documents = rendered(root, ['--values', values, '--no-hooks']).map(withoutHelm)
  const head = '# Written by `npm run chart` from the Helm chart and ../values.yaml.\n'
  const texts = documents.map((each) =>
    stringify(each, { lineWidth: 0, aliasDuplicateObjects: false }),
  )
  return written(BASE, `${head}${texts.join('---\n')}`)
}

/**
 * The output of `helm template` for the chart, as the release `kinfold` in the namespace `kinfold`.
 */
export function rendered(root: string, args: readonly string[]): readonly Manifest[] {
  const text = execFileSync(
    requireBinary('helm'),
    ['template', 'kinfold', join(root, CHART), '--namespace', 'kinfold', ...args],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
  )
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((each) => each !== null)
}

/** Removes Helm's fields from manifests that Helm does not install. */
function withoutHelm(manifest: Manifest): unknown {
  const text = JSON.stringify(manifest)
  return JSON.parse(text, (key, value) => {
    if (key !== 'labels' || typeof value !== 'object') return value
    const { 'helm.sh/chart': _chart, 'app.kubernetes.io/managed-by': _by, ...rest } = value
    return rest
  })
}

/**
 * The lock in pieces, from which templates/lock.yaml puts together the ones that the values select.
 */
function lockForms(): Readonly<Record<string, unknown>> {
  const none = {
    usernames: [],
    protectedKinds: [],
    protectedNamespaces: [],
    onlyNamespaces: [],
    othersMarks: false,
    labels: [],
    annotations: [],
    mayRemove: [],
    annotated: [],
  }
  const [configMap, policy, binding] = lockManifests(none)
  const { validations: _none, matchConditions, ...rest } = specOf(policy)
  const [_users, ...others] = matchConditions as readonly object[]
  const spec = { ...rest, matchConditions: others }
  const plain = validationsOf(none)
  const added = (rules: Partial<typeof none>): readonly Validation[] => {
    const before = new Set(plain.map(({ expression }) => expression))
    return validationsOf({ ...none, ...rules }).filter(({ expression }) => !before.has(expression))
  }
  const mark = (on: 'labels' | 'annotations', text: string): unknown => ({
    ...added({ [on]: [text] })[0],
    mark: text,
  })
  const [key, keyValue] = ['placeholder-key', 'placeholder-key=placeholder-value']
  const resource = { resource: 'placeholder', group: '' }
  return {
    configMap,
    policy: { ...policy, spec },
    binding,
    first: plain.slice(0, -2),
    othersMarks: added({ othersMarks: true }),
    label: mark('labels', key),
    labelValue: mark('labels', keyValue),
    annotation: mark('annotations', key),
    annotationValue: mark('annotations', keyValue),
    kinds: added({ protectedKinds: [resource] as never })[0],
    namespaces: added({ protectedNamespaces: ['placeholder'] as never })[0],
    onlyNamespaces: added({ onlyNamespaces: ['placeholder'] as never })[0],
    finalizers: plain.at(-2),
    finalizersListed: added({ mayRemove: ['placeholder'] as never })[0],
    last: plain.at(-1),
    lastAnnotated: added({ annotated: ['placeholder'] as never })[0],
    lastAny: added({ annotated: 'any' as never })[0],
  }
}

function validationsOf(rules: Parameters<typeof lockManifests>[0]): readonly Validation[] {
  const [, policy] = lockManifests(rules)
  return specOf(policy)['validations'] as readonly Validation[]
}

function specOf(manifest: Manifest | undefined): Readonly<Record<string, unknown>> {
  return manifest?.['spec'] as Readonly<Record<string, unknown>>
}

interface Branch {
  readonly type: 'object'
  readonly additionalProperties: false
  readonly properties: Record<string, unknown>
}

function valuesSchema(): unknown {
  const top = branch()
  for (const { path, schema, text } of VALUES) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    let at = top
    for (const name of names) {
      const next = (at.properties[name] as Branch | undefined) ?? branch()
      at.properties[name] = next
      at = next
    }
    at.properties[last] = text === '' ? schema : { description: text, ...schema }
  }
  // Helm hands these to a chart that is part of another one.
  top.properties['global'] = { type: 'object' }
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...top }
}

function branch(): Branch {
  return { type: 'object', additionalProperties: false, properties: {} }
}

const KEY = /^(?<indent> *)(?<name>[A-Za-z]\w*):/

/**
 * The defaults, with the sentence of each value above it: `helm show values` is what people read.
 */
function commentedValues(root: string): string {
  const lines = readFileSync(join(root, CHART, 'values.yaml'), 'utf8').split('\n')
  const path: string[] = []
  const body = lines
    .filter((line) => !/^ *#/.test(line))
    .join('\n')
    .trimStart()
    .split('\n')
  const said = body
    .flatMap((line) => {
      const { indent = '', name } = KEY.exec(line)?.groups ?? {}
      if (name === undefined) return [line]
      path.splice(indent.length / 2, path.length, name)
      const own = path.join('.')
      // A mapping on one line has the sentences of what is in it above it.
      const isInline = /: (&\w+ )?\{ /.test(line)
      const rows = VALUES.filter((row) => {
        return row.path === own || (isInline && row.path.startsWith(`${own}.`))
      })
      const sentences = rows
        .filter(({ text }) => text !== '')
        .map(({ path: at, text }) => {
          const which = at === own ? '' : `${at.slice(own.length + 1)}: `
          return `${indent}# ${which}${plainText(text)}`
        })
      return [...sentences, line]
    })
    .join('\n')
  return `${VALUES_HEAD}\n\n${said}`
}

/** Enough to install by, where nothing else is at hand. */
const VALUES_HEAD = `# Values of the chart. values.schema.json describes and checks each; docs/operate/helm.md has them as a table.
#
# To install, in mode dry-run, which shows what it would delete and deletes nothing:
#   helm install kinfold deploy/helm/kinfold -n kinfold --create-namespace --set image.repository=REGISTRY/kinfold
# Beside the collector of EKS, GKE or AKS, as a reader, with these as well:
#   --set config.mode=observe --set rbac.change=false --set lock.create=false --set config.lock=off
# To delete, where the cluster's own collector does not run: --set config.mode=enforce
# Where you had applied what kinfold rbac prints: --take-ownership --force-conflicts
# Then: kubectl -n kinfold exec kinfold-0 -- kinfold status`

/** Without what Markdown adds. */
function plainText(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\(([^)]*)\)/g, '$1').replaceAll('`', '')
}

function valuesTable(root: string): string {
  const defaults = parse(readFileSync(join(root, CHART, 'values.yaml'), 'utf8')) as unknown
  const rows = VALUES.map(({ path, text }) => {
    const value = JSON.stringify(at(defaults, path))
    const short = value.length > 60 ? 'see values.yaml' : `\`${value}\``
    return `| \`${path}\` | ${short} | ${text} |`
  })
  return ['', '| Value | Default | Meaning |', '|---|---|---|', ...rows, '', ''].join('\n')
}

/** A row whose value has no default is a mistake. */
export function at(values: unknown, path: string): unknown {
  const found = path
    .split('.')
    .reduce<unknown>((each, name) => (each as Record<string, unknown>)?.[name], values)
  if (found === undefined) throw new Error(`values.yaml has no ${path}`)
  return found
}

function written(file: string, text: string): Written {
  return { file, text }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const write = ({ file, text }: Written): void => writeFileSync(join(root, file), text)
  chartFiles(root).forEach(write)
  write(kustomizeBase(root))
}
