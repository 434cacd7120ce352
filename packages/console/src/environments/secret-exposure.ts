import type { Environment } from '@berth/client'
import { hostPattern, type SecretEgress, type WriteSecret } from '@berth/contract/egress'
import { knownService } from '@berth/contract/known-services'
import { egressLimits } from '@berth/contract/limits'

type SecretPin = Environment['secrets'][number]

/** How sandboxes get a secret, as the form holds it. Lists are text with white space between the entries. */
export interface EnteredExposure {
  readonly exposure: 'variable' | 'egress'
  readonly hosts: string
  readonly place: 'header' | 'basic' | 'query'
  /** The header, the user or the parameter. */
  readonly placeName: string
  /** The value of the header; '' for the usual one. */
  readonly format: string
  readonly methods: string
  readonly paths: string
  readonly setup: boolean
}

const empty: EnteredExposure = {
  exposure: 'variable',
  hosts: '',
  place: 'header',
  placeName: 'Authorization',
  format: '',
  methods: '',
  paths: '',
  setup: false,
}

/** Returns the form's content for a secret, or for a new one. */
export function enteredOf(pin: SecretPin | null): EnteredExposure {
  return pin?.egress === undefined ? empty : { ...fieldsOf(pin.egress), exposure: 'egress' }
}

/** Returns the hosts and the place that a new secret's name suggests. */
export function proposalFor(name: string): { readonly service: string; readonly fields: EnteredExposure } | null {
  const known = knownService(name)
  return known === null ? null : { service: known.service, fields: { ...fieldsOf(known.egress), exposure: 'egress' } }
}

function fieldsOf({ hosts, methods = [], paths = [], put, setup = false }: SecretEgress): EnteredExposure {
  const { header, format = '', basic, query } = put
  const place = header !== undefined ? 'header' : basic !== undefined ? 'basic' : 'query'
  return {
    ...empty,
    hosts: hosts.join('\n'),
    place,
    placeName: header ?? basic?.user ?? query ?? '',
    format,
    methods: methods.join(' '),
    paths: paths.join('\n'),
    setup,
  }
}

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter(word => word !== '')

/** Returns the values of the form as a write of a secret takes them. */
export function toWrite(entered: EnteredExposure): Pick<WriteSecret, 'exposure' | 'egress'> {
  if (entered.exposure === 'variable') return { exposure: 'variable' }
  const { hosts, place, placeName, format, methods, paths, setup } = entered
  const [only, below] = [wordsOf(methods).map(method => method.toUpperCase()), wordsOf(paths)]
  const put =
    place === 'header'
      ? { header: placeName.trim(), ...(format !== '' && { format }) }
      : place === 'basic'
        ? { basic: { user: placeName.trim() } }
        : { query: placeName.trim() }
  return {
    exposure: 'egress',
    egress: {
      hosts: wordsOf(hosts),
      // The service names a method that it does not know.
      ...(only.length > 0 && { methods: only as NonNullable<SecretEgress['methods']> }),
      ...(below.length > 0 && { paths: below }),
      put,
      ...(setup && { setup }),
    },
  }
}

/** The fields of the form that cannot be right, each with its reason. */
export type ExposureFaults = Partial<Record<'hosts' | 'placeName' | 'format' | 'paths', string>>

const host = new RegExp(hostPattern)

/** Returns the faults of the form that need no service to be found. */
export function exposureFaults({ exposure, hosts, place, placeName, format, paths }: EnteredExposure): ExposureFaults {
  if (exposure === 'variable') return {}
  const named = wordsOf(hosts)
  const strange = named.find(name => !host.test(name))
  const relative = wordsOf(paths).find(path => !path.startsWith('/'))
  return {
    ...(named.length > egressLimits.secretHosts && { hosts: `At most ${egressLimits.secretHosts} are possible.` }),
    ...(strange !== undefined && {
      hosts: `“${strange}” is no name such as api.example.com or *.example.com in lower case.`,
    }),
    ...(place !== 'basic' && placeName.trim() === '' && { placeName: 'Is needed.' }),
    ...(place === 'header' &&
      format !== '' &&
      format.split('{value}').length !== 2 && { format: 'Holds {value} exactly once.' }),
    ...(relative !== undefined && { paths: `“${relative}” does not begin with a slash.` }),
  }
}

/** Returns whether the form names hosts, without which no secret can stay at the edge. */
export const isComplete = ({ exposure, hosts }: EnteredExposure): boolean =>
  exposure === 'variable' || wordsOf(hosts).length > 0

/** Returns how sandboxes get a secret, in words. */
export function exposureText({ egress }: SecretPin): string {
  if (egress === undefined) return 'Variable'
  const { hosts, methods, paths, put, setup } = egress
  const place =
    put.header !== undefined
      ? `in the header ${put.header}`
      : put.basic !== undefined
        ? 'as the password of basic authentication'
        : `in the parameter ${put.query}`
  return [
    `At the edge: ${hosts.join(', ')} ${hosts.length === 1 ? 'gets' : 'get'} it ${place}`,
    ...(methods === undefined ? [] : [methods.join(', ')]),
    ...(paths === undefined ? [] : [`below ${paths.join(', ')}`]),
    ...(setup ? ['in setup too'] : []),
  ].join('; ')
}
