import type { McpServer } from '@agentclientprotocol/sdk'
import type { ServerTemplate } from '../../environments/extensions/server-template.ts'

/** Transports of MCP servers that an agent has advertised, besides stdio, which every agent speaks. */
export interface McpTransports {
  readonly http: boolean
  readonly sse: boolean
}

/** The servers for one process of an agent, and why others are left out. */
export interface GivenServers {
  readonly servers: readonly McpServer[]
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[]
}

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

/** Returns the names without a value that a server needs. */
export function missingNames(template: ServerTemplate, values: Readonly<Record<string, string>>): readonly string[] {
  const texts = Object.values(template.kind === 'stdio' ? template.env : template.headers)
  const names = texts.flatMap(text => [...text.matchAll(reference)])
  return [
    ...new Set(
      names.flatMap(([, name = '', fallback]) => (Object.hasOwn(values, name) || fallback !== undefined ? [] : [name])),
    ),
  ]
}

/**
 * Returns the servers of extensions for `session/new` and `session/load`. A server whose transport the agent does not
 * advertise would make some agents refuse the whole session, so it is left out.
 * @param values variables and secrets that `${NAME}` stands for, and `${NAME:-default}`
 */
export function serversFor(
  templates: readonly ServerTemplate[],
  { http, sse }: McpTransports,
  values: Readonly<Record<string, string>>,
): GivenServers {
  const advertised = { stdio: true, http, sse }
  const servers: McpServer[] = []
  const leftOut: { name: string; reason: string }[] = []
  for (const template of templates) {
    const { name, kind } = template
    const missing = missingNames(template, values)
    if (!advertised[kind]) leftOut.push({ name, reason: `this agent does not speak ${kind} with MCP servers` })
    else if (missing.length > 0) leftOut.push({ name, reason: `the environment has no ${missing.join(', ')}` })
    else servers.push(serverOf(template, values))
  }
  return { servers, leftOut }
}

function serverOf(template: ServerTemplate, values: Readonly<Record<string, string>>): McpServer {
  const pairs = (texts: Readonly<Record<string, string>>) =>
    Object.entries(texts).map(([name, text]) => ({ name, value: filled(text, values) }))
  const { name } = template
  // Without `type`: an adapter drops a stdio server that has one.
  if (template.kind === 'stdio')
    return { name, command: template.command, args: [...template.args], env: pairs(template.env) }
  return { type: template.kind, name, url: template.url, headers: pairs(template.headers) }
}

const filled = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(reference, (_, name: string, fallback: string | undefined) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : (fallback ?? ''),
  )
