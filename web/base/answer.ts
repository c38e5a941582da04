/**
 * An answer on its way, there, or refused; what was there is shown until the next one comes.
 *
 * What must stay true: a late answer to an earlier question never replaces that of a later one; a
 * page that is hidden asks nothing again.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Refusal } from './ask.ts'

const FORBIDDEN = 403

export interface Answered<T> {
  /** Undefined until the first one. */
  readonly answer: T | undefined
  /** Empty: none. */
  readonly refusal: string
  /** Refused for lack of a right. */
  readonly isDenied: boolean
  readonly isLoading: boolean
  readonly again: () => void
}

interface State<T> {
  readonly key: string
  readonly answer: T | undefined
  readonly refusal: string
  readonly isDenied: boolean
  readonly isLoading: boolean
}

/** Every view is asked for again within this. */
export const REFRESH_MS = 5_000

/**
 * Asks when `key` is another one and, if `everyMs` is not 0, again and again. A function is given
 * the last answer: one that took much is not asked for by itself.
 */
export function useAnswer<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs: number | ((answer: T | undefined) => number) = 0,
): Answered<T> {
  const [turn, setTurn] = useState(0)
  const [state, setState] = useState<State<T>>(begin(key))
  const isBusy = useRef(false)
  useEffect(() => {
    const ended = new AbortController()
    isBusy.current = true
    setState((former) => (former.key === key ? { ...former, isLoading: true } : begin(key)))
    load(ended.signal).then(
      (answer) => {
        if (ended.signal.aborted) return
        isBusy.current = false
        setState({ ...begin(key), answer, isLoading: false })
      },
      (error: unknown) => {
        if (ended.signal.aborted) return
        isBusy.current = false
        const refusal = error instanceof Error ? error.message : String(error)
        const isDenied = error instanceof Refusal && error.status === FORBIDDEN
        setState((former) => ({ ...former, key, refusal, isDenied, isLoading: false }))
      },
    )
    return () => ended.abort()
  }, [key, turn])
  const ms = typeof everyMs === 'number' ? everyMs : everyMs(state.answer)
  useEffect(() => {
    if (ms === 0) return
    const timer = setInterval(() => {
      // A slow answer is awaited, not asked for anew.
      if (!document.hidden && !isBusy.current) setTurn((each) => each + 1)
    }, ms)
    return () => clearInterval(timer)
  }, [ms])
  const { key: _, ...now } = state.key === key ? state : begin<T>(key)
  return { ...now, again: () => setTurn((each) => each + 1) }
}

function begin<T>(key: string): State<T> {
  return { key, answer: undefined, refusal: '', isDenied: false, isLoading: true }
}
