import { CloudClient, lasting } from '@berth/testing/accounts/client.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { startTestService } from '@berth/testing/services/service.ts'
import { expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'

const password = 'correct horse battery'

async function signedIn() {
  const test = await startTestService({ variables: { BERTH_ROLES: 'api,account' } })
  const client = new CloudClient(test.url)
  const person = await signInPerson(test.db.database, test.tenant.organizationId)
  const hash = await hashPassword(password)
  await test.db.database.query('update people set password_hash = $2 where id = $1', [person.personId, hash])
  const { tokens } = await client.signIn({ ...person, password }, lasting)
  return {
    refresh: async () => {
      const { status, body } = await client.refresh(tokens.refresh_token)
      const lives = async () => (await new Api(test.url, String(body['access_token'])).get('/v1/me')).status === 200
      return { status, lives }
    },
    /** Lets time go by for every token that was used. */
    wait: (time: number) =>
      test.db.database.query(
        `update oidc_records set consumed_at = consumed_at - make_interval(secs => $1) where kind = 'RefreshToken'`,
        [time],
      ),
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  }
}

it('a used refresh token never works again, and ends the sign-in ten seconds after its first use', async () => {
  await using client = await signedIn()
  const first = await client.refresh()
  expect([first.status, await first.lives()]).toEqual([200, true])
  expect([(await client.refresh()).status, await first.lives()]).toEqual([400, true])
  await client.wait(10)
  expect((await client.refresh()).status).toBe(400)
  expect(await first.lives()).toBe(false)
})
