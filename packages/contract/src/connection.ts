import { type Static, Type } from 'typebox'
import { gitHostKinds } from './repository.ts'
import { closed, open, openString, someText, Uuid } from './scalar.ts'

const success = Type.Literal(true)

const accountFields = {
  host: Type.String({ description: "The service's id of the Git host, such as `github:github.com` or `local`." }),
  provider: openString(gitHostKinds),
  account: Type.String({ description: "The host's id of the account." }),
  accountLogin: Type.String(),
}

/** An account of a Git host that the organization itself is connected to. */
export const Connection = Type.Object(
  {
    id: Uuid,
    ...accountFields,
    allRepositories: Type.Boolean({
      description: 'Whether every repository of the account is granted, later ones included.',
    }),
    personalAccess: Type.Boolean({
      description: 'Only people whose own account at the host reaches a repository may use it.',
    }),
    repositories: Type.Array(
      Type.Object({ grantId: Uuid, repositoryId: Type.String(), fullName: Type.String() }, open),
      { description: 'Active grants. With `allRepositories`, those that the service has seen.' },
    ),
  },
  { title: 'Connection', ...open },
)

export const ConnectionList = Type.Object(
  {
    success,
    connections: Type.Array(Connection),
    available: Type.Array(Type.Object(accountFields, open), {
      description: 'Accounts that an installation of the organization reaches and the organization itself does not.',
    }),
  },
  { title: 'ConnectionList', ...open },
)

export const ConnectionEnvelope = Type.Object(
  { success, connection: Connection },
  { title: 'ConnectionEnvelope', ...open },
)

export const AddConnection = Type.Object(
  { host: someText(256), account: someText(256) },
  { title: 'AddConnection', ...closed },
)

export const UpdateConnection = Type.Object(
  { personalAccess: Type.Boolean({ description: 'Only at a host where people can connect accounts of their own.' }) },
  { title: 'UpdateConnection', ...closed },
)

export type Connection = Static<typeof Connection>
