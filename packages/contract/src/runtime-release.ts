import { type Static, Type } from 'typebox'
import { limits } from './limits.ts'
import { closed, DateTime, nullable, open, Sha256 } from './scalar.ts'

/** Names a release: the hash of a commit, or any other SHA-1 or SHA-256 in lower-case hexadecimal. */
export const ReleaseSha = Type.String({ pattern: '^([a-f0-9]{40}|[a-f0-9]{64})$' })

/** The body of `activateRuntimeReleaseProbe`. */
export const ActivateRuntimeReleaseProbe = Type.Object(
  {
    engine: Type.Object(
      {
        sha256: Sha256,
        url: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: limits.urlCharacters,
            description:
              'A public HTTPS URL that the service fetches once, without following redirects. Absent: the engine was uploaded before.',
          }),
        ),
      },
      closed,
    ),
    expiresAt: Type.Optional(
      nullable(
        Type.String({
          format: 'date-time',
          description: 'At most 24 hours ahead. Default: one hour after the activation.',
        }),
      ),
    ),
  },
  {
    title: 'ActivateRuntimeReleaseProbe',
    description: 'The engine of a release, and how long to try it.',
    ...closed,
  },
)

/** A release that an installation tries. It has no title, since one of its places is nullable. */
export const RuntimeReleaseProbe = Type.Object(
  {
    releaseSha: ReleaseSha,
    engine: Type.Object({ sha256: Sha256 }, open),
    activatedAt: DateTime,
    expiresAt: DateTime,
  },
  open,
)

/** The answer to an activation. */
export const RuntimeReleaseProbeEnvelope = Type.Object(
  { probe: RuntimeReleaseProbe },
  { title: 'RuntimeReleaseProbeEnvelope', ...open },
)

/** The standing probe. */
export const StandingRuntimeReleaseProbe = Type.Object(
  { probe: nullable(RuntimeReleaseProbe) },
  { title: 'StandingRuntimeReleaseProbe', ...open },
)

/** An engine as it was uploaded. */
export const UploadedEngine = Type.Object(
  { engine: Type.Object({ sha256: Sha256, sizeBytes: Type.Integer({ minimum: 1 }) }, open) },
  { title: 'UploadedEngine', ...open },
)

/** The bytes of an engine. This schema documents them; the handler reads them as a stream. */
export const EngineBytes = Type.String({
  format: 'binary',
  description: `One CommonJS program for Node of at most ${limits.engineBytes} bytes.`,
})

export type ActivateRuntimeReleaseProbe = Static<typeof ActivateRuntimeReleaseProbe>
export type RuntimeReleaseProbe = Static<typeof RuntimeReleaseProbe>
