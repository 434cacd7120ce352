import { randomBytes, randomUUID } from 'node:crypto'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { personToken, type SignedIn, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import type { Tenant } from '@berth/testing/api/tenant.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let gateway: GatewayService
let signer: Awaited<ReturnType<typeof startSigner>>
beforeAll(async () => {
  gateway = await startGatewayService()
  signer = await startSigner(gateway.test.db.database, gateway.test.service.settings.urls.authUrl)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const db = () => gateway.test.db.database

async function aiKeyOf(installationId: string): Promise<string> {
  const key = `svc_ai_live_${randomBytes(32).toString('base64url')}`
  await db().query(
    "insert into api_keys (id, installation_id, kind, digest, created_at) values ($1, $2, 'ai', $3, now())",
    [randomUUID(), installationId, credentialDigest(key)],
  )
  return key
}

async function otherSignIn(person: SignedIn): Promise<SignedIn> {
  const signInId = randomUUID()
  await db().query(
    `insert into sign_ins (id, person_id, membership_id, organization_id, client_id, created_at, last_used_at)
     values ($1, $2, $3, $4, 'svc-cloud', now(), now())`,
    [signInId, person.personId, person.membershipId, person.organizationId],
  )
  return { ...person, signInId }
}

/** Credentials that share a bucket, and one of the same organization that has another. */
interface Sharing {
  readonly together: readonly string[]
  readonly apart: string
}

const newTenant = () => gateway.test.newTenant()

async function runCredentials(): Promise<{ tenant: Tenant; newRun: () => Promise<() => Promise<string>> }> {
  const { tenant, api } = await newTenant()
  return {
    tenant,
    async newRun() {
      const session = await api.createSession()
      const { run } = await api.submitTurn(session.id, 'a')
      const of = { organizationId: tenant.organizationId, sessionId: session.id, runId: run.id }
      return () => mintRuntimeCredential(db(), of, new Date())
    },
  }
}

const buckets: Readonly<Record<string, () => Promise<{ organizationId: string; sharing: Sharing }>>> = {
  async 'a membership, whatever its sign-in'() {
    const { organizationId } = (await newTenant()).tenant
    const [one, other] = [await signInPerson(db(), organizationId), await signInPerson(db(), organizationId)]
    const together = await Promise.all([one, await otherSignIn(one)].map(each => personToken(signer.mint, each)))
    return { organizationId, sharing: { together, apart: await personToken(signer.mint, other) } }
  },
  async 'an installation, whatever its credential'() {
    const { organizationId, installationId: id } = (await newTenant()).tenant
    const together = [
      await aiKeyOf(id),
      await aiKeyOf(id),
      await signer.mint.installationToken(id, 'svc-ai', null),
      await signer.mint.installationToken(id, 'svc-cloud', null),
    ]
    return { organizationId, sharing: { together, apart: await signer.mint.endUserToken(id, 'ann') } }
  },
  async 'an end user of an installation'() {
    const { organizationId, installationId: id } = (await newTenant()).tenant
    const together = [await signer.mint.endUserToken(id, 'ann'), await signer.mint.endUserToken(id, 'ann')]
    return { organizationId, sharing: { together, apart: await signer.mint.endUserToken(id, 'bob') } }
  },
  async 'a Run, whichever worker holds it'() {
    const { tenant, newRun } = await runCredentials()
    const [one, other] = [await newRun(), await newRun()]
    const together = [await one(), await one()]
    return { organizationId: tenant.organizationId, sharing: { together, apart: await other() } }
  },
}

const ask = async (key: string) => {
  const answer = await gateway.call('/v1/models', undefined, { key })
  await answer.body?.cancel()
  const { status, headers } = answer
  return [status, headers.get('ratelimit-policy'), headers.get('ratelimit')?.replace(/t=.*/, '')]
}

const deployments = '"svc-ai";q=6000;w=60;svc-burst=100000'

describe('the bucket of', () => {
  it.each(Object.keys(buckets))("%s is one, and as large as the organization's own rate says", async name => {
    const { organizationId, sharing } = (await buckets[name]?.()) ?? { organizationId: '', sharing: null }
    if (sharing === null) throw new Error('no such bucket')
    const { together, apart } = sharing
    const size = together.length
    await db().query('update organizations set rate_burst = $2, rate_per_minute = 1 where id = $1', [
      organizationId,
      size,
    ])
    const own = `"svc-ai";q=1;w=60;svc-burst=${size}`
    for (const [n, key] of together.entries()) expect(await ask(key)).toEqual([200, own, `"svc-ai";r=${size - n - 1};`])
    for (const key of together) expect(await ask(key)).toEqual([429, own, '"svc-ai";r=0;'])
    expect(await ask(apart)).toEqual([200, own, `"svc-ai";r=${size - 1};`])
    expect((await ask(gateway.aiKey))[1]).toBe(deployments)
    await db().query('update organizations set rate_burst = null, rate_per_minute = null where id = $1', [
      organizationId,
    ])
    expect((await ask(together[0] ?? ''))[1]).toBe(deployments)
  })
})
