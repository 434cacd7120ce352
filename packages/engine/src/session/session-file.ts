import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CURRENT_SESSION_VERSION, SessionManager } from '@earendil-works/pi-coding-agent'
import { isObject, type Json, parseObject } from '../json.ts'

/** The form of our own session ids; the engine makes a path of nothing else. */
const sessionId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A conversation's file was damaged, and the engine dropped everything from the first bad line on. */
export interface Truncation {
  readonly droppedEvents: number
  readonly reason: 'conversation_damaged'
}

/** Creates a conversation's file at once, so it can be loaded however early the process ends. */
export function createSession(directory: string, id: string, cwd: string): SessionManager {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${id}.jsonl`)
  const header = { type: 'session', version: CURRENT_SESSION_VERSION, id, timestamp: new Date().toISOString(), cwd }
  writeFileSync(path, `${JSON.stringify(header)}\n`, { mode: 0o600, flag: 'wx' })
  return SessionManager.open(path, directory, cwd)
}

/**
 * Opens a conversation. A sandbox that dies during a write can damage the file. The engine then cuts it at the first
 * line that is incomplete or does not follow from the lines before, because the rest could only be guessed.
 * @returns null if there is no file of that id, or nothing in it can be read
 */
export function openSession(
  directory: string,
  id: string,
  cwd: string,
): { readonly manager: SessionManager; readonly truncation: Truncation | null } | null {
  const path = join(directory, `${id}.jsonl`)
  if (!sessionId.test(id) || !existsSync(path)) return null
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
  const whole = countWhole(lines)
  if (whole === 0) return null
  const droppedEvents = lines.length - whole
  if (droppedEvents > 0) {
    const temporary = `${path}.mended`
    writeFileSync(temporary, `${lines.slice(0, whole).join('\n')}\n`, { mode: 0o600 })
    renameSync(temporary, path)
  }
  const truncation = droppedEvents === 0 ? null : ({ droppedEvents, reason: 'conversation_damaged' } as const)
  return { manager: SessionManager.open(path, directory, cwd), truncation }
}

/** Counts the valid lines from the start; 0 if the first is not a header. */
function countWhole(lines: readonly string[]): number {
  const known = new Set<unknown>()
  for (const [index, line] of lines.entries()) {
    const entry = parseObject(line)
    if (entry === null) return index
    if (index === 0) {
      if (entry['type'] !== 'session') return 0
      continue
    }
    const { id, parentId, type } = entry
    if (typeof id !== 'string' || typeof type !== 'string') return index
    if (parentId !== null && !known.has(parentId)) return index
    if (!isUsable(entry)) return index
    known.add(id)
  }
  return lines.length
}

/** Returns false for an entry with a message of which the SDK or the engine could make nothing. */
function isUsable({ type, message, content }: Json): boolean {
  if (type === 'custom_message') return typeof content === 'string' || areParts(content)
  if (type !== 'message') return true
  if (!isObject(message) || typeof message['role'] !== 'string') return false
  const { role, content: parts } = message
  if (role === 'user') return typeof parts === 'string' || areParts(parts)
  return role !== 'assistant' && role !== 'toolResult' ? true : areParts(parts)
}

const areParts = (content: unknown): boolean =>
  Array.isArray(content) && content.every(part => isObject(part) && typeof part['type'] === 'string')
