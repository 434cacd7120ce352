export { type Answer, answerMessage, faultOf, initialAnswer, isNumber, type Question } from './answers.ts'
export type { AppOptions } from './app-calls.ts'
export { openAssertionKey, type SignAssertion } from './assertion.ts'
export type { CallOptions, Credential } from './call-options.ts'
export { type BerthClient, type ClientOptions, createClient } from './client.ts'
export { BerthConnectionError, BerthError, type ErrorCode, hasCode } from './error.ts'
export { type EventOfType, isEvent } from './event-type.ts'
export {
  type FindRepositoryOptions,
  findRepository,
  missingAccountText,
  RepositoryNotListed,
  type SessionSource,
} from './find-repository.ts'
export { followSession } from './follow.ts'
export { type FollowChangesOptions, followChanges, type SessionChange } from './follow-changes.ts'
export { type FollowLiveOptions, followLive } from './follow-live.ts'
export type { FollowOptions, Interruption } from './follow-options.ts'
export { followPreviews, type Preview, type StepProgress } from './follow-previews.ts'
export { type FollowRunOptions, followRun, isTerminalRunEvent } from './follow-run.ts'
export { type FollowTrialOptions, followTrial, type TrialFrame } from './follow-trial.ts'
export { operationTable } from './generated/operation-table.ts'
export type * from './generated/types.ts'
export type { Attempt, Hooks } from './hooks.ts'
export { createInstallationIntents, type InstallationIntents } from './installation-intents.ts'
export {
  createInstallationTokens,
  type InstallationTokenOptions,
  type InstallationTokens,
} from './installation-tokens.ts'
export type {
  OperationAnswer,
  OperationCalls,
  OperationId,
  OperationInput,
  OperationItem,
  PagedOperationId,
} from './operation-calls.ts'
export type { OperationRow } from './operation-row.ts'
export type { DecisionChoice, DecisionOutcome, Fence, WebhookDeliveryStatus } from './part-types.ts'
export { defaultPlatform, type Platform } from './platform.ts'
export { hasPassed, readPullRequestDraft } from './publication-facts.ts'
export { pullRequestDraft } from './pull-request-draft.ts'
export { isPassing } from './reconnect.ts'
export type { RetryPolicy } from './retry.ts'
export { ifRevision } from './revision.ts'
export {
  changesLabel,
  type Effort,
  efforts,
  reasonLabel,
  statusLabel,
  statusReason,
} from './session-labels.ts'
export { type SettledOptions, settled } from './settled.ts'
export {
  type StatementRefusal,
  type StatementSubject,
  type StatementVerdict,
  verifyStatement,
} from './statement/verify-statement.ts'
export {
  signWebhook,
  verifyWebhook,
  type WebhookRefusal,
  type WebhookVerdict,
} from './webhook.ts'
export {
  createWebhookEndpoints,
  type DeliveryQuery,
  type WebhookEndpoints,
  type WebhookEndpointsOptions,
} from './webhook-endpoints.ts'
export { type WebhookFamily, webhookTypes } from './webhook-types.ts'
