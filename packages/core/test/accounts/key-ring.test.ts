import { startSigner } from '@berth/testing/accounts/signer.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, expect, it } from 'vitest'
import { openTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'

const authUrl = 'http://localhost'
const subject = '0b8a4c9e-3f1d-4a57-9c1e-2f6d7e8a9b0c'
const made = await createTestDatabase()
afterAll(() => made[Symbol.asyncDispose]())

it('tokens of a key that was removed are none a minute later, even those that were verified before', async () => {
  const { mint, keys } = await startSigner(made.database, authUrl)
  let now = new Date()
  const tokens = openTokenVerifier(made.database, { now: () => now }, () => authUrl)
  const token = await mint.endUserToken(subject, 'somebody')
  expect(await tokens.verify(token)).toMatchObject({ kind: 'end_user', installationId: subject })
  now = new Date(now.getTime() + 61_000)
  expect(await tokens.verify(token)).toMatchObject({ kind: 'end_user' })
  await made.database.query('delete from signing_keys where kid = $1', [keys.current.kid])
  expect(await tokens.verify(token)).toMatchObject({ kind: 'end_user' })
  now = new Date(now.getTime() + 61_000)
  expect(await tokens.verify(token)).toBeNull()
  expect(await tokens.verify(await mint.endUserToken(subject, 'somebody else'))).toBeNull()
})
