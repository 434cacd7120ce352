export type { App, AppKey } from './app.ts'
export { Artifact, type ArtifactKind, ArtifactPage, type ArtifactViewLink, artifactKinds } from './artifact.ts'
export { type ArtifactViewKind, artifactViewOf } from './artifact-view.ts'
export type { AuditEntryPage, AuditFacets } from './audit.ts'
export type { Background } from './background.ts'
export {
  accessCapability,
  type Capability,
  capabilities,
  type Permission,
  permissions,
  personCapabilities,
  type Role,
  roles,
} from './capability.ts'
export { emptyTreeOid } from './commit.ts'
export type { AdmittedHost, Compute, OwnHost } from './compute.ts'
export type { Connection } from './connection.ts'
export type {
  BrowserSession,
  ConsoleFeatures,
  ConsoleIdentity,
  NextTurn,
  PutNextTurn,
  SessionCost,
  SessionMatch,
  SessionMatchPage,
  SessionState,
  SessionStatePage,
  ViewedFiles,
} from './console.ts'
export { Discovery, Runtime, RuntimeList } from './discovery.ts'
export type { EgressPolicy, EnvironmentNetwork, SecretEgress, WriteSecret } from './egress.ts'
export type {
  CatalogExtension,
  Environment,
  EnvironmentArchive,
  EnvironmentAuthor,
  EnvironmentDocument,
  EnvironmentDraft,
  EnvironmentPage,
  EnvironmentRevision,
  EnvironmentRevisionPage,
  EnvironmentWarning,
  ExtensionList,
  MissingExtension,
  SecretPin,
} from './environment.ts'
export { type EnvironmentTrial, type StartTrial, type TrialStop, trialStates } from './environment-trial.ts'
export { ErrorBody, type ErrorCode, type ErrorKind, errors, Issue } from './error.ts'
export {
  Event,
  type EventData,
  type EventFamily,
  type EventOf,
  EventPage,
  type EventType,
  type EventVisibility,
  eventCatalog,
  eventTypes,
  LogDigest,
} from './event.ts'
export { applyErrorCodes } from './event-data-workspace.ts'
export {
  type FollowableCause,
  FollowUp,
  type FollowUpCause,
  type FollowUpMerge,
  type FollowUpReason,
  FollowUpRequest,
  type FollowUpState,
  followableCauses,
  followUpCauses,
  followUpReasons,
  followUpStates,
  type PullRequest,
  PullRequestPage,
  type PullRequestState,
  type PullRequestTurn,
  pullRequestStates,
} from './follow-up.ts'
export { CreateChatCompletion } from './gateway/chat-request.ts'
export { type Dialect, dialectOfSender, gatewayDialect, keyHeaders } from './gateway/dialect.ts'
export { gatewayErrorBody } from './gateway/gateway-error.ts'
export { ignoredMembers } from './gateway/ignored-members.ts'
export { type AnthropicModel, type GoogleModel, Model, ModelList } from './gateway/model.ts'
export { CreateResponse } from './gateway/responses-request.ts'
export { gatewayLimits } from './gateway/shared-fields.ts'
export type {
  GitAccount,
  GitAccountList,
  GitConnection,
  GitConnectionList,
  GitConnectionMade,
} from './git-connection.ts'
export type { Health } from './health.ts'
export { hostLimits, isHostLabels, isHostPool, parseHostLabels } from './host.ts'
export { Identity } from './identity.ts'
export type { ApiKey, Installation, Integration } from './installation.ts'
export type { CreateInstallationIntent, InstallationIntent } from './installation-intent.ts'
export {
  type Approval,
  type ApprovalOption,
  confinements,
  type DecideInteraction,
  type DecisionChoice,
  type DecisionOutcome,
  decisionChoices,
  type Interaction,
  type InteractionKind,
  type InteractionList,
  type InteractionRequest,
  type InteractionStatus,
  type Question,
  type Resolution,
  toolKinds,
} from './interaction.ts'
export {
  artifactLimits,
  backgroundLimits,
  defaultPageSize,
  egressLimits,
  environmentLimits,
  followUpLimits,
  interactionLimits,
  limits,
  originLimits,
  outputLimits,
  planLimits,
  sourceLimits,
  triggerLimits,
} from './limits.ts'
export {
  CreateMerge,
  Merge,
  type MergeError,
  type MergeMode,
  MergePage,
  type MergeStatus,
  type MergeStrategy,
  mergeErrors,
  mergeModes,
  mergeStatuses,
  mergeStrategies,
} from './merge.ts'
export { mirroredPath, mirrorOf } from './mirror.ts'
export { openApiDocument } from './openapi.ts'
export type {
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
  Reference,
} from './openapi-document.ts'
export type { SchemaNode } from './openapi-schemas.ts'
export type {
  GatewayOperation,
  GuardedOperation,
  Method,
  Operation,
  PersonNeeds,
  PersonOperation,
  PublicOperation,
  Success,
} from './operation.ts'
export { browserCodes, errorCodesOf } from './operation-errors.ts'
export type { AuditEntry, Invitation, Member, SignIn } from './organization.ts'
export type {
  ModelCheck,
  OrganizationSettings,
  PricedModelList,
  UpdateOrganizationSettings,
} from './organization-settings.ts'
export type { OutputRequest } from './output.ts'
export { type Plan, planPriorities, planStatuses } from './plan.ts'
export type { PortList, PortPreview } from './port-preview.ts'
export {
  CreatePublication,
  deliveries,
  Publication,
  type PublicationError,
  PublicationPage,
  PublicationResult,
  type PublicationStatus,
  publicationErrors,
  publicationStatuses,
} from './publication.ts'
export type { PullCheck, PullChecks } from './pull-check.ts'
export type { PushMessage, PushSubscription, PushSubscriptionList, PutPushSubscription } from './push-subscription.ts'
export {
  type LocalPull,
  type LocalReview,
  type MissingAccount,
  missingReasons,
  Repository,
  RepositoryGrant,
  RepositoryGrantPage,
  RepositoryPage,
  type WriteLocalReview,
} from './repository.ts'
export { Review, ReviewFile, type ReviewFileDiff, ReviewSignal, type SignalKind, signalKinds } from './review.ts'
export {
  type AccountOperationId,
  type AssertionOperationId,
  assertionOperationIds,
  assertionOperationOf,
  type BrowserOperationId,
  browserOperationIds,
  browserOperationOf,
  type GatewayOperationId,
  type GuardedOperationId,
  gatewayOperationIds,
  gatewayOperationOf,
  guardedOperationIds,
  guardedOperationOf,
  type OperationId,
  type OptionalOperationId,
  operationIds,
  operationOf,
  type PersonOperationId,
  type PublicOperationId,
  personOperationIds,
  personOperationOf,
  type RequestBody,
  type RequestHeaders,
  type RequestParams,
  type RequestQuery,
  routes,
  type SignedOperationId,
  signedOperationIds,
} from './routes.ts'
export {
  Fence,
  Run,
  type RunStatus,
  runStatuses,
  type StopReason,
  stopReasons,
  type TerminalRunStatus,
  terminalRunStatuses,
} from './run.ts'
export type { ActivateRuntimeReleaseProbe, RuntimeReleaseProbe } from './runtime-release.ts'
export {
  Continuation,
  type ContinuationReason,
  type ContinuationState,
  CreateSession,
  Creator,
  continuationReasons,
  continuationStates,
  type Effort,
  efforts,
  type ForkSession,
  Origin,
  Session,
  SessionPage,
  type SessionPhase,
  Source,
  sessionPhases,
  UpdateSession,
} from './session.ts'
export type { AllowedHost, EgressHost, EgressRefusal, ProposedHost, SessionEgress } from './session-egress.ts'
export { type SessionStatus, type StatusFact, sessionStatuses, statusRule } from './session-status.ts'
export {
  type AgentChange,
  SignedStatement,
  type SigstoreBundle,
  type Statement,
  type StatementKey,
  StatementKeySet,
  statementTypes,
} from './statement.ts'
export { maxTerminalCells, maxTerminals, OpenTerminal, TerminalTicket } from './terminal.ts'
export { Transcription, TranscriptionForm } from './transcription.ts'
export {
  type GitHubEventKind,
  HookAnswer,
  hookSchemes,
  PutTrigger,
  PutTriggerDelivery,
  ReplaceTriggerSecret,
  Trigger,
  type TriggerDeliver,
  TriggerDelivery,
  TriggerHook,
  TriggerSecret,
  triggerDeliveryStatuses,
} from './trigger.ts'
export { SubmitTurn, Turn, TurnAdmission, TurnFile, TurnPage } from './turn.ts'
export {
  type UsageGroup,
  type UsageGrouping,
  type UsageReport,
  type UsageSums,
  usageGroupings,
  usageLimits,
} from './usage.ts'
export type {
  CheckResult,
  CreateVerification,
  Verification,
  VerificationPage,
  VerificationState,
} from './verification.ts'
export {
  eventFamilies,
  type WebhookDelivery,
  type WebhookDeliveryStatus,
  type WebhookEndpoint,
  type WebhookError,
  webhookErrors,
  webhookLimits,
} from './webhook.ts'
export type { WorkspaceEntry, WorkspaceNode } from './workspace-file.ts'
