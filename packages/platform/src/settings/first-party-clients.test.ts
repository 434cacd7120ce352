import { describe, expect, test } from 'vitest'
import { parseConfig } from './config-file.ts'

const secret = 's'.repeat(32)
const client = { id: 'portal', name: 'The Portal', redirectUris: ['https://portal.example.test/callback'] }
const key = { kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: 'first' }
const read = (...firstPartyClients: object[]) =>
  parseConfig(JSON.stringify({ firstPartyClients }), 'f', { variables: { SECRET: secret }, isOpen: false })
    .firstPartyClients

describe('a first-party client', () => {
  test('names itself by a secret or by its keys', () => {
    expect(read({ ...client, secret: { env: 'SECRET' } })).toEqual([{ ...client, consoleUrl: null, proof: { secret } }])
    expect(read({ ...client, jwks: { keys: [key] } })).toEqual([
      { ...client, consoleUrl: null, proof: { keys: [key] } },
    ])
  })

  test('may be the console of another deployment, with the one redirect of a console', () => {
    const { redirectUris: _, ...rest } = client
    const [read1] = read({ ...rest, console: 'https://console.example.test/', secret })
    expect(read1).toMatchObject({
      redirectUris: ['https://console.example.test/cloud/auth/callback'],
      consoleUrl: 'https://console.example.test',
    })
  })

  test.each<readonly [object, string]>([
    [{ ...client, console: 'https://console.example.test', secret }, 'must have either redirectUris or console'],
    [{ id: 'portal', name: 'The Portal', secret }, 'must have either redirectUris or console'],
    [{ id: 'portal', name: 'P', secret, console: 'https://c.example.test/?a' }, 'console must have no query'],
    [{ ...client }, 'must have either secret or jwks'],
    [{ ...client, secret, jwks: { keys: [key] } }, 'must have either secret or jwks'],
    [{ ...client, secret: 'short' }, 'secret must be at least 32 characters long'],
    [{ ...client, jwks: { keys: [] } }, 'jwks.keys must not have fewer than 1 items'],
    [{ ...client, jwks: { keys: [{ ...key, d: 'private' }] } }, 'jwks.keys[0].d is not known here'],
    [{ ...client, jwks: { keys: [{ kty: 'oct' }] } }, 'keys[0].kty must be one of RSA, EC, OKP'],
    [{ ...client, secret, id: 'svc-portal' }, 'id must not begin with svc-'],
    [{ ...client, secret, redirectUris: [] }, 'redirectUris must not have fewer than 1 items'],
    ...[
      'http://portal.example.test/callback',
      'http://localhost/callback',
      'https://a@portal.example.test/callback',
      'https://portal.example.test/callback#',
      'callback',
    ].map(uri => [{ ...client, secret, redirectUris: [uri] }, 'redirectUris[0] must be an https URL'] as const),
  ])('is refused: %j', (one, message) => {
    expect(() => read(one)).toThrow(message)
  })

  test('has an id of its own', () => {
    expect(() => read({ ...client, secret }, { ...client, secret })).toThrow('two entries with the id portal')
  })
})
