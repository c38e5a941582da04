/** Who uses an object, as `tree --uses` says it. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Tree } from '../answer.ts'
import { usesText } from './uses-text.ts'

const NONE: NonNullable<Tree['uses']> = {
  ...{ isFollowed: true, users: [], uses: [], hidden: 0, isCut: false, unread: 0 },
  ...{ firstUsedAt: null, lastUsedAt: null, lastUser: null },
}
const POD = { group: '', kind: 'Pod', namespace: 'shop', name: 'web', uid: 'u', since: null }

test('that nothing uses it is said only where that is followed', () => {
  equal(usesText(null), '')
  equal(usesText(NONE), 'Used by nothing that is known; no use was seen to end\n')
  equal(
    usesText({ ...NONE, isFollowed: false }),
    'What uses it is not followed: add a rule with unused about its kind to the config, in dry run (docs/operate/unused.md)\n',
  )
  equal(usesText({ ...NONE, isFollowed: false, users: [POD] }), 'Used by:\n  pod/web -n shop\n')
})
