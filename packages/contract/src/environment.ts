import { type Static, Type } from 'typebox'
import { EnvironmentNetwork, SecretEgress, SecretExposure, WriteNetwork } from './egress.ts'
import { environmentLimits } from './limits.ts'
import { closed, DateTime, nullable, open, opened, openString, someText, text, Uuid } from './scalar.ts'
import { ProposedHost } from './session-egress.ts'

const variableName = '^[A-Za-z_][A-Za-z0-9_]{0,127}$'

/** Debian's rule, without names that end in `-`, which apt would remove. */
const packageName = '^[a-z0-9][a-z0-9+.-]*[a-z0-9+.]$'

/** Name of a variable or of a secret. */
export const VariableName = Type.String({ pattern: variableName })

const ArchiveReference = Type.String({ pattern: '^sha256:[a-f0-9]{64}$' })

const pin = { name: VariableName, version: Type.Integer({ minimum: 1 }) }

/** A pin as a caller may send it back. */
const Pin = Type.Object(
  { ...pin, exposure: Type.Optional(SecretExposure), egress: Type.Optional(SecretEgress) },
  closed,
)

/** A pin as it is answered; `egress` only if that is its exposure. */
const ShownPin = opened(Type.Object({ ...pin, exposure: SecretExposure, egress: Type.Optional(SecretEgress) }, closed))

const Extension = Type.Object(
  {
    catalog: Type.Optional(Type.String({ maxLength: 128, pattern: '^[a-z][a-z0-9-]*$' })),
    archive: Type.Optional(ArchiveReference),
  },
  {
    description: 'Either a slug of the catalog or the digest of an archive that the environment owns.',
    minProperties: 1,
    maxProperties: 1,
    ...closed,
  },
)

const ClonedRepository = Type.Object(
  {
    repository: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$',
      description: '`owner/name`.',
    }),
    branch: Type.Optional(someText(255)),
    path: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$',
        description: 'A directory below `/workspace`; by default the name of the repository.',
      }),
    ),
  },
  closed,
)

const Check = Type.Object(
  {
    name: someText(environmentLimits.checkNameCharacters, { description: 'Unique in the document.' }),
    run: someText(environmentLimits.setupCharacters, { description: 'A bash script; it passes if it exits with 0.' }),
    timeoutSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: environmentLimits.checkSeconds,
        description: `${environmentLimits.checkSecondsDefault} if left out.`,
      }),
    ),
    required: Type.Optional(Type.Boolean({ description: 'Whether a verification fails with it; true if left out.' })),
    paths: Type.Optional(
      Type.Array(someText(environmentLimits.checkPathCharacters), {
        minItems: 1,
        maxItems: environmentLimits.checkPaths,
        description:
          'Globs of `?`, `*` and `**` below the repository: it only runs if the change touches a file that one of them matches.',
      }),
    ),
    secrets: Type.Optional(
      Type.Array(VariableName, {
        minItems: 1,
        maxItems: environmentLimits.checkSecrets,
        uniqueItems: true,
        description:
          'Secrets of the environment that it gets as variables; none if left out. The change that is checked can read them.',
      }),
    ),
    quick: Type.Optional(
      Type.Boolean({
        description: "Marks a check that takes seconds: Berth's own agent runs it before it ends; false if left out.",
      }),
    ),
  },
  { description: 'A command that says whether a change is good.', ...closed },
)

const pinsDescription = 'What the revision pins; the newest revision has the values.'

