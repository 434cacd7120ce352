import type { JsonNode } from './json-node.ts'

/** A confidential client of the operator's own that signs people in, and acts for them by a delegation. */
export interface FirstPartyClientConfig {
  readonly id: string
  /** What people read on the page that asks for their approval. */
  readonly name: string
  readonly redirectUris: readonly string[]
  /** URL of the console of another deployment, of which this client is the back end; null for other programs. */
  readonly consoleUrl: string | null
  /** How it names itself at the token endpoint: a shared secret, or the public keys of its assertions. */
  readonly proof: { readonly secret: string } | { readonly keys: readonly Readonly<Record<string, string>>[] }
}

/** Members of public keys; a private key has others and is refused. */
const keyMembers = ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'alg', 'use'] as const
const SHORTEST_SECRET = 32

/** Reads `firstPartyClients` of the configuration file. @throws StartError that names the place */
export function readFirstPartyClient(node: JsonNode): FirstPartyClientConfig {
  const members = node.object('id', 'name', 'redirectUris', 'console', 'secret', 'jwks')
  const idNode = node.require(members.id, 'id')
  const id = idNode.string(/^[a-z][a-z0-9-]{1,62}$/)
  if (id.startsWith('svc-')) idNode.fail('must not begin with svc-, as the clients of the service do')
  if ((members.secret === undefined) === (members.jwks === undefined)) node.fail('must have either secret or jwks')
  if ((members.redirectUris === undefined) === (members.console === undefined)) {
    node.fail('must have either redirectUris or console')
  }
  const consoleUrl = members.console === undefined ? null : readConsole(members.console)
  return {
    id,
    name: node.require(members.name, 'name').string(/^\P{Cc}{1,100}$/u),
    redirectUris:
      consoleUrl === null
        ? node.require(members.redirectUris, 'redirectUris').array(1).map(readRedirect)
        : [`${consoleUrl}/cloud/auth/callback`],
    consoleUrl,
    proof: members.jwks === undefined ? { secret: readSecret(members.secret) } : { keys: readKeys(members.jwks) },
  }
}

function readConsole(node: JsonNode): string {
  const url = readRedirect(node)
  if (url.includes('?')) node.fail('must have no query')
  return url.replace(/\/$/, '')
}

function readSecret(node: JsonNode | undefined): string {
  const secret = node?.secret() ?? ''
  return secret.length >= SHORTEST_SECRET
    ? secret
    : (node?.fail(`must be at least ${SHORTEST_SECRET} characters long`) ?? secret)
}

function readKeys(node: JsonNode): Readonly<Record<string, string>>[] {
  const { keys } = node.object('keys')
  return node
    .require(keys, 'keys')
    .array(1)
    .map(item => {
      const members = Object.entries(item.object(...keyMembers)).map(([name, value]) => [name, value?.string() ?? ''])
      const key: Record<string, string> = Object.fromEntries(members)
      if (!['RSA', 'EC', 'OKP'].includes(key['kty'] ?? '')) item.fail('must be a public key of kty RSA, EC or OKP')
      return key
    })
}

function readRedirect(node: JsonNode): string {
  const text = node.string()
  const url = URL.canParse(text) ? new URL(text) : null
  const loopback = url?.protocol === 'http:' && ['127.0.0.1', '[::1]'].includes(url.hostname)
  const plain = url?.username === '' && url.password === '' && url.hash === '' && !text.includes('#')
  if (!plain || !(url.protocol === 'https:' || loopback)) {
    node.fail('must be an https URL, or one of http on a loopback address, without user and fragment')
  }
  return text
}
