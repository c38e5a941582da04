/**
 * What `kinfold restore` made, and of what: by the annotation that it leaves on what it creates.
 *
 * What must stay true: any client that may write annotations may write that one, so every sentence
 * says that the annotation says it, and no decision depends on it. Of what was restored and deleted
 * since nothing is said: the record has no annotations.
 *
 * Not here: the annotation (ports/record/restored-mark.ts).
 */
import type { Node } from '../../../../core/model/node.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import type { History } from '../../../../core/model/record.ts'
import { restoredFrom } from '../../../../ports/record/restored-mark.ts'
import type { Why } from '../../api/answer-schema.ts'
import type { Unshaped } from '../../api/document.ts'
import type { HistoryIndex, Named } from '../index/history-index.ts'
import type { View } from '../view/view.ts'

export type Restored = Unshaped<NonNullable<Why['restored']>>
export type RestoredAs = Unshaped<NonNullable<Why['restoredAs']>>

/** Null where no annotation says so. */
export function restoredOf(node: Node | undefined): Restored | null {
  const from = node === undefined ? [] : restoredFrom(node.object)
  return node === undefined || from.length === 0 ? null : { from, at: node.object.createdAt }
}

/** What is said of an object and its history. */
export async function withRestored<T extends Pick<History, 'change' | 'text'>>(
  view: View,
  index: Pick<HistoryIndex, 'namesOf'>,
  object: Named,
  history: readonly T[],
): Promise<{
  readonly restored: Restored | null
  readonly restoredAs: RestoredAs | null
  readonly history: readonly T[]
}> {
  const restored = restoredOf(view.node(object.uid))
  return {
    restored,
    restoredAs: await restoredAs(view, index, object),
    history: history.map((entry) => withOrigin(entry, restored)),
  }
}

/** Of a deleted one: what exists at its coordinates now and says that it was made of it. */
async function restoredAs(
  view: View,
  index: Pick<HistoryIndex, 'namesOf'>,
  object: Named,
): Promise<RestoredAs | null> {
  if (view.moment !== null || view.node(object.uid) !== undefined) return null
  for await (const uid of index.namesOf(view.cluster).at(view.cluster, object)) {
    await view.turns.take()
    const node = view.node(uid)
    if (node === undefined || !isSamePlace(node.object, object)) continue
    const restored = restoredOf(node)
    if (restored?.from.includes(object.uid)) return { uid, at: restored.at }
  }
  return null
}

/** An entry about an object that exists: where it was created, with what it was restored from. */
export function withOrigin<T extends Pick<History, 'change' | 'text'>>(
  entry: T,
  restored: Restored | null,
): T {
  if (entry.change !== 'created' || restored === null) return entry
  const said = `restored from uid ${restored.from.join(', ')}, as an annotation of kinfold restore says`
  return { ...entry, text: entry.text === '' ? said : `${entry.text}; ${said}` }
}
