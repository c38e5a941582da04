/** Lets those who have much to do do it one after the other, in the order in which they ask. What must stay true: one that fails holds nobody up. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return async (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return await mine
  }
}
