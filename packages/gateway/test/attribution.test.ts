import { createHash, randomUUID } from 'node:crypto'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { readUsage } from '@berth/server/admin/spending.ts'
import { personToken, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import type { Tenant } from '@berth/testing/api/tenant.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { createAiKey, type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let gateway: GatewayService
let signer: Awaited<ReturnType<typeof startSigner>>
beforeAll(async () => {
  gateway = await startGatewayService()
  gateway.upstream.next(says({ text: 'hello there' }))
  signer = await startSigner(gateway.test.db.database, gateway.test.service.settings.urls.authUrl)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const db = () => gateway.test.db.database
const question = { model: 'main/m1', messages: [{ role: 'user', content: 'a' }] }
const ask = (key: string, body: object = question) => gateway.call('/v1/chat/completions', body, { key })

/** A credential, the owner of its use, the bucket that meters it, and the way to revoke it. */
interface Case {
  readonly key: string
  readonly row: Readonly<Record<string, unknown>>
  readonly bucket: string
  readonly revoke: () => Promise<unknown>
}

const nobody = { api_key_id: null, person_id: null, end_user_id: null, run_id: null }

const revokeInstallation = (id: string | undefined) => () =>
  db().query('update installations set revoked_at = now() where id = $1', [id])

const kinds: Readonly<Record<string, (tenant: Tenant) => Promise<Case>>> = {
  async 'a key of the gateway'(tenant) {
    const { aiKey: key, apiKeyId } = await createAiKey(db(), tenant)
    const { rows } = await db().query<{ id: string }>('select installation_id as id from api_keys where id = $1', [
      apiKeyId,
    ])
    const id = rows[0]?.id
    const row = { ...nobody, api_key_id: apiKeyId, installation_id: id }
    return { key, row, bucket: `ai/installation/${id}`, revoke: revokeInstallation(id) }
  },
  async 'an installation token for the gateway'({ installationId: id }) {
    const key = await signer.mint.installationToken(id, 'svc-ai', null)
    const row = { ...nobody, installation_id: id }
    return { key, row, bucket: `ai/installation/${id}`, revoke: revokeInstallation(id) }
  },
  async 'an installation token for the API'({ installationId: id }) {
    const key = await signer.mint.installationToken(id, 'svc-cloud', null)
    const row = { ...nobody, installation_id: id }
    return { key, row, bucket: `ai/installation/${id}`, revoke: revokeInstallation(id) }
  },
  async 'the token of an end user'({ installationId: id }) {
    const key = await signer.mint.endUserToken(id, 'zoë 7')
    const row = { ...nobody, installation_id: id, end_user_id: 'zoë 7' }
    return { key, row, bucket: `ai/installation/${id}/zoë 7`, revoke: revokeInstallation(id) }
  },
  async 'the token of a person'({ organizationId }) {
    const person = await signInPerson(db(), organizationId)
    const row = { ...nobody, installation_id: null, person_id: person.personId }
    return {
      key: await personToken(signer.mint, person),
      row,
      bucket: `ai/membership/${person.membershipId}`,
      revoke: () => db().query('update sign_ins set ended_at = now() where id = $1', [person.signInId]),
    }
  },
}

const credentialKinds: Readonly<Record<string, string>> = {
  'a key of the gateway': 'ai_key',
  'an installation token for the gateway': 'installation',
  'an installation token for the API': 'installation',
  'the token of an end user': 'end_user',
  'the token of a person': 'person',
}

const lastRow = async (organizationId: string) => {
  const mine = async () => (await gateway.requests()).filter(row => row['organization_id'] === organizationId)
  await until('the request is kept', async () => (await mine()).length > 0)
  return (await mine()).at(-1)
}

const inBucket = async (key: string) => {
  const { rows } = await db().query<{ tokens: number }>('select tokens from rate_buckets where key = $1', [key])
  return rows.length
}

describe('a request', () => {
  it.each(Object.keys(kinds))(
    'with %s is accepted, attributed, metered separately, and refused once revoked',
    async kind => {
      const { tenant } = await gateway.test.newTenant()
      const made = await kinds[kind]?.(tenant)
      if (made === undefined) throw new Error('no such kind')
      const { key, row, bucket, revoke } = made
      expect(await inBucket(bucket)).toBe(0)
      const answer = await ask(key)
      expect([answer.status, answer.headers.get('ratelimit')]).toEqual([200, expect.stringContaining('"svc-ai"')])
      expect(await lastRow(tenant.organizationId)).toMatchObject({
        ...row,
        organization_id: tenant.organizationId,
        credential_kind: credentialKinds[kind],
      })
      expect(await inBucket(bucket)).toBe(1)
      await revoke()
      expect((await ask(key)).status).toBe(401)
    },
  )

  it('of a Run counts for the installation of its Session', async () => {
    const { tenant, api } = await gateway.test.newTenant()
    const session = await api.createSession()
    const { run } = await api.submitTurn(session.id, 'a')
    const { organizationId, installationId } = tenant
    const of = { organizationId, sessionId: session.id, runId: run.id }
    const key = await mintRuntimeCredential(db(), of, new Date())
    expect((await ask(key)).status).toBe(200)
    expect(await lastRow(organizationId)).toMatchObject({ ...nobody, installation_id: installationId, run_id: run.id })
  })

  it("of a Run counts for the person who made its Session as well, where the organization's installation owns it", async () => {
    const { tenant, api } = await gateway.test.newTenant()
    const { organizationId, installationId } = tenant
    const { personId } = await signInPerson(db(), organizationId)
    const session = await api.createSession()
    await db().query('update sessions set initiated_by = $2 where id = $1', [session.id, personId])
    const { run } = await api.submitTurn(session.id, 'a')
    const key = await mintRuntimeCredential(db(), { organizationId, sessionId: session.id, runId: run.id }, new Date())
    expect((await ask(key)).status).toBe(200)
    expect(await lastRow(organizationId)).toMatchObject({ installation_id: installationId, person_id: personId })
  })

  it('of one end user leaves the bucket of another full', async () => {
    const { tenant } = await gateway.test.newTenant()
    const [one, two] = await Promise.all(
      ['one', 'two'].map(name => signer.mint.endUserToken(tenant.installationId, name)),
    )
    await ask(one ?? '')
    await db().query('update rate_buckets set tokens = -1000000 where key = $1', [
      `ai/installation/${tenant.installationId}/one`,
    ])
    expect((await ask(one ?? '')).status).toBe(429)
    expect((await ask(two ?? '')).status).toBe(200)
  })

  it('is refused to an end user whose installation no longer holds models', async () => {
    const { tenant } = await gateway.test.newTenant()
    const key = await signer.mint.endUserToken(tenant.installationId, 'somebody')
    await db().query("update installations set capabilities = '{svc.cloud.access}' where id = $1", [
      tenant.installationId,
    ])
    const answer = await ask(key)
    expect([answer.status, (await answer.json()) as object]).toMatchObject([
      403,
      { error: { code: 'insufficient_scope' } },
    ])
  })
})

describe('a name of an end user in the request', () => {
  const named = { ...question, user: 'ann', safety_identifier: 'bob' }
  const sent = () => Object(gateway.upstream.requests.at(-1)?.body)

  it('is charged with the use of an app, the safety identifier first, and is passed on unchanged', async () => {
    const { tenant } = await gateway.test.newTenant()
    const key = await signer.mint.installationToken(tenant.installationId, 'svc-ai', null)
    await ask(key, named)
    expect(await lastRow(tenant.organizationId)).toMatchObject({ end_user_id: 'bob' })
    expect(sent()).toMatchObject({ user: 'ann', safety_identifier: 'bob' })
  })

  it('counts under a digest if a row cannot hold it', async () => {
    for (const user of ['two\nlines', 'long'.repeat(100)]) {
      const { tenant } = await gateway.test.newTenant()
      const { aiKey } = await createAiKey(db(), tenant)
      expect((await ask(aiKey, { ...question, user })).status).toBe(200)
      expect(await lastRow(tenant.organizationId)).toMatchObject({
        end_user_id: expect.stringMatching(/^[\da-f]{64}$/),
      })
    }
  })

  it("counts for nothing with an end user's token, and reaches the provider hashed", async () => {
    const { tenant } = await gateway.test.newTenant()
    const key = await signer.mint.endUserToken(tenant.installationId, 'zoë')
    const hashed = (name: string) => createHash('sha256').update(`${tenant.installationId}\0${name}`).digest('hex')
    await ask(key, named)
    expect(sent()).toEqual({ ...named, model: 'm1', user: hashed('ann'), safety_identifier: hashed('bob') })
    expect(await lastRow(tenant.organizationId)).toMatchObject({ end_user_id: 'zoë' })
    // Every repeated name is replaced, even in a body that another thread checked.
    await ask(key, { ...named, messages: [{ role: 'user', content: 'a'.repeat(2 * 1024 ** 2) }] })
    expect(sent()).toMatchObject({ user: hashed('ann'), safety_identifier: hashed('bob') })
    const text = JSON.stringify(question).replace('{', '{"user":"ann","user":"ann",')
    await gateway.call('/v1/chat/completions', text, { key })
    expect(sent()).toMatchObject({ user: hashed('ann') })
  })

  it('counts for nothing with the token of a person', async () => {
    const { tenant } = await gateway.test.newTenant()
    const person = await signInPerson(db(), tenant.organizationId)
    await ask(await personToken(signer.mint, person), named)
    expect(await lastRow(tenant.organizationId)).toMatchObject({ end_user_id: null, person_id: person.personId })
  })
})

describe('the report of use', () => {
  it('adds up by installation, person and end user', async () => {
    const { tenant } = await gateway.test.newTenant()
    const { installationId: id, organizationId } = tenant
    const person = await signInPerson(db(), organizationId)
    const asPerson = await personToken(signer.mint, person)
    const asUser = await signer.mint.endUserToken(id, 'ann')
    const asApp = await signer.mint.installationToken(id, 'svc-ai', null)
    for (const key of [asPerson, asUser, asUser, asApp]) await ask(key)
    const mine = async () => (await gateway.requests()).filter(row => row['organization_id'] === organizationId)
    await until('the requests are kept', async () => (await mine()).length === 4)
    const env = { DATABASE_URL: databaseUrl(gateway.test.db), BERTH_DATA_DIR: gateway.test.dataDir }
    const reported = async (by: 'installation' | 'person' | 'end-user', group: string) =>
      (await readUsage(env, { by, since: new Date(0) })).find(row => row.group === group)?.requests
    expect(await reported('installation', id)).toBe(3)
    expect(await reported('person', person.personId)).toBe(1)
    expect(await reported('end-user', `${id}/ann`)).toBe(2)
    expect(await reported('person', randomUUID())).toBeUndefined()
  })
})

describe('a credential of another kind', () => {
  it.each<[string, (tenant: Tenant) => Promise<string> | string]>([
    ['a key of the API', ({ apiKey }) => apiKey],
    [
      "an installation's claims under the type of an end user",
      ({ installationId }) => signer.mint.sign('svc-end-user+jwt', installationId, { aud: 'svc-ai' }, 600),
    ],
    [
      "an end user's claims for the API",
      ({ installationId }) =>
        signer.mint.sign('svc-end-user+jwt', installationId, { aud: 'svc-cloud', end_user: 'a' }, 600),
    ],
    [
      'an installation token for another audience',
      ({ installationId }) => signer.mint.sign('svc-installation+jwt', installationId, { aud: 'svc-other' }, 600),
    ],
    [
      'an ID token',
      async ({ organizationId }) => {
        const { personId } = await signInPerson(db(), organizationId)
        return signer.mint.sign('JWT', personId, { aud: 'svc-cloud' }, 600)
      },
    ],
    ['a credential of a Run that never was', () => 'svc_run_none'],
  ])('is refused: %s', async (_, make) => {
    const { tenant } = await gateway.test.newTenant()
    const answer = await ask(await make(tenant))
    expect([answer.status, await answer.json()]).toMatchObject([
      401,
      { error: { code: 'invalid_or_expired_credential' } },
    ])
  })
})
