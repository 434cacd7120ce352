import { type Static, Type } from 'typebox'
import { AppSlug } from './app.ts'
import { capabilities } from './capability.ts'
import { closed, DateTime, open, openString, someText, Uuid } from './scalar.ts'

/** What an administrator grants. */
const Grant = Type.Array(Type.Enum([...capabilities]), { minItems: 1, uniqueItems: true })

const Held = Type.Array(openString([...capabilities]))

export const Installation = Type.Object(
  {
    id: Uuid,
    kind: Type.Enum(['app', 'integration'], { description: 'Whether a consent or an administrator made it.' }),
    app: AppSlug,
    appName: Type.Optional(Type.String({ description: 'The name of the app; absent once it is deleted.' })),
    name: Type.Optional(Type.String()),
    capabilities: Held,
    createdAt: DateTime,
    revokedAt: Type.Optional(DateTime),
  },
  { title: 'Installation', ...open },
)

export const InstallationList = Type.Object(
  { success: Type.Literal(true), installations: Type.Array(Installation) },
  { title: 'InstallationList', ...open },
)

export const InstallationEnvelope = Type.Object(
  { success: Type.Literal(true), installation: Installation },
  { title: 'InstallationEnvelope', ...open },
)

export const UpdateInstallation = Type.Object({ capabilities: Grant }, { title: 'UpdateInstallation', ...closed })

/** Which half of the service an API key opens. */
const ApiKeyKind = Type.Enum(['cloud', 'ai'])

export const ApiKey = Type.Object(
  {
    id: Uuid,
    kind: ApiKeyKind,
    hint: Type.Optional(Type.String({ description: 'The last characters of the secret.' })),
    createdAt: DateTime,
    expiresAt: Type.Optional(DateTime),
    lastUsedAt: Type.Optional(Type.Unsafe<string>({ ...DateTime, description: 'To the minute.' })),
  },
  { title: 'ApiKey', ...open },
)

export const Integration = Type.Object(
  {
    id: Uuid,
    installationId: Uuid,
    name: Type.String(),
    product: AppSlug,
    capabilities: Held,
    createdAt: DateTime,
    keys: Type.Array(ApiKey, { description: 'Active keys.' }),
  },
  { title: 'Integration', ...open },
)

export const IntegrationEnvelope = Type.Object(
  { success: Type.Literal(true), integration: Integration },
  { title: 'IntegrationEnvelope', ...open },
)

export const IntegrationList = Type.Object(
  { success: Type.Literal(true), integrations: Type.Array(Integration) },
  { title: 'IntegrationList', ...open },
)

export const CreateIntegration = Type.Object(
  {
    name: someText(100),
    product: Type.Unsafe<string>({
      ...AppSlug,
      description: '`svc-cloud`, `svc-ai`, or the slug of an app of the organization.',
    }),
    capabilities: Grant,
  },
  { title: 'CreateIntegration', ...closed },
)

export const ApiKeyList = Type.Object(
  { success: Type.Literal(true), keys: Type.Array(ApiKey) },
  { title: 'ApiKeyList', ...open },
)

export const CreateApiKey = Type.Object(
  {
    kind: ApiKeyKind,
    expiresAt: Type.Optional(DateTime),
    replaces: Type.Optional(
      Type.Unsafe<string>({ ...Uuid, description: 'An active key that ends as this one begins.' }),
    ),
  },
  { title: 'CreateApiKey', ...closed },
)

export const CreatedApiKey = Type.Object(
  {
    success: Type.Literal(true),
    key: ApiKey,
    secret: Type.String({ description: 'Shown this once.' }),
  },
  { title: 'CreatedApiKey', ...open },
)

export type Installation = Static<typeof Installation>
export type Integration = Static<typeof Integration>
export type ApiKey = Static<typeof ApiKey>
