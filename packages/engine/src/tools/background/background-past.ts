import { asObject } from '../../json.ts'
import { shortened } from './shortened.ts'

/** Ends that are taken from a file; more commands than that are never listed and run. */
const MAX_ENDS = 32

/** An end of which the model may not know. */
export interface CommandEnd {
  readonly id: string
  readonly command: string
  /** `gone` if it ended with the process that had begun it. */
  readonly status: 'exited' | 'stopped' | 'gone'
  readonly exitCode?: number
}

/** What an earlier process has left. */
export interface BackgroundPast {
  /** Commands that were ever begun. */
  readonly begun: number
  /** Ends that the model was not told of. */
  readonly unreported: readonly CommandEnd[]
}

/** Reads an entry of the conversation's file, which a program of the sandbox may have written; drops what is none. */
export function readPast(data: unknown): BackgroundPast {
  const { commands, begun, unreported } = asObject(data)
  const lost = listOf(commands).filter(({ status }) => status === 'running')
  const ends = [...listOf(unreported), ...lost.map(command => ({ ...command, status: 'gone' }))]
  return {
    begun: Number.isSafeInteger(begun) ? Math.max(0, Number(begun)) : 0,
    unreported: ends.slice(-MAX_ENDS).flatMap(readEnd),
  }
}

function readEnd({ id, command, status, exitCode }: ReturnType<typeof asObject>): CommandEnd[] {
  const known = (['exited', 'stopped', 'gone'] as const).find(one => one === status)
  if (typeof id !== 'string' || !/^b\d{1,15}$/.test(id) || typeof command !== 'string' || known === undefined) return []
  const code = Number.isSafeInteger(exitCode) ? { exitCode: Number(exitCode) } : {}
  return [{ id, command: shortened(command), status: known, ...code }]
}

const listOf = (value: unknown) => (Array.isArray(value) ? value.map(asObject) : [])
