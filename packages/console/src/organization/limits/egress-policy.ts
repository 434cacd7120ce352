import type { OrganizationSettings } from '@berth/contract'

type Policy = OrganizationSettings['egress']

interface Named {
  readonly id: string
  readonly name: string
}

/** A policy as the form holds it: a host a line, and a secret with its environments a line. */
interface PolicyText {
  readonly neverHosts: string
  readonly secrets: string
}

/** The values of a form, with the faults of its fields. */
interface ReadPolicy {
  readonly hosts: readonly string[]
  readonly hostFault: string | undefined
  readonly environments: Readonly<Record<string, readonly string[]>>
  readonly secretFault: string | undefined
}

/** Returns a policy as text. An environment that is archived, or whose name has a comma, is told by its id. */
export function policyText({ neverHosts, secretEnvironments }: Policy, environments: readonly Named[]): PolicyText {
  const names = new Map(environments.flatMap(({ id, name }) => (name.includes(',') ? [] : [[id, name] as const])))
  const lines = Object.entries(secretEnvironments).map(([secret, ids]) =>
    `${secret}: ${ids.map(id => names.get(id) ?? id).join(', ')}`.trimEnd(),
  )
  return { neverHosts: neverHosts.join('\n'), secrets: lines.join('\n') }
}

/** Reads the text of a form back. */
export function readPolicy(text: PolicyText, known: readonly Named[], host: RegExp): ReadPolicy {
  const hosts = text.neverHosts.split(/[\s,]+/).filter(name => name !== '')
  const strange = hosts.find(name => !host.test(name))
  const ids = new Map(known.flatMap(({ id, name }) => [[name.toLowerCase(), id] as const, [id, id] as const]))
  const environments = new Map<string, readonly string[]>()
  let secretFault: string | undefined
  for (const line of text.secrets.split('\n').filter(each => each.trim() !== '')) {
    const [, secret, list = ''] = /^\s*([A-Za-z_]\w{0,127})\s*:(.*)$/.exec(line) ?? []
    if (secret === undefined) {
      secretFault ??= `“${line.trim()}” is no name of a secret with a colon behind it.`
      continue
    }
    if (environments.has(secret)) secretFault ??= `${secret} has two lines.`
    const names = list.split(',').flatMap(each => (each.trim() === '' ? [] : [each.trim()]))
    const unknown = names.find(name => !ids.has(name.toLowerCase()) && !isId(name))
    if (unknown !== undefined) secretFault ??= `There is no environment “${unknown}”.`
    environments.set(
      secret,
      names.map(name => ids.get(name.toLowerCase()) ?? name),
    )
  }
  return {
    hosts,
    hostFault:
      strange === undefined
        ? undefined
        : `“${strange}” is no name such as paste.example.org or *.example.org in lower case.`,
    environments: Object.fromEntries(environments),
    secretFault,
  }
}

/** Returns the values of a form as the service takes them. */
export const policyOf = ({ hosts, environments }: ReadPolicy) => ({
  neverHosts: [...hosts],
  secretEnvironments: environments,
})

/** Archived environments are not among those that the page reads; their ids stay as they are. */
const isId = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
