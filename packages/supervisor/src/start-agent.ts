import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { AgentProcess } from './agent-process.ts'
import { encodeRecord, type Journal } from './journal.ts'
import type { ReadyAgent } from './prepared-agent.ts'
import type { WorkerMessage } from './protocol.ts'

export type StartOrder = Extract<WorkerMessage, { start: unknown }>['start']

/**
 * Starts the agent with exactly the given environment. Returns undefined if it cannot start; an `f` record then says
 * why. Node reports some failures only in a later tick, so an `i` record may precede that `f`.
 * @param ready a process that is what the order would start
 */
export function startAgent(journal: Journal, order: StartOrder, ready?: ReadyAgent): AgentProcess | undefined {
  const { key, command, env, cwd } = order
  if (journal.seal) {
    refuseStart(journal, key, journal.seal.signal, journal.seal.error ?? 'the journal accepts no more records')
    return undefined
  }
  if (ready !== undefined) return new AgentProcess(journal, ready.child, ready.pid, key, ready.first)
  const [program = '', ...args] = command
  const refuse = (error: unknown) => {
    const why = existsSync(cwd) ? String(error) : `no such directory: ${cwd}`
    refuseStart(journal, key, errorCode(error), why)
  }
  let child: ChildProcessWithoutNullStreams
  try {
    child = spawn(program, args, { env, cwd, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  } catch (error) {
    refuse(error)
    return undefined
  }
  if (child.pid !== undefined) return new AgentProcess(journal, child, child.pid, key)
  child.once('error', refuse)
  return undefined
}

/** Journals that an agent could not be started, even if the journal is sealed. */
export function refuseStart(journal: Journal, key: string, code: string, error: string): void {
  journal.appendLast(encodeRecord('f', key, ' ', JSON.stringify({ code, error })))
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN'
}
