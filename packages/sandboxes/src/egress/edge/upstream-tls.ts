import type { Socket } from 'node:net'
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls'

/** The host does not prove to be itself, or does not speak TLS. Its message says why. */
export class UpstreamUntrusted extends Error {
  override readonly name = 'UpstreamUntrusted'
}

let systemTrust: SecureContext | undefined

/** Returns what proves a host's certificate: the given authorities, or those of Node and this system. Made once. */
export function trustOf(authorities?: readonly string[]): SecureContext {
  if (authorities !== undefined) return createSecureContext({ ca: [...authorities] })
  systemTrust ??= createSecureContext({ ca: [...new Set([...getCACertificates('default'), ...systemAuthorities()])] })
  return systemTrust
}

function systemAuthorities(): readonly string[] {
  try {
    return getCACertificates('system')
  } catch {
    return []
  }
}

/**
 * Begins TLS with a host over its connection.
 * @param protocols those that the client speaks
 * @throws UpstreamUntrusted, the signal's reason
 */
export async function secureUpstream(
  socket: Socket,
  host: string,
  { protocols, trust }: { readonly protocols: readonly string[]; readonly trust: SecureContext },
  signal: AbortSignal,
): Promise<TLSSocket> {
  signal.throwIfAborted()
  const secure = connect({
    socket,
    servername: host,
    secureContext: trust,
    // Whatever the process's variables say.
    rejectUnauthorized: true,
    ...(protocols.length > 0 && { ALPNProtocols: [...protocols] }),
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = () => reject(signal.reason)
  const close = () => reject(new Error('it closed the connection'))
  signal.addEventListener('abort', abort, { once: true })
  secure.once('secureConnect', resolve).once('error', reject).once('close', close)
  try {
    await promise
    return secure
  } catch (error) {
    secure.on('error', () => undefined).destroy()
    if (signal.aborted) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new UpstreamUntrusted(`TLS with ${host} failed: ${why}`, { cause: error })
  } finally {
    signal.removeEventListener('abort', abort)
    secure.off('secureConnect', resolve).off('error', reject).off('close', close)
  }
}
