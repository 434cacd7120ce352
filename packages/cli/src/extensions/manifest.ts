import { join } from 'node:path'
import { UsageError } from '../failure.ts'
import { readUtf8 } from '../utf8.ts'

/** Manifests of other layouts, best first. */
const foreignManifests = [
  'plugin.json',
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  'gemini-extension.json',
] as const

/** The interface of the platform that packed extensions are written for. */
const PLUGIN_API = '^1.0.0'
/** Members of other manifests that this platform has nothing for. */
const unsupported = [
  'hooks',
  'agents',
  'lspServers',
  'outputStyles',
  'apps',
  'contextFileName',
  'excludeTools',
  'settings',
]
const MAX_ID = 64
const MAX_NAME = 100

/** The manifest of an extension, and the other members of the manifest that it was made from. */
export interface PackedManifest {
  readonly text: string
  readonly id: string
  readonly version: string
  /** The file that it comes from. */
  readonly source: string
  readonly leftOut: readonly string[]
}

/**
 * Returns the `extension.json` of a directory: its own, or one that is made from the manifest of another layout.
 * @throws UsageError if there is no manifest, or one that cannot be read
 */
export async function manifestOf(directory: string): Promise<PackedManifest> {
  const own = await readObject(directory, 'extension.json')
  if (own !== null) {
    const { id, version } = own
    return {
      text: JSON.stringify(own, null, 2),
      id: String(id),
      version: String(version),
      source: 'extension.json',
      leftOut: [],
    }
  }
  for (const source of foreignManifests) {
    const found = await readObject(directory, source)
    if (found !== null) return convert(found, source)
  }
  throw new UsageError(
    `${directory} has no extension.json, and none of ${foreignManifests.join(', ')} to make one from`,
  )
}

function convert(found: Readonly<Record<string, unknown>>, source: string): PackedManifest {
  const { name, version } = found
  const id = typeof name === 'string' ? idOf(name) : ''
  if (typeof name !== 'string' || id === '') throw new UsageError(`${source}: "name" must name the extension`)
  if (typeof version !== 'string') throw new UsageError(`${source}: "version" must be a version such as 1.0.0`)
  const contributes = {
    ...directories(found, 'skills'),
    ...directories(found, 'commands'),
    ...(found['mcpServers'] !== undefined && { mcpServers: found['mcpServers'] }),
  }
  const shown = typeof found['displayName'] === 'string' ? found['displayName'] : name
  const manifest = {
    id,
    name: [...shown].slice(0, MAX_NAME).join(''),
    version,
    ...(typeof found['description'] === 'string' && { description: found['description'] }),
    compat: { pluginApi: PLUGIN_API },
    ...(Object.keys(contributes).length > 0 && { contributes }),
  }
  const leftOut = unsupported.filter(member => found[member] !== undefined)
  return { text: `${JSON.stringify(manifest, null, 2)}\n`, id, version, source, leftOut }
}

/** Returns a name in the characters of an id. */
function idOf(name: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/([.-])[.-]+/g, '$1')
  return plain
    .replace(/^[.-]+/, '')
    .slice(0, MAX_ID)
    .replace(/[.-]+$/, '')
}

/** Other layouts name one directory by a text. */
function directories(found: Readonly<Record<string, unknown>>, member: 'skills' | 'commands'): object {
  const value = found[member]
  if (value === undefined) return {}
  return { [member]: typeof value === 'string' ? [value] : value }
}

async function readObject(directory: string, name: string): Promise<Readonly<Record<string, unknown>> | null> {
  let text: string
  try {
    text = await readUtf8(join(directory, name))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')) return null
    throw new UsageError(`cannot read ${name}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch (cause) {
    throw new UsageError(`${name} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  throw new UsageError(`${name} must hold an object`)
}
