import { existsSync } from 'node:fs'
import type { RuntimeConfig } from '../../settings/config-file.ts'
import type { RuntimeEntry } from '../catalog.ts'
import { installDirectory } from '../install-runtime.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import type { ForeignRuntime } from './foreign-runtime.ts'
import { gemini } from './gemini.ts'
import { goose } from './goose.ts'
import { opencode } from './opencode.ts'

/** The agents that Berth knows, beside its own. */
export const foreignRuntimes: readonly ForeignRuntime[] = [opencode, codex, claudeCode, gemini, goose]

/** Where packages are. */
export interface Places {
  /** Directory of the host below which they are installed. */
  readonly installs: string
  /** Where a sandbox sees the one of its runtime. */
  readonly inside: string
}

/**
 * Entries of the catalog: those of the configuration file, which may stand on one that Berth knows, and those that it
 * knows and the file does not name.
 */
export function runtimeEntries(configured: readonly RuntimeConfig[], places: Places): RuntimeEntry[] {
  const named = new Set(configured.map(({ id }) => id))
  return [
    ...configured.map(config => entryOf(config, places)),
    ...foreignRuntimes.filter(({ id }) => !named.has(id)).map(runtime => foreignEntry(runtime, places)),
  ]
}

function entryOf({ base, command, ...config }: RuntimeConfig, places: Places): RuntimeEntry {
  const known = foreignRuntimes.find(({ id }) => id === base)
  if (known === undefined) return { ...config, command, stateless: false }
  const entry = foreignEntry(known, places, config.env)
  return {
    ...entry,
    id: config.id,
    name: config.name === config.id ? entry.name : config.name,
    env: { ...entry.env, ...config.env },
    reach: config.reach,
    mounts: config.mounts,
    state: [...entry.state, ...config.state],
  }
}

function foreignEntry(
  runtime: ForeignRuntime,
  { installs, inside }: Places,
  given: Readonly<Record<string, string>> = {},
): RuntimeEntry {
  const { id, name, version, install, modelEnv } = runtime
  const packaged = install.kind === 'npm'
  const place = packaged ? installDirectory(installs, runtime) : install.path
  const absent = packaged ? `not installed: berth runtimes install ${id}` : `not installed: put it at ${place}`
  return {
    id,
    name,
    ...(packaged && { version, directory: place }),
    command: runtime.command(packaged ? inside : place),
    env: runtime.env,
    ...(modelEnv !== undefined && { modelEnv }),
    reach: [],
    state: runtime.state,
    stateless: false,
    mounts: [],
    missing: () => {
      const wanted = runtime.needs.filter(variable => given[variable] === undefined)
      if (wanted.length > 0) return `needs ${wanted.join(', ')} in an entry of the configuration file based on ${id}`
      return existsSync(place) ? null : absent
    },
  }
}
