import { isatty } from 'node:tty'
import { textLine } from './text-line.ts'

/** The forms of a log; `auto`: text on a terminal, JSON elsewhere. */
export const logFormats = ['auto', 'json', 'text'] as const
export type LogFormat = (typeof logFormats)[number]

/** How the lines of a process's log are written. */
export interface LogLines {
  /** True if people read them at a terminal as they are written. */
  readonly isTerminal: boolean
  /** Returns a line as it is written. @param line one line of pino's JSON, with its newline */
  write(line: string): string
}

/**
 * Decides how the lines of a log are written.
 * @param descriptor where they go
 * @param variables the environment: `NO_COLOR` leaves colours out
 */
export function logLines(
  format: LogFormat,
  descriptor: number,
  variables: Readonly<Record<string, string | undefined>>,
): LogLines {
  const isTerminal = isatty(descriptor)
  if (format === 'json' || (format === 'auto' && !isTerminal)) return { isTerminal: false, write: line => line }
  const colours = isTerminal && (variables['NO_COLOR'] ?? '') === '' && variables['TERM'] !== 'dumb'
  return { isTerminal, write: line => textLine(line, { colours }) }
}
