import { existsSync } from 'node:fs'
import type { RuntimeConfig } from '@berth/platform/settings/runtime-config.ts'
import type { RuntimeEntry } from '../catalog.ts'
import { installDirectory } from '../install-runtime.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import type { ForeignRuntime } from './foreign-runtime.ts'
import { gemini } from './gemini.ts'
import { goose } from './goose.ts'
import { opencode } from './opencode.ts'

/** The foreign agents that Berth knows. */
export const foreignRuntimes: readonly ForeignRuntime[] = [opencode, codex, claudeCode, gemini, goose]

/** The facts about the deployment that entries depend on. */
export interface Deployment {
  /** Returns true if a configured provider speaks a format. */
  readonly speaks: (wire: NonNullable<RuntimeEntry['speaks']>) => boolean
  /** Directory of the host below which runtimes are installed. */
  readonly installs: string
  /** Path of its runtime in a sandbox. */
  readonly inside: string
}

/**
 * Returns the catalog's entries: those of the configuration file, which may be based on a known agent, and the known
 * agents that the file does not name.
 */
export function runtimeEntries(configured: readonly RuntimeConfig[], deployment: Deployment): RuntimeEntry[] {
  const named = new Set(configured.map(({ id }) => id))
  return [
    ...configured.map(config => entryOf(config, deployment)),
    ...foreignRuntimes.filter(({ id }) => !named.has(id)).map(runtime => foreignEntry(runtime, deployment)),
  ]
}

function entryOf({ base, command, ...config }: RuntimeConfig, deployment: Deployment): RuntimeEntry {
  const known = foreignRuntimes.find(({ id }) => id === base)
  if (known === undefined) return { ...config, command, stateless: false }
  const entry = foreignEntry(known, deployment, config.env)
  return {
    ...entry,
    id: config.id,
    name: config.name === config.id ? entry.name : config.name,
    env: { ...entry.env, ...config.env },
    secrets: config.secrets,
    reach: config.reach,
    mounts: config.mounts,
    state: [...entry.state, ...config.state],
  }
}

const kindThatSpeaks = { responses: 'openai', messages: 'anthropic', generate: 'google' } as const

/** Returns the reason to show people if no provider speaks the agent's format. */
function lackOf({ id, ownProvider }: ForeignRuntime, format: keyof typeof kindThatSpeaks): string {
  const provider = `needs a provider of kind ${kindThatSpeaks[format]}, or one that names '${format}' under \`wire\``
  if (ownProvider === undefined) return provider
  return `${provider}; or ${ownProvider.key} in an entry of the configuration file based on ${id}`
}

function foreignEntry(
  runtime: ForeignRuntime,
  { speaks: isSpoken, installs, inside }: Deployment,
  given: Readonly<Record<string, string>> = {},
): RuntimeEntry {
  const { id, name, version, install, ownProvider } = runtime
  const packaged = install.kind === 'npm'
  const place = packaged ? installDirectory(installs, runtime) : install.path
  const absent = packaged ? `not installed: berth runtimes install ${id}` : `not installed: put it at ${place}`
  const asksOwn = ownProvider !== undefined && given[ownProvider.key] !== undefined
  const { modelEnv, speaks } = asksOwn ? {} : runtime
  const isServed = speaks === undefined || isSpoken(speaks)
  return {
    id,
    name,
    ...(packaged && { version, directory: place }),
    command: runtime.command(packaged ? inside : place),
    env: asksOwn ? { ...runtime.env, ...ownProvider.env } : runtime.env,
    ...(modelEnv !== undefined && { modelEnv }),
    ...(speaks !== undefined && { speaks }),
    reach: [],
    state: runtime.state,
    ...(runtime.skills !== undefined && { skills: runtime.skills }),
    ...(runtime.serversEnv !== undefined && { serversEnv: runtime.serversEnv }),
    ...(runtime.repeatsLate !== undefined && { repeatsLate: runtime.repeatsLate }),
    stateless: false,
    mounts: [],
    missing: () => (isServed ? (existsSync(place) ? null : absent) : lackOf(runtime, speaks)),
  }
}
