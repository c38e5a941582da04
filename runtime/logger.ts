/**
 * Log lines on standard error: a JSON object each for a program, text for a person.
 *
 * What must stay true: constant messages plus fields; no object bodies, no secrets; an entry is one
 * line, whatever its fields hold.
 */
import { pino } from 'pino'

export type Level = 'debug' | 'info' | 'warn' | 'error'
export type LogFormat = 'text' | 'json'
export type Fields = Readonly<Record<string, unknown>>

export interface Logger {
  log(level: Level, message: string, fields?: Fields): void
}

const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error']
/** Nothing that a shell or a reader would take for more than one word. */
const PLAIN = /^[\p{L}\p{N}_.,:/@+-]+$/u

/** Without a format: text on a terminal, JSON otherwise. */
export function createLogger(component: string, level: Level, format?: LogFormat): Logger {
  const wanted = format ?? (process.stderr.isTTY ? 'text' : 'json')
  return wanted === 'text' ? textLogger(level) : jsonLogger(component, level)
}

function jsonLogger(component: string, level: Level): Logger {
  const logger = pino(
    {
      level,
      base: { component },
      messageKey: 'msg',
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    pino.destination({ dest: 2, sync: true }),
  )
  return { log: (at, message, fields = {}) => logger[at](fields, message) }
}

function textLogger(level: Level): Logger {
  const least = LEVELS.indexOf(level)
  return {
    log(at, message, fields = {}) {
      if (LEVELS.indexOf(at) < least) return
      process.stderr.write(`${textLine(new Date(), at, message, fields)}\n`)
    },
  }
}

/** `2026-01-31T10:00:00.000Z INFO  message  key=value other="two words"` */
export function textLine(time: Date, level: Level, message: string, fields: Fields): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  const pairs = given.map(([key, value]) => `${key}=${valueText(value)}`).join(' ')
  const line = `${time.toISOString()} ${level.toUpperCase().padEnd(5)} ${message}`
  return pairs === '' ? line : `${line}  ${pairs}`
}

function valueText(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return PLAIN.test(value) ? value : JSON.stringify(value)
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part))
}
