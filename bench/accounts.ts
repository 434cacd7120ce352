// Measures what the account service costs: the guard's decision on a remembered person's token against one on a key, a
// Session's read against a bare Fastify route with its one query, and the exchange of an assertion against a bare
// signature. Run as: node bench/accounts.ts [seconds for each figure]
import { spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { calculateJwkThumbprint, SignJWT } from 'jose'
import { Mint } from '../packages/core/src/accounts/signing/mint.ts'
import { SigningKeys } from '../packages/core/src/accounts/signing/signing-keys.ts'
import { DatabaseAuthority } from '../packages/core/src/identity/guard/authority.ts'
import { issuerOf, tokenTypes } from '../packages/core/src/identity/tokens/token-types.ts'
import { openTokenVerifier } from '../packages/core/src/identity/tokens/token-verifier.ts'
import { systemClock } from '../packages/platform/src/kit/clock.ts'
import { MasterKey } from '../packages/platform/src/storage/master-key.ts'
import { openDatabase } from '../packages/platform/src/storage/postgres/pool.ts'
import { openBenchDatabase, quiet } from './support/bench-database.ts'
import { freePort, startBenchService } from './support/bench-service.ts'
import { median, quantile, show } from './support/statistics.ts'

const ROUNDS = 9
const CONNECTIONS = 16
const DAY_MS = 86_400_000
const seconds = Number(process.argv[2] ?? 3)

await using bench = await openBenchDatabase()
const port = await freePort()
const issuer = issuerOf(`http://127.0.0.1:${port}`)
const masterKey = randomBytes(32)
const keys = new SigningKeys(bench.db, systemClock, new MasterKey(masterKey), {
  signMs: 30 * DAY_MS,
  publishAheadMs: DAY_MS,
  tokenMs: 3_600_000,
})
await keys.poll()
const personToken = await signPerson()

await compareDecisions()
await using service = await startBenchService(bench, {
  BERTH_ROLES: 'api,account',
  BERTH_PORT: String(port),
  BERTH_MASTER_KEY: masterKey.toString('hex'),
  BERTH_AUTH_URL: `http://127.0.0.1:${port}`,
  BERTH_BASE_URL: `http://127.0.0.1:${port}`,
})
await compareReads()
await compareExchange()

/** Makes a member who has signed in. @returns their access token */
async function signPerson(): Promise<string> {
  const [person, membership, signIn] = [randomUUID(), randomUUID(), randomUUID()]
  const now = new Date()
  const { organizationId: organization } = bench
  await bench.db.query('insert into people (id, email, name, created_at) values ($1, $2, $2, $3)', [
    person,
    'bench@example.test',
    now,
  ])
  await bench.db.query(
    "insert into memberships (id, organization_id, person_id, role, created_at) values ($1, $2, $3, 'member', $4)",
    [membership, organization, person, now],
  )
  await bench.db.query(
    `insert into sign_ins (id, person_id, membership_id, organization_id, client_id, created_at, last_used_at)
     values ($1, $2, $3, $4, 'svc-cloud', $5, $5)`,
    [signIn, person, membership, organization, now],
  )
  const claims = { aud: 'svc-cloud', client_id: 'svc-cloud', sid: signIn, membership, organization }
  return new Mint(keys, systemClock, () => issuer).sign(tokenTypes.person, person, claims, 3600)
}

/** Compares the processor time of decisions, of this process and of the one backend that serves them. */
async function compareDecisions(): Promise<void> {
  const db = openDatabase({ connection: bench.connection, log: quiet, connections: 1 })
  const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
  const backend = () => Number(readFileSync(`/proc/${rows[0]?.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
  const tokens = openTokenVerifier(db, systemClock, () => `http://127.0.0.1:${port}`)
  const bucket = { burst: 1e8, perMinute: 600 }
  const authority = new DatabaseAuthority(db, systemClock, tokens, { authority: bucket, edge: bucket })
  /** Returns microseconds of processor time for each decision: client, server. */
  const decide = async (bearer: string, times: number): Promise<readonly [number, number]> => {
    const [used, served] = [process.cpuUsage(), backend()]
    for (let n = 0; n < times; n += 1) {
      const verdict = await authority.judge({ bearer, clientAddress: '127.0.0.1' })
      if (verdict.kind !== 'granted') throw new Error(`the guard said ${verdict.kind}`)
    }
    const { user, system } = process.cpuUsage(used)
    return [(user + system) / times, (backend() - served) / times]
  }
  const times = 1000
  const figures = { key: [] as (readonly [number, number])[], person: [] as (readonly [number, number])[] }
  for (let round = -2; round < ROUNDS * 2; round += 1) {
    const [key, person] = [await decide(bench.apiKey, times), await decide(personToken, times)]
    if (round < 0) continue
    figures.key.push(key)
    figures.person.push(person)
  }
  const total = ([client, server]: readonly [number, number]) => client + server
  const ratios = figures.person.map((person, n) => total(person) / total(figures.key[n] ?? [0, 0]))
  const parts = (all: readonly (readonly [number, number])[]) =>
    `${show(median(all.map(([client]) => client)), 0)}+${show(median(all.map(([, server]) => server)), 0)}`
  console.info(
    `decision, µs of client and server: key ${parts(figures.key)}, remembered token of a person ${parts(figures.person)}, ratio ${show(median(ratios))} (at most 1.3)`,
  )
  await db.close()
}

async function compareReads(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const [key] = await bench.newSessions(1)
  const ours = `${service.url}/v1/sessions/${key?.sessionId}`
  const bare = spawn(process.execPath, [join(import.meta.dirname, 'support/bare-server.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const { connection, apiKey } = bench
  bare.stdin.write(`${JSON.stringify({ connection, apiKey, key, body: '' })}\n`)
  const theirs = `${String((await once(bare.stdout, 'data'))[0]).trim()}/session`
  const get = (url: string, bearer: string) =>
    new Promise<void>((resolve, reject) => {
      request(url, { agent, headers: { authorization: `Bearer ${bearer}` } }, response => {
        response.resume()
        response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${url} failed`))))
      })
        .on('error', reject)
        .end()
    })
  const perSecond = async (url: string, bearer: string): Promise<number> => {
    let count = 0
    const until = performance.now() + seconds * 1000
    const one = async () => {
      while (performance.now() < until) {
        await get(url, bearer)
        count += 1
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, one))
    return count / seconds
  }
  for (const [name, bearer] of [
    ['a key', apiKey],
    ['a person', personToken],
  ] as const) {
    const rates: { ours: number; ratio: number }[] = []
    for (let round = -1; round < ROUNDS; round += 1) {
      const rate = await perSecond(ours, bearer)
      const ratio = rate / (await perSecond(theirs, bearer))
      if (round >= 0) rates.push({ ours: rate, ratio })
    }
    console.info(
      `read of a Session by ${name}: ${show(median(rates.map(rate => rate.ours)), 0)}/s, against a bare route with its query ${show(median(rates.map(({ ratio }) => ratio)))} (at least 0.6)`,
    )
  }
  agent.destroy()
  bare.kill()
}

async function compareExchange(): Promise<void> {
  const pair = generateKeyPairSync('ed25519')
  const jwk = pair.publicKey.export({ format: 'jwk' })
  const kid = await calculateJwkThumbprint(jwk as { kty: 'OKP'; crv: string; x: string })
  await bench.db.query('insert into app_keys (app_slug, kid, public_jwk, created_at) values ($1, $2, $3, now())', [
    'bench',
    kid,
    JSON.stringify(jwk),
  ])
  const now = Math.floor(Date.now() / 1000)
  const assertion = await new SignJWT({ iss: 'bench', sub: 'bench', aud: issuer, iat: now, exp: now + 540 })
    .setProtectedHeader({ alg: 'EdDSA', kid })
    .sign(pair.privateKey)
  const { installationId } = bench
  const body = JSON.stringify({ assertion, installationId, resourceAudience: 'svc-cloud' })
  const exchange = async () => {
    const answer = await fetch(`${service.url}/auth/app-installation-token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(text)
  }
  const { privateKey } = keys.current
  const bareSign = async () => void sign('sha256', Buffer.from(assertion), privateKey)
  const took: { exchange: number[]; sign: number[] } = { exchange: [], sign: [] }
  const time = async (work: () => Promise<void>) => {
    const begun = performance.now()
    await work()
    return performance.now() - begun
  }
  for (let n = -50; n < 500; n += 1) {
    const [exchanged, signed] = [await time(exchange), await time(bareSign)]
    if (n < 0) continue
    took.exchange.push(exchanged)
    took.sign.push(signed)
  }
  const over = median(took.exchange) - median(took.sign)
  console.info(
    `exchange p50 ${show(median(took.exchange))} ms, p90 ${show(quantile(took.exchange, 0.9))} ms; bare signature ${show(median(took.sign))} ms; over it ${show(over)} ms (at most 5)`,
  )
}