const fields = {
  name: someText(environmentLimits.nameCharacters),
  description: text(environmentLimits.descriptionCharacters),
  setup: text(environmentLimits.setupCharacters, {
    description: 'A bash script. It runs in every fresh sandbox of a bound Session, before the first Turn.',
  }),
  variables: Type.Unsafe<Readonly<Record<string, string>>>({
    type: 'object',
    description: 'Variables of the setup script and the agent.',
    propertyNames: { pattern: variableName },
    additionalProperties: { type: 'string', maxLength: environmentLimits.variableCharacters },
    maxProperties: environmentLimits.variables,
  }),
  extensions: Type.Array(Extension, { maxItems: environmentLimits.extensions }),
  cache: Type.Object(
    {
      paths: Type.Array(someText(environmentLimits.cachePathBytes), {
        maxItems: environmentLimits.cachePaths,
        description: 'Directories that are kept between sandboxes: `~/…`, or relative to the workspace.',
      }),
    },
    closed,
  ),
  github: Type.Boolean({ description: 'Whether sandboxes get short-lived tokens of the Git host.' }),
  repositories: Type.Array(ClonedRepository, { maxItems: environmentLimits.repositories }),
  prebuild: Type.Boolean({
    description:
      'Whether what setup makes of workspace and home is kept, and later sandboxes start from it without running setup.',
  }),
  packages: Type.Array(Type.String({ maxLength: environmentLimits.packageCharacters, pattern: packageName }), {
    description: "Debian packages that sandboxes show with the host's own system.",
    maxItems: environmentLimits.packages,
    uniqueItems: true,
  }),
  checks: Type.Array(Check, {
    description: 'Commands that say whether a change is good, in the order in which they run.',
    maxItems: environmentLimits.checks,
  }),
  preview: Type.Object(
    {
      command: someText(environmentLimits.previewCharacters, {
        description: 'A bash script that serves the work until it is ended. It gets the variables, and no secrets.',
      }),
      port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: 'On which it listens.' })),
    },
    { description: "Run while a person keeps an idle Session's sandbox running to look at it.", ...closed },
  ),
  network: WriteNetwork,
  requireVerified: Type.Boolean({
    description: 'Whether a revision is only published, and merged, once a verification of it has passed.',
  }),
  secrets: Type.Array(Pin, { description: pinsDescription }),
}

/** An environment's document, as a caller writes it. Whatever is left out is empty. */
export const EnvironmentDraft = Type.Object(
  {
    name: fields.name,
    description: Type.Optional(fields.description),
    setup: Type.Optional(fields.setup),
    variables: Type.Optional(fields.variables),
    extensions: Type.Optional(fields.extensions),
    cache: Type.Optional(fields.cache),
    github: Type.Optional(fields.github),
    repositories: Type.Optional(fields.repositories),
    prebuild: Type.Optional(fields.prebuild),
    packages: Type.Optional(fields.packages),
    checks: Type.Optional(fields.checks),
    preview: Type.Optional(fields.preview),
    network: Type.Optional(fields.network),
    requireVerified: Type.Optional(fields.requireVerified),
    secrets: Type.Optional(fields.secrets),
  },
  { title: 'EnvironmentDraft', description: 'The document of an environment, at most 256 KiB.', ...closed },
)

const shownFields = {
  ...fields,
  extensions: opened(fields.extensions),
  cache: opened(fields.cache),
  repositories: opened(fields.repositories),
  checks: opened(fields.checks),
  preview: Type.Optional(opened(fields.preview)),
  network: EnvironmentNetwork,
  secrets: Type.Array(ShownPin, { description: pinsDescription }),
}

/** An environment's document with every member. */
export const EnvironmentDocument = Type.Object(shownFields, {
  title: 'EnvironmentDocument',
  description: 'The document of an environment, with every member; `preview` only if it has one.',
  ...open,
})

/** The identity that an archive's `extension.json` gives. */
const ExtensionIdentity = Type.Object({ id: Type.String(), name: Type.String(), version: Type.String() }, open)

/** An uploaded archive. */
export const EnvironmentArchive = Type.Object(
  { archive: ArchiveReference, sizeBytes: Type.Integer({ minimum: 1 }), extension: ExtensionIdentity },
  { title: 'EnvironmentArchive', description: 'An extension that was uploaded to an environment.', ...open },
)

/** The bytes of an archive. This schema documents them; the handler reads them as a stream. */
export const ArchiveBytes = Type.String({
  format: 'binary',
  description: `A ZIP file of at most ${environmentLimits.archiveBytes} bytes with an \`extension.json\` at its root.`,
})

/** Response of `uploadEnvironmentArchive`. */
export const EnvironmentArchiveEnvelope = Type.Object(
  { archive: EnvironmentArchive },
  { title: 'EnvironmentArchiveEnvelope', ...open },
)

const CatalogExtension = Type.Object(
  {
    slug: Type.String({ description: 'What `extensions[].catalog` of a document names.' }),
    id: Type.String(),
    name: Type.String(),
    version: Type.String({ description: 'The newest release that this platform can run.' }),
    sha256: Type.String({ pattern: '^[a-f0-9]{64}$' }),
    sizeBytes: Type.Integer({ minimum: 1 }),
    newest: Type.Optional(
      Type.String({ description: 'The newest release of all, where that needs a newer platform.' }),
    ),
  },
  open,
)

