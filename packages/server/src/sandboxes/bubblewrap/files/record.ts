import { renameSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxBounds, SandboxSpec } from '../../driver.ts'
import { ignoring } from '../../linux/errors.ts'
import { hostNames, type LeaseFiles } from './lease-files.ts'

/** What any process needs to know of a lease that another one made. */
export interface LeaseRecord {
  readonly uid: number
  readonly bounds: SandboxBounds
  readonly command: readonly string[]
  readonly createdAt: string
}

/** Keeps the record of a lease; it appears whole or not at all. */
export function writeRecord(files: LeaseFiles, spec: SandboxSpec, uid: number): void {
  const record: LeaseRecord = { uid, bounds: spec.bounds, command: spec.command, createdAt: new Date().toISOString() }
  const path = join(files.host, hostNames.record)
  writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** The record of a lease; undefined for one that is half made or gone. */
export async function readRecord(files: LeaseFiles): Promise<LeaseRecord | undefined> {
  const text = await ignoring(['ENOENT', 'ENOTDIR'], readFile(join(files.host, hostNames.record), 'utf8'))
  // Written by this module alone, in a directory that no sandbox sees.
  return text === undefined ? undefined : (JSON.parse(text) as LeaseRecord)
}
