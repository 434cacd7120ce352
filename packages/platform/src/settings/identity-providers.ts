import Type, { type StaticDecode } from 'typebox'
import { checked, closed, type Read, text } from './schema.ts'
import { type SecretSource, secret } from './secret-text.ts'

/** An OpenID provider that people may sign in with. */
export type IdentityProviderConfig = Read<StaticDecode<ReturnType<typeof identityProviderSchema>>>

const domain = Type.String({ pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9-]{2,63}$' })

/** An issuer is compared as it is written, so it is not normalised. */
const issuer = checked(text, isIssuer, 'must be an https URL without user, query or fragment, or http on loopback')

/** One entry of `identityProviders` of the configuration file. */
export const identityProviderSchema = (source: SecretSource) =>
  Type.Decode(
    checked(
      closed({
        /** Part of the provider's redirect URI, `{auth_url}/external/<id>/callback`. */
        id: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$' }),
        name: Type.Optional(text),
        issuer,
        clientId: text,
        clientSecret: secret(source),
        /** Id of the organization that people join at first sight. Absent: nobody joins. */
        organization: Type.Optional(Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })),
        /** Domains of the emails whose people join, in small letters. */
        domains: Type.Array(domain, { default: [] }),
      }),
      ({ organization, domains }) => organization !== undefined || domains.length === 0,
      'has domains, so it must name the organization that their people join',
    ),
    ({ name, ...provider }) => ({ ...provider, name: name ?? provider.id }),
  )

function isIssuer(value: string): boolean {
  const url = URL.parse(value)
  const loopback = ['127.0.0.1', '[::1]', 'localhost']
  const isSecure = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.includes(url.hostname))
  return url !== null && isSecure && [url.search, url.hash, url.username, url.password].every(part => part === '')
}
