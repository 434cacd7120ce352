import { type Static, Type } from 'typebox'
import { closed, DateTime, open, someText } from './scalar.ts'

/** The name of an app in paths and assertions. It is never given to another app. */
export const AppSlug = Type.String({ pattern: '^[a-z][a-z0-9-]{1,62}$', maxLength: 63 })

/** The RFC 7638 thumbprint of a public key. */
export const KeyId = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })

const RedirectUrls = Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
  maxItems: 10,
  uniqueItems: true,
  description: 'Where a consent page may send people back to: `https`, or in development `http` on a loopback address.',
})

export const App = Type.Object(
  { slug: AppSlug, name: Type.String(), redirectUrls: RedirectUrls, createdAt: DateTime },
  { title: 'App', ...open },
)

export const AppEnvelope = Type.Object({ success: Type.Literal(true), app: App }, { title: 'AppEnvelope', ...open })

export const AppList = Type.Object(
  { success: Type.Literal(true), apps: Type.Array(App) },
  { title: 'AppList', ...open },
)

export const CreateApp = Type.Object(
  {
    slug: Type.String({
      pattern: '^[a-z][a-z0-9-]{1,62}$',
      maxLength: 63,
      description: 'Names the app for ever. Slugs that begin with `svc-` are reserved.',
    }),
    name: someText(100),
    redirectUrls: Type.Optional(RedirectUrls),
  },
  { title: 'CreateApp', ...closed },
)

export const UpdateApp = Type.Object(
  { name: Type.Optional(someText(100)), redirectUrls: Type.Optional(RedirectUrls) },
  { title: 'UpdateApp', description: 'Changes the given fields of an app.', minProperties: 1, ...closed },
)

export const AppKey = Type.Object(
  { kid: KeyId, createdAt: DateTime, revokedAt: Type.Optional(DateTime) },
  { title: 'AppKey', ...open },
)

export const AppKeyList = Type.Object(
  { success: Type.Literal(true), keys: Type.Array(AppKey) },
  { title: 'AppKeyList', ...open },
)

export const RegisterAppKey = Type.Object(
  {
    publicKeyPem: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'An Ed25519 public key as SPKI PEM: the output of `openssl pkey -pubout`.',
    }),
  },
  { title: 'RegisterAppKey', ...closed },
)

export const RegisteredAppKey = Type.Object(
  { success: Type.Literal(true), kid: KeyId },
  { title: 'RegisteredAppKey', ...open },
)

export type App = Static<typeof App>
export type AppKey = Static<typeof AppKey>
