import type { McpServer } from '@agentclientprotocol/sdk'

/** How to reach one server. */
export type ServerConfig = { readonly name: string } & (
  | {
      readonly kind: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      /** Added to the engine's own environment. */
      readonly env: Readonly<Record<string, string>>
    }
  | { readonly kind: 'http' | 'sse'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
)

/** Most servers that one session may have. */
export const MAX_SERVERS = 16

/** Converts a server as ACP describes it in `session/new` and `session/load`. */
export function configOf(server: McpServer): ServerConfig {
  const { name } = server
  if ('command' in server) {
    return { name, kind: 'stdio', command: server.command, args: server.args, env: recordOf(server.env) }
  }
  return { name, kind: server.type, url: server.url, headers: recordOf(server.headers) }
}

const recordOf = (pairs: readonly { readonly name: string; readonly value: string }[]) =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

/** Masks every value of the server's environment or headers in a text, because any of them may be a secret. */
export function withoutSecrets(text: string, config: ServerConfig): string {
  const given = Object.values(config.kind === 'stdio' ? config.env : config.headers)
  const secrets = given.flatMap(value => [value, ...value.split(/\s+/)]).filter(part => part.length >= 8)
  return secrets
    .toSorted((one, other) => other.length - one.length)
    .reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
}
