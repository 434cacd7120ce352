import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject, type Json } from '../json.ts'
import type { ServerConfig } from './server-config.ts'

/** The conventional name, at the root of a repository. */
const FILE = '.mcp.json'
const MAX_BYTES = 256 * 1024

/** The servers that a workspace names, and the faults in its file. */
export interface WorkspaceServers {
  readonly servers: readonly ServerConfig[]
  readonly problems: readonly { readonly name: string; readonly reason: string }[]
}

const none: WorkspaceServers = { servers: [], problems: [] }

/**
 * Reads the workspace's own list of servers,
 * `{ "mcpServers": { name: { command, args, env } | { type, url, headers } } }`.
 * `${NAME}` and `${NAME:-default}` expand to environment variables in every string. An invalid entry is a problem of
 * its own and does not affect the others.
 */
export async function readWorkspaceFile(cwd: string, env: NodeJS.ProcessEnv): Promise<WorkspaceServers> {
  const path = join(cwd, FILE)
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new Error('it is not a file')
    if (found.size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`)
    return serversOf(JSON.parse(await readFile(path, 'utf8')), env)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return none
    const reason = error instanceof SyntaxError ? 'it is not valid JSON' : messageOf(error)
    return { servers: [], problems: [{ name: FILE, reason }] }
  }
}

function serversOf(file: unknown, env: NodeJS.ProcessEnv): WorkspaceServers {
  const entries = objectOr(objectOr(file, 'it is not an object')['mcpServers'] ?? {}, '`mcpServers` is not an object')
  const servers: ServerConfig[] = []
  const problems: { name: string; reason: string }[] = []
  for (const [name, entry] of Object.entries(entries)) {
    try {
      servers.push(serverOf(name, objectOr(entry, 'its entry is not an object'), text => expand(text, env)))
    } catch (error) {
      problems.push({ name, reason: `${FILE}: ${messageOf(error)}` })
    }
  }
  return { servers, problems }
}

function serverOf(name: string, entry: Json, expanded: (text: string) => string): ServerConfig {
  const text = (value: unknown, key: string): string => {
    if (typeof value !== 'string' || value === '') throw new Error(`\`${key}\` is not a string`)
    return expanded(value)
  }
  const texts = (value: unknown, key: string): Record<string, string> =>
    Object.fromEntries(
      Object.entries(objectOr(value ?? {}, `\`${key}\` is not an object`)).map(([field, item]) => {
        if (typeof item !== 'string') throw new Error(`\`${key}.${field}\` is not a string`)
        return [field, expanded(item)]
      }),
    )
  const { type = 'command' in entry ? 'stdio' : 'http', args = [] } = entry
  switch (type) {
    case 'stdio':
      if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string'))
        throw new Error('`args` is not a list of strings')
      return {
        name,
        kind: 'stdio',
        command: text(entry['command'], 'command'),
        args: args.map(expanded),
        env: texts(entry['env'], 'env'),
      }
    case 'http':
    case 'streamable-http':
    case 'sse':
      return {
        name,
        kind: type === 'sse' ? 'sse' : 'http',
        url: text(entry['url'], 'url'),
        headers: texts(entry['headers'], 'headers'),
      }
    default:
      throw new Error('`type` must be stdio, http or sse')
  }
}

const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function expand(text: string, env: NodeJS.ProcessEnv): string {
  return text.replaceAll(variable, (_, name: string, fallback: string | undefined) => {
    const value = env[name] || fallback
    if (value === undefined) throw new Error(`the variable ${name} is not set`)
    return value
  })
}

function objectOr(value: unknown, otherwise: string): Json {
  if (!isObject(value)) throw new Error(otherwise)
  return value
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
