import { type Static, Type } from 'typebox'
import { Assertion } from './app-token.ts'
import { capabilities } from './capability.ts'
import { closed, DateTime, open, Uuid } from './scalar.ts'

const intentStatuses = ['pending', 'authorized', 'expired'] as const

export const InstallationIntent = Type.Object(
  {
    id: Type.Unsafe<string>({ ...Uuid, description: 'A secret, as is `authorizeUrl`.' }),
    status: Type.Enum([...intentStatuses]),
    expiresAt: DateTime,
    authorizeUrl: Type.String({ format: 'uri', description: 'Where a person decides.' }),
    installationId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: 'While the intent is `authorized`.' })),
    setupAuthorityId: Type.Optional(
      Type.Unsafe<string>({ ...Uuid, description: 'The consent, while the intent is `authorized`.' }),
    ),
  },
  { title: 'InstallationIntent', ...open },
)

export const InstallationIntentEnvelope = Type.Object(
  { success: Type.Literal(true), intent: InstallationIntent },
  { title: 'InstallationIntentEnvelope', ...open },
)

export const CreateInstallationIntent = Type.Object(
  {
    assertion: Assertion,
    capabilities: Type.Array(Type.Enum([...capabilities]), {
      minItems: 1,
      uniqueItems: true,
      description: 'What the installation would hold.',
    }),
    redirectUrl: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description: "One of the app's `redirectUrls`, where the person is sent after the decision.",
      }),
    ),
    state: Type.Optional(
      Type.String({ maxLength: 1024, description: 'Comes back with the redirect, which carries nothing else.' }),
    ),
  },
  { title: 'CreateInstallationIntent', ...closed },
)

export const ReadInstallationIntent = Type.Object(
  { assertion: Assertion },
  { title: 'ReadInstallationIntent', ...closed },
)

export type InstallationIntent = Static<typeof InstallationIntent>
export type CreateInstallationIntent = Static<typeof CreateInstallationIntent>
