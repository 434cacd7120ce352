import { addAbortListener } from 'node:events'
import type { Duplex } from 'node:stream'
import { MAX_READ_BYTES, type TerminalAnswer, type TerminalOrder } from '@berth/supervisor/terminals'
import { readLine } from './read-line.ts'

/** Longest answer of a supervisor: what it read, each byte escaped. */
const MAX_ANSWER_BYTES = 6 * MAX_READ_BYTES + 1024

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
  using _listener = addAbortListener(signal, () => stream.destroy())
  try {
    signal.throwIfAborted()
    stream.write(`${JSON.stringify({ terminal })}\n`)
    const answer = parse(await readLine(stream, MAX_ANSWER_BYTES))
    if (answer.terminal !== 'attached') stream.destroy()
    return answer
  } catch (error) {
    stream.destroy()
    signal.throwIfAborted()
    throw error instanceof TerminalLineBroken ? error : new TerminalLineBroken('the line broke', { cause: error })
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

function parse(line: string): TerminalAnswer {
  const answer: unknown = JSON.parse(line)
  if (typeof answer !== 'object' || answer === null || !('terminal' in answer)) {
    throw new TerminalLineBroken('not the answer of a supervisor')
  }
  return answer as TerminalAnswer
}
