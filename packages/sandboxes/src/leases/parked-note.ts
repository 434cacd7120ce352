import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Resume } from '@berth/supervisor'
import { hostNames, type LeaseFiles } from './lease-files.ts'

/** What is left of a parked sandbox besides its files. Only this module writes it, in a directory that no sandbox sees. */
export interface ParkedNote {
  readonly resume: Resume
  /** The boot of the host, and what the agent's directories are there. */
  readonly place: string
}

const pathOf = (files: LeaseFiles) => join(files.host, hostNames.parked)

/**
 * Returns a text that changes when the disk of a lease is not mounted any more, as after an end of the host or of the container
 * that the service runs in.
 */
function placeOf(files: LeaseFiles): string {
  const inodes = [files.workspace, files.home, files.tmp].map(path => {
    const stat = statSync(path, { throwIfNoEntry: false })
    return `${stat?.dev}:${stat?.ino}`
  })
  return [readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(), ...inodes].join(' ')
}

/** Writes the note of a sandbox whose processes are about to end, atomically. */
export function writeParked(files: LeaseFiles, resume: Resume): void {
  const note: ParkedNote = { resume, place: placeOf(files) }
  const path = pathOf(files)
  writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Reads the note of a lease; undefined if there is none, or its files are not what they were. */
export function readParked(files: LeaseFiles): ParkedNote | undefined {
  if (!hasParkedNote(files)) return undefined
  try {
    const note = JSON.parse(readFileSync(pathOf(files), 'utf8')) as ParkedNote
    return note.place === placeOf(files) ? note : undefined
  } catch {
    // It went meanwhile, or a crash of the host has emptied it.
    return undefined
  }
}

/** Returns whether a lease has a note. It may be left over from a worker that died before the processes had ended. */
export const hasParkedNote = (files: LeaseFiles): boolean => existsSync(pathOf(files))

/** Removes the note of a lease. */
export const removeParked = (files: LeaseFiles): void => rmSync(pathOf(files), { force: true })
