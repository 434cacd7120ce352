import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** Returns the first program of one of these names in the directories of `PATH`; undefined if there is none. */
export function findExecutable(...names: readonly string[]): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute)
  return directories.flatMap(directory => names.map(name => join(directory, name))).find(isExecutable)
}

/** Returns whether a path is a program that may be run. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
