import { describe, expect, it } from 'vitest'
import { loadSettings } from './settings.ts'

const url = 'https://account.example'
const secret = 's'.repeat(32)
const load = (variables: Record<string, string>) => loadSettings(variables, () => undefined).identity

describe('the account service of another deployment', () => {
  it('is named by its URL and the secret of both sides', () => {
    const variables = { BERTH_ROLES: 'api,worker', BERTH_IDENTITY_URL: `${url}/`, BERTH_IDENTITY_SECRET: secret }
    // bound: it is read, and nothing waits
    expect(load(variables)).toEqual({ far: { url, secret, timeoutMs: 250, console: undefined }, secret })
    expect(load({ BERTH_IDENTITY_SECRET: secret })).toEqual({ far: undefined, secret })
    const client = { BERTH_CONSOLE_CLIENT: 'console-eu', BERTH_CONSOLE_CLIENT_SECRET: secret }
    expect(load({ ...variables, ...client }).far?.console).toEqual({ clientId: 'console-eu', clientSecret: secret })
    expect(load({})).toEqual({ far: undefined, secret: undefined })
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ['every role', { BERTH_IDENTITY_SECRET: secret }, /cannot have the role account: name its roles in BERTH_ROLES/],
    ['the role account', { BERTH_ROLES: 'api,account', BERTH_IDENTITY_SECRET: secret }, /cannot have the role account/],
    ['no secret', { BERTH_ROLES: 'api' }, /BERTH_IDENTITY_URL needs BERTH_IDENTITY_SECRET/],
    ['a short secret', { BERTH_ROLES: 'api', BERTH_IDENTITY_SECRET: secret.slice(1) }, /at least 32 visible ASCII/],
    ['a secret no header carries', { BERTH_ROLES: 'api', BERTH_IDENTITY_SECRET: `${secret} é` }, /at least 32/],
    [
      'a URL that others can read along',
      {
        BERTH_ROLES: 'worker',
        BERTH_IDENTITY_SECRET: secret,
        BERTH_IDENTITY_URL: 'http://a.example',
        NODE_ENV: 'production',
      },
      /BERTH_IDENTITY_URL must be an https URL/,
    ],
    [
      'a client of the console without a secret',
      { BERTH_ROLES: 'api', BERTH_IDENTITY_SECRET: secret, BERTH_CONSOLE_CLIENT: 'console-eu' },
      /need one another/,
    ],
    [
      'no URL',
      { BERTH_IDENTITY_URL: 'account.example', BERTH_IDENTITY_SECRET: secret },
      /must be an http or https URL/,
    ],
  ])('stops the start with %s', (_, variables, message) => {
    expect(() => load({ BERTH_IDENTITY_URL: url, ...variables })).toThrow(message)
  })
})
