import type { McpServer } from '@agentclientprotocol/sdk'

/** How one server is reached, whoever named it. */
export type ServerConfig = { readonly name: string } & (
  | {
      readonly kind: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      /** Besides the engine's own. */
      readonly env: Readonly<Record<string, string>>
    }
  | { readonly kind: 'http' | 'sse'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
)

/** Servers that a session has at most. */
export const MAX_SERVERS = 16

/** A server as the protocol names it, in `session/new` and `session/load`. */
export function configOf(server: McpServer): ServerConfig {
  const { name } = server
  if ('command' in server) {
    return { name, kind: 'stdio', command: server.command, args: server.args, env: recordOf(server.env) }
  }
  return { name, kind: server.type, url: server.url, headers: recordOf(server.headers) }
}

const recordOf = (pairs: readonly { readonly name: string; readonly value: string }[]) =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

/** What a server is given that may be secret; none of it is repeated in what is said of the server. */
export function withoutSecrets(text: string, config: ServerConfig): string {
  const given = Object.values(config.kind === 'stdio' ? config.env : config.headers)
  const words = given.flatMap(value => [value, ...value.split(/\s+/)]).filter(word => word.length >= 8)
  return words
    .toSorted((one, other) => other.length - one.length)
    .reduce((said, word) => said.replaceAll(word, '***'), text)
}
