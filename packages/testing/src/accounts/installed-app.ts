import { randomUUID } from 'node:crypto'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { Api } from '../api/api.ts'
import { createInstallation } from '../api/tenant.ts'
import { outcome } from '../runs/outcome.ts'
import { type Accounts, type AppKeyPair, assert, makeAppKey } from './accounts.ts'
import { personToken, type SignedIn, startSigner } from './signer.ts'

/** An open stream of a Session's log. */
class OpenStream {
  closed = false

  static async open(url: string, sessionId: string, bearer: string): Promise<OpenStream> {
    const answer = await fetch(`${url}/v1/sessions/${sessionId}/events/stream?after=0`, {
      headers: { authorization: `Bearer ${bearer}` },
    })
    if (answer.status !== 200) throw new Error(`the stream answered ${answer.status} ${await answer.text()}`)
    const stream = new OpenStream()
    const end = () => {
      stream.closed = true
    }
    answer.text().then(end, end)
    return stream
  }
}

/**
 * An organization in which an app of another one is installed, with a credential of every kind, an open stream of each
 * kind that opens streams, and a queued Run of the installation and of a member. No worker runs.
 */
export interface InstalledApp {
  readonly organizationId: string
  readonly installationId: string
  readonly appSlug: string
  readonly appKey: AppKeyPair
  /** An administrator, who stays. */
  readonly boss: Api
  /** An administrator of the organization that publishes the app. */
  readonly publisher: Api
  /** The member, as an administrator, who submitted the second Run. */
  readonly member: { readonly api: Api; readonly who: SignedIn }
  /** The administrator whose consent the bound token names. */
  readonly consenter: SignedIn
  /** Id of the key that `key` presents. */
  readonly keyId: string
  /** The outcome of one request with each credential. */
  requests(): Promise<Readonly<Record<string, string>>>
  /** The names of the streams that have closed. */
  closedStreams(): readonly string[]
  /** How each Run stands, from the rows: a revoked credential cannot read. */
  runs(): Promise<Readonly<Record<string, string>>>
}

/** Makes an organization with everything that a revocation may stop. */
export async function makeInstalledApp({ test, person, issuer, masterKey }: Accounts): Promise<InstalledApp> {
  const { url } = test
  const db = test.db.database
  const { mint } = await startSigner(db, test.service.settings.urls.authUrl, masterKey)
  const { appSlug, organizationId: publishing } = (await test.newTenant()).tenant
  const publisher = (await person({ organizationId: publishing, role: 'admin' })).api
  const appKey = await makeAppKey()
  await publisher.call('POST', `/api/apps/${appSlug}/keys`, { publicKeyPem: appKey.publicKeyPem })

  const { tenant } = await test.newTenant()
  const { organizationId } = tenant
  const { installationId, apiKey } = await createInstallation(db, organizationId, appSlug)
  const boss = (await person({ organizationId, role: 'admin' })).api
  const member = await person({ organizationId, role: 'admin' })
  const consenter = (await person({ organizationId, role: 'admin' })).who
  const keys = `/api/organizations/${organizationId}/integrations/${installationId}/keys`
  const issue = async (kind: string) => String((await boss.call('POST', keys, { kind })).body['secret'])
  const [{ id: keyId = '' } = {}] = (await boss.get<{ keys: { id: string }[] }>(keys)).body.keys
  const [otherKey, aiKey] = [await issue('cloud'), await issue('ai')]

  const setupAuthorityId = randomUUID()
  await db.query(
    'insert into setup_authorities (id, installation_id, membership_id, created_at) values ($1, $2, $3, now())',
    [setupAuthorityId, installationId, consenter.membershipId],
  )
  const anyone = new Api(url, 'none')
  const exchange = async (path: string, more: object) => {
    const assertion = await assert(appKey, appSlug, issuer)
    return anyone.call('POST', path, { assertion, installationId, ...more })
  }
  const cloud = { resourceAudience: 'svc-cloud' }
  const exchanges = {
    exchange: () => exchange('/auth/app-installation-token', cloud),
    boundExchange: () => exchange('/auth/app-installation-token', { ...cloud, setupAuthorityId }),
    aiExchange: () => exchange('/auth/app-installation-token', { resourceAudience: 'svc-ai' }),
    endUserExchange: () => exchange('/auth/app-end-user-token', { endUserId: 'somebody' }),
  }
  const token = async (ask: () => ReturnType<typeof exchange>) => String((await ask()).body['token'])
  const [cloudToken, boundToken] = [await token(exchanges.exchange), await token(exchanges.boundExchange)]

  const otherSignIn = { ...member.who, signInId: randomUUID() }
  await db.query(
    `insert into sign_ins (id, person_id, membership_id, organization_id, client_id, created_at, last_used_at)
     select $2, person_id, membership_id, organization_id, client_id, created_at, last_used_at from sign_ins where id = $1`,
    [member.who.signInId, otherSignIn.signInId],
  )

  const owner = new Api(url, apiKey)
  const session = await owner.createSession({}, 'a')
  const membersSession = await owner.createSession({})
  const { run } = await member.api.submitTurn(membersSession.id, 'b')
  const of = { organizationId, sessionId: session.id, runId: session.activeRunId ?? '' }
  const runtime = await mintRuntimeCredential(db, of, new Date())

  const api = (bearer: string) => async () => outcome(await new Api(url, bearer).get('/v1/sessions'))
  const gateway = (bearer: string) => async () => String((await new Api(url, bearer).get('/v1/models')).status)
  const requests: Readonly<Record<string, () => Promise<string>>> = {
    key: api(apiKey),
    otherKey: api(otherKey),
    cloudToken: api(cloudToken),
    boundToken: api(boundToken),
    person: api(member.api.key),
    otherSignIn: api(await personToken(mint, otherSignIn)),
    administration: async () => outcome(await member.api.get(`/api/organizations/${organizationId}/members`)),
    aiKey: gateway(aiKey),
    aiToken: gateway(await token(exchanges.aiExchange)),
    endUserToken: gateway(await token(exchanges.endUserExchange)),
    runtime: gateway(runtime),
    ...Object.fromEntries(Object.entries(exchanges).map(([name, ask]) => [name, async () => outcome(await ask())])),
  }

  const streams = new Map<string, OpenStream>()
  for (const [name, bearer] of Object.entries({
    key: apiKey,
    otherKey,
    cloudToken,
    boundToken,
    person: member.api.key,
  }))
    streams.set(name, await OpenStream.open(url, session.id, bearer))

  const budgetsOf = async (id: string) => {
    const { rows } = await db.query<{ stands: string }>(
      "select concat_ws(' ', status, error_code) as stands from runs where id = $1",
      [id],
    )
    return rows[0]?.stands ?? ''
  }
  return {
    organizationId,
    installationId,
    appSlug,
    appKey,
    boss,
    publisher,
    member,
    consenter,
    keyId,
    async requests() {
      const answers = Object.entries(requests).map(async ([name, ask]) => [name, await ask()] as const)
      return Object.fromEntries(await Promise.all(answers))
    },
    closedStreams: () => [...streams].filter(([, { closed }]) => closed).map(([name]) => name),
    async runs() {
      return { installation: await budgetsOf(of.runId), member: await budgetsOf(run.id) }
    },
  }
}