const MissingExtension = Type.Object(
  {
    slug: Type.String(),
    reason: openString(
      ['late', 'unavailable'],
      '`late`: its archive is still being fetched. `unavailable`: it cannot be had; the log of the service says why.',
    ),
  },
  { title: 'MissingExtension', description: 'An extension that the operator offers and an answer lacks.', ...open },
)

/** Response of `listExtensions`. */
export const ExtensionList = Type.Object(
  {
    extensions: Type.Array(CatalogExtension),
    missing: Type.Optional(
      Type.Array(MissingExtension, {
        description:
          'Extensions that the operator offers by an archive that cannot be had now; absent if there is none.',
      }),
    ),
  },
  { title: 'ExtensionList', description: 'The extensions that documents may name by a slug.', ...open },
)

const Author = Type.Object(
  {
    kind: Type.Enum(['person', 'installation'], { type: 'string' }),
    id: Uuid,
    via: Type.Optional(Type.Object({ sessionId: Uuid, runId: Uuid }, open)),
  },
  open,
)

/** Something in a document that is allowed but probably not meant. */
const Warning = Type.Object(
  { path: Type.Array(Type.Unsafe<string | number>({ type: ['string', 'integer'] })), message: Type.String() },
  open,
)

/** An environment is its newest revision. */
export const Environment = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    revision: Type.Integer({ minimum: 1 }),
    isDefault: Type.Boolean(),
    archivedAt: nullable(DateTime),
    document: EnvironmentDocument,
    archives: Type.Array(EnvironmentArchive),
    secrets: Type.Array(ShownPin),
    createdBy: Author,
    createdAt: DateTime,
    warnings: Type.Array(Warning),
    proposedHosts: Type.Array(ProposedHost, {
      description:
        'Hosts that people allowed in Sessions and that the document does not name: they hold where it asks. Write the document with a host to accept it.',
    }),
  },
  { title: 'Environment', description: 'How fresh sandboxes of the Sessions bound to it are set up.', ...open },
)

/** Response of every operation on one environment. */
export const EnvironmentEnvelope = Type.Object({ environment: Environment }, { title: 'EnvironmentEnvelope', ...open })

/** Response of `setDefaultEnvironment`. */
export const DefaultEnvironment = Type.Object(
  { environment: Type.Union([Environment, Type.Null()]) },
  { title: 'DefaultEnvironment', ...open },
)

/** A page of environments by name. */
export const EnvironmentPage = Type.Object(
  {
    environments: Type.Array(Environment),
    defaultEnvironmentId: nullable(Type.String({ format: 'uuid' })),
    nextCursor: nullable(Type.String()),
    hasMore: Type.Boolean(),
  },
  { title: 'EnvironmentPage', description: 'A page of environments by name.', ...open },
)

const EnvironmentRevision = Type.Object(
  {
    revision: Type.Integer({ minimum: 1 }),
    createdAt: DateTime,
    createdBy: Author,
    document: EnvironmentDocument,
    secrets: Type.Array(ShownPin),
  },
  { title: 'EnvironmentRevision', description: 'One revision of an environment; it never changes.', ...open },
)

/** A page of revisions, newest first. */
export const EnvironmentRevisionPage = Type.Object(
  { revisions: Type.Array(EnvironmentRevision), nextBefore: nullable(Type.Integer({ minimum: 1 })) },
  { title: 'EnvironmentRevisionPage', description: 'A page of revisions, newest first.', ...open },
)

export type EnvironmentArchive = Static<typeof EnvironmentArchive>
export type CatalogExtension = Static<typeof CatalogExtension>
export type MissingExtension = Static<typeof MissingExtension>
export type ExtensionList = Static<typeof ExtensionList>
export type Environment = Static<typeof Environment>
export type EnvironmentDraft = Static<typeof EnvironmentDraft>
export type EnvironmentDocument = Static<typeof EnvironmentDocument>
export type EnvironmentRevision = Static<typeof EnvironmentRevision>
export type EnvironmentAuthor = Static<typeof Author>
export type EnvironmentWarning = Static<typeof Warning>
export type SecretPin = Static<typeof ShownPin>
export type EnvironmentPage = Static<typeof EnvironmentPage>
export type EnvironmentRevisionPage = Static<typeof EnvironmentRevisionPage>
