import { type Static, Type } from 'typebox'
import { CommitOid } from './commit.ts'
import { Decider } from './interaction.ts'
import { Count, DateTime, open, Sha256, Uuid } from './scalar.ts'
import { Creator } from './session.ts'
import { CheckResult } from './verification.ts'

/** The types that a signed statement names. */
export const statementTypes = {
  statement: 'https://in-toto.io/Statement/v1',
  predicate: 'https://berth.dev/attestations/agent-change/v1',
  payload: 'application/vnd.in-toto+json',
  bundle: 'application/vnd.dev.sigstore.bundle.v0.3+json',
} as const

const Digest = Type.Object({ sha256: Sha256 }, open)
const { name, required, state, exitCode, timedOut, durationMs } = CheckResult.properties

/** What a statement says of a commit. It has ids, results and digests: no message, no code and no output. */
export const AgentChange = Type.Object(
  {
    signedAt: DateTime,
    session: Type.Object({ id: Uuid }, open),
    publication: Type.Object(
      { id: Uuid, revision: Sha256, requestedBy: Type.Optional(Creator) },
      { description: 'The delivery, the revision that it carries, and who asked for it.', ...open },
    ),
    runs: Type.Array(
      Type.Object(
        { id: Uuid, requestedBy: Creator, runtime: Type.Optional(Type.String()), status: Type.String() },
        open,
      ),
      { description: 'The newest 1,000, oldest first, with who asked for each.' },
    ),
    runsOmitted: Type.Optional(Type.Integer({ minimum: 1, description: 'Count of the Runs before those.' })),
    runtimes: Type.Array(
      Type.Object(
        { id: Type.String(), version: Type.Optional(Type.String()), release: Type.Optional(Type.String()) },
        open,
      ),
      {
        description:
          'The agents of the Runs. `version` is what the deployment had installed when it signed; `release` is that of an uploaded engine.',
      },
    ),
    models: Type.Array(
      Type.Object(
        {
          provider: Type.String(),
          model: Type.String(),
          requests: Count,
          costUsd: Type.Number({ minimum: 0 }),
          costShare: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        },
        open,
      ),
      { description: 'The models that the Runs asked through the gateway. Without any cost there are no shares.' },
    ),
    cost: Type.Object(
      {
        usd: Type.Number({ minimum: 0 }),
        complete: Type.Boolean({ description: 'False if the cost of a request is not known.' }),
      },
      open,
    ),
    environment: Type.Object(
      { id: Uuid, revision: Type.Integer({ minimum: 1 }), digest: Digest },
      {
        description: 'What the checks ran in; `digest` is of its document as canonical JSON without `secrets`.',
        ...open,
      },
    ),
    verification: Type.Object(
      {
        id: Uuid,
        startedAt: Type.Optional(DateTime),
        completedAt: Type.Optional(DateTime),
        checks: Type.Array(
          Type.Object(
            {
              ...{ name, required, state, exitCode, timedOut, durationMs },
              output: Type.Optional(
                Type.Object(
                  { sha256: Sha256 },
                  { description: 'Digest of the Artifact with what it wrote; absent if there is none.', ...open },
                ),
              ),
            },
            open,
          ),
        ),
      },
      { description: 'The passed verification of the revision, with the end of each check.', ...open },
    ),
    approvals: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          runId: Uuid,
          decision: Type.String(),
          decidedBy: Type.Optional(Decider),
          decidedAt: DateTime,
        },
        open,
      ),
      { description: 'The newest 1,000 decisions on approvals, oldest first. Rules decide those without `decidedBy`.' },
    ),
    approvalsOmitted: Type.Optional(Type.Integer({ minimum: 1, description: 'Count of the decisions before those.' })),
    log: Type.Object(
      {
        first: Type.Integer({ minimum: 1 }),
        last: Count,
        digest: Type.Optional(
          Type.Object({ sha256: Sha256 }, { description: "The log's chain digest at `last`.", ...open }),
        ),
      },
      {
        description:
          'The Events of the Session when it was signed, by their sequences; of an old log, those of its chain.',
        ...open,
      },
    ),
  },
  {
    title: 'AgentChange',
    description: 'What a statement says of a commit: ids, results and digests, and no content.',
    ...open,
  },
)

