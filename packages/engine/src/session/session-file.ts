import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CURRENT_SESSION_VERSION, SessionManager } from '@earendil-works/pi-coding-agent'

/** Ids that we give; nothing else is made a path of. */
const sessionId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A conversation's file was damaged: what it could not be read from on was dropped. */
export interface Truncation {
  readonly droppedEvents: number
  readonly reason: 'conversation_damaged'
}

/** Begins a conversation's file, so that it can be loaded however early the process ends. */
export function createSession(directory: string, id: string, cwd: string): SessionManager {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${id}.jsonl`)
  const header = { type: 'session', version: CURRENT_SESSION_VERSION, id, timestamp: new Date().toISOString(), cwd }
  writeFileSync(path, `${JSON.stringify(header)}\n`, { mode: 0o600, flag: 'wx' })
  return SessionManager.open(path, directory, cwd)
}

/**
 * Opens a conversation. A file that is damaged, as by a sandbox that died while it was written, is cut where the first
 * line is not whole, or does not follow what is before it: what comes after could only be guessed at.
 * @returns null where there is none of that id, or nothing of it can be read
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

/** How many lines, from the first on, make sense; none where the first is no header. */
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
    known.add(id)
  }
  return lines.length
}

function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
