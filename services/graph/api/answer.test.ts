/**
 * What a real server answers about stories in which much is in the way is as its document says,
 * field by field.
 */
import { deepEqual, ok, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { checked, checkedAs } from '../../../testing/answer-check.ts'
import { GraphGroup, tell } from '../../../testing/rig/graph-group.ts'
import { BREAKER_STORY, eventsOf } from '../../../testing/rig/task-rig.ts'
import { shadowAnswer } from '../audit/shadow-answer.ts'
import { documentOf } from './document.ts'

const STORIES: Readonly<Record<string, readonly string[]>> = {
  'owners, dependents and what is deleted': [
    ...['put deploy/web', 'put rs/web <- deploy/web!', 'put pod/a <- rs/web!, job/never'],
    ...['put job/odd <- widget/a@rs-web', 'put pod/free', 'put rs/old', 'put pod/gone <- rs/old'],
    ...[
      'delete rs/old',
      'delete pod/gone',
      'put cm/twice',
      'delete cm/twice',
      'put cm/twice@again',
    ],
  ],
  'a bulk deletion that waits for approval': [
    ...['put rs/web in a', 'many 3 pod/a# in a <- rs/web', 'lose rs/web in a', 'rollback'],
    ...['relist rs', 'relist pod', 'pause all', 'protect namespace/a'],
  ],
  'a breaker, a pause, and two clusters of one name': [
    ...['put rs/a', 'put pod/p <- rs/a', 'cluster d', ...BREAKER_STORY],
    ...['put rs/b', 'put pod/q <- rs/b', 'pause', 'delete rs/b'],
  ],
  'holds of preset guarded': [
    ...['policy enforce guarded', 'put rs/web', 'put pod/p <- rs/web', 'delete rs/web'],
    ...['put rs/web@rs-1', 'delete rs/web@rs-1', 'put rs/web@rs-2'],
  ],
  'a dry run, and what is refused': [
    ...['policy dry-run parity', 'put rs/web', 'many 2 pod/a# <- rs/web', 'delete rs/web'],
    ...['settle pod/a0 would-go', 'settle pod/a1 blocked'],
  ],
  'what is refused': [
    ...['put rs/web', 'many 2 pod/a# <- rs/web', 'delete rs/web', 'settle pod/a1 blocked'],
  ],
  'an owner that waits': [
    ...['put rs/web', 'put pod/a <- rs/web! [h.io/x]', 'put rs/web [deleting foreground]'],
  ],
}
/** Answers that are no documents, or for which there is no story here. */
const ASKED = [
  'held',
  'clusters',
  'objects?gone=true',
  'objects?kind=pods&count=true',
  'lineage',
  'history',
  'changes?limit=7',
  'deletions',
  'diff?from=1970-01-01T00:00:00Z',
  'horizon',
]
const OF_ONE = [
  'tree',
  'changes',
  'tree?owners=true',
  'dependents',
  'why',
  'cascade',
  'cascade?follow=true',
  'plan',
  'plan?limit=1',
]

for (const [name, story] of Object.entries(STORIES)) {
  test(`answers about ${name}`, async (t) => {
    const group = new GraphGroup(1)
    t.after(async () => await group.stop())
    const { url } = await group.start()
    await tell(group.log, eventsOf(story))
    await group.caughtUp()
    const ask = async (path: string): Promise<Response> => {
      // Of a stream, the first line says enough.
      const response = await fetch(`${url}/v1/${path}`)
      const isEndless = path.includes('follow') && response.status === 200
      return isEndless
        ? await firstLine(`${url}/v1/${path}`, response)
        : checked(`${url}/v1/${path}`, response)
    }
    const list = (await (await ask('objects?gone=true')).json()) as {
      objects: readonly { readonly uid: string; readonly cluster: { readonly id: string } }[]
    }
    ok(list.objects.length > 0)
    for (const path of ASKED) deepEqual((await ask(path)).status, 200, path)
    const kinds = new Set<number>()
    for (const { uid, cluster } of list.objects) {
      await ask(`plan/held?cluster=${cluster.id}`)
      for (const path of OF_ONE) {
        const [route, more = ''] = path.split('?')
        kinds.add((await ask(`${route}?uid=${uid}&cluster=${cluster.id}&${more}`)).status)
      }
    }
    ok(
      [...kinds].every((status) => [200, 409].includes(status)),
      [...kinds].join(),
    )
  })
}

async function firstLine(url: string, response: Response): Promise<Response> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const { value } = await reader.read()
  await reader.cancel()
  const line =
    Buffer.from(value ?? [])
      .toString()
      .split('\n')[0] ?? ''
  const headers = { 'content-type': response.headers.get('content-type') ?? '' }
  return await checked(url, new Response(line, { status: response.status, headers }))
}

const CLUSTER = { cluster: 'c', clusterName: 'test' }

test('a comparison with another collector', () => {
  const pod = { group: '', kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u' }
  const report = {
    ...({ since: 1, mode: 'observe', patienceMs: 1 } as const),
    clusters: [
      {
        ...{ ...CLUSTER, agreed: 1, theirs: 1, ours: 0, unclear: 0, pending: 0 },
        ...{ medianLagMs: 1, p99LagMs: null },
      },
    ],
    cases: [
      {
        ...CLUSTER,
        ...pod,
        agreement: 'theirs',
        because: 'x',
        evidence: 'deleted',
        at: 1,
      } as const,
    ],
  }
  checkedAs('Shadow', documentOf('Shadow', { answer: shadowAnswer(report), partial: '' }))
})

test('a document that lacks a field, or has another word, does not compile', () => {
  const answer = { verb: 'pause', cluster: null, about: '', who: '', effective: '', partitions: 1 }
  documentOf('DirectiveResult', { answer: { ...answer, folded: 1 }, partial: '' })
  // @ts-expect-error: `folded` is missing
  documentOf('DirectiveResult', { answer, partial: '' })
  // @ts-expect-error: a text is no count
  documentOf('DirectiveResult', { answer: { ...answer, folded: '1' }, partial: '' })
})

test('a field that the document does not have is a difference', () => {
  const problem = { type: 'about:blank', title: 'x', status: 400, detail: 'x' }
  checkedAs('Problem', problem)
  throws(
    () => checkedAs('Problem', { ...problem, more: 1 }),
    /additionalProperties|additional properties/,
  )
  throws(() => checkedAs('Problem', { ...problem, detail: 1 }), /must be string/)
})
