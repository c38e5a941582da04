/**
 * Direct dependents are listed a page at a time, and whatever changes between two pages, what
 * references the owner throughout is listed once.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { checked } from '../../../../testing/answer-check.ts'
import { runs } from '../../../../testing/hostile.ts'
import { GraphGroup, tell } from '../../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../../testing/rig/task-rig.ts'
import type { Document } from '../../api/document.ts'
import type { DependentsAnswer } from '../ask/dependent-question.ts'
import { between } from './dependent-list.ts'

const MOST_PAGES = 200

type Told = Document & DependentsAnswer

interface Lister {
  step(...lines: readonly string[]): Promise<void>
  ask(query: string): Promise<Response>
  page(query: string): Promise<Told>
  all(query: string, between?: () => Promise<void>): Promise<Told['objects']>
}

async function lister(t: Pick<TestContext, 'after'>): Promise<Lister> {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  const lines: string[] = []
  let told = 0
  const ask = async (query: string): Promise<Response> => {
    const asked = `${url}/v1/dependents?${query}`
    return await checked(asked, await fetch(asked))
  }
  const page = async (query: string): Promise<Told> => {
    const response = await ask(query)
    const text = await response.text()
    equal(response.status, 200, text)
    return JSON.parse(text)
  }
  return {
    ask,
    page,
    async step(...more) {
      lines.push(...more)
      const events = eventsOf(lines)
      await tell(group.log, events.slice(told))
      told = events.length
      await group.caughtUp()
    },
    async all(query, meanwhile = async () => undefined) {
      const all: Told['objects'][number][] = []
      for (let next: string | null = '', pages = 1; ; pages++) {
        ok(pages <= MOST_PAGES, 'it does not end')
        const answer = await page(`${query}&continue=${next}`)
        equal(answer.count, answer.objects.length)
        all.push(...answer.objects)
        next = answer.continue
        if (next === null) return all
        await meanwhile()
      }
    },
  }
}

const STORY = [
  'put deploy/web',
  'put rs/a <- deploy/web!',
  'put rs/b <- deploy/web, deploy/other',
  // Another name than the owner has, another kind, and one that is not served.
  'put cm/wrong <- deploy/wrong@deploy-web',
  'put cm/kind <- rs/web@deploy-web',
  'put cm/unresolved <- widget/web@deploy-web',
  'put pod/below <- rs/a',
  'put pod/gone <- deploy/web',
  'delete pod/gone',
  'put pod/former <- deploy/web',
  'put pod/former',
]
const ALL = ['rs-a', 'rs-b']
const MISNAMED = ['cm-kind', 'cm-unresolved', 'cm-wrong']

test('each direct dependent is listed once, and what bears the uid and names another is told apart', async (t) => {
  const asked = await lister(t)
  await asked.step(...STORY)
  for (const limit of [1, 2, 3, 500]) {
    const listed = await asked.all(`uid=deploy-web&limit=${limit}`)
    deepEqual(
      listed.map(({ uid }) => uid),
      ALL,
    )
  }
  const told = await asked.page('kind=deployments&name=web&namespace=ns&count=true')
  deepEqual([told.objects, told.count, told.continue], [[], 2, null])
  deepEqual(told.owner, {
    ...{ group: 'apps', kind: 'Deployment', namespace: 'ns', name: 'web', uid: 'deploy-web' },
  })
  const { objects, misnamed } = await asked.page('uid=deploy-web')
  const [first] = objects
  deepEqual(first, {
    ...{ group: 'apps', kind: 'ReplicaSet', namespace: 'ns', name: 'a', uid: 'rs-a' },
    ...{ phase: 'observed', createdAt: '1970-01-01T00:00:00.000Z', deletionTimestamp: null },
    verdict: { type: 'keep', because: first?.verdict?.because },
    ...{ admission: null, doubt: null, deletion: null },
    edge: { standing: 'solid', controller: false, blocking: true },
  })
  deepEqual(misnamed.references.map(({ uid }) => uid).sort(), MISNAMED)
  deepEqual([misnamed.hidden, misnamed.isCut], [0, false])
})

test('of an owner that is deleted, what still references it is listed', async (t) => {
  const asked = await lister(t)
  await asked.step(...STORY, 'delete deploy/web')
  deepEqual(
    (await asked.all('uid=deploy-web&limit=2')).map(({ uid }) => uid),
    ALL,
  )
})

test('continue is of one object, and of this question', async (t) => {
  const asked = await lister(t)
  await asked.step(...STORY)
  const next = (await asked.page('kind=deployments&name=web&namespace=ns&limit=1')).continue
  const refused = async (query: string): Promise<string> => {
    const response = await asked.ask(query)
    equal(response.status, 400, query)
    return ((await response.json()) as { detail: string }).detail
  }
  match(await refused('uid=deploy-web&continue=x'), /^continue is not from an answer to this/)
  const forged = Buffer.from('["c","deploy-web","../x"]').toString('base64url')
  match(await refused(`uid=deploy-web&continue=${forged}`), /^continue is not from an answer/)
  match(await refused(`uid=rs-a&continue=${next}`), /^continue is of another object than Replica/)
  await asked.step('delete deploy/web', 'put deploy/web@again')
  match(
    await refused(`kind=deployments&name=web&namespace=ns&continue=${next}`),
    /^continue is of another object than Deployment\/web is now: ask with uid$/,
  )
  equal((await asked.page(`uid=deploy-web&continue=${next}`)).count, 1)
})

test('where a page ends is said by what tells two uids apart, and no more', () => {
  for (const [last, next, expected] of [
    ['', 'abc', 'a'],
    ['abc', 'abd', 'abd'],
    ['abc', 'b00', 'b'],
    ['ab', 'abc', 'abc'],
    ['9f1', 'a02-33', 'a'],
  ] as const) {
    equal(between(last, next), expected)
  }
  const text = fc.string({ unit: fc.constantFrom(...'ab-0'), maxLength: 6 })
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [last = '', next = ''] = [a, b].sort()
      if (last === next) return
      const at = between(last, next)
      ok(last < at && at <= next && next.startsWith(at))
    }),
  )
})

test('while references change, what is a dependent throughout is listed once, and nothing twice', async () => {
  const uids = ['a', 'a-', 'a-0', 'a-b', 'b', 'b-', 'c', 'c0', 'd-1', 'e']
  /** By which an object names it: alone, twice, and with the kind in lower case. */
  const ways = ['rs/web', 'rs/web, rs/web!', '_rs/web']
  const change = fc.record({
    what: fc.constantFrom('rename', 'add', 'remove'),
    number: fc.integer({ min: 0, max: uids.length - 1 }),
    way: fc.constantFrom(...ways),
  })
  const asking = fc.record({
    limit: fc.integer({ min: 1, max: 4 }),
    batches: fc.array(fc.array(change, { maxLength: 3 }), { minLength: 1, maxLength: 6 }),
  })
  await fc.assert(
    fc.asyncProperty(asking, async ({ limit, batches }) => {
      const ends: (() => Promise<void>)[] = []
      try {
        const asked = await lister({ after: (end) => void ends.push(end as () => Promise<void>) })
        await asked.step('put rs/web', 'put job/other')
        await asked.step(
          ...uids.map((uid, at) => `put pod/stay-${at}@${uid} <- ${ways[at % ways.length]}`),
        )
        let round = 0
        const listed = await asked.all(`uid=rs-web&limit=${limit}`, async () => {
          if (round > 30) return
          const steps = (batches[round++ % batches.length] ?? []).map(({ what, number, way }) => {
            const uid = uids[number]
            if (what === 'rename') return `put pod/stay-${number}@${uid} <- job/other, ${way}`
            const owner = what === 'add' ? way : 'job/other'
            return `put cm/change-${number}@${uid}x <- ${owner}`
          })
          if (steps.length > 0) await asked.step(...steps)
        })
        const seen = listed.map(({ uid }) => uid)
        equal(new Set(seen).size, seen.length, `twice: ${seen}`)
        deepEqual(seen.filter((uid) => uids.includes(uid)).sort(), uids.toSorted())
      } finally {
        for (const end of ends) await end()
      }
    }),
    runs(8),
  )
})

test('more dependents than a page reads are listed, and counted', async (t) => {
  const asked = await lister(t)
  await asked.step('put rs/web', 'many 1200 pod/p# <- rs/web')
  const listed = await asked.all('uid=rs-web')
  equal(new Set(listed.map(({ uid }) => uid)).size, 1_200)
  equal((await asked.page('uid=rs-web&count=true')).count, 1_200)
})
