import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '@berth/platform/kit/system-errors.ts'

/** The one lease that a pod has had, or has. Each change is on disk before it counts. */
export interface PodLease {
  readonly leaseId: string
  /** Of the process that started its first command. A part with another has started again, and its sandbox is gone. */
  readonly key: string
  /** Whether it was destroyed, or never came to be. */
  readonly isOver: boolean
}

const NAME = 'lease.json'

/** Reads the lease; undefined if the pod waits for one. */
export function readPodLease(dataDir: string): PodLease | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, NAME), 'utf8')) as PodLease
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

export function writePodLease(dataDir: string, lease: PodLease): void {
  const path = join(dataDir, NAME)
  writeFileSync(`${path}.new`, JSON.stringify(lease), { mode: 0o600, flush: true })
  renameSync(`${path}.new`, path)
}
