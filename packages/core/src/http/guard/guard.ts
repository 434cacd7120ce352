import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { GatewayAuthority, GatewayCaller } from '../../identity/guard/gateway-caller.ts'
import {
  type Authority,
  type Metering,
  MeteringFault,
  type Principal,
  type Verdict,
} from '../../identity/guard/principal.ts'
import { invalidCredential, readCredential } from './bearer.ts'
import { refuseOrganizationHeader } from './organization-header.ts'
import { rateLimitHeaders } from './rate-limit-headers.ts'

/** The parts of a request that the guard reads. */
export interface GuardedRequest {
  readonly rawHeaders: readonly string[]
  readonly clientAddress: string
}

/** A valid credential, with the state of its rate limit bucket. */
export interface Admission {
  readonly principal: Principal
  readonly metering: Metering
  /** Judges the same credential again without taking a token; null once it is valid no longer. */
  judgeAgain(): Promise<Principal | null>
}

/** A credential that is valid at the gateway, with the state of its rate limit bucket. */
export interface GatewayAdmission {
  readonly caller: GatewayCaller
  readonly metering: Metering
}

/**
 * Admits a request after checking, in the contract's order, bearer, credential, organization header and metering. The
 * authority answers for credential and metering at once, so its metering verdict waits until the header is checked. An
 * address with an empty bucket is refused before that, because its credential was never checked.
 * @throws ApiError 400, 401, 429 or 503
 */
export async function admit(request: GuardedRequest, authority: Authority): Promise<Admission> {
  const bearer = readCredential(request.rawHeaders)
  const verdict = granted(request, await judge(request, bearer, authority))
  return {
    principal: verdict.principal,
    metering: verdict.metering,
    judgeAgain: async () => {
      const again = await authority.judge({ bearer, clientAddress: request.clientAddress, metered: false })
      return again.kind === 'granted' ? again.principal : null
    },
  }
}

/**
 * Admits a request to the gateway, which has its own credentials and bucket.
 * @param keyHeader another header that may name the credential
 * @throws ApiError 400, 401, 429 or 503
 */
export async function admitToGateway(
  request: GuardedRequest,
  authority: GatewayAuthority,
  keyHeader: string | null,
): Promise<GatewayAdmission> {
  const credential = readCredential(request.rawHeaders, keyHeader)
  const { caller, metering } = granted(request, await judge(request, credential, authority))
  return { caller, metering }
}

type Refused = Exclude<Verdict, { kind: 'granted' }>

function granted<Granted extends { readonly kind: 'granted'; readonly metering: Metering }>(
  request: GuardedRequest,
  verdict: Granted | Refused | 'unmetered',
): Granted {
  if (verdict === 'unmetered') {
    refuseOrganizationHeader(request.rawHeaders, null)
    throw refusal('cloud_rate_limit_unavailable')
  }
  switch (verdict.kind) {
    case 'invalid':
      throw invalidCredential()
    case 'limited':
      if (verdict.metering.policy !== 'svc-cloud-auth') refuseOrganizationHeader(request.rawHeaders, verdict.metering)
      throw refuseEmptyBucket(verdict.metering, verdict.retryAfterSeconds)
    case 'granted':
      refuseOrganizationHeader(request.rawHeaders, verdict.metering)
      return verdict
  }
}

async function judge<Answer>(
  request: GuardedRequest,
  bearer: string,
  authority: { judge(request: { bearer: string; clientAddress: string }): Promise<Answer> },
): Promise<Answer | 'unmetered'> {
  try {
    return await authority.judge({ bearer, clientAddress: request.clientAddress })
  } catch (error) {
    if (error instanceof MeteringFault) return 'unmetered'
    if (error instanceof ApiError) throw error
    throw new ApiError(503, 'service_unavailable', { headers: { 'retry-after': '2' }, cause: error })
  }
}

/** The refusal of a request whose bucket is empty, with the delay in its headers. */
export function refuseEmptyBucket(metering: Metering, retryAfterSeconds: number): ApiError {
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds))
  const headers = {
    ...rateLimitHeaders(metering),
    'retry-after': String(seconds),
    'cache-control': 'no-store',
  }
  return metering.policy !== 'svc-cloud-auth' && metering.policy !== 'svc-auth-token'
    ? new ApiError(429, 'cloud_rate_limit_exceeded', { fields: { retryAfterSeconds: seconds }, headers })
    : new ApiError(429, 'cloud_auth_rate_limit_exceeded', { headers })
}
