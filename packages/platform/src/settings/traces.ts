import { StartError } from '../kit/start-error.ts'
import type { TraceDestination } from '../telemetry/open-traces.ts'
import type { Environment } from './environment.ts'

/**
 * Reads where traces go. The names are OpenTelemetry's, which operators have set for their other services already.
 *
 * @returns undefined if this process sends none
 * @throws StartError
 */
export function readTraces(env: Environment): TraceDestination | undefined {
  const endpoint = readEndpoint(env)
  const headers = env.parsed(
    'OTEL_EXPORTER_OTLP_HEADERS',
    'Headers for the collector, such as `authorization=Bearer%20key`, separated by commas. Set it if the collector asks for a key.',
    'none',
    readHeaders,
    'a list of name=value, separated by commas, with percent-encoded values',
  )
  const ratio = env.number(
    'OTEL_TRACES_SAMPLER_ARG',
    1,
    'Part of the Turns whose traces are sent. Lower it if the collector gets too much.',
    {
      least: 0,
      most: 1,
    },
  )
  const serviceName =
    env.text(
      'OTEL_SERVICE_NAME',
      'Name of the service in its traces. Change it if several deployments send to one collector.',
      '`berth`',
    ) ?? 'berth'
  if (endpoint === undefined) return undefined
  return { url: `${endpoint.replace(/\/$/, '')}/v1/traces`, headers: headers ?? {}, ratio, serviceName }
}

function readEndpoint(env: Environment): string | undefined {
  const name = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const meaning =
    'Collector of traces, by OTLP over HTTP; the service adds `v1/traces` to its path ([operations](operations.md#traces)). Set it to see where the time of a Turn goes.'
  const text = env.text(name, meaning, 'no traces', 'an http or https URL')
  env.refuse('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', `set ${name}, to which v1/traces is added`)
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol)) throw new StartError(`${name} must be an http or https address`)
  if (url.username !== '' || url.password !== '') {
    throw new StartError(`${name} must not contain a password: OTEL_EXPORTER_OTLP_HEADERS carries credentials`)
  }
  return text
}

function readHeaders(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',').filter(part => part.trim() !== '')) {
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*(\S*)\s*$/.exec(pair) ?? []
    if (name === undefined || value === undefined) return undefined
    try {
      headers[name.toLowerCase()] = decodeURIComponent(value)
    } catch {
      return undefined
    }
  }
  return headers
}
