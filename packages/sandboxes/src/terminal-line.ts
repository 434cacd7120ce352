import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { MAX_READ_BYTES, type TerminalAnswer, type TerminalOrder } from '@berth/supervisor/terminals'

/** Longest answer of a supervisor: what it read, each byte escaped. */
const MAX_ANSWER_BYTES = 6 * MAX_READ_BYTES + 1024
const NEWLINE = 0x0a

/** The other side of the line broke the protocol, or left before it answered. */
export class TerminalLineBroken extends Error {
  override readonly name = 'TerminalLineBroken'
}

/**
 * Gives a supervisor an order about a terminal and reads its answer. After `attached` the stream has frames alone; else it
 * is closed.
 *
 * @param stream a new one of the sandbox, which belongs to this function until it returns
 * @throws TerminalLineBroken, or the signal's reason
 */
export async function orderTerminal(
  stream: Duplex,
  terminal: TerminalOrder,
  signal: AbortSignal,
): Promise<TerminalAnswer> {
  const abort = () => stream.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    stream.write(`${JSON.stringify({ terminal })}\n`)
    const answer = parse(await readLine(stream))
    if (answer.terminal !== 'attached') stream.destroy()
    return answer
  } catch (error) {
    stream.destroy()
    signal.throwIfAborted()
    throw error instanceof TerminalLineBroken ? error : new TerminalLineBroken('the line broke', { cause: error })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** What a terminal wrote last, and how its shell ended. */
export interface TerminalOutput {
  readonly output: string
  readonly hasExited: boolean
  /** Null while the shell runs, and after a signal. */
  readonly exitCode: number | null
}

/**
 * Reads what a terminal wrote last. What the sandbox says is not to be trusted.
 * @returns null if the supervisor knows no such terminal
 * @throws as `orderTerminal`
 */
export async function readTerminal(stream: Duplex, id: string, signal: AbortSignal): Promise<TerminalOutput | null> {
  const answer = await orderTerminal(stream, { id, read: true }, signal)
  if (answer.terminal !== 'output') return null
  const { output, exit } = answer
  const code: unknown = exit?.code
  const exitCode = Number.isInteger(code) ? Number(code) : null
  return { output: String(output).slice(-MAX_READ_BYTES), hasExited: exit != null, exitCode }
}

/** Reads to the first newline and leaves what follows in the stream. */
async function readLine(stream: Duplex): Promise<string> {
  let seen = Buffer.alloc(0)
  for (;;) {
    const chunk: Buffer | null = stream.read()
    if (chunk === null) {
      if (stream.readableEnded || stream.destroyed) throw new TerminalLineBroken('the supervisor did not answer')
      await Promise.race([once(stream, 'readable'), once(stream, 'end'), once(stream, 'close')])
      continue
    }
    seen = Buffer.concat([seen, chunk])
    const end = seen.indexOf(NEWLINE)
    if (end !== -1) {
      const rest = seen.subarray(end + 1)
      if (rest.length > 0) stream.unshift(rest)
      return seen.subarray(0, end).toString()
    }
    if (seen.length > MAX_ANSWER_BYTES) throw new TerminalLineBroken('the supervisor does not answer with a line')
  }
}

function parse(line: string): TerminalAnswer {
  const answer: unknown = JSON.parse(line)
  if (typeof answer !== 'object' || answer === null || !('terminal' in answer)) {
    throw new TerminalLineBroken('not the answer of a supervisor')
  }
  return answer as TerminalAnswer
}
