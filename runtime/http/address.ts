/**
 * Addresses to listen on, as flags have them. What must stay true: it loads nothing but how
 * commands end.
 */
import { EXIT, ExitError } from '../lifecycle.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

/** `HOST:PORT`. Throws `ExitError` for what is none. */
export function parseAddress(text: string, flag = '--http'): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3] ?? Number.NaN)
  if (port >= 0 && port <= 65_535) return { host, port }
  throw new ExitError(EXIT.input, `${flag} ${text}: expected HOST:PORT, such as 127.0.0.1:7070`)
}
