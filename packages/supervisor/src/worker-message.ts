import { MAX_KEY_LENGTH, type WorkerMessage } from './protocol.ts'
import { isTerminalSize } from './terminals/protocol.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Parses one line of a worker. Returns undefined if it is not a message of the protocol: a key or a line with a newline
 * would forge a record, so it must not reach the journal.
 */
export function parseWorkerMessage(line: string): WorkerMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (!isFields(value)) return undefined
  if (isFields(value.hello)) return parseHello(value.hello)
  if (isFields(value.start)) return parseStart(value.start)
  if (isFields(value.in)) return parseIn(value.in)
  if (isFields(value.stop)) return parseStop(value.stop)
  if (isOffset(value.ack)) return parseAck(value.ack, value.keep)
  if (isOffset(value.ping)) return { ping: value.ping }
  if (isFields(value.terminal)) return parseTerminal(value.terminal)
  if (isFields(value.port)) return parsePort(value.port)
  if (isFields(value.prepare)) return parsePrepare(value.prepare)
  if (isFields(value.retire)) return parseRetire(value.retire)
  if (isFields(value.park)) return parsePark(value.park)
  if (value.all === 'STOP' || value.all === 'CONT') return { all: value.all }
  return undefined
}

function parseHello({ fence, from }: Fields): WorkerMessage | undefined {
  return isOffset(fence) && isOffset(from) ? { hello: { fence, from } } : undefined
}

function parseStart({ key, ...fields }: Fields): WorkerMessage | undefined {
  const program = parseProgram(fields)
  return isKey(key) && program ? { start: { key, ...program } } : undefined
}

function parsePrepare({ line, rehearsal, ...fields }: Fields): WorkerMessage | undefined {
  const program = parseProgram(fields)
  if (!isLine(line) || program === undefined) return undefined
  if (rehearsal === undefined) return { prepare: { ...program, line } }
  return isLine(rehearsal) ? { prepare: { ...program, line, rehearsal } } : undefined
}

function parseRetire({ fence, graceMs }: Fields): WorkerMessage | undefined {
  return isOffset(fence) && isOffset(graceMs) ? { retire: { fence, graceMs } } : undefined
}

function parsePark({ fence }: Fields): WorkerMessage | undefined {
  return isOffset(fence) ? { park: { fence } } : undefined
}

function parseProgram({ command, env, cwd }: Fields) {
  if (typeof cwd !== 'string' || !Array.isArray(command) || !isFields(env)) return undefined
  const strings = command.filter(part => typeof part === 'string')
  if (strings.length === 0 || strings.length !== command.length) return undefined
  const variables = parseVariables(env)
  return variables && { command: strings, env: variables, cwd }
}

function parseVariables(env: Fields): Record<string, string> | undefined {
  const variables: Record<string, string> = {}
  for (const [name, variable] of Object.entries(env)) {
    if (typeof variable !== 'string') return undefined
    variables[name] = variable
  }
  return variables
}

const HIGHEST_PORT = 65_535

function parsePort({ list, dial }: Fields): WorkerMessage | undefined {
  if (list === true) return { port: { list } }
  return isOffset(dial) && dial > 0 && dial <= HIGHEST_PORT ? { port: { dial } } : undefined
}

function parseTerminal({ id, start, attach, read, end }: Fields): WorkerMessage | undefined {
  if (typeof id !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(id)) return undefined
  if (end === true) return { terminal: { id, end } }
  if (read === true) return { terminal: { id, read } }
  if (isTerminalSize(attach)) return { terminal: { id, attach } }
  if (!isFields(start) || !isFields(start.env) || typeof start.cwd !== 'string' || !isTerminalSize(start))
    return undefined
  const env = parseVariables(start.env)
  const { cwd, columns, rows, command } = start
  if (command !== undefined && typeof command !== 'string') return undefined
  return env && { terminal: { id, start: { env, cwd, columns, rows, ...(command !== undefined && { command }) } } }
}

function parseAck(ack: number, keep: unknown): WorkerMessage | undefined {
  if (keep === undefined) return { ack }
  return isOffset(keep) && keep <= ack ? { ack, keep } : undefined
}

function parseIn({ key, line }: Fields): WorkerMessage | undefined {
  return isKey(key) && isLine(line) ? { in: { key, line } } : undefined
}

function parseStop({ key, graceMs }: Fields): WorkerMessage | undefined {
  return isKey(key) && isOffset(graceMs) ? { stop: { key, graceMs } } : undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOffset(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isLine(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\n')
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_KEY_LENGTH && !/\s/.test(value)
}
