import { styleText } from 'node:util'
import { type Json, parseObject } from '../kit/json.ts'

/** Severities of pino as people read them, each with its colour. */
const severities = [
  [60, 'FATAL', 'magenta'],
  [50, 'ERROR', 'red'],
  [40, 'WARN ', 'yellow'],
  [30, 'INFO ', 'green'],
  [20, 'DEBUG', 'blue'],
  [0, 'TRACE', 'gray'],
] as const

/** Members of every line that say nothing to a person at the terminal of that process. */
const ambient = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'component'])

/**
 * Returns a log line as people read it: the time of day, the severity, the message, then the other members as `name=value`,
 * and an error's stack on lines of its own. Characters that a terminal obeys are shown as escapes, because agents and
 * callers choose parts of a line. A line that is no JSON object stays as it is, made safe.
 *
 * @param line one line of pino's JSON, with its newline
 */
export function textLine(line: string, { colours }: { readonly colours: boolean }): string {
  const entry = parseObject(line)
  if (entry === null) return `${safe(line.trimEnd())}\n`
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    colours ? styleText(style, text, { validateStream: false }) : text
  const { level, time, component, err } = entry
  const [, name, colour] = severities.find(([from]) => typeof level === 'number' && level >= from) ?? severities[3]
  const at = new Date(typeof time === 'number' ? time : Number.NaN)
  const clock = Number.isNaN(at.getTime()) ? '--:--:--' : at.toTimeString().slice(0, 8)
  const message = `${typeof component === 'string' ? `${component}: ` : ''}${messageOf(entry)}`
  const members = membersOf(entry).map(([key, value]) => `${safe(key)}=${shown(value)}`)
  const parts = [paint('gray', clock), paint(colour, name), safe(message)]
  if (members.length > 0) parts.push(paint('gray', members.join(' ')))
  const stack = stackOf(err)
  return `${parts.join(' ')}\n${stack === '' ? '' : `${paint('gray', stack)}\n`}`
}

/** A request's line is mostly read for its method, path, status and time, so these are its message. */
function messageOf(entry: Json): string {
  if (!isRequest(entry)) return String(entry['msg'] ?? '')
  return `${entry['method']} ${entry['path']} ${entry['status']} in ${entry['durationMs']} ms`
}

const isRequest = ({ msg, method, path, status }: Json) =>
  msg === 'request' && [method, path, status].every(part => part !== undefined)

const spokenOfRequest = new Set(['method', 'path', 'status', 'durationMs'])

function membersOf(entry: Json): [string, unknown][] {
  const spoken = isRequest(entry) ? spokenOfRequest : new Set()
  return Object.entries(entry).filter(([key]) => !ambient.has(key) && !spoken.has(key) && key !== 'err')
}

function stackOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return ''
  const { stack, message } = err as { readonly stack?: unknown; readonly message?: unknown }
  const text = typeof stack === 'string' ? stack : typeof message === 'string' ? message : JSON.stringify(err)
  return text
    .split('\n')
    .map(each => `         ${safe(each)}`)
    .join('\n')
}

function shown(value: unknown): string {
  if (typeof value === 'string') return /^[\w./:@+-]+$/.test(value) ? value : safe(JSON.stringify(value))
  return safe(JSON.stringify(value) ?? 'undefined')
}

/** Shows control, invisible and bidirectional characters by their numbers. */
function safe(text: string): string {
  return text
    .toWellFormed()
    .replace(
      /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
      character => `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`,
    )
}
