import { type FarDeployments, startFar } from '@berth/testing/accounts/far.ts'
import { personToken, signInPerson } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { says, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { mintRuntimeCredential } from '../../src/identity/runtime-credentials/runtime-credential.ts'

let stack: AsyncDisposableStack
let far: FarDeployments
let tenant: Tenant
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const upstream = stack.use(await startScriptedUpstream())
  upstream.next(says({ text: 'hello there' }))
  const price = { input: 1, output: 10 }
  const provider = { id: 'main', kind: 'openai', baseUrl: upstream.baseUrl, models: [{ id: 'm1', price }] }
  far = stack.use(await startFar({ config: { providers: [provider] } }))
})
afterAll(() => stack.disposeAsync())
beforeEach(async () => {
  tenant = await createTenant(far.account.db.database)
})

const accountDb = () => far.account.db.database
const apiDb = () => far.api.db.database

async function ask(bearer: string): Promise<number> {
  const answer = await fetch(`${far.api.process.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'main/m1', messages: [{ role: 'user', content: 'a' }] }),
  })
  await answer.text()
  return answer.status
}

/** Returns the one request that the API has kept of the tenant. */
const kept = () =>
  until('a kept request', async () => {
    const text = "select * from gateway_requests where organization_id = $1 and outcome = 'completed'"
    return (await apiDb().query<Record<string, unknown>>(text, [tenant.organizationId])).rows[0] ?? false
  })

describe('a model far from the account service', () => {
  it('answers an end user, whose use counts for them, until their installation is revoked', async () => {
    const { installationId } = tenant
    const token = await far.signer.mint.endUserToken(installationId, 'zoë 7')
    expect(await ask(token)).toBe(200)
    expect(await kept()).toMatchObject({
      credential_kind: 'end_user',
      installation_id: installationId,
      end_user_id: 'zoë 7',
    })
    await accountDb().query('update installations set revoked_at = now() where id = $1', [installationId])
    expect(await ask(token)).toBe(401)
  })

  it('answers a person, whose use counts for them, until their sign-in ends', async () => {
    const person = await signInPerson(accountDb(), tenant.organizationId)
    const token = await personToken(far.signer.mint, person)
    expect(await ask(token)).toBe(200)
    expect(await kept()).toMatchObject({ credential_kind: 'person', person_id: person.personId })
    await accountDb().query('update sign_ins set ended_at = now() where id = $1', [person.signInId])
    expect(await ask(token)).toBe(401)
  })

  it('answers a Run without asking far away, until the API has heard that its installation is revoked', async () => {
    const { organizationId, installationId, apiKey } = tenant
    const api = new Api(far.api.process.url, apiKey)
    const session = await api.createSession()
    const { run } = await api.submitTurn(session.id, 'a')
    const of = { organizationId, sessionId: session.id, runId: run.id }
    const credential = await mintRuntimeCredential(apiDb(), of, new Date())
    const judged = () => far.between.requests.filter(({ path }) => path === '/internal/judge-gateway').length
    const before = judged()
    expect(await ask(credential)).toBe(200)
    expect(judged()).toBe(before)
    expect(await kept()).toMatchObject({
      credential_kind: 'runtime',
      installation_id: installationId,
      run_id: run.id,
    })
    await accountDb().query('update installations set revoked_at = now() where id = $1', [installationId])
    await until('a refusal', async () => (await ask(credential)) === 401)
  })
})
