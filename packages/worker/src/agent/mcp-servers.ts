import { randomUUID } from 'node:crypto'
import type { McpServer } from '@agentclientprotocol/sdk'
import type { ServerTemplate } from '@berth/core/environments/extensions/server-template.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { asObject } from './acp-message.ts'

/** A transport of MCP servers that an agent may advertise. Every agent speaks stdio. */
export type McpTransport = 'http' | 'sse'

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

/** Returns the transports in the `mcpCapabilities` of an agent. */
export function transportsOf(capabilities: unknown): readonly McpTransport[] {
  const given = asObject(capabilities) ?? {}
  return (['http', 'sse'] as const).filter(transport => given[transport] === true)
}

/** Returns whether an agent can be given a server. One that it does not speak makes some refuse the whole session. */
export const speaks = (advertised: readonly McpTransport[], kind: ServerTemplate['kind']): boolean =>
  kind === 'stdio' || advertised.includes(kind)

/** Returns the Event that tells of a server whose transport the agent does not speak. */
export function leftOut(name: string, kind: ServerTemplate['kind']): EventDraft {
  const title = `MCP server ${name} is left out: this agent does not speak ${kind} with servers`
  const data = { activityId: randomUUID(), name: 'mcp', kind: 'other', title, status: 'failed', durationMs: 0 }
  return { type: 'svc.activity.completed', visibility: 'transcript', data }
}

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
 * Returns the servers of extensions for `session/new` and `session/load`, without those that the agent does not speak
 * with or that lack a value.
 * @param values variables and secrets that `${NAME}` stands for, and `${NAME:-default}`
 */
export function serversFor(
  templates: readonly ServerTemplate[],
  advertised: readonly McpTransport[],
  values: Readonly<Record<string, string>>,
): McpServer[] {
  return templates
    .filter(template => speaks(advertised, template.kind) && missingNames(template, values).length === 0)
    .map(template => serverOf(template, values))
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
