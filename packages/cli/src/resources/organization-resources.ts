import type { ResourceGroup, ResourceRow } from './resource.ts'

const capability = {
  flags: '--capability <id>',
  does: 'a capability, such as svc.cloud.sessions:read; repeat it for more',
  to: 'body.capabilities',
  as: 'list',
  required: true,
} as const
const permission = {
  flags: '--permission <name>',
  does: 'what the member may administer beside the role; repeat it for more',
  to: 'body.permissions',
  as: 'list',
  choices: ['organization.integrations.manage', 'organization.applications.manage'],
} as const
const role = {
  flags: '--role <role>',
  does: 'role of the member',
  choices: ['member', 'admin'],
} as const

/** Groups of commands on who and what has access to an organization. */
export const organizationGroups: readonly ResourceGroup[] = [
  { name: 'repositories', does: 'list the repositories that sessions can start from' },
  { name: 'grants', does: 'list the repositories that are granted to an installation' },
  { name: 'connections', does: "manage the organization's connections to Git hosts" },
  { name: 'integrations', does: 'manage integrations, which use the API with a key of their own' },
  { name: 'keys', does: 'manage the API keys of an integration' },
  { name: 'apps', does: 'manage apps, whose backends act for organizations that install them' },
  { name: 'app-keys', does: "manage the public keys that an app's backend signs with" },
  { name: 'installations', does: 'manage what apps and integrations may do in the organization' },
  { name: 'members', does: 'manage the members of the organization' },
  { name: 'invitations', does: 'invite people to the organization' },
  { name: 'sign-ins', does: 'see and end your own sign-ins' },
]

