/**
 * Every question names only objects that a reference names by uid *and* coordinates: of random
 * objects that have each other's uids across namespaces and kinds, and of one object whose uid
 * references of others have (T5).
 *
 * What must stay true: who owns whom is derived here from the objects alone, without a line of the
 * graph's own code.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../testing/hostile.ts'
import { type MinuteRig, rigged } from '../../testing/rig/minute-rig.ts'

type Kind = 'cm' | 'rs' | 'node'

const KINDS: Readonly<Record<Kind, string>> = { cm: 'ConfigMap', rs: 'ReplicaSet', node: 'Node' }

interface Ref {
  readonly kind: Kind
  readonly name: string
  readonly uid: string
  readonly isLower: boolean
}

interface Thing {
  readonly kind: Kind
  readonly name: string
  readonly uid: string
  /** Empty: it has none. */
  readonly namespace: string
  readonly refs: readonly Ref[]
}

const FLAWS = ['none', 'none', 'none', 'lower', 'kind', 'name', 'never'] as const

const life = fc.record({
  things: fc.array(
    fc.record({
      kind: fc.constantFrom<Kind>('cm', 'cm', 'rs', 'node'),
      namespace: fc.constantFrom('shop', 'evil'),
      refs: fc.array(fc.record({ to: fc.nat(7), flaw: fc.constantFrom(...FLAWS) }), {
        maxLength: 3,
      }),
    }),
    { minLength: 3, maxLength: 7 },
  ),
  deleted: fc.array(fc.nat(7), { maxLength: 3 }),
  looked: fc.array(fc.nat(20), { maxLength: 4 }),
})

type Told = typeof life extends fc.Arbitrary<infer T> ? T : never

function thingsOf({ things }: Told): Thing[] {
  const named = things.map(({ kind, namespace }, n) => {
    return { kind, namespace: kind === 'node' ? '' : namespace, name: `n${n}`, uid: `o${n}` }
  })
  return named.map((thing, n) => {
    const refs = (things[n]?.refs ?? []).map(({ to, flaw }): Ref => {
      const owner = named[to % named.length]!
      const otherKind: Kind = owner.kind === 'cm' ? 'rs' : 'cm'
      return {
        kind: flaw === 'kind' ? otherKind : owner.kind,
        name: flaw === 'name' ? 'z' : owner.name,
        uid: flaw === 'never' ? 'never' : owner.uid,
        isLower: flaw === 'lower',
      }
    })
    return { ...thing, refs }
  })
}

function names(dependent: Thing, ref: Ref, owner: Thing): boolean {
  const isPlace = ref.kind === owner.kind && ref.name === owner.name && ref.uid === owner.uid
  return isPlace && (owner.namespace === '' || owner.namespace === dependent.namespace)
}

function isDependent(dependent: Thing, owner: Thing): boolean {
  return dependent.refs.some((ref) => names(dependent, ref, owner))
}

function textOf({ kind, name, uid, namespace }: Thing): string {
  return `${kind}/${name}@${uid}${namespace === '' ? '' : ` in ${namespace}`}`
}

function putOf(thing: Thing): string {
  const refs = thing.refs.map(({ kind, name, uid, isLower }) => {
    return `${isLower ? '_' : ''}${kind}/${name}@${uid}`
  })
  return `put ${textOf(thing)}${refs.length === 0 ? '' : ` <- ${refs.join(', ')}`}`
}

/** Uids of all below an object, itself included, and of each pair `owner <- dependent`. */
function below(root: Thing, all: readonly Thing[]): { uids: Set<string>; pairs: Set<string> } {
  const found = new Set([root])
  const pairs = new Set<string>()
  for (const owner of found) {
    for (const each of all) {
      if (!isDependent(each, owner)) continue
      pairs.add(`${owner.uid} <- ${each.uid}`)
      found.add(each)
    }
  }
  return { uids: new Set([...found].map(({ uid }) => uid)), pairs }
}

