/**
 * Log lines: one JSON object each, on standard error. What must stay true: constant messages plus fields; no object bodies, no secrets.
 */
import { pino } from 'pino'

export type Level = 'debug' | 'info' | 'warn' | 'error'
export type Fields = Readonly<Record<string, unknown>>

export interface Logger {
  log(level: Level, message: string, fields?: Fields): void
}

export function createLogger(component: string, level: Level): Logger {
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
