/**
 * Colours of what is printed, by the state of objects.
 *
 * What must stay true: nothing is said by a colour alone; there is none where standard output is no
 * terminal, or NO_COLOR is set. What is painted is marked here and becomes an escape only where it
 * is written (terminal.ts): a name that holds an escape stays harmless.
 */
import { painted, type Style } from './terminal.ts'

export type { Style }

/** Painted on a terminal. */
export function paint(text: string, style: Style | undefined): string {
  return style === undefined || text === '' || !hasColours(process.stdout)
    ? text
    : painted(text, style)
}

/** Of a node, or an owner that is none. */
export function styleOfPhase(phase: string): Style | undefined {
  return PHASES[phase]
}

export function styleOfVerdict(type: string, admission: unknown): Style | undefined {
  return admission === null ? VERDICTS[type] : 'yellow'
}

export function styleOfEffect(effect: string): Style | undefined {
  return EFFECTS[effect]
}

const PHASES: Readonly<Record<string, Style>> = {
  deleting: 'yellow',
  waiting: 'yellow',
  orphaning: 'yellow',
  reaped: 'gray',
  absent: 'gray',
  gone: 'gray',
  suspect: 'magenta',
  unknown: 'magenta',
}

const VERDICTS: Readonly<Record<string, Style>> = {
  delete: 'red',
  blocked: 'yellow',
}

const EFFECTS: Readonly<Record<string, Style>> = {
  deleted: 'red',
  stuck: 'yellow',
  blocked: 'yellow',
}

/** An empty NO_COLOR counts as none, as its convention has it. */
function hasColours(stream: NodeJS.WriteStream): boolean {
  const isRefused = (process.env['NO_COLOR'] ?? '') !== ''
  return stream.isTTY === true && !isRefused && stream.hasColors(8)
}