interface Leaf {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

interface TreeLeaf extends Leaf {
  readonly children: readonly TreeLeaf[]
}

interface TreeTold {
  readonly root: TreeLeaf
  readonly misnamed: { readonly references: readonly Leaf[] }
}

function pairsIn(root: TreeLeaf): Set<string> {
  const pairs = new Set<string>()
  const left = [root]
  for (const node of left) {
    for (const child of node.children) pairs.add(`${node.uid} <- ${child.uid}`)
    left.push(...node.children)
  }
  return pairs
}

function isThing(leaf: Leaf, thing: Thing): boolean {
  const { kind, namespace, name, uid } = leaf
  const isPlace = kind === KINDS[thing.kind] && namespace === thing.namespace && name === thing.name
  return isPlace && uid === thing.uid
}

interface Played {
  readonly rig: MinuteRig
  readonly things: readonly Thing[]
  readonly living: readonly Thing[]
  /** A moment at which all were there. */
  readonly then: string
}

/** Some are deleted; what Kinfold would delete then is deleted, round by round. */
async function played(rig: MinuteRig, told: Told): Promise<Played> {
  const things = thingsOf(told)
  const living = new Map(things.map((thing) => [thing.uid, thing]))
  const then = await rig.minute(...things.map(putOf))
  const looks = looksOf(told, things)
  await rig.minute(...looks.slice(0, 2))
  for (const n of told.deleted) {
    const thing = things[n]
    if (thing === undefined || !living.delete(thing.uid)) continue
    await rig.minute(`delete ${textOf(thing)}`)
  }
  await rig.minute(...looks.slice(2))
  for (let round = 0; round < 4; round++) {
    for (const thing of [...living.values()]) {
      const { commands } = rig.world.folder
      const last = commands.findLast(({ target }) => target.uid === thing.uid)
      if (last?.type !== 'DeleteObject') continue
      living.delete(thing.uid)
      await reap(rig, thing)
    }
  }
  return { rig, things, living: [...living.values()], then }
}

/** As Kinfold does: the last command about it is carried out. */
async function reap(rig: MinuteRig, thing: Thing): Promise<void> {
  rig.world.tell(rig.world.settle(textOf(thing), 'done', ''))
  await rig.minute(`delete ${textOf(thing)}`)
}

/** Live GETs of owners that do not exist. */
function looksOf({ looked }: Told, things: readonly Thing[]): string[] {
  const absent = things.flatMap((thing) =>
    thing.refs.flatMap((ref) => {
      const isThere = things.some((owner) => names(thing, ref, owner))
      const isIllegal = thing.namespace === '' && ref.kind !== 'node'
      if (isThere || isIllegal || ref.isLower) return []
      const where = ref.kind === 'node' ? '' : ` in ${thing.namespace}`
      return `absent ${ref.kind}/${ref.name}@${ref.uid}${where}`
    }),
  )
  return looked.flatMap((n) => absent[n] ?? [])
}

const QUESTIONS: Readonly<Record<string, (played: Played, of: Thing) => Promise<void>>> = {
  async tree({ rig, things, living }, of) {
    const { root } = await rig.get<TreeTold>(`/v1/tree?uid=${of.uid}`)
    const [pairs, now] = [pairsIn(root), below(of, living).pairs]
    if (living.includes(of)) return deepEqual(pairs, now)
    // Of a deleted object it is the tree before, too: the dependents that it had then, and no
    // object that references only its uid.
    ok(now.isSubsetOf(pairs), `${[...pairs].join()} lacks some of ${[...now].join()}`)
    const ever = below(of, things).pairs
    ok(pairs.isSubsetOf(ever), `${[...pairs].join()} has more than ${[...ever].join()}`)
  },
  async 'tree upwards'({ rig, things }, of) {
    const { root } = await rig.get<TreeTold>(`/v1/tree?uid=${of.uid}&owners=true`)
    for (const left = [root]; left.length > 0; ) {
      const node = left.pop()!
      const dependent = things.find((thing) => isThing(node, thing))
      ok(dependent !== undefined || node.children.length === 0, `${node.uid} is nobody`)
      for (const child of node.children) {
        const owner = things.find((thing) => isThing(child, thing))
        if (owner !== undefined) ok(isDependent(dependent!, owner), `${node.uid} -> ${child.uid}`)
      }
      left.push(...node.children)
    }
  },
  async dependents({ rig, living }, of) {
    const path = `/v1/dependents?uid=${of.uid}`
    const { objects, misnamed } = await rig.get<{
      readonly objects: readonly Leaf[]
      readonly misnamed: TreeTold['misnamed']
    }>(path)
    const own = living.filter((each) => isDependent(each, of))
    deepEqual(objects.map(({ uid }) => uid).sort(), own.map(({ uid }) => uid).sort())
    const bearing = living.filter((each) => {
      return each.refs.some((ref) => ref.uid === of.uid && !names(each, ref, of))
    })
    const told = misnamed.references.map(({ uid }) => uid)
    deepEqual(told.sort(), bearing.map(({ uid }) => uid).sort())
  },
  async plan({ rig, living }, of) {
    if (!living.includes(of)) return
    const { objects } = await rig.get<{ readonly objects: readonly Leaf[] }>(
      `/v1/plan?uid=${of.uid}`,
    )
    const meant = below(of, living).uids
    for (const { uid } of objects) ok(meant.has(uid), `${uid} is planned with ${of.uid}`)
  },
  async cascade({ rig, things, living }, of) {
    if (living.includes(of)) return
    const { done, remaining, isOver } = await rig.get<{
      readonly done: number
      readonly remaining: number
      readonly isOver: boolean
    }>(`/v1/cascade?uid=${of.uid}`)
    // Also below a deleted object.
    const meant = below(of, things).uids
    const left = living.filter(({ uid }) => meant.has(uid)).length
    ok(remaining <= left, `${remaining} of ${left} remain of ${of.uid}`)
    const all = meant.size - 1
    ok(done + remaining <= all, `${done} + ${remaining} of ${all}`)
    if (left === 0) ok(isOver, `the cascade of ${of.uid} is over`)
  },
  async deletions({ rig, things, living }, of) {
    const { deletions } = await rig.get<Deletions>('/v1/deletions?')
    for (const { uid, root } of deletions) {
      const owner = things.find((thing) => root !== null && isThing(root, thing))
      if (owner !== undefined) ok(below(owner, things).uids.has(uid), `${uid} after ${owner.uid}`)
    }
    if (living.includes(of)) return
    const meant = below(of, things).uids
    const asked = await rig.get<Deletions>(`/v1/deletions?root=uid:${of.uid}`)
    for (const { uid } of asked.deletions) ok(meant.has(uid), `${uid} is blamed on ${of.uid}`)
  },
  async why({ rig }, of) {
    const { history } = await rig.get<{ readonly history: readonly Leaf[] }>(
      `/v1/why?uid=${of.uid}`,
    )
    for (const entry of history) ok(isThing(entry, of), `${entry.namespace}/${entry.name}`)
  },
  async history({ rig }, of) {
    const { changes } = await rig.get<{ readonly changes: readonly Leaf[] }>(
      `/v1/changes?uid=${of.uid}`,
    )
    ok(changes.length > 0)
    for (const entry of changes) ok(isThing(entry, of), `${entry.namespace}/${entry.name}`)
  },
  async 'the past'({ rig, things, then }, of) {
    const { root, misnamed } = await rig.get<TreeTold>(`/v1/tree?uid=${of.uid}&at=${then}`)
    deepEqual(pairsIn(root), below(of, things).pairs)
    for (const { uid } of misnamed.references) {
      const thing = things.find((each) => each.uid === uid)
      ok(thing?.refs.some((ref) => ref.uid === of.uid && !names(thing, ref, of)))
    }
  },
  async 'the past upwards'({ rig, things, then }, of) {
    const { root } = await rig.get<TreeTold>(`/v1/tree?uid=${of.uid}&owners=true&at=${then}`)
    for (const child of root.children) {
      const owner = things.find((thing) => isThing(child, thing))
      if (owner !== undefined) ok(isDependent(of, owner), `${of.uid} -> ${child.uid}`)
      else equal(child.children.length, 0)
    }
  },
  async 'the dump'({ rig, living }, of) {
    const dot = await (await rig.ask('/debug/graph')).text()
    for (const thing of living) {
      const isOwner = isDependent(of, thing)
      if (!living.includes(of)) return
      equal(dot.includes(`"${of.uid}" -> "${thing.uid}";`), isOwner, `${of.uid} -> ${thing.uid}`)
    }
  },
}

interface Deletions {
  readonly deletions: readonly (Leaf & { readonly root: Leaf | null })[]
}

test('whatever uids objects bear, each question names only what uid and coordinates both name', async () => {
  let [dependents, strangers, gone] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(life, async (told) => {
      const ends: (() => unknown)[] = []
      try {
        const rig = await rigged({ after: (end) => void ends.push(end as () => unknown) })
        const all = await played(rig, told)
        for (const [what, question] of Object.entries(QUESTIONS)) {
          for (const thing of all.things) {
            try {
              await question(all, thing)
            } catch (error) {
              throw new Error(`${what} of ${thing.uid}: ${all.things.map(putOf).join('; ')}`, {
                cause: error,
              })
            }
          }
        }
        gone += all.things.length - all.living.length
        for (const { refs, ...thing } of all.things) {
          for (const ref of refs) {
            const owner = all.things.find(({ uid }) => uid === ref.uid)
            if (owner !== undefined && names({ refs, ...thing }, ref, owner)) dependents += 1
            else if (owner !== undefined) strangers += 1
          }
        }
      } finally {
        for (const end of ends) await end()
      }
    }),
    runs(30),
  )
  ok(dependents > 0 && strangers > 0 && gone > 0, `${dependents} ${strangers} ${gone}`)
})

