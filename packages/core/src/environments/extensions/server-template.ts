import { isObject } from '@berth/platform/kit/json.ts'

/** An MCP server of an extension. `${NAME}` in `env` and `headers` still stands for a variable or a secret. */
export type ServerTemplate = { readonly name: string } & (
  | {
      readonly kind: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
    }
  | { readonly kind: 'http' | 'sse'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
)

/** The servers of an extension, and why others of its list cannot be used. */
export interface ServerTemplates {
  readonly servers: readonly ServerTemplate[]
  readonly leftOut: readonly string[]
}

/** The directory of an extension inside a sandbox, and the one in which it may keep data. */
export interface ExtensionPlaces {
  readonly root: string
  readonly data: string
}

const namePattern = /^[A-Za-z0-9_.-]{1,64}$/
/** A program that runs in a directory of its own: ACP has no member for one. */
const inDirectory = 'cd "$1" && shift && exec "$@"'

/**
 * Reads a list of MCP servers, `{ name: { command, args, env, cwd } | { type, url, headers } }`, or an object that has it
 * as `mcpServers`. A server that is wrong does not affect the others.
 * @param id of the extension; servers are named `<id>.<name>`
 */
export function readServers(list: unknown, id: string, places: ExtensionPlaces): ServerTemplates {
  if (!isObject(list)) return { servers: [], leftOut: ['the list of MCP servers is not an object'] }
  const inner = list['mcpServers']
  const entries = Object.entries(isObject(inner) ? inner : list)
  const servers: ServerTemplate[] = []
  const leftOut: string[] = []
  for (const [key, entry] of entries) {
    const name = `${id}.${key}`
    try {
      if (!namePattern.test(name))
        throw new Error('its name is too long, or has other characters than A-Z a-z 0-9 _ . -')
      servers.push({ name, ...serverOf(entry, places) })
    } catch (error) {
      leftOut.push(`MCP server ${key.slice(0, 64)}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { servers, leftOut }
}

type Unnamed = ServerTemplate extends infer T ? (T extends unknown ? Omit<T, 'name'> : never) : never

function serverOf(entry: unknown, places: ExtensionPlaces): Unnamed {
  if (!isObject(entry)) throw new Error('its entry is not an object')
  const own = (text: string) => fillOwn(text, places)
  const text = (key: string): string => {
    const value = entry[key]
    if (typeof value !== 'string' || value === '') throw new Error(`\`${key}\` is not a string`)
    return own(value)
  }
  // Gemini CLI names the streamable transport by its member.
  const { httpUrl, type = 'command' in entry ? 'stdio' : 'http' } = entry
  if (httpUrl !== undefined) return { kind: 'http', url: text('httpUrl'), headers: textsOf(entry, 'headers', own) }
  switch (type) {
    case 'stdio': {
      const { args = [], cwd } = entry
      if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string'))
        throw new Error('`args` is not a list of strings')
      const argv = [atRoot(text('command'), places.root), ...args.map(own)]
      const [command = '', ...rest] =
        cwd === undefined ? argv : ['/bin/sh', '-c', inDirectory, 'sh', atRoot(text('cwd'), places.root), ...argv]
      const env = { PLUGIN_ROOT: places.root, PLUGIN_DATA: places.data, ...textsOf(entry, 'env', own) }
      return { kind: 'stdio', command, args: rest, env }
    }
    case 'http':
    case 'streamable-http':
    case 'sse':
      return { kind: type === 'sse' ? 'sse' : 'http', url: text('url'), headers: textsOf(entry, 'headers', own) }
    default:
      throw new Error('`type` must be stdio, http or sse')
  }
}

/** A path that begins with a dot lies in the extension; the agent's own directory is the workspace. */
const atRoot = (path: string, root: string): string =>
  path === '.' ? root : path.startsWith('./') ? `${root}/${path.slice(2)}` : path

function textsOf(
  entry: Readonly<Record<string, unknown>>,
  key: string,
  own: (text: string) => string,
): Record<string, string> {
  const value = entry[key] ?? {}
  if (!isObject(value)) throw new Error(`\`${key}\` is not an object`)
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      if (typeof item !== 'string') throw new Error(`\`${key}.${name}\` is not a string`)
      return [name, own(item)]
    }),
  )
}

/** Fills in the names of the extension's own directories, in the words of each layout. */
const fillOwn = (text: string, { root, data }: ExtensionPlaces): string =>
  text
    .replaceAll(/\$\{(?:PLUGIN_ROOT|CLAUDE_PLUGIN_ROOT|extensionPath)\}/g, () => root)
    .replaceAll(/\$\{(?:PLUGIN_DATA|CLAUDE_PLUGIN_DATA)\}/g, () => data)
