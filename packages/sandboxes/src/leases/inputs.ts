import { randomUUID } from 'node:crypto'
import { chmod, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, ignoring } from '@berth/platform/kit/system-errors.ts'
import { type InputFile, SandboxGoneError } from '../driver.ts'
import type { LeaseFiles } from './lease-files.ts'
import { makeVisibleDirectory } from './visible-files.ts'

const MAX_NAME_BYTES = 255

/**
 * Writes a Turn's files, which the sandbox sees read-only. They are staged outside the sandbox and appear together by
 * one rename. The sandbox can never write to the directory, so the service never follows a link of the agent's. If the
 * Turn's files already exist, they stay unchanged.
 */
export async function writeTurnInputs(
  files: Pick<LeaseFiles, 'leaseId' | 'inputs' | 'host'>,
  turn: number,
  inputs: readonly InputFile[],
): Promise<void> {
  if (!Number.isSafeInteger(turn) || turn < 0) throw new TypeError(`not a turn sequence: ${turn}`)
  for (const { name } of inputs) assertFileName(name)
  const target = join(files.inputs, String(turn))
  if (await ignoring(['ENOENT'], stat(target))) return
  const staging = join(files.host, `inputs-${turn}-${randomUUID()}`)
  try {
    makeVisibleDirectory(staging)
    for (const { name, content } of inputs) {
      await writeFile(join(staging, name), content, { flag: 'wx' })
      await chmod(join(staging, name), 0o444)
    }
    await rename(staging, target)
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    // Another process wrote the same Turn's files first.
    if (['EEXIST', 'ENOTEMPTY'].includes(errorCode(error) ?? '') && (await ignoring(['ENOENT'], stat(target)))) return
    if (errorCode(error) === 'ENOENT')
      throw new SandboxGoneError(`sandbox ${files.leaseId} does not exist`, { cause: error })
    throw error
  }
}

function assertFileName(name: string): void {
  const segment = name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)
  if (!segment) throw new TypeError(`not a file name: ${JSON.stringify(name)}`)
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw new TypeError(`file name over ${MAX_NAME_BYTES} bytes: ${JSON.stringify(name)}`)
  }
}