/**
 * `shop/web` with one dependent; its uid in another namespace, by another name and by another kind.
 */
const VICTIM: Thing = { kind: 'cm', name: 'web', uid: 'web', namespace: 'shop', refs: [] }
const WEB: Ref = { kind: 'cm', name: 'web', uid: 'web', isLower: false }
const STRANGERS: readonly Thing[] = [
  { kind: 'cm', name: 'a', uid: 'evil-a', namespace: 'evil', refs: [WEB] },
  { kind: 'rs', name: 'a', uid: 'evil-b', namespace: 'evil', refs: [WEB] },
  { kind: 'cm', name: 'c', uid: 'shop-c', namespace: 'shop', refs: [{ ...WEB, name: 'else' }] },
  { kind: 'cm', name: 'd', uid: 'shop-d', namespace: 'shop', refs: [{ ...WEB, kind: 'rs' }] },
  { kind: 'node', name: 'e', uid: 'node-e', namespace: '', refs: [WEB] },
]
const OWN: Thing = { kind: 'cm', name: 'own', uid: 'own', namespace: 'shop', refs: [WEB] }

for (const [what, question] of Object.entries(QUESTIONS)) {
  for (const isGone of [false, true]) {
    test(`T5: strangers with its uid are not in ${what} of an object that ${isGone ? 'is gone' : 'exists'}, nor it in theirs`, async (t) => {
      const rig = await rigged(t)
      const things = [VICTIM, OWN, ...STRANGERS]
      const then = await rig.minute(...things.map(putOf))
      let living: readonly Thing[] = things
      if (isGone) await rig.minute(`delete ${textOf(VICTIM)}`)
      await rig.minute('absent cm/web@web in evil', 'absent cm/else@web in shop')
      if (isGone) {
        const gone = [VICTIM, OWN, STRANGERS[0]!]
        for (const each of gone.slice(1)) await reap(rig, each)
        living = things.filter((thing) => !gone.includes(thing))
      }
      for (const thing of things) await question({ rig, things, living, then }, thing)
    })
  }
}
