import type { Static, TSchema } from 'typebox'
import type {
  AssertionOperation,
  BrowserOperation,
  GatewayOperation,
  GuardedOperation,
  Operation,
  PersonOperation,
} from './operation.ts'
import { appOperations } from './operations/app.ts'
import { appTokenOperations } from './operations/app-token.ts'
import { artifactOperations } from './operations/artifact.ts'
import { cloudOperations } from './operations/cloud.ts'
import { computeOperations } from './operations/compute.ts'
import { connectionOperations } from './operations/connection.ts'
import { consoleOperations } from './operations/console.ts'
import { contractOperations } from './operations/contract.ts'
import { discoveryOperations } from './operations/discovery.ts'
import { egressOperations } from './operations/egress.ts'
import { environmentOperations } from './operations/environment.ts'
import { environmentTrialOperations } from './operations/environment-trial.ts'
import { eventOperations } from './operations/event.ts'
import { gatewayOperations } from './operations/gateway.ts'
import { gitConnectionOperations } from './operations/git-connection.ts'
import { identityOperations } from './operations/identity.ts'
import { installationOperations } from './operations/installation.ts'
import { installationIntentOperations } from './operations/installation-intent.ts'
import { interactionOperations } from './operations/interaction.ts'
import { organizationOperations } from './operations/organization.ts'
import { oversightOperations } from './operations/oversight.ts'
import { portPreviewOperations } from './operations/port-preview.ts'
import { publicationOperations } from './operations/publication.ts'
import { pushSubscriptionOperations } from './operations/push-subscription.ts'
import { repositoryOperations } from './operations/repository.ts'
import { runtimeReleaseOperations } from './operations/runtime-release.ts'
import { sessionOperations } from './operations/session.ts'
import { terminalOperations } from './operations/terminal.ts'
import { toolOperations } from './operations/tools.ts'
import { transcriptionOperations } from './operations/transcription.ts'
import { triggerOperations } from './operations/trigger.ts'
import { turnOperations } from './operations/turn.ts'
import { webhookOperations } from './operations/webhook.ts'
import { workspaceFileOperations } from './operations/workspace-file.ts'

/** The route table: every operation of the API by its id; the API serves nothing else. */
export const routes = {
  ...contractOperations,
  ...discoveryOperations,
  ...sessionOperations,
  ...turnOperations,
  ...interactionOperations,
  ...egressOperations,
  ...eventOperations,
  ...artifactOperations,
  ...publicationOperations,
  ...gatewayOperations,
  ...repositoryOperations,
  ...environmentOperations,
  ...environmentTrialOperations,
  ...transcriptionOperations,
  ...runtimeReleaseOperations,
  ...identityOperations,
  ...organizationOperations,
  ...appOperations,
  ...appTokenOperations,
  ...installationIntentOperations,
  ...installationOperations,
  ...connectionOperations,
  ...gitConnectionOperations,
  ...cloudOperations,
  ...workspaceFileOperations,
  ...portPreviewOperations,
  ...pushSubscriptionOperations,
  ...consoleOperations,
  ...oversightOperations,
  ...computeOperations,
  ...terminalOperations,
  ...toolOperations,
  ...triggerOperations,
  ...webhookOperations,
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof routes

/** Operations that need no credential. */
export type PublicOperationId = {
  [Id in OperationId]: (typeof routes)[Id]['access'] extends 'public' ? Id : never
}[OperationId]

/** Operations of the AI gateway. */
export type GatewayOperationId = keyof typeof gatewayOperations

/** Operations of the API that require a bearer credential. */
export type GuardedOperationId = Exclude<
  OperationId,
  | PublicOperationId
  | GatewayOperationId
  | PersonOperationId
  | BrowserOperationId
  | AssertionOperationId
  | SignedOperationId
>

/** Operations of a package that a build may leave out: such a service has no such paths. */
export type OptionalOperationId = keyof typeof triggerOperations

/** Operations for people alone. */
export type PersonOperationId = {
  [Id in OperationId]: (typeof routes)[Id]['access'] extends 'person' ? Id : never
}[OperationId]

/** Operations for a browser that is signed in to the console. */
export type BrowserOperationId = {
  [Id in OperationId]: (typeof routes)[Id]['access'] extends 'browser' ? Id : never
}[OperationId]

/** Operations for an app's backend. */
export type AssertionOperationId = {
  [Id in OperationId]: (typeof routes)[Id]['access'] extends 'assertion' ? Id : never
}[OperationId]

/** Operations for senders that sign their bodies. */
export type SignedOperationId = {
  [Id in OperationId]: (typeof routes)[Id]['access'] extends 'signed' ? Id : never
}[OperationId]

/** Operations that the account service answers. */
export type AccountOperationId = {
  [Id in OperationId]: (typeof routes)[Id] extends { readonly origin: 'account' } ? Id : never
}[OperationId]

/** The operation ids, in the table's order. */
export const operationIds = Object.keys(routes) as readonly OperationId[]

/** The ids of the operations that require a bearer credential. */
export const guardedOperationIds = operationIds.filter(
  (id): id is GuardedOperationId => operationOf(id).access === 'bearer',
)

/** The ids of the gateway's operations. */
export const gatewayOperationIds = operationIds.filter(
  (id): id is GatewayOperationId => operationOf(id).access === 'gateway',
)

/** The ids of the operations for people. */
export const personOperationIds = operationIds.filter(
  (id): id is PersonOperationId => operationOf(id).access === 'person',
)

/** The ids of the operations for a browser that is signed in. */
export const browserOperationIds = operationIds.filter(
  (id): id is BrowserOperationId => operationOf(id).access === 'browser',
)

/** The ids of the operations for apps' backends. */
export const assertionOperationIds = operationIds.filter(
  (id): id is AssertionOperationId => operationOf(id).access === 'assertion',
)

/** The ids of the operations for senders that sign their bodies. */
export const signedOperationIds = operationIds.filter(
  (id): id is SignedOperationId => operationOf(id).access === 'signed',
)

/** Returns an operation without the types of its schemas, for code that treats all operations alike. */
export function operationOf(id: OperationId): Operation {
  return routes[id]
}

/** Returns an operation that requires a bearer credential. */
export const guardedOperationOf = (id: GuardedOperationId): GuardedOperation => routes[id]

/** Returns an operation for people. */
export const personOperationOf = (id: PersonOperationId): PersonOperation => routes[id]

/** Returns an operation for a browser that is signed in. */
export const browserOperationOf = (id: BrowserOperationId): BrowserOperation => routes[id]

/** Returns an operation for the backends of apps. */
export const assertionOperationOf = (id: AssertionOperationId): AssertionOperation => routes[id]

/** Returns an operation of the gateway. */
export const gatewayOperationOf = (id: GatewayOperationId): GatewayOperation => routes[id]

type Part<Id extends OperationId, Name extends string, Absent> = (typeof routes)[Id] extends {
  readonly [K in Name]: infer Schema extends TSchema
}
  ? Static<Schema>
  : Absent

type Nothing = Readonly<Record<never, never>>

/** Path parameters of an operation, with ids in lower case. */
export type RequestParams<Id extends OperationId> = Part<Id, 'params', Nothing>

/** Query of an operation, with defaults filled in. */
export type RequestQuery<Id extends OperationId> = Part<Id, 'query', Nothing>

/** Header parameters of an operation. */
export type RequestHeaders<Id extends OperationId> = Part<Id, 'headers', Nothing>

/** Body of an operation; undefined if it accepts none. */
export type RequestBody<Id extends OperationId> = Part<Id, 'body', undefined>
