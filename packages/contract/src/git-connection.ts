import { type Static, Type } from 'typebox'
import { gitHostKinds } from './repository.ts'
import { closed, DateTime, open, openString, someText, Uuid } from './scalar.ts'

const hostFields = {
  host: Type.String({ description: "The service's id of the Git host, such as `github:github.com`." }),
  provider: openString(gitHostKinds),
}

/** A person's own account at a Git host. */
export const GitConnection = Type.Object(
  {
    id: Uuid,
    ...hostFields,
    login: Type.String({ description: "The account's name at the host." }),
    status: openString(['active', 'expired'], '`expired`: the host no longer takes it, so it has to be made again.'),
    createdAt: DateTime,
  },
  { title: 'GitConnection', ...open },
)

export const GitConnectionList = Type.Object(
  {
    connections: Type.Array(GitConnection),
    hosts: Type.Array(Type.Object(hostFields, open), { description: 'Hosts at which people can connect accounts.' }),
  },
  { title: 'GitConnectionList', ...open },
)

export const BeginGitConnection = Type.Object(
  {
    host: someText(256),
    returnTo: Type.Optional(someText(1024, { description: 'Path of the page to return to.' })),
  },
  { title: 'BeginGitConnection', ...closed },
)

export const FinishGitConnection = Type.Object(
  { state: someText(256), code: someText(512) },
  { title: 'FinishGitConnection', ...closed },
)

export const GitConnectionMade = Type.Object(
  { connection: GitConnection, returnTo: Type.String({ description: 'Path of the page.' }) },
  { title: 'GitConnectionMade', ...open },
)

/** An account of a Git host that the service's App is installed on. */
const GitAccount = Type.Object(
  {
    account: Type.String({ description: "The host's id of the installation." }),
    accountLogin: Type.String(),
    kind: openString(['person', 'organization']),
    repositories: openString(['all', 'selected'], 'Which repositories of the account the App reaches.'),
    administered: Type.Boolean({ description: 'The person administers the account, so they may connect it.' }),
    connected: Type.Boolean({ description: 'The organization is connected to it already.' }),
  },
  { title: 'GitAccount', ...open },
)

export const GitAccountList = Type.Object(
  {
    accounts: Type.Array(GitAccount),
    installUrl: Type.String({ description: 'Where the App is installed on another account.' }),
  },
  { title: 'GitAccountList', ...open },
)

export const ConnectGitAccount = Type.Object(
  {
    account: Type.String({ pattern: '^[0-9]{1,20}$' }),
    personalAccess: Type.Optional(
      Type.Boolean({ description: 'Only people whose own account reaches a repository may use it.' }),
    ),
  },
  { title: 'ConnectGitAccount', ...closed },
)

export type GitConnection = Static<typeof GitConnection>
export type GitConnectionList = Static<typeof GitConnectionList>
export type GitConnectionMade = Static<typeof GitConnectionMade>
export type GitAccount = Static<typeof GitAccount>
export type GitAccountList = Static<typeof GitAccountList>
