import { MAX_KEY_LENGTH, type WorkerMessage } from './protocol.ts'

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
  if (value.all === 'STOP' || value.all === 'CONT') return { all: value.all }
  return undefined
}

function parseHello({ fence, from }: Fields): WorkerMessage | undefined {
  return isOffset(fence) && isOffset(from) ? { hello: { fence, from } } : undefined
}

function parseStart({ key, command, env, cwd }: Fields): WorkerMessage | undefined {
  if (!isKey(key) || typeof cwd !== 'string' || !Array.isArray(command) || !isFields(env)) return undefined
  const strings = command.filter(part => typeof part === 'string')
  if (strings.length === 0 || strings.length !== command.length) return undefined
  const variables: Record<string, string> = {}
  for (const [name, variable] of Object.entries(env)) {
    if (typeof variable !== 'string') return undefined
    variables[name] = variable
  }
  return { start: { key, command: strings, env: variables, cwd } }
}

function parseAck(ack: number, keep: unknown): WorkerMessage | undefined {
  if (keep === undefined) return { ack }
  return isOffset(keep) && keep <= ack ? { ack, keep } : undefined
}

function parseIn({ key, line }: Fields): WorkerMessage | undefined {
  return isKey(key) && typeof line === 'string' && !line.includes('\n') ? { in: { key, line } } : undefined
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

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_KEY_LENGTH && !/\s/.test(value)
}
