import { randomUUID } from 'node:crypto'
import { Booking } from '@berth/core/accounting/booking.ts'
import { gatewayMetrics } from '@berth/core/accounting/gateway-metrics.ts'
import type { CallTranslated } from '@berth/core/accounting/upstream.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Registry } from 'prom-client'
import type { BudgetParts } from './hold-to-budgets.ts'
import { type CatalogOptions, ModelCatalog } from './providers/model-catalog.ts'
import { ProviderClient, type ProviderLimits } from './providers/provider-client.ts'
import { fetchModelList } from './providers/provider-list.ts'
import type { Gateway } from './serve-request.ts'

/** The dependencies and settings of a gateway. */
export interface GatewayOptions {
  readonly models: Pick<CatalogOptions, 'providers' | 'aliases' | 'fallbacks' | 'details'>
  readonly limits: ProviderLimits & Gateway['limits']
  readonly masterKey: MasterKey
  readonly registry: Registry
  readonly callTranslated: CallTranslated
}

const listPatienceMs = 10_000

/** Creates the gateway. Disposing of it stores pending accounting and closes the connections to providers. */
export function createGateway(context: BudgetParts, options: GatewayOptions) {
  const { db, clock, log } = context
  const { models, limits, masterKey, registry, callTranslated } = options
  const clients = new Map(models.providers.map(provider => [provider.id, new ProviderClient(provider, limits)]))
  const booking = new Booking(db, clock, err =>
    log.error({ err }, 'could not store the usage of model requests; retrying'),
  )
  const catalog = new ModelCatalog({
    ...models,
    clock,
    fetchList: async id => {
      const client = clients.get(id)
      return client === undefined ? [] : fetchModelList(client, AbortSignal.timeout(listPatienceMs))
    },
    onError: (err, provider) =>
      log.warn({ err, provider }, 'could not list the models of a provider; using its last known list'),
  })
  const gateway: Gateway = {
    catalog,
    clients,
    booking,
    metrics: gatewayMetrics(registry),
    clock,
    budgets: context,
    callTranslated,
    tools: {
      ids: prefix => `${prefix}_${randomUUID().replaceAll('-', '')}`,
      seal: (plaintext, place) => masterKey.seal(plaintext, `gateway/${place}`).toString('base64url'),
      open: (sealed, place) => masterKey.open(Buffer.from(sealed, 'base64url'), `gateway/${place}`).toString(),
    },
    limits,
  }
  return Object.assign(gateway, {
    async [Symbol.asyncDispose]() {
      await booking[Symbol.asyncDispose]()
      await Promise.all([...clients.values()].map(client => client.close()))
    },
  })
}
