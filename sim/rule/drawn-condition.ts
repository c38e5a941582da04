/**
 * Rules that ask about other objects: what nothing uses, all but the newest, and what names no
 * Node. And the people who make such others: Pods that use, Nodes that come and go.
 *
 * What must stay true: rules and acts are drawn apart from everything else of a world, so a world
 * of a smaller seed is what it was.
 *
 * Not here: whether such a rule may delete an object (condition-law.ts).
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { GroupKind } from '../../core/model/object.ts'
import type { KeepBy, Rule } from '../../core/model/rule/rule.ts'
import { isSameKind } from '../../core/model/use/use.ts'
import { USE_EXCEPTIONS } from '../../core/model/use/use-exception.ts'
import { USE_TABLE } from '../../core/model/use/use-table.ts'
import type { Chance } from '../../testing/seeded.ts'
import type { Marks } from './drawn-rules.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const CONFIG_MAP: GroupKind = { group: '', kind: 'ConfigMap' }
const SECRET: GroupKind = { group: '', kind: 'Secret' }
const REPLICA_SET: GroupKind = { group: 'apps', kind: 'ReplicaSet' }
/** Where a ConfigMap names a Node. */
const NODE_FIELD = 'data.node'

/** Kinds that such rules take beside those that users own and depend with. */
export const CONDITION_KINDS: readonly string[] = ['pods', 'nodes']

export function asksOthers({ unused, keep, absent }: Rule): boolean {
  return unused !== null || keep !== null || absent !== null
}

/** At least one. */
export function conditionedRules(chance: Chance): readonly Rule[] {
  const [isIdle, isFew] = [chance.next() < 0.6, chance.next() < 0.5]
  const isNodeless = chance.next() < 0.5 || !(isIdle || isFew)
  return [
    ...(isIdle ? [idleRule(chance)] : []),
    ...(isFew ? [fewRule(chance)] : []),
    ...(isNodeless ? [nodelessRule(chance)] : []),
  ]
}

function idleRule(chance: Chance): Rule {
  const kinds = chance.pick([[CONFIG_MAP], [SECRET], [CONFIG_MAP, SECRET]])
  const isAsked = (kind: GroupKind): boolean => kinds.some((each) => isSameKind(each, kind))
  const unused = {
    forMs: (3 + chance.below(15)) * MINUTE,
    uses: USE_TABLE.filter(({ used }) => isAsked(used)),
    except: USE_EXCEPTIONS.filter(isAsked),
  }
  return { ...ruleOf('idle', kinds, 0, chance), unused }
}

function fewRule(chance: Chance): Rule {
  const kinds = chance.pick([[CONFIG_MAP], [REPLICA_SET], [CONFIG_MAP, SECRET]])
  const by: KeepBy = chance.pick<KeepBy>([
    { type: 'namespace' },
    { type: 'cluster' },
    { type: 'owner' },
    { type: 'label', key: 'tier' },
  ])
  const keep = { newest: 1 + chance.below(4), by, first: [] }
  return { ...ruleOf('few', kinds, chance.below(8) * MINUTE, chance), keep }
}

function nodelessRule(chance: Chance): Rule {
  const forMs = chance.pick([40, 40, 120]) * SECOND
  const absent = { group: '', kind: 'Node', field: NODE_FIELD }
  return { ...ruleOf('nodeless', [CONFIG_MAP], 0, chance), forMs, absent }
}

function ruleOf(name: string, kinds: readonly GroupKind[], afterMs: number, chance: Chance): Rule {
  return {
    name,
    match: {
      ...{ kinds, namespaces: [], labels: [], annotations: [] },
      exceptNamespaces: chance.pick<readonly string[]>([[], [], ['red']]),
      ...{ expression: null, owner: null, terminating: false },
    },
    cases: [{ fields: [], since: { type: 'created' }, after: { type: 'fixed', ms: afterMs } }],
    propagationPolicy: chance.pick(['Background', 'Background', 'Foreground', 'Orphan'] as const),
    ...{ gracePeriodSeconds: null, failFirst: false, account: null, warnMs: 0, limit: null },
    forMs: chance.pick([0, 0, 30 * SECOND]),
    ...{ keep: null, absent: null, beside: null, unused: null },
    ...{ elsewhere: null, annotate: null },
  }
}

const NAMESPACES: readonly [string, ...string[]] = ['blue', 'green', 'red']
const NODES: readonly [string, ...string[]] = ['n1', 'n2', 'n3', 'n4']
const MERGE = 'application/merge-patch+json'

/** What these people need of a cluster. */
export interface OthersSite {
  readonly server: {
    objects(group: string, resource: string): Iterable<ApiObject>
  }
  user(method: string, path: string, body?: object | null, type?: string): void
}

/** Who makes and removes what such rules ask about, in one cluster. */
export class Others {
  readonly #site: OthersSite
  readonly #chance: Chance
  readonly #marks: Marks | undefined
  readonly #prefix: string
  #count = 0

  /** `prefix`: of the names of what they make. */
  constructor(site: OthersSite, chance: Chance, marks: Marks | undefined, prefix = '') {
    this.#site = site
    this.#chance = chance
    this.#marks = marks
    this.#prefix = prefix
  }

