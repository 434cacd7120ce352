import { resolve } from 'node:path'
import type { SettingsFiles } from '@berth/platform/settings/read-config.ts'

type Variables = Readonly<Record<string, string | undefined>>

/**
 * Lists the variables that the configuration file names for its secrets, as in `{ "env": "NAME" }`, and that are not set.
 * A file that cannot be read or is no JSON names none: reading the settings names its fault.
 */
export function absentVariables(variables: Variables, readFile: SettingsFiles['readFile']): readonly string[] {
  const { BERTH_CONFIG: named, BERTH_DATA_DIR: dataDir } = variables
  let config: unknown
  try {
    config = JSON.parse(readFile(resolve(named || resolve(dataDir || '.berth', 'berth.json'))) ?? '{}')
  } catch {
    return []
  }
  return [...new Set(namesIn(config))].filter(name => !variables[name])
}

function namesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  const [[key, name] = [], ...others] = Object.entries(value)
  if (key === 'env' && typeof name === 'string' && others.length === 0) return [name]
  return Object.values(value).flatMap(namesIn)
}
