import Type, { type StaticDecode } from 'typebox'
import { checked, closed, type Read, text } from './schema.ts'
import { type SecretSource, secret } from './secret-text.ts'

/** A confidential client of the operator's own that signs people in, and acts for them by a delegation. */
export type FirstPartyClientConfig = Read<StaticDecode<ReturnType<typeof firstPartyClientSchema>>>

const redirect = checked(
  text,
  isRedirect,
  'must be an https URL, or one of http on a loopback address, without user and fragment',
)

/** A public key; a private key has other members and is refused. */
const publicKey = closed({
  kty: Type.Enum(['RSA', 'EC', 'OKP']),
  ...Object.fromEntries(['crv', 'x', 'y', 'n', 'e', 'kid', 'alg', 'use'].map(name => [name, Type.Optional(text)])),
})

/** One entry of `firstPartyClients` of the configuration file. */
export const firstPartyClientSchema = (source: SecretSource) => {
  const members = closed({
    id: checked(
      Type.String({ pattern: '^[a-z][a-z0-9-]{1,62}$' }),
      id => !id.startsWith('svc-'),
      'must not begin with svc-, as the clients of the service do',
    ),
    /** People read it on the page that asks for their approval. */
    name: Type.String({ pattern: '^\\P{Cc}{1,100}$' }),
    redirectUris: Type.Optional(Type.Array(redirect, { minItems: 1 })),
    /** URL of the console of another deployment, of which this client is the back end. */
    console: Type.Optional(checked(redirect, url => !url.includes('?'), 'must have no query')),
    secret: Type.Optional(secret(source, 32)),
    jwks: Type.Optional(closed({ keys: Type.Array(publicKey, { minItems: 1 }) })),
  })
  const either = (a: 'secret' | 'redirectUris', b: 'jwks' | 'console', type: typeof members) =>
    checked(type, value => (value[a] === undefined) !== (value[b] === undefined), `must have either ${a} or ${b}`)
  return Type.Decode(
    either('secret', 'jwks', either('redirectUris', 'console', members)),
    ({ console, redirectUris = [], secret: shared = '', jwks, ...client }) => {
      const consoleUrl = console?.replace(/\/$/, '') ?? null
      /** How it names itself at the token endpoint: a shared secret, or the public keys of its assertions. */
      const proof: { secret: string } | { keys: object[] } =
        jwks === undefined ? { secret: shared } : { keys: jwks.keys }
      return {
        ...client,
        redirectUris: consoleUrl === null ? redirectUris : [`${consoleUrl}/cloud/auth/callback`],
        consoleUrl,
        proof,
      }
    },
  )
}

function isRedirect(value: string): boolean {
  const url = URL.parse(value)
  const loopback = url?.protocol === 'http:' && ['127.0.0.1', '[::1]'].includes(url.hostname)
  return (
    url !== null &&
    url.username === '' &&
    url.password === '' &&
    !value.includes('#') &&
    (url.protocol === 'https:' || loopback)
  )
}
