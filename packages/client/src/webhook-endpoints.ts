import type { CallOptions, Credential } from './call-options.ts'
import type { WebhookDelivery, WebhookEndpoint } from './generated/types.ts'
import { defaultPlatform, type Platform } from './platform.ts'
import { defaultRetryPolicy, type RetryPolicy } from './retry.ts'
import { type ApiRequest, Transport } from './transport.ts'
import type { WebhookFamily } from './webhook-types.ts'

/** An installation of an app, as a member of the app's organization reaches it. */
export interface WebhookEndpointsOptions {
  /** Origin of the account service, with a path prefix if a proxy adds one. */
  readonly authUrl: string | URL
  readonly appSlug: string
  readonly installationId: string
  /** Access token of a person with `organization.applications.manage` in the app's organization. */
  readonly credential: Credential
  /** Replaces parts of the platform, for example `fetch` in a test. */
  readonly platform?: Partial<Platform>
  readonly retry?: Partial<RetryPolicy>
  /** Limit for one attempt of one call, body included. Default 60 s. */
  readonly requestTimeoutMs?: number
}

/** Page and filter of the list of deliveries. */
export interface DeliveryQuery {
  readonly limit?: number
  readonly cursor?: string
  readonly status?: WebhookDelivery['status']
}

/** The webhook endpoints of one installation. */
export interface WebhookEndpoints {
  /** Lists the endpoints in the order of their registration. */
  list(options?: CallOptions): Promise<{ readonly endpoints: readonly WebhookEndpoint[] }>
  /**
   * Registers an endpoint. Only this response holds the secret. The call is not retried: if its response is lost,
   * delete the endpoint that `list` shows.
   */
  register(
    endpoint: { readonly url: string; readonly families: readonly WebhookFamily[] },
    options?: CallOptions,
  ): Promise<{ readonly endpoint: WebhookEndpoint; readonly secret: string }>
  /** Deletes an endpoint. Idempotent. */
  remove(endpointId: string, options?: CallOptions): Promise<void>
  /** Lists deliveries, newest first. Only `hasMore` says whether to continue with `nextCursor`. */
  deliveries(
    endpointId: string,
    query?: DeliveryQuery,
    options?: CallOptions,
  ): Promise<{
    readonly deliveries: readonly WebhookDelivery[]
    readonly nextCursor: string | null
    readonly hasMore: boolean
  }>
  /** Gives a delivery six new attempts, the first at once. The call is not retried, as it would send once more. */
  redeliver(
    endpointId: string,
    deliveryId: string,
    options?: CallOptions,
  ): Promise<{ readonly delivery: WebhookDelivery }>
  /**
   * Queues at most 1 000 Events of a Session. Go on with `lastSequence` as `after`; it is absent if none is left. The call
   * is not retried, as it would send them once more.
   */
  replay(
    endpointId: string,
    request: { readonly sessionId: string; readonly after?: number },
    options?: CallOptions,
  ): Promise<{ readonly queued: number; readonly lastSequence?: number }>
  /** Sends a signed `svc.webhook.ping`. The call is not retried. */
  ping(endpointId: string, options?: CallOptions): Promise<{ readonly delivery: WebhookDelivery }>
}

/**
 * Creates a client of the webhook endpoints of an installation.
 * @throws TypeError if `authUrl` is not a URL
 */
export function createWebhookEndpoints(options: WebhookEndpointsOptions): WebhookEndpoints {
  const { appSlug, installationId, credential, retry, requestTimeoutMs = 60_000 } = options
  const transport = new Transport({
    baseUrl: new URL(options.authUrl),
    credential,
    platform: { ...defaultPlatform, ...options.platform },
    retry: { ...defaultRetryPolicy, ...retry },
    requestTimeoutMs,
  })
  const all = ['api', 'apps', appSlug, 'installations', installationId, 'webhooks']
  const call = async <T>(request: ApiRequest, own: CallOptions | undefined): Promise<T> =>
    (await transport.json({ ...request, options: own })).body as T
  return {
    list: own => call({ method: 'GET', path: all }, own),
    register: (body, own) => call({ method: 'POST', path: all, body, once: true }, own),
    async remove(id, own) {
      await call({ method: 'DELETE', path: [...all, id] }, own)
    },
    deliveries: (id, query, own) => call({ method: 'GET', path: [...all, id, 'deliveries'], query: { ...query } }, own),
    redeliver: (id, deliveryId, own) =>
      call({ method: 'POST', path: [...all, id, 'deliveries', deliveryId, 'redeliver'], once: true }, own),
    replay: (id, body, own) => call({ method: 'POST', path: [...all, id, 'replay'], body, once: true }, own),
    ping: (id, own) => call({ method: 'POST', path: [...all, id, 'ping'], once: true }, own),
  }
}
