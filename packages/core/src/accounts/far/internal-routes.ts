import { hash, timingSafeEqual } from 'node:crypto'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseBytes } from '../../http/body/json-body.ts'
import { requireMediaType } from '../../http/request/media-type.ts'
import type { GatewayJudge } from '../../identity/guard/gateway-judge.ts'
import { type Authority, MeteringFault, type Principal } from '../../identity/guard/principal.ts'
import { readAccountChanges, readAccountSnapshot } from './account-snapshot-sql.ts'
import {
  changeKinds,
  firstChangeKinds,
  internalPaths,
  isCursor,
  isJudgeGatewayRequest,
  isJudgeRequest,
  type WireGatewayJudgement,
  type WireVerdict,
} from './wire.ts'

/** Room for the longest bearer that a header can carry, escaped. */
const MOST_BYTES = 64 * 1024
/** A cursor before every change. */
const beginning = '0.00000000-0000-0000-0000-000000000000'

/** The guards of this deployment, by which it judges for others. */
export interface Guards {
  readonly api: Authority
  readonly gateway: GatewayJudge
}

/**
 * Adds the routes at which an API with another database asks this account service. Without the secret they answer as
 * any unknown path does, so nobody learns that they are there. They are no operations of the contract.
 */
export function mountInternal(app: FastifyInstance, db: Queryable, guards: Guards, secret: string): void {
  const expected = digest(`Bearer ${secret}`)
  const onRequest = async (request: FastifyRequest) => {
    if (!timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) throw refusal('unknown_endpoint')
    if (request.method === 'POST') requireMediaType(request.headers, 'json')
  }

  app.post(internalPaths.judge, { onRequest }, async (request): Promise<WireVerdict> => {
    const body = await readJson(request)
    if (!isJudgeRequest.Check(body)) throw malformed('{ bearer, address, metered }')
    const { bearer, address: clientAddress } = body
    const verdict = await metered(guards.api.judge({ bearer, clientAddress, metered: body.metered }))
    switch (verdict.kind) {
      case 'invalid':
      case 'limited':
        return verdict
      case 'granted': {
        const { principal } = verdict
        const { organizationId } = principal
        const snapshot = await readAccountSnapshot(db, {
          organizationId,
          ...(principal.kind === 'person'
            ? { membershipId: principal.membershipId, signInId: principal.signInId }
            : { installationId: principal.id }),
        })
        if (snapshot === null) throw refusal('service_unavailable')
        return { kind: 'granted', principal: toWire(principal), metering: verdict.metering, snapshot }
      }
    }
  })

  app.post(internalPaths.judgeGateway, { onRequest }, async (request): Promise<WireGatewayJudgement> => {
    const body = await readJson(request)
    if (!isJudgeGatewayRequest.Check(body)) throw malformed('{ bearer, address, wanted }')
    const judgement = await metered(guards.gateway.judge(body.bearer, body.address, body.wanted))
    const { caller, granted, remaining, bucket } = judgement
    if (caller === null) return { caller, granted, remaining, bucket, snapshot: null }
    // The Runs of this deployment are none of the asker's.
    if (caller.kind === 'runtime') return { caller: null, granted: 0, remaining: 0, bucket, snapshot: null }
    const { kind, organizationId, apiKeyId, installationId, personId, endUserId } = caller
    const snapshot = await readAccountSnapshot(db, { organizationId, installationId, apiKeyId })
    if (snapshot === null) throw refusal('service_unavailable')
    const capabilities = [...caller.capabilities]
    const sent = { kind, organizationId, capabilities, apiKeyId, installationId, personId, endUserId }
    return { caller: sent, granted, remaining, bucket, snapshot }
  })

  app.get<{ Querystring: Record<string, unknown> }>(internalPaths.revocations, { onRequest }, async request => {
    const query = new URL(request.url, 'http://internal').searchParams
    const after = query.get('after') ?? beginning
    if (!isCursor.Check(after)) throw invalidField(['after'], 'is not a cursor of this service')
    const kinds = query.get('kinds')?.split(',')
    const wanted = kinds === undefined ? firstChangeKinds : changeKinds.filter(kind => kinds.includes(kind))
    return await readAccountChanges(db, after, wanted)
  })
}

const digest = (text: string) => hash('sha256', text, 'buffer')

const malformed = (shape: string) => invalidField([], `must be ${shape}`)

/** The asker must not let a request through that was not metered. */
async function metered<T>(judging: Promise<T>): Promise<T> {
  try {
    return await judging
  } catch (error) {
    if (error instanceof MeteringFault) throw refusal('cloud_rate_limit_unavailable')
    throw error
  }
}

function toWire(principal: Principal): Extract<WireVerdict, { kind: 'granted' }>['principal'] {
  const shared = {
    id: principal.id,
    organizationId: principal.organizationId,
    capabilities: [...principal.capabilities],
    expiresAt: principal.expiresAt?.toISOString() ?? null,
  }
  if (principal.kind === 'app_installation') return { kind: 'app_installation', ...shared }
  const { membershipId, signInId, role } = principal
  return { kind: 'person', ...shared, membershipId, signInId, role, permissions: [...principal.permissions] }
}

/** @throws ApiError 413 or 400 */
async function readJson(request: FastifyRequest): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request.raw) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw refusal('request_entity_too_large', {}, undefined, { connection: 'close' })
    chunks.push(chunk)
  }
  return parseBytes(Buffer.concat(chunks))
}
