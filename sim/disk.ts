/**
 * The volume of one graph process: a store for each partition it ever had, which outlives it, can
 * be lost, and can lose unsynced writes.
 *
 * What must stay true: a write is stored whole or not at all; lost writes are all those after some
 * moment, in order.
 */
import { MemoryStore, type MemoryStoreContent } from '../adapters/memory/store.ts'
import type { Store, StoreView } from '../ports/store.ts'
import type { Incarnation } from './incarnation.ts'

export class Disk {
  #contents = new Map<number, MemoryStoreContent>()
  #synced: ReadonlyMap<number, MemoryStoreContent> | undefined

  content(partition: number): MemoryStoreContent {
    const content = this.#contents.get(partition) ?? new MemoryStore().content
    this.#contents.set(partition, content)
    return content
  }

  lose(): void {
    this.#contents = new Map()
    this.#synced = undefined
  }

  /** From now on nothing reaches the platter, whatever the disk reports. */
  stopSyncing(): void {
    this.#synced ??= new Map([...this.#contents].map(([key, content]) => [key, copyOf(content)]))
  }

  /** A power cycle: unsynced writes are lost. Only while no process has it open. */
  loseUnsynced(): void {
    if (this.#synced === undefined) return
    this.#contents = new Map([...this.#synced].map(([key, content]) => [key, copyOf(content)]))
    this.#synced = undefined
  }

  open(partition: number, by: Incarnation): Store {
    const store = new MemoryStore(this.content(partition))
    return {
      checkpoint: () => store.checkpoint(),
      get: (key) => store.get(key),
      page: (range) => by.call('store-read', () => store.page(range)),
      view: () => viewOf(store.view(), by),
      write: (changes, checkpoint) =>
        by.call('store-write', () => store.write(changes, checkpoint)),
      wipe: () => by.call('store-write', () => store.wipe()),
      verify: (signal) => by.call('store-read', () => store.verify(signal)),
      [Symbol.asyncDispose]: () =>
        by.call('store-read', async () => await store[Symbol.asyncDispose]()),
    }
  }
}

function viewOf(view: StoreView, by: Incarnation): StoreView {
  return {
    page: (range) => by.call('store-read', () => view.page(range)),
    [Symbol.asyncDispose]: () => view[Symbol.asyncDispose](),
  }
}

function copyOf({ entries, checkpoint, wipes }: MemoryStoreContent): MemoryStoreContent {
  return { entries: entries.copy(), checkpoint, wipes }
}
