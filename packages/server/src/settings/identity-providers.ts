import type { JsonNode } from './json-node.ts'

/** An OpenID provider that people may sign in with. */
export interface IdentityProviderConfig {
  /** Part of the provider's redirect URI, `{auth_url}/external/<id>/callback`. */
  readonly id: string
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Id of the organization that people join at first sight. Absent: nobody joins. */
  readonly organization: string | undefined
  /** Domains of the emails whose people join, in small letters. */
  readonly domains: readonly string[]
}

const idPattern = /^[a-z0-9][a-z0-9-]{0,63}$/
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const domainPattern = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/
const loopback: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

/** Reads one entry of `identityProviders`. */
export function readIdentityProvider(node: JsonNode): IdentityProviderConfig {
  const members = node.object('id', 'name', 'issuer', 'clientId', 'clientSecret', 'organization', 'domains')
  const id = node.require(members.id, 'id').string(idPattern)
  const domains = members.domains?.array().map(item => item.string(domainPattern)) ?? []
  if (domains.length > 0) node.require(members.organization, 'organization')
  return {
    id,
    name: members.name?.string() ?? id,
    issuer: readIssuer(node.require(members.issuer, 'issuer')),
    clientId: node.require(members.clientId, 'clientId').string(),
    clientSecret: node.require(members.clientSecret, 'clientSecret').secret(),
    organization: members.organization?.string(uuidPattern),
    domains,
  }
}

/** An issuer is compared as it is written, so it is not normalised. */
function readIssuer(node: JsonNode): string {
  const issuer = node.string()
  const url = URL.parse(issuer)
  const isSecure = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.includes(url.hostname))
  if (url === null || !isSecure || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    return node.fail('must be an https URL without user, query or fragment, or http on loopback')
  }
  return issuer
}
