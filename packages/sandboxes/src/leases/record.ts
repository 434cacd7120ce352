import { renameSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import type { SandboxBounds, SandboxSpec } from '../driver.ts'
import { hostNames, type LeaseFiles } from './lease-files.ts'

/** The facts that other processes need about a lease. */
export interface LeaseRecord {
  readonly uid: number
  readonly bounds: SandboxBounds
  readonly command: readonly string[]
  readonly createdAt: string
}

/** Writes the record of a lease, atomically. */
export function writeRecord(files: LeaseFiles, spec: SandboxSpec, uid: number): void {
  const record: LeaseRecord = { uid, bounds: spec.bounds, command: spec.command, createdAt: new Date().toISOString() }
  const path = join(files.host, hostNames.record)
  writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Reads the record of a lease; undefined if the lease is incomplete or gone. */
export async function readRecord(files: LeaseFiles): Promise<LeaseRecord | undefined> {
  const text = await ignoring(['ENOENT', 'ENOTDIR'], readFile(join(files.host, hostNames.record), 'utf8'))
  // Only this module writes it, in a directory that no sandbox sees.
  return text === undefined ? undefined : (JSON.parse(text) as LeaseRecord)
}
