import { once } from 'node:events'
import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Network } from '@berth/platform/network/dial.ts'
import { AttemptFailed } from './webhook-addresses.ts'

/** Time after which an unused connection is closed. */
const IDLE_MS = 4_000

const kept: AgentOptions = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 16 }

type Connected = (error: Error | null, stream: Duplex) => void

/** A request of a pinned agent: `host` is an address, so the agent keeps connections by address. */
export interface PinnedRequest extends ClientRequestArgs {
  readonly host: string
  readonly port: number
  readonly signal: AbortSignal
  /** The same signal: requests keep `signal` from their agents. */
  readonly dialSignal: AbortSignal
  /** The host of the URL, which the certificate must name. */
  readonly servername: string
}

/** Returns true if an agent keeps a connection that such a request can use. */
export function hasKept(agent: HttpAgent, request: PinnedRequest): boolean {
  return (agent.freeSockets[agent.getName(request)]?.length ?? 0) > 0
}

/** An agent that dials by the given network, without TLS. */
export class PinnedHttpAgent extends HttpAgent {
  readonly #network: Network

  constructor(network: Network) {
    super(kept)
    this.#network = network
  }

  override createConnection(options: ClientRequestArgs, connected?: Connected): null {
    connectBy(dial(this.#network, options as PinnedRequest), connected)
    return null
  }
}

/** An agent that dials by the given network, and verifies the certificate for the request's `servername`. */
export class PinnedHttpsAgent extends HttpsAgent {
  readonly #network: Network
  readonly #ca: string | undefined

  /** @param ca certificates to trust instead of the system's */
  constructor(network: Network, ca?: string) {
    super(kept)
    this.#network = network
    this.#ca = ca
  }

  override createConnection(options: ClientRequestArgs, connected?: Connected): null {
    connectBy(this.#secure(options as PinnedRequest), connected)
    return null
  }

  async #secure(request: PinnedRequest): Promise<TLSSocket> {
    const socket = await dial(this.#network, request)
    const { servername, dialSignal: signal } = request
    const secured = connectTls({
      socket,
      host: servername,
      // An address has no server name, but the certificate must hold it.
      ...(isIP(servername) === 0 && { servername }),
      ALPNProtocols: ['http/1.1'],
      ...(this.#ca !== undefined && { ca: this.#ca }),
    })
    try {
      await once(secured, 'secureConnect', { signal })
      return secured
    } catch (error) {
      secured.on('error', () => undefined).destroy()
      signal.throwIfAborted()
      throw new AttemptFailed('tls_failed', error)
    }
  }
}

async function dial(network: Network, { host, port, dialSignal: signal }: PinnedRequest) {
  return network.dial(host, port, signal).catch(error => {
    signal.throwIfAborted()
    throw new AttemptFailed('connection_failed', error)
  })
}

function connectBy(connecting: Promise<Duplex>, connected: Connected | undefined): void {
  connecting.then(
    stream => connected?.(null, stream),
    // The agent reads no stream beside an error.
    error => connected?.(error, undefined as never),
  )
}