  begin(): void {
    for (const name of NODES.slice(0, 2)) this.#makeNode(name)
  }

  /** One comes, and leaves again, or stays. */
  visit(resource: 'pods' | 'nodes', later: (ms: number, leave: () => void) => void): void {
    const chance = this.#chance
    const namespace = chance.pick(NAMESPACES)
    const name = resource === 'nodes' ? chance.pick(NODES) : `${this.#prefix}p${++this.#count}`
    if (resource === 'nodes') this.#makeNode(name)
    else this.#makePod(namespace, name)
    const root = resource === 'nodes' ? '/api/v1' : `/api/v1/namespaces/${namespace}`
    const leave = (): void =>
      this.#site.user('DELETE', `${root}/${resource}/${name}`, { gracePeriodSeconds: 0 })
    if (chance.next() < 0.8) later((5 + chance.below(200)) * SECOND, leave)
  }

  /** Until the next act. */
  nextMs(): number {
    return (5 + this.#chance.below(60)) * SECOND
  }

  act(): void {
    const lot = this.#chance.below(100)
    if (lot < 25) this.#makePod(this.#chance.pick(NAMESPACES), `p${++this.#count}`)
    else if (lot < 45) this.#removeOne('', 'pods', '/api/v1')
    else if (lot < 60) this.#useByTemplate()
    else if (lot < 80) this.#makeNamed()
    else if (lot < 86) this.#nameOther()
    else if (lot < 93) this.#makeNode(this.#chance.pick(NODES))
    else this.#removeOne('', 'nodes', '/api/v1')
  }

  #makePod(namespace: string, name: string): void {
    const spec = { containers: [{ name: 'a', image: 'b' }], ...this.#uses(namespace) }
    this.#site.user('POST', `/api/v1/namespaces/${namespace}/pods`, { metadata: { name }, spec })
  }

  /** Names that are there, mostly, or may be one day. */
  #uses(namespace: string): object {
    const chance = this.#chance
    const names = (resource: string): readonly string[] => {
      const there = this.#all('', resource).filter((each) => each.metadata.namespace === namespace)
      const own = there.filter(({ metadata }) => (metadata.ownerReferences ?? []).length === 0)
      const one = own[chance.below(own.length)]?.metadata.name
      return chance.next() < 0.1 ? [`o${chance.below(200)}`] : one === undefined ? [] : [one]
    }
    const maps = names('configmaps')
    const secrets = names('secrets')
    return {
      volumes: [
        ...maps.map((name) => ({ name: 'c', configMap: { name } })),
        ...(chance.next() < 0.5
          ? secrets.map((secretName) => ({ name: 's', secret: { secretName } }))
          : []),
      ],
      ...(chance.next() < 0.3 && { imagePullSecrets: secrets.map((name) => ({ name })) }),
    }
  }

  /** A template uses what no Pod may use yet. */
  #useByTemplate(): void {
    const sets = this.#all('apps', 'replicasets')
    const set = sets[this.#chance.below(sets.length)]
    if (set === undefined) return
    const { namespace = '', name } = set.metadata
    const isIdle = this.#chance.next() < 0.4
    const spec = { containers: [{ name: 'a', image: 'b' }], ...this.#uses(namespace) }
    const body = { spec: { template: isIdle ? null : { spec } } }
    this.#site.user(
      'PATCH',
      `/apis/apps/v1/namespaces/${namespace}/replicasets/${name}`,
      body,
      MERGE,
    )
  }

  #makeNamed(): void {
    const chance = this.#chance
    const name = `q${++this.#count}`
    const { labels = {}, annotations = {} } = this.#marks?.next() ?? {}
    const data = chance.next() < 0.2 ? {} : { node: chance.pick(NODES) }
    const path = `/api/v1/namespaces/${chance.pick(NAMESPACES)}/configmaps`
    this.#site.user('POST', path, { metadata: { name, labels, annotations }, data })
  }

  #nameOther(): void {
    const maps = this.#all('', 'configmaps').filter(({ metadata }) => /^q/.test(metadata.name))
    const map = maps[this.#chance.below(maps.length)]
    if (map === undefined) return
    const { namespace, name } = map.metadata
    const data = { node: this.#chance.pick([...NODES, null]) }
    this.#site.user('PATCH', `/api/v1/namespaces/${namespace}/configmaps/${name}`, { data }, MERGE)
  }

  #makeNode(name: string): void {
    this.#site.user('POST', '/api/v1/nodes', { metadata: { name } })
  }

  #removeOne(group: string, resource: string, root: string): void {
    const all = this.#all(group, resource)
    const object = all[this.#chance.below(all.length)]
    if (object === undefined) return
    const { namespace, name } = object.metadata
    const within = namespace === undefined ? '' : `/namespaces/${namespace}`
    const body = { propagationPolicy: 'Background', gracePeriodSeconds: 0 }
    this.#site.user('DELETE', `${root}${within}/${resource}/${name}`, body)
  }

  #all(group: string, resource: string): ApiObject[] {
    const all = [...this.#site.server.objects(group, resource)]
    return all.filter(({ metadata: { namespace } }) => {
      return namespace === undefined || NAMESPACES.includes(namespace)
    })
  }
}
