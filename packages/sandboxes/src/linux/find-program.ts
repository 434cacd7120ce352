import { constants } from 'node:fs'
import { access, realpath } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { systemPath } from './run-program.ts'

/** This host cannot run a sandbox driver. The message names the missing program and how to install it. */
export class MissingProgramError extends Error {
  override readonly name = 'MissingProgramError'
}

/** Returns the path of a program without symbolic links; undefined if this host lacks it. */
export async function findProgram(name: string): Promise<string | undefined> {
  const folders = isAbsolute(name) ? [''] : `${systemPath}${delimiter}${process.env.PATH ?? ''}`.split(delimiter)
  for (const folder of folders) {
    const path = isAbsolute(name) ? name : join(folder, name)
    if (!isAbsolute(path)) continue
    try {
      await access(path, constants.X_OK)
      return await realpath(path)
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}
