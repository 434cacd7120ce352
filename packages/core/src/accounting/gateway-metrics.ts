import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** The gateway's metrics. */
export interface GatewayMetrics {
  readonly requests: Counter<'provider' | 'wire' | 'credential' | 'outcome'>
  readonly open: Gauge
  readonly duration: Histogram<'provider' | 'wire'>
  readonly firstToken: Histogram<'provider' | 'wire'>
  readonly tokens: Counter<'provider' | 'credential' | 'kind'>
  readonly cost: Counter<'provider' | 'credential'>
  readonly retries: Counter<'provider'>
  readonly fallbacks: Counter<'provider'>
}

/**
 * Registers the metrics. Labels come from the operator's configuration, never from a caller. `credential` is the kind of
 * the credential; who used it is in the rows of `gateway_requests`, because a label of each end user would have no bound.
 */
export function gatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry]
  const ofWire = ['provider', 'wire'] as const
  return {
    requests: new Counter({
      name: 'berth_gateway_requests_total',
      help: 'Model requests that reached a provider, by outcome.',
      labelNames: ['provider', 'wire', 'credential', 'outcome'],
      registers,
    }),
    open: new Gauge({ name: 'berth_gateway_requests_open', help: 'Model requests under way.', registers }),
    duration: new Histogram({
      name: 'berth_gateway_request_seconds',
      help: 'Seconds from a model request to the end of its answer.',
      labelNames: ofWire,
      buckets: seconds,
      registers,
    }),
    firstToken: new Histogram({
      name: 'berth_gateway_first_token_seconds',
      help: 'Seconds from a model request to the first token of its stream.',
      labelNames: ofWire,
      buckets: seconds,
      registers,
    }),
    tokens: new Counter({
      name: 'berth_gateway_tokens_total',
      help: 'Tokens by kind. Input is what no cache gave or took; output includes reasoning.',
      labelNames: ['provider', 'credential', 'kind'],
      registers,
    }),
    cost: new Counter({
      name: 'berth_gateway_cost_usd_total',
      help: 'Cost in US dollars of requests with a known price.',
      labelNames: ['provider', 'credential'],
      registers,
    }),
    retries: new Counter({
      name: 'berth_gateway_retries_total',
      help: 'Model requests retried with the same model.',
      labelNames: ['provider'],
      registers,
    }),
    fallbacks: new Counter({
      name: 'berth_gateway_fallbacks_total',
      help: 'Model requests passed from a failed provider to another.',
      labelNames: ['provider'],
      registers,
    }),
  }
}
