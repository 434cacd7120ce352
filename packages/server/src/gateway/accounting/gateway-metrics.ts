import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** What the gateway counts. */
export interface GatewayMetrics {
  readonly requests: Counter<'provider' | 'wire' | 'outcome'>
  readonly open: Gauge
  readonly duration: Histogram<'provider' | 'wire'>
  readonly firstToken: Histogram<'provider' | 'wire'>
  readonly tokens: Counter<'provider' | 'kind'>
  readonly cost: Counter<'provider'>
  readonly retries: Counter<'provider'>
  readonly fallbacks: Counter<'provider'>
}

/** Registers them. Labels are what the operator configured, never what a caller sent. */
export function gatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry]
  const ofWire = ['provider', 'wire'] as const
  return {
    requests: new Counter({
      name: 'berth_gateway_requests_total',
      help: 'Model requests that reached a provider, by how they ended.',
      labelNames: ['provider', 'wire', 'outcome'],
      registers,
    }),
    open: new Gauge({ name: 'berth_gateway_requests_open', help: 'Model requests under way.', registers }),
    duration: new Histogram({
      name: 'berth_gateway_request_seconds',
      help: 'From a model request to the end of its answer.',
      labelNames: ofWire,
      buckets: seconds,
      registers,
    }),
    firstToken: new Histogram({
      name: 'berth_gateway_first_token_seconds',
      help: 'From a streamed model request to the first thing the model said.',
      labelNames: ofWire,
      buckets: seconds,
      registers,
    }),
    tokens: new Counter({
      name: 'berth_gateway_tokens_total',
      help: 'Tokens by kind; input without the cached ones, reasoning as a part of output.',
      labelNames: ['provider', 'kind'],
      registers,
    }),
    cost: new Counter({
      name: 'berth_gateway_cost_usd_total',
      help: 'US dollars, as far as prices are known.',
      labelNames: ['provider'],
      registers,
    }),
    retries: new Counter({
      name: 'berth_gateway_retries_total',
      help: 'Model requests sent to the same model again.',
      labelNames: ['provider'],
      registers,
    }),
    fallbacks: new Counter({
      name: 'berth_gateway_fallbacks_total',
      help: 'Model requests that went on from a provider that failed to another.',
      labelNames: ['provider'],
      registers,
    }),
  }
}
