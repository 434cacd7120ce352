import { resolve } from 'node:path'
import { StartError } from '../kit/start-error.ts'
import { type Config, parseConfig } from './config-file.ts'
import type { Environment } from './environment.ts'

/** Access to files for the settings. */
export interface SettingsFiles {
  /** Returns a file's text, or undefined if there is none. */
  readFile(path: string): string | undefined
  /** Returns true if others than its owner may read a file. */
  isOpen(path: string): boolean
}

/**
 * Reads the configuration file that `BERTH_CONFIG` names, or `berth.json` in the data directory if there is one.
 * @param variables the environment, which holds the secrets that the file refers to
 * @throws StartError if the named file is missing or wrong, or holds a secret that others can read
 */
export function readConfig(
  env: Environment,
  dataDir: string,
  variables: Readonly<Record<string, string | undefined>>,
  files: SettingsFiles,
): Config {
  const named = env.text(
    'BERTH_CONFIG',
    'JSON file with providers, models, runtimes and Git hosts. Set it if the file lies elsewhere.',
    '`berth.json` in the data directory, if it exists',
    'a path',
  )
  const path = resolve(named ?? resolve(dataDir, 'berth.json'))
  const text = files.readFile(path)
  if (text === undefined && named !== undefined)
    throw new StartError(`BERTH_CONFIG names ${path}, which does not exist`)
  return parseConfig(text ?? '{}', path, { variables, isOpen: text !== undefined && files.isOpen(path) })
}
