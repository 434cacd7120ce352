import { readFileSync } from 'node:fs'
import { StartError } from './start-error.ts'

/** Text of the configuration file; undefined where there is none. @throws StartError where it cannot be read */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new StartError(`${path} cannot be read`, { cause: error })
  }
}
