import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const memory = '/dev/shm'

/** Returns the places in memory where a signing key was left. Other processes may be signing meanwhile. */
export const keysInMemory = (key: string): string[] =>
  readdirSync(memory).filter(name => {
    if (!name.startsWith('berth-key.')) return false
    try {
      return readFileSync(join(memory, name, 'key'), 'utf8').trim() === key.trim()
    } catch {
      return false
    }
  })
