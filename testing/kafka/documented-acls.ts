/**
 * The rights that docs/operate/kafka.md tells users to give, line by line, so that a test may give
 * exactly those.
 *
 * What must stay true: a line that is not understood is an error, never skipped.
 */
import { readFileSync } from 'node:fs'
import type { Operation, Permission } from './acl.ts'

const DOCUMENT = new URL('../../docs/operate/kafka.md', import.meta.url)
/** As the document calls it. */
const APPLICATION = /^kinfold(?=[.-])/

const RESOURCES: Readonly<Record<string, Permission['on']>> = {
  '--topic': 'TOPIC',
  '--group': 'GROUP',
  '--transactional-id': 'TRANSACTIONAL_ID',
}

export function documentedAcls(application: string): readonly Permission[] {
  const lines = readFileSync(DOCUMENT, 'utf8').split('\n')
  return lines
    .filter((line) => line.startsWith('kafka-acls '))
    .flatMap((line) => permissionsIn(line, application))
}

function permissionsIn(line: string, application: string): Permission[] {
  const words = line.split(/\s+/).slice(1)
  const users: string[] = []
  const operations: Operation[] = []
  let on: Permission['on'] | undefined
  let name = ''
  let suffix = ''
  while (words.length > 0) {
    const [flag, value] = [words.shift() ?? '', flagless(words[0]) ?? '']
    if (value !== '') words.shift()
    if (flag === '--allow-principal') users.push(value.replace(/^User:/, ''))
    else if (flag === '--operation') operations.push(constant(value))
    else if (flag === '--resource-pattern-type' && value === 'prefixed') suffix = '*'
    else if (flag in RESOURCES) {
      on = RESOURCES[flag]
      name = value.replace(APPLICATION, application)
    } else if (flag !== '--add')
      throw new Error(`docs/operate/kafka.md: what is ${flag} in ${line}?`)
  }
  if (on === undefined) throw new Error(`docs/operate/kafka.md: a right on nothing: ${line}`)
  const resource = { on, name: name + suffix, operations }
  return users.map((user) => ({ user, ...resource }))
}

function flagless(word: string | undefined): string | undefined {
  return word?.startsWith('--') ? undefined : word
}

/** `DescribeConfigs` is DESCRIBE_CONFIGS. */
function constant(operation: string): Operation {
  return operation.replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase() as Operation
}
