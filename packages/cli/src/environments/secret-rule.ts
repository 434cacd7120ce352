import type { Environment } from '@berth/client'
import { knownService } from '@berth/contract/known-services'
import { UsageError } from '../failure.ts'

type SecretPin = Environment['secrets'][number]
type SecretEgress = NonNullable<SecretPin['egress']>

/** Options that say how sandboxes get a secret. */
export interface ExposureOptions {
  readonly egress?: boolean
  readonly variable?: boolean
  readonly keepValue?: boolean
  readonly host?: readonly string[]
  readonly header?: string
  readonly format?: string
  readonly basic?: string
  readonly query?: string
  readonly method?: readonly string[]
  readonly path?: readonly string[]
  readonly setup?: boolean
}

/** What the options say of a secret's exposure, as a write takes it; empty if they say nothing. */
export interface Exposure {
  readonly exposure?: 'variable' | 'egress'
  readonly egress?: SecretEgress
}

/**
 * Returns the exposure that options ask for. With `--egress` alone, hosts and place are those of the service that the
 * name tells, and else those that the secret has.
 * @throws UsageError if options contradict each other, or hosts or the place are missing
 */
export function exposureOf(name: string, options: ExposureOptions, present: SecretPin | undefined): Exposure {
  const { egress, variable, host, header, format, basic, query, method, path, setup } = options
  const placed = [header, basic, query].filter(place => place !== undefined)
  const details = [...placed, host, format, method, path, setup].some(option => option !== undefined)
  if (variable) {
    if (egress || details)
      throw new UsageError('--variable gives programs the value, so it takes no hosts and no place')
    return { exposure: 'variable' }
  }
  if (!egress && !details) return {}
  if (placed.length > 1) throw new UsageError('name one of --header, --basic and --query')
  if (format !== undefined && header === undefined) throw new UsageError('--format needs --header')
  if (!details && present?.egress !== undefined) return { exposure: 'egress' }
  const known = knownService(name)?.egress ?? present?.egress
  const hosts = host ?? known?.hosts
  const put = placeOf(options) ?? known?.put
  if (hosts === undefined) throw new UsageError(`say with --host which hosts get ${name}`)
  if (put === undefined) {
    throw new UsageError(`say with --header, --basic or --query where requests hold ${name}`)
  }
  return {
    exposure: 'egress',
    egress: {
      hosts: [...hosts],
      ...(method !== undefined && { methods: method.map(each => each.toUpperCase() as never) }),
      ...(path !== undefined && { paths: [...path] }),
      put,
      ...(setup && { setup }),
    },
  }
}

function placeOf({ header, format, basic, query }: ExposureOptions): SecretEgress['put'] | undefined {
  if (header !== undefined) return { header, ...(format !== undefined && { format }) }
  if (basic !== undefined) return { basic: { user: basic } }
  return query === undefined ? undefined : { query }
}

/** Returns how sandboxes get a secret, in words. */
export function exposureText({ egress }: SecretPin): string {
  if (egress === undefined) return 'variable'
  const { hosts, methods = [], paths = [], put, setup } = egress
  return [
    `egress to ${hosts.join(', ')}`,
    placeText(put),
    ...(methods.length > 0 ? [methods.join(' ')] : []),
    ...(paths.length > 0 ? [`below ${paths.join(', ')}`] : []),
    ...(setup ? ['in setup too'] : []),
  ].join('; ')
}

function placeText({ header, format, basic, query }: SecretEgress['put']): string {
  if (header !== undefined) return `header ${header}: ${format ?? '{value}'}`
  return basic === undefined ? `query ${query}` : `basic authentication as ${basic.user === '' ? 'nobody' : basic.user}`
}
