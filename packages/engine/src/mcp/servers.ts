import { setTimeout as sleep } from 'node:timers/promises'
import { Server, type Starting } from './server.ts'
import { MAX_SERVERS, type ServerConfig } from './server-config.ts'
import { type Offer, offerOf, type ServerTool } from './server-tools.ts'
import { readWorkspaceFile } from './workspace-file.ts'

/** Of what a server says of itself, what the model is shown. */
const MAX_INSTRUCTIONS = 2000
/** Names of tools that are left out, as far as they are listed. */
const MAX_NAMED = 8

/** Something about a server that people should know. */
export interface Notice {
  readonly server: string
  readonly reason: string
}

export interface ServersOptions extends Omit<Starting, 'tell' | 'changed'> {
  /** A Turn waits for servers that start no longer than this; their tools come with the model's next request then. */
  readonly waitMs: number
}

/**
 * The servers of a session: those that the protocol named, and those of the workspace's own file. No fault of theirs is
 * one of the session: what is not there is missing, and told.
 */
export class Servers {
  readonly #given: readonly ServerConfig[]
  readonly #options: ServersOptions
  #servers: readonly Server[] = []
  #problems: readonly Notice[] = []
  #offer: Offer | null = null
  #notices: Notice[] = []
  readonly #told = new Set<string>()

  constructor(given: readonly ServerConfig[], options: ServersOptions) {
    this.#given = given
    this.#options = options
  }

  /** At the start of a Turn: reads the file anew, and starts what does not run. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { cwd, env, waitMs } = this.#options
    const file = await readWorkspaceFile(cwd, env)
    const wanted = new Map<string, ServerConfig>()
    for (const config of [...this.#given, ...file.servers])
      if (!wanted.has(config.name)) wanted.set(config.name, config)
    const configs = [...wanted.values()]
    this.#problems = [
      ...file.problems.map(({ name, reason }) => ({ server: name, reason })),
      ...configs
        .slice(MAX_SERVERS)
        .map(({ name }) => ({ server: name, reason: `only ${MAX_SERVERS} servers are started` })),
    ]
    for (const { server, reason } of this.#problems) this.#tell(server, reason)
    this.#keep(configs.slice(0, MAX_SERVERS))
    const starts = Promise.all(this.#servers.map(server => server.start()))
    const waited = new AbortController()
    await Promise.race([
      starts,
      sleep(waitMs, undefined, { signal: AbortSignal.any([signal, waited.signal]) }).catch(() => undefined),
    ])
    waited.abort()
  }

  /** Resolves when what servers said until now of their tools is known. */
  async listed(): Promise<void> {
    await Promise.all(this.#servers.map(server => server.connection?.listed))
  }

  /** The same list for as long as nothing changes. */
  get tools(): readonly ServerTool[] {
    return this.#current().tools
  }

  /** What the model is told of them besides their tools. */
  get notes(): readonly string[] {
    const { leftOut } = this.#current()
    const said = this.#servers.flatMap(({ config: { name }, connection, trouble }) => [
      ...(trouble === null ? [] : [`MCP server ${name} is not available: ${trouble}`]),
      ...(connection?.instructions
        ? [`MCP server ${name} says of itself:\n${connection.instructions.slice(0, MAX_INSTRUCTIONS)}`]
        : []),
      ...(leftOut.has(name) ? [`MCP server ${name}: ${leftOutOf(leftOut.get(name) ?? [])}`] : []),
    ])
    return [...said, ...this.#problems.map(({ server, reason }) => `MCP server ${server} is not available: ${reason}`)]
  }

  /** What people have not been told yet. */
  takeNotices(): readonly Notice[] {
    for (const [name, names] of this.#current().leftOut) this.#tell(name, leftOutOf(names))
    return this.#notices.splice(0)
  }

  /** Ends them all. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map(server => server.close()))
    this.#servers = []
  }

  #current(): Offer {
    this.#offer ??= offerOf(this.#servers)
    return this.#offer
  }

  /** A server whose entry is as it was stays as it is. */
  #keep(configs: readonly ServerConfig[]): void {
    const same = (config: ServerConfig) =>
      this.#servers.find(server => JSON.stringify(server.config) === JSON.stringify(config))
    const options = {
      ...this.#options,
      changed: () => {
        this.#offer = null
      },
      tell: (server: string, reason: string) => this.#tell(server, reason),
    }
    const next = configs.map(config => same(config) ?? new Server(config, options))
    for (const server of this.#servers) if (!next.includes(server)) void server.close()
    this.#servers = next
    this.#offer = null
  }

  /** Once: a server that fails in the same way again is no news. */
  #tell(server: string, reason: string): void {
    const key = JSON.stringify([server, reason])
    if (this.#told.has(key)) return
    this.#told.add(key)
    this.#notices.push({ server, reason })
  }
}

function leftOutOf(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : ''
  return `tools left out, as too many, too large or without a schema that can be used: ${names.slice(0, MAX_NAMED).join(', ')}${more}`
}
