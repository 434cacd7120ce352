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

/**
 * Entries of the catalog: those of the configuration file, which may stand on one that Berth knows, and those that it
 * knows and the file does not name.
 * @param installs directory below which packages are installed
 */
export function runtimeEntries(configured: readonly RuntimeConfig[], installs: string): RuntimeEntry[] {
  const named = new Set(configured.map(({ id }) => id))
  return [
    ...configured.map(config => entryOf(config, installs)),
    ...foreignRuntimes.filter(({ id }) => !named.has(id)).map(runtime => foreignEntry(runtime, installs)),
  ]
}

function entryOf({ base, command, ...config }: RuntimeConfig, installs: string): RuntimeEntry {
  const known = foreignRuntimes.find(({ id }) => id === base)
  if (known === undefined) return { ...config, command, stateless: false }
  const entry = foreignEntry(known, installs, config.env)
  return {
    ...entry,
    id: config.id,
    name: config.name === config.id ? entry.name : config.name,
    env: { ...entry.env, ...config.env },
    reach: config.reach,
    mounts: [...entry.mounts, ...config.mounts],
    state: [...entry.state, ...config.state],
  }
}

function foreignEntry(
  runtime: ForeignRuntime,
  installs: string,
  given: Readonly<Record<string, string>> = {},
): RuntimeEntry {
  const { id, name, version, install, modelEnv } = runtime
  const place = install.kind === 'npm' ? installDirectory(installs, runtime) : install.path
  const absent =
    install.kind === 'npm' ? `not installed: berth runtimes install ${id}` : `not installed: put it at ${install.path}`
  return {
    id,
    name,
    ...(install.kind === 'npm' && { version }),
    command: runtime.command(place),
    env: runtime.env,
    ...(modelEnv !== undefined && { modelEnv }),
    reach: [],
    state: runtime.state,
    stateless: false,
    mounts: install.kind === 'npm' ? [place] : [],
    missing: () => {
      const wanted = runtime.needs.filter(variable => given[variable] === undefined)
      if (wanted.length > 0) return `needs ${wanted.join(', ')} in an entry of the configuration file based on ${id}`
      return existsSync(place) ? null : absent
    },
  }
}