/** The payload of a signed statement: an in-toto Statement v1 on a commit and its tree. */
export const Statement = Type.Object(
  {
    _type: Type.Literal(statementTypes.statement),
    subject: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          digest: Type.Object({ gitCommit: Type.Optional(CommitOid), gitTree: Type.Optional(CommitOid) }, open),
        },
        open,
      ),
    ),
    predicateType: Type.Literal(statementTypes.predicate),
    predicate: AgentChange,
  },
  { title: 'Statement', description: 'An in-toto Statement v1 on a commit and its tree.', ...open },
)

const Base64 = Type.String({ pattern: '^[A-Za-z0-9+/]+={0,2}$' })

const dsseFields = {
  payload: Type.String({ ...Base64, description: 'A `Statement` as JSON, in base64.' }),
  payloadType: Type.Literal(statementTypes.payload),
  signatures: Type.Array(Type.Object({ keyid: Type.String(), sig: Base64 }, open)),
}

/** A statement signed as DSSE describes it: Ed25519 over its pre-authentication encoding. */
export const SignedStatement = Type.Object(dsseFields, {
  title: 'SignedStatement',
  description: 'A DSSE envelope with one Ed25519 signature; `keyid` names a key of `getStatementKeys`.',
  ...open,
})

/** The same as a Sigstore bundle. */
export const SigstoreBundle = Type.Object(
  {
    mediaType: Type.Literal(statementTypes.bundle),
    verificationMaterial: Type.Object({ publicKey: Type.Object({ hint: Type.String() }, open) }, open),
    dsseEnvelope: Type.Object(dsseFields, open),
  },
  { title: 'SigstoreBundle', description: 'The envelope as a Sigstore bundle v0.3 with a public-key hint.', ...open },
)

/** A public key that verifies statements: a JSON Web Key. */
export const StatementKey = Type.Object(
  {
    kty: Type.Literal('OKP'),
    crv: Type.Literal('Ed25519'),
    x: Type.String(),
    kid: Type.String({ description: 'The RFC 7638 thumbprint of the key.' }),
    alg: Type.Literal('EdDSA'),
    use: Type.Literal('sig'),
    nbf: Type.Integer({ description: 'It signs from then on, in seconds since 1970.' }),
    exp: Type.Integer({ description: 'It signs until then; what it has signed stays valid.' }),
    revoked: Type.Optional(
      Type.Object(
        {
          revoked_at: Type.Integer({ description: 'Since then nothing that it has signed counts, whatever its date.' }),
        },
        open,
      ),
    ),
  },
  { title: 'StatementKey', description: 'A public key that verifies statements, as a JSON Web Key.', ...open },
)

/** Response of `getStatementKeys`. */
export const StatementKeySet = Type.Object(
  { keys: Type.Array(StatementKey) },
  {
    title: 'StatementKeySet',
    description: 'Every key that has ever signed statements here, and the next one.',
    ...open,
  },
)

/** Where a statement is. */
export const StatementReference = Type.Object(
  { sessionId: Uuid, publicationId: Uuid, artifactId: Uuid, commitSha: CommitOid, signedAt: DateTime },
  { title: 'StatementReference', ...open },
)

/** Response of `listStatements`. */
export const StatementList = Type.Object(
  { statements: Type.Array(StatementReference) },
  { title: 'StatementList', description: 'The newest statements on a commit, at most ten.', ...open },
)

export type AgentChange = Static<typeof AgentChange>
export type Statement = Static<typeof Statement>
export type SignedStatement = Static<typeof SignedStatement>
export type SigstoreBundle = Static<typeof SigstoreBundle>
export type StatementKey = Static<typeof StatementKey>
export type StatementKeySet = Static<typeof StatementKeySet>
