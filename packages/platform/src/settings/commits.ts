import Type, { type StaticDecode } from 'typebox'
import { closed, type Read } from './schema.ts'
import { type SecretSource, secret } from './secret-text.ts'

/** How the deployment appears in the commits that it makes. */
export type CommitsConfig = Read<StaticDecode<ReturnType<typeof commitsSchema>>>

/** `commits` of the configuration file. `signingKey` is the text of a private key. */
export const commitsSchema = (source: SecretSource) =>
  closed(
    {
      name: Type.Optional(Type.String({ pattern: '^[^\\p{Cc}<>]{1,100}$' })),
      email: Type.Optional(Type.String({ pattern: '^[^\\s\\p{Cc}<>@]+@[^\\s\\p{Cc}<>@]+$' })),
      signingKey: Type.Optional(secret(source)),
    },
    { default: {} },
  )
