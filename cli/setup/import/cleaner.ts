/**
 * Cleaners of k8s-cleaner: resources by kind, namespace and labels, on a schedule.
 *
 * What must stay true: a Cleaner with Lua is left out, whatever the Lua says.
 */
import { SYSTEM_NAMESPACES } from '../../../core/graph/guarding.ts'
import type { Mapping } from '../../../ports/rule/rule-term.ts'
import {
  checkSchedule,
  type Imported,
  importedBy,
  isMapping,
  known,
  LeftOut,
  nameAt,
  propagationOf,
} from './imported.ts'

const SPEC_KEYS = [
  ...['resourcePolicySet', 'action', 'deleteOptions', 'schedule', 'occurrenceThreshold'],
  // They change nothing about what is deleted.
  ...['startingDeadlineSeconds', 'notifications', 'storeResourcePath', 'rollback'],
]
const SELECTOR_KEYS = [
  ...['namespace', 'group', 'version', 'kind', 'labelFilters', 'evaluate', 'excludeDeleted'],
]

export function importCleaner(name: string, spec: unknown): Imported {
  return importedBy(`Cleaner ${name}`, () => {
    if (isMapping(spec) && 'blastRadiusLimit' in spec) {
      throw new LeftOut('its blastRadiusLimit is of a run, and a limit is of an hour')
    }
    const given = known(spec, SPEC_KEYS, 'spec')
    const { action = 'Delete', occurrenceThreshold = 1, deleteOptions, schedule } = given
    if (action !== 'Delete') throw new LeftOut(`its action is ${action}, and a rule deletes`)
    const set = known(
      given['resourcePolicySet'],
      ['resourceSelectors', 'aggregatedSelection'],
      'resourcePolicySet',
    )
    const selectors = set['resourceSelectors']
    if (!Array.isArray(selectors)) throw new LeftOut('it selects nothing')
    if (isLua(set['aggregatedSelection']) || selectors.some((each) => isLua(each?.evaluate))) {
      throw new LeftOut('it decides by Lua, which is not read')
    }
    if (occurrenceThreshold !== 1) {
      throw new LeftOut('its occurrenceThreshold counts runs, and for of a rule is a time')
    }
    checkSchedule(schedule)
    const { propagationPolicy } = known(deleteOptions, ['propagationPolicy'], 'deleteOptions')
    return selectors.map((each, index) => ({
      name: nameAt(name, index, selectors.length),
      ...selected(each, propagationPolicy),
    }))
  })
}

function isLua(value: unknown): boolean {
  return value !== undefined && value !== ''
}

function selected(value: unknown, policy: unknown): Mapping {
  const selector = known(value, SELECTOR_KEYS, 'resourceSelectors')
  const { namespace, group = '', kind, labelFilters = [] } = selector
  if (!Array.isArray(labelFilters)) throw new LeftOut('labelFilters is no list')
  const labels = labelFilters.map(filterOf)
  const name = group === '' ? String(kind) : `${kind}.${group}`
  if (name === 'Namespace' && namespace) throw new LeftOut('a Namespace is in no namespace')
  return {
    match: {
      kinds: [name],
      // A rule leaves out the cluster's own namespaces; a Cleaner does not.
      namespaces: namespace ? [namespace] : ['*', ...SYSTEM_NAMESPACES],
      ...(labels.length === 0 ? {} : { labels: labels.join(',') }),
    },
    after: '0s',
    ...propagationOf(policy, [name]),
  }
}

/** As its source has it: all that is not Equal is unequal, but only these two are its API. */
function filterOf(value: unknown): string {
  const {
    key,
    operation,
    value: wanted = '',
  } = known(value, ['key', 'operation', 'value'], 'labelFilters')
  if (operation === 'Equal') return `${key}=${wanted}`
  if (operation === 'Different') return `${key}!=${wanted}`
  throw new LeftOut(`labelFilters: operation ${JSON.stringify(operation)} has no counterpart`)
}
