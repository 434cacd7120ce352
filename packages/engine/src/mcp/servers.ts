import { setTimeout as sleep } from 'node:timers/promises'
import { Server, type Starting } from './server.ts'
import { MAX_SERVERS, type ServerConfig } from './server-config.ts'
import { type Offer, offerOf, type ServerTool } from './server-tools.ts'
import { readWorkspaceFile } from './workspace-file.ts'

/** Longest text of a server's instructions that the model sees. */
const MAX_INSTRUCTIONS = 2000
/** Most tool names listed in a message about tools left out. */
const MAX_NAMED = 8

/** A problem with a server that people should see. */
export interface Notice {
  readonly server: string
  readonly reason: string
}

export interface ServersOptions extends Omit<Starting, 'report' | 'changed'> {
  /** Longest time that a Turn waits for starting servers; later tools come with the next model request. */
  readonly waitMs: number
}

/**
 * The servers of a session: those given in the protocol, and those in the workspace's own file. A server that fails
 * never fails the session: its tools are missing, and a notice says so.
 */
export class Servers {
  readonly #given: readonly ServerConfig[]
  readonly #options: ServersOptions
  #servers: readonly Server[] = []
  #problems: readonly Notice[] = []
  #offer: Offer | null = null
  #notices: Notice[] = []
  readonly #reported = new Set<string>()

  constructor(given: readonly ServerConfig[], options: ServersOptions) {
    this.#given = given
    this.#options = options
  }

  /** Reads the workspace's file again and starts servers that are not running; called when a Turn begins. */
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
    for (const { server, reason } of this.#problems) this.#report(server, reason)
    this.#keep(configs.slice(0, MAX_SERVERS))
    const starts = Promise.all(this.#servers.map(server => server.start()))
    const waited = new AbortController()
    await Promise.race([
      starts,
      sleep(waitMs, undefined, { signal: AbortSignal.any([signal, waited.signal]) }).catch(() => undefined),
    ])
    waited.abort()
  }

  /** Resolves when every listing that the servers have announced so far is complete. */
  async listed(): Promise<void> {
    await Promise.all(this.#servers.map(server => server.connection?.listed))
  }

  /** The offered tools; the same array until something changes. */
  get tools(): readonly ServerTool[] {
    return this.#current().tools
  }

  /** Notes about the servers for the model, besides their tools. */
  get notes(): readonly string[] {
    const { leftOut } = this.#current()
    const lines = this.#servers.flatMap(({ config: { name }, connection, trouble }) => [
      ...(trouble === null ? [] : [`MCP server ${name} is not available: ${trouble}`]),
      ...(connection?.instructions
        ? [`MCP server ${name} says of itself:\n${connection.instructions.slice(0, MAX_INSTRUCTIONS)}`]
        : []),
      ...(leftOut.has(name) ? [`MCP server ${name}: ${leftOutOf(leftOut.get(name) ?? [])}`] : []),
    ])
    return [...lines, ...this.#problems.map(({ server, reason }) => `MCP server ${server} is not available: ${reason}`)]
  }

  /** Returns the notices that people have not seen yet, and clears them. */
  takeNotices(): readonly Notice[] {
    for (const [name, names] of this.#current().leftOut) this.#report(name, leftOutOf(names))
    return this.#notices.splice(0)
  }

  /** Stops all servers. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map(server => server.close()))
    this.#servers = []
  }

  #current(): Offer {
    this.#offer ??= offerOf(this.#servers)
    return this.#offer
  }

  /** Keeps a server if its configuration has not changed. */
  #keep(configs: readonly ServerConfig[]): void {
    const same = (config: ServerConfig) =>
      this.#servers.find(server => JSON.stringify(server.config) === JSON.stringify(config))
    const options = {
      ...this.#options,
      changed: () => {
        this.#offer = null
      },
      report: (server: string, reason: string) => this.#report(server, reason),
    }
    const next = configs.map(config => same(config) ?? new Server(config, options))
    for (const server of this.#servers) if (!next.includes(server)) void server.close()
    this.#servers = next
    this.#offer = null
  }

  /** Adds a notice once: if a server fails again in the same way, people learn nothing new. */
  #report(server: string, reason: string): void {
    const key = JSON.stringify([server, reason])
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    this.#notices.push({ server, reason })
  }
}

function leftOutOf(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : ''
  return `tools left out (too many, too large, or without a usable schema): ${names.slice(0, MAX_NAMED).join(', ')}${more}`
}
