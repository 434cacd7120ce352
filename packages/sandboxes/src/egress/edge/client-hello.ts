import type { Duplex } from 'node:stream'

/** What a TLS client says before anything is encrypted. */
export interface ClientHello {
  /** In lower case; absent if it names no host. */
  readonly serverName?: string
  /** The protocols that it speaks, by their ALPN names; empty if it does not say. */
  readonly protocols: readonly string[]
}

/** The bytes are not the beginning of a TLS connection. */
export class NotTls extends Error {
  override readonly name = 'NotTls'
}

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
const ALPN = 16
/** More than any client sends, with keys that withstand quantum computers. */
const MAX_BYTES = 64 * 1024

/**
 * Reads a client's hello and puts the bytes back, so that a TLS server finds them.
 * @param head bytes that were read before
 * @throws NotTls, the signal's reason
 */
export async function readClientHello(client: Duplex, head: Buffer, signal: AbortSignal): Promise<ClientHello> {
  if (head.length > 0) client.unshift(head)
  const read: Buffer[] = []
  try {
    for (;;) {
      const part: Buffer | null = client.read()
      if (part !== null) {
        read.push(part)
        const hello = parseClientHello(Buffer.concat(read))
        if (hello !== undefined) return hello
      } else await readable(client, signal)
    }
  } finally {
    if (read.length > 0 && !client.destroyed) client.unshift(Buffer.concat(read))
  }
}

async function readable(client: Duplex, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const over = () => reject(new NotTls('the client ended without a TLS hello'))
  const aborted = () => reject(signal.reason)
  client.once('readable', resolve).once('end', over).once('close', over)
  signal.addEventListener('abort', aborted, { once: true })
  try {
    await promise
  } finally {
    client.off('readable', resolve).off('end', over).off('close', over)
    signal.removeEventListener('abort', aborted)
  }
}

/**
 * Returns the hello at the beginning of a connection (RFC 8446, 4.1.2); undefined if it is not there whole.
 * @throws NotTls
 */
export function parseClientHello(bytes: Buffer): ClientHello | undefined {
  const message = handshakeOf(bytes)
  if (message === undefined || message.length < 4) return undefined
  if (message[0] !== CLIENT_HELLO) throw new NotTls('not the hello of a TLS client')
  const length = message.readUIntBE(1, 3)
  if (length > MAX_BYTES) throw new NotTls('the hello of a TLS client is too long')
  if (message.length < 4 + length) return undefined
  try {
    return extensionsOf(message.subarray(4, 4 + length))
  } catch (error) {
    throw new NotTls('the hello of a TLS client is malformed', { cause: error })
  }
}

/** Joins the records at the beginning, as far as they are there. */
function handshakeOf(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE) {
      if (parts.length === 0) throw new NotTls('not a TLS connection')
      break
    }
    if (bytes.length < at + 5) break
    const length = bytes.readUInt16BE(at + 3)
    parts.push(bytes.subarray(at + 5, at + 5 + length))
    at += 5 + length
  }
  if (bytes.length > MAX_BYTES + 1024) throw new NotTls('the hello of a TLS client is too long')
  return parts.length === 0 ? undefined : Buffer.concat(parts)
}

function extensionsOf(hello: Buffer): ClientHello {
  const body = new Fields(hello)
  // The version and the random bytes.
  body.take(34)
  body.block(1)
  body.block(2)
  body.block(1)
  let serverName: string | undefined
  const protocols: string[] = []
  const extensions = body.isOver ? undefined : new Fields(body.block(2))
  while (extensions !== undefined && !extensions.isOver) {
    const type = extensions.number(2)
    const content = new Fields(extensions.block(2))
    if (type === SERVER_NAME) {
      const names = new Fields(content.block(2))
      if (names.number(1) === 0) serverName = names.block(2).toString('latin1').toLowerCase()
    }
    if (type === ALPN) {
      const list = new Fields(content.block(2))
      while (!list.isOver) protocols.push(list.block(1).toString('latin1'))
    }
  }
  return { protocols, ...(serverName !== undefined && { serverName }) }
}

/** Reads TLS's fields one after another, and throws at the end of the bytes. */
class Fields {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isOver(): boolean {
    return this.#at >= this.#bytes.length
  }

  take(length: number): Buffer {
    const taken = this.#bytes.subarray(this.#at, this.#at + length)
    if (taken.length < length) throw new RangeError('a field ends behind its message')
    this.#at += length
    return taken
  }

  number(width: number): number {
    return this.take(width).readUIntBE(0, width)
  }

  /** A field whose length comes in front of it. */
  block(width: number): Buffer {
    return this.take(this.number(width))
  }
}
