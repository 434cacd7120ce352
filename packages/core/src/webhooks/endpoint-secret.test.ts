import { MasterKey, UnsealError } from '@berth/platform/storage/master-key.ts'
import { expect, it } from 'vitest'
import { EndpointSecrets, sealSecret } from './endpoint-secret.ts'

it('opens a secret anew once the row of its endpoint holds another', () => {
  const masterKey = new MasterKey(Buffer.alloc(32, 1))
  const secrets = new EndpointSecrets(masterKey)
  const sealed = sealSecret(masterKey, 'one', 'whsec_first')
  for (const bytes of [sealed, Buffer.from(sealed)]) expect(secrets.open('one', bytes)).toBe('whsec_first')
  expect(secrets.open('one', sealSecret(masterKey, 'one', 'whsec_second'))).toBe('whsec_second')
  expect(() => secrets.open('two', sealed)).toThrow(UnsealError)
})
