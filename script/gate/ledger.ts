import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import type { FileResult } from './record.ts'

/** Folder at the root of the checkout, which git ignores. */
export const ledgerFolder = '.test-ledger'

/**
 * Writes down a file that failed and then passed alone, with its first output, and the machine's load and pressure at that time.
 * @returns the path of the entry, from the root
 */
export function writeUnsteady(root: string, first: FileResult, commit: string, now: Date): string {
  mkdirSync(join(root, ledgerFolder), { recursive: true })
  const path = join(ledgerFolder, `${now.toISOString().replaceAll(':', '-')}-${first.file.replaceAll('/', '+')}.json`)
  const entry = { at: now.toISOString(), commit, load: loadavg(), pressure: pressureOf(), ...first }
  writeFileSync(join(root, path), `${JSON.stringify(entry, null, 2)}\n`)
  return path
}

/** Returns the machine's pressure by its kinds; kernels without pressure information have none. */
export function pressureOf(): Readonly<Record<string, string>> {
  const kinds = ['cpu', 'io', 'memory'] as const
  return Object.fromEntries(
    kinds.flatMap(kind => {
      try {
        return [[kind, readFileSync(`/proc/pressure/${kind}`, 'utf8').trim()]]
      } catch {
        return []
      }
    }),
  )
}
