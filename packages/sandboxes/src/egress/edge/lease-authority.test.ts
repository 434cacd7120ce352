import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { connect, TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { runProgram } from '../../linux/run-program.ts'
import { openLeaseAuthority } from './lease-authority.ts'

const one = (hosts = ['api.example.com', '*.tickets.example.com']) =>
  openLeaseAuthority(Buffer.alloc(32, 1), 'one', hosts)

/** Returns the certificate that a client accepts for a host, or throws its error. */
async function offered(
  authority: ReturnType<typeof one>,
  ca: string,
  host = 'api.example.com',
  servername = 'api.example.com',
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
    servername,
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
  await expect(
    offered(openLeaseAuthority(Buffer.alloc(32, 2), 'one', ['api.example.com']), certificate),
  ).rejects.toThrow()
  await expect(offered(one(), certificate, 'eu.tickets.example.com')).rejects.toThrow('does not match')
})

test('it certifies the hosts that secrets name, and no other', async () => {
  const { certificate } = await one().trust()
  const eu = 'eu.tickets.example.com'
  expect((await offered(one(), certificate, eu, eu)).subjectAltName).toBe(`DNS:${eu}`)
  for (const host of [
    'tickets.example.com',
    'x.api.example.com',
    'example.com',
    'other.example.com',
    '*.example.com',
  ]) {
    await expect(one().leafFor(host)).rejects.toThrow('no secret of this lease goes to')
  }
})

test('programs take its key for no other host, whoever had it', async () => {
  const { certificate } = await one().trust()
  const other = 'other.example.com'
  // The same key: what somebody could make who had it.
  await expect(offered(one([other]), certificate, other, other)).rejects.toThrow(/permitted subtree violation/)
  const text = await runProgram('openssl', ['x509', '-noout', '-text'], undefined, '/', certificate)
  expect(text).toMatch(
    /Name Constraints: critical\s+Permitted:\s+DNS:api.example.com\s+DNS:tickets.example.com\s+Excluded:\s+IP:0.0.0.0\/0.0.0.0\s+IP:0:0:0:0:0:0:0:0\/0:0:0:0:0:0:0:0/,
  )
})

test('it names as many hosts as there are', async () => {
  const many = Array.from({ length: 2000 }, (_, at) => `h${at}.example.com`)
  const { certificate } = await one(many).trust()
  expect(await offered(one(many), certificate, 'h1999.example.com', 'h1999.example.com')).toBeDefined()
})

test('what the sandbox trusts is an authority that certifies hosts alone, with the hash that OpenSSL gives it', async () => {
  const { certificate, hash } = await openLeaseAuthority(Buffer.alloc(32, 1), 'F47AC10B-58CC', [
    'api.example.com',
  ]).trust()
  const read = new X509Certificate(certificate)
  expect([read.ca, read.subject]).toEqual([true, 'CN=berth sandbox f47ac10b-58cc'])
  const hashed = await runProgram('openssl', ['x509', '-noout', '-subject_hash'], undefined, '/', certificate)
  expect(hashed.trim()).toBe(hash)
})
