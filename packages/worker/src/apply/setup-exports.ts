import { nameFault } from '@berth/core/environments/document-rules.ts'
import { masterKeyOf } from '@berth/platform/storage/master-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { FileText, SetupEnd } from '@berth/supervisor/apply'

/** What setup hands on to the agent. */
export interface SetupExports {
  readonly variables: Readonly<Record<string, string>>
  /** Directories, the last first. */
  readonly path: readonly string[]
}

const none: SetupExports = { variables: {}, path: [] }
const assignment = /^([A-Za-z_][A-Za-z0-9_]{0,127})=(.*)$/

/**
 * Reads the files `$BERTH_ENV` and `$BERTH_PATH` of a setup script.
 * @returns the exports, and a line for each thing that was left out
 */
export function readExports({ env, path }: Pick<SetupEnd, 'env' | 'path'>): {
  readonly exports: SetupExports
  readonly leftOut: readonly string[]
} {
  const leftOut: string[] = []
  // A script chooses the names; on a plain object, `__proto__` would be lost.
  const variables: Record<string, string> = Object.create(null)
  for (const [index, line] of linesOf(env).entries()) {
    const [, name = '', value = ''] = assignment.exec(line) ?? []
    const fault = name === '' ? 'is not NAME=value' : (nameFault(name) ?? valueFault(value))
    if (fault === null) variables[name] = value
    else leftOut.push(`line ${index + 1} of $BERTH_ENV is left out: it ${fault}`)
  }
  const directories: string[] = []
  for (const [index, line] of linesOf(path).entries()) {
    const fault = line.startsWith('/') && !/[:\0]/.test(line) ? valueFault(line) : 'is no absolute path'
    if (fault === null) directories.unshift(line)
    else leftOut.push(`line ${index + 1} of $BERTH_PATH is left out: it ${fault}`)
  }
  if (env.isCut) leftOut.push('the rest of $BERTH_ENV is left out: it is longer than 64 KiB')
  if (path.isCut) leftOut.push('the rest of $BERTH_PATH is left out: it is longer than 64 KiB')
  return { exports: { variables, path: [...new Set(directories)] }, leftOut }
}

function valueFault(value: string): string | null {
  if (value.includes('\0')) return 'holds a NUL'
  return value.includes('\ufffd') ? 'holds U+FFFD, or bytes that are not UTF-8' : null
}

const linesOf = ({ text }: FileText): readonly string[] => text.split(/\r?\n|\r$/).filter(line => line !== '')

/**
 * Seals exports for the row of a lease or an image: setup may have exported a secret.
 * @returns base64
 */
export function sealExports(db: Queryable, holder: { readonly id: string }, exports: SetupExports): string {
  return masterKeyOf(db).seal(JSON.stringify(exports), placeOf(holder)).toString('base64')
}

/** Opens the exports in the row of a lease or an image; empty before setup has ended. @throws UnsealError */
export function openExports(
  db: Queryable,
  holder: { readonly id: string },
  sealed: string | null | undefined,
): SetupExports {
  if (sealed === undefined || sealed === null) return none
  return JSON.parse(masterKeyOf(db).open(Buffer.from(sealed, 'base64'), placeOf(holder)).toString())
}

const placeOf = ({ id }: { readonly id: string }) => `lease/${id}/exports`