/** Commands on access to an organization: each calls one operation. Those without another remark are for people. */
export const organizationResources: Readonly<Record<string, ResourceRow>> = {
  'repositories list': {
    operation: 'listRepositories',
    does: 'list the repositories that the caller can start sessions from, as the Git hosts report them',
    forPeople: 'listOrganizationRepositories',
    columns: { REPOSITORY: 'fullName', BRANCH: 'defaultBranch', PRIVATE: 'private', GRANT: 'grantId' },
    examples: ['', '--fields fullName,grantId'],
  },
  'grants list': {
    operation: 'listRepositoryGrants',
    does: 'list the repository grants of the installation; for API keys',
    columns: { GRANT: 'id', STATUS: 'status', PROVIDER: 'provider', REPOSITORY: 'fullName' },
  },
  'connections list': {
    operation: 'listConnections',
    does: 'list the accounts at Git hosts that the organization is connected to',
    items: 'connections',
    columns: { CONNECTION: 'id', HOST: 'host', ACCOUNT: 'accountLogin', ALL: 'allRepositories' },
  },
  'connections add': {
    operation: 'addConnection',
    member: 'connection',
    does: 'connect an account of a Git host to the organization',
    args: [
      { shown: '<host>', to: 'body.host', does: 'id of the host, such as github:github.com' },
      { shown: '<account>', to: 'body.account', does: "on GitHub, the id of the App's installation" },
    ],
    examples: ['github:github.com 4711'],
  },
  'connections remove': { operation: 'removeConnection', does: 'end a connection', done: 'removed' },
  'integrations list': {
    operation: 'listIntegrations',
    items: 'integrations',
    does: 'list integrations',
    columns: { INTEGRATION: 'id', INSTALLATION: 'installationId', PRODUCT: 'product', NAME: 'name' },
  },
  'integrations create': {
    operation: 'createIntegration',
    member: 'integration',
    does: 'create an integration',
    args: [{ shown: '<name>', to: 'body.name' }],
    options: [{ flags: '--product <name>', does: 'product that it belongs to', required: true }, capability],
    examples: ['nightly --product ci --capability svc.cloud.access --capability svc.cloud.sessions:create'],
  },
  'integrations delete': {
    operation: 'deleteIntegration',
    does: 'delete an integration; its keys are refused from the next request on',
    done: 'deleted',
  },
  'keys list': {
    operation: 'listApiKeys',
    items: 'keys',
    does: 'list the API keys of an integration; nothing reads a secret back',
    columns: { KEY: 'id', KIND: 'kind', HINT: 'hint', EXPIRES: 'expiresAt', USED: 'lastUsedAt' },
  },
  'keys create': {
    operation: 'createApiKey',
    does: 'create an API key, and print its secret this once',
    options: [
      {
        flags: '--kind <kind>',
        does: 'for sessions, or for the AI gateway',
        choices: ['cloud', 'ai'],
        standard: 'cloud',
      },
      {
        flags: '--expires <time>',
        does: 'end of the key, as 2027-01-31T00:00:00Z (default: never)',
        to: 'body.expiresAt',
      },
    ],
    examples: ['$INTEGRATION', '$INTEGRATION --json | jq -r .secret'],
  },
  'keys revoke': { operation: 'revokeApiKey', does: 'revoke an API key', done: 'revoked' },
  'apps list': {
    operation: 'listApps',
    items: 'apps',
    does: 'list the apps of the organization',
    columns: { APP: 'slug', CREATED: 'createdAt', NAME: 'name' },
  },
  'apps create': {
    operation: 'createApp',
    member: 'app',
    does: 'register an app',
    args: [{ shown: '<slug>', to: 'body.slug' }],
    options: [
      { flags: '--name <name>', does: 'name for people', required: true },
      {
        flags: '--redirect <url>',
        does: 'where a consent page may send people back to; repeat it for more',
        to: 'body.redirectUrls',
        as: 'list',
      },
    ],
    examples: ["my-app --name 'My app' --redirect https://my-app.example.com/installed"],
  },
  'apps delete': {
    operation: 'deleteApp',
    does: 'delete an app with all its installations',
    done: 'deleted',
    examples: ['my-app'],
  },
  'app-keys list': {
    operation: 'listAppKeys',
    items: 'keys',
    does: 'list the public keys of an app',
    columns: { KEY: 'kid', CREATED: 'createdAt', REVOKED: 'revokedAt' },
    examples: ['my-app'],
  },
  'app-keys revoke': {
    operation: 'revokeAppKey',
    does: 'revoke a public key of an app; its signatures are refused from then on',
    done: 'revoked',
    examples: ['my-app $KEY'],
  },
  'installations list': {
    operation: 'listInstallations',
    items: 'installations',
    does: 'list what is installed in the organization',
    columns: { INSTALLATION: 'id', KIND: 'kind', APP: 'app', REVOKED: 'revokedAt', NAME: 'name' },
  },
  'installations edit': {
    operation: 'updateInstallation',
    member: 'installation',
    does: 'set what an installation may do',
    options: [capability],
    examples: ['$INSTALLATION --capability svc.cloud.access --capability svc.cloud.sessions:read'],
  },
  'installations revoke': {
    operation: 'revokeInstallation',
    does: 'end an installation; its credentials are refused from the next request on',
    done: 'revoked',
  },
  'members list': {
    operation: 'listMembers',
    items: 'members',
    does: 'list the members of the organization',
    columns: { MEMBER: 'id', ROLE: 'role', EMAIL: 'person.email', NAME: 'person.name' },
  },
  'members edit': {
    operation: 'updateMember',
    member: 'member',
    does: 'change the role and the permissions of a member',
    options: [role, permission],
    examples: ['$MEMBER --role admin'],
  },
  'members remove': {
    operation: 'removeMember',
    does: 'end a membership; its credentials are refused from the next request on',
    done: 'removed',
  },
  'invitations list': {
    operation: 'listInvitations',
    items: 'invitations',
    does: 'list open invitations',
    columns: { INVITATION: 'id', ROLE: 'role', EXPIRES: 'expiresAt', EMAIL: 'email' },
  },
  'invitations create': {
    operation: 'createInvitation',
    does: 'print a link by which a person joins the organization',
    args: [{ shown: '<email>', to: 'body.email' }],
    options: [role, permission],
    examples: ['ada@example.com', 'ada@example.com --role admin --json | jq -r .url'],
  },
  'invitations withdraw': { operation: 'withdrawInvitation', does: 'withdraw an invitation', done: 'withdrew' },
  'sign-ins list': {
    operation: 'listSignIns',
    items: 'signIns',
    does: 'list your sign-ins',
    columns: { 'SIGN-IN': 'id', CURRENT: 'current', USED: 'lastUsedAt', ADDRESS: 'address', CLIENT: 'clientId' },
  },
  'sign-ins end': { operation: 'endSignIn', does: 'end one of your sign-ins', done: 'ended' },
}
