import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { connect, TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { runProgram } from '../../linux/run-program.ts'
import { openLeaseAuthority } from './lease-authority.ts'

const one = () => openLeaseAuthority(Buffer.alloc(32, 1), 'one')

/** Returns the certificate that a client accepts for a host, or throws its error. */
async function offered(
  authority: ReturnType<typeof one>,
  ca: string,
  host = 'api.example.com',
): Promise<X509Certificate> {
  const secureContext = await authority.leafFor(host)
  const server = createServer(socket =>
    new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    ca,
    servername: 'api.example.com',
  })
  try {
    await once(client, 'secureConnect')
    return client.getPeerX509Certificate() ?? expect.fail('no certificate')
  } finally {
    client.destroy()
    server.close()
  }
}

test('another process certifies for those who trust the certificate of the first', async () => {
  const { certificate } = await one().trust()
  const leaf = await offered(one(), certificate)
  expect(leaf.subjectAltName).toBe('DNS:api.example.com')
  expect(leaf.ca).toBe(false)
})

test('no other lease does, and no other host passes', async () => {
  const { certificate } = await one().trust()
  await expect(offered(openLeaseAuthority(Buffer.alloc(32, 2), 'one'), certificate)).rejects.toThrow()
  await expect(offered(one(), certificate, 'other.example.com')).rejects.toThrow('does not match')
})

test('what the sandbox trusts is an authority that certifies hosts alone, with the hash that OpenSSL gives it', async () => {
  const { certificate, hash } = await openLeaseAuthority(Buffer.alloc(32, 1), 'F47AC10B-58CC').trust()
  const read = new X509Certificate(certificate)
  expect([read.ca, read.subject]).toEqual([true, 'CN=berth sandbox f47ac10b-58cc'])
  const said = await runProgram('openssl', ['x509', '-noout', '-subject_hash'], undefined, '/', certificate)
  expect(said.trim()).toBe(hash)
})
