/** `continue` of each question that comes in pages is taken by that question alone. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { rigged } from '../../../../testing/rig/minute-rig.ts'

interface Page {
  readonly continue?: string | null
  readonly metadata?: { readonly continue?: string }
}

const OWNERS = ['put deploy/web', 'put rs/web-1 <- deploy/web', 'put rs/web-2 <- deploy/web']
const MAPS = ['put cm/a', 'put cm/b', 'put cm/c']
const LIVES = ['put cm/web@one', 'delete cm/web@one', 'put cm/web@two', 'delete cm/web@two']

test('continue is taken by its own question, and by no other one', async (t) => {
  const rig = await rigged(t)
  const from = await rig.minute('put cm/first', ...OWNERS)
  const then = await rig.minute(...MAPS, ...LIVES)
  await rig.minute('delete cm/a', 'delete cm/b', 'put cm/a@again')
  const named = 'kind=configmap&name=web&namespace=ns&gone=true'
  const questions = [
    '/v1/objects?limit=1',
    '/v1/objects?limit=1&gone=true',
    '/v1/objects?limit=1&kind=replicaset',
    '/v1/objects?limit=1&kind=configmap',
    `/v1/objects?limit=1&${named}`,
    `/v1/objects?limit=1&at=${then}`,
    `/v1/objects?limit=1&${named}&at=${then}`,
    '/v1/dependents?limit=1&uid=deploy-web',
    '/v1/changes?limit=1',
    '/v1/changes?limit=1&uid=cm-a',
    '/v1/deletions?limit=1',
    `/v1/diff?limit=1&from=${from}`,
    '/apis/kinfold.dev/v1/namespaces/ns/ownedobjects?limit=1',
  ]
  const cursors: string[] = []
  for (const question of questions) {
    const page = await rig.get<Page>(question)
    const next = page.continue ?? page.metadata?.continue
    ok(next, `${question} has no second page`)
    cursors.push(next)
  }
  equal(new Set(cursors).size, cursors.length)
  for (const [at, question] of questions.entries()) {
    const taken = await Promise.all(
      cursors.map(async (cursor) => {
        const response = await rig.ask(`${question}&continue=${cursor}`)
        if (response.status === 200) return true
        equal(response.status, 400, question)
        match(await response.text(), /continue is not from an answer to this/)
        return false
      }),
    )
    deepEqual(
      taken,
      questions.map((_, each) => each === at),
      question,
    )
  }
})
