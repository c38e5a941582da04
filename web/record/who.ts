/**
 * Who deleted an object, in words, with the owner whose deletion was the cause as a link.
 *
 * What must stay true: an object that who asks may not see has no link.
 *
 * Not here: the words (deletion-text.ts).
 */
import { type ComponentChild, h } from 'preact'
import { linkTo } from '../base/place.ts'
import { nameText } from '../base/text.ts'
import type { Phrase } from '../deletion-text.ts'

export function Phrases({
  phrases,
  cluster,
}: {
  readonly phrases: readonly Phrase[]
  readonly cluster: string
}): ComponentChild {
  return phrases.map((each) =>
    typeof each === 'string'
      ? each
      : h(
          'a',
          { href: linkTo('object', { cluster, uid: each.uid }) },
          h('bdi', null, nameText(each)),
        ),
  )
}
