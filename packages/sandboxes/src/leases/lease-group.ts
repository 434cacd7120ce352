import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hostNames, type LeaseFiles } from './lease-files.ts'

const GROUP_NAME = /^blank\.[\w-]+$/

/**
 * Returns the name of the cgroups of a lease or blank; undefined if its directory is gone or damaged. A power cut may
 * leave an empty file, and an empty name would mean the group that holds all sandboxes.
 */
export function groupOf(files: LeaseFiles): string | undefined {
  try {
    const name = readFileSync(join(files.host, hostNames.group), 'utf8')
    return GROUP_NAME.test(name) ? name : undefined
  } catch {
    return undefined
  }
}
