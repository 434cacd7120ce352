import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hostNames, type LeaseFiles } from './lease-files.ts'

/** Writes the lease's engine outside the sandbox, where it goes with the lease. Every uid may read it, none write it. */
export async function writeEngine(files: LeaseFiles, engine: AsyncIterable<Uint8Array>): Promise<void> {
  const path = join(files.host, hostNames.engine)
  await writeFile(path, engine, { flag: 'wx' })
  await chmod(path, 0o444)
}
