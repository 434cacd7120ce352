export type {
  CreateSession,
  DecideInteraction,
  DecisionChoice,
  DecisionOutcome,
  Discovery,
  Environment,
  EnvironmentDocument,
  EnvironmentDraft,
  EnvironmentPage,
  EnvironmentRevision,
  EnvironmentRevisionPage,
  EnvironmentTrial,
  Event,
  EventPage,
  Fence,
  Identity,
  InstallationIntent,
  Interaction,
  InteractionList,
  Merge,
  MergePage,
  NextTurn,
  Publication,
  PublicationPage,
  Repository,
  RepositoryPage,
  Review,
  ReviewFile,
  Run,
  Runtime,
  RuntimeList,
  Session,
  SessionPage,
  SubmitTurn,
  TerminalTicket,
  Turn,
  TurnAdmission,
  TurnPage,
  UpdateSession,
  WebhookDelivery,
  WebhookDeliveryStatus,
  WebhookEndpoint,
} from '@berth/contract'
export { type Answer, answerMessage, faultOf, initialAnswer, isNumber, type Question } from './answers.ts'
export type { AppOptions } from './app-calls.ts'
export { type BerthClient, type ClientOptions, type CloudOperations, createClient } from './client.ts'
export type {
  CursorQuery,
  MergeOperations,
  MergeOrder,
  PublicationOperations,
  PublicationOrder,
  RepositoryOperations,
} from './delivery-operations.ts'
export type { EnvironmentOperations, EnvironmentQuery, EnvironmentRevisionQuery } from './environment-operations.ts'
export { BerthConnectionError, BerthError } from './error.ts'
export { followSession, isPassing } from './follow.ts'
export { type FollowChangesOptions, followChanges, type SessionChange } from './follow-changes.ts'
export { type FollowLiveOptions, followLive } from './follow-live.ts'
export type { FollowOptions, Interruption } from './follow-options.ts'
export { followPreviews, type Preview } from './follow-previews.ts'
export { type FollowRunOptions, followRun, isTerminalRunEvent } from './follow-run.ts'
export { type FollowTrialOptions, followTrial, type TrialFrame } from './follow-trial.ts'
export { createInstallationIntents, type InstallationIntents } from './installation-intents.ts'
export {
  createInstallationTokens,
  type InstallationTokenOptions,
  type InstallationTokens,
} from './installation-tokens.ts'
export type { NextTurnOperations, NextTurnOrder } from './next-turn-operations.ts'
export type {
  AfterQuery,
  CallOptions,
  EventOperations,
  InteractionOperations,
  RunOperations,
  SessionOperations,
  SessionQuery,
  TurnOperations,
} from './operations.ts'
export { defaultPlatform, type Platform } from './platform.ts'
export type { RetryPolicy } from './retry.ts'
export type { TerminalOperations, TerminalOrder } from './terminal-operations.ts'
export type { Credential } from './transport.ts'
export type { TrialOperations } from './trial-operations.ts'
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
