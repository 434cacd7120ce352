/** The types of Events that webhooks deliver, by the family that an endpoint subscribes to. */
export const webhookTypes = {
  run: ['svc.run.started', 'svc.run.completed', 'svc.run.failed', 'svc.run.cancelled', 'svc.run.crashed'],
  interaction: ['svc.interaction.opened', 'svc.interaction.resolved', 'svc.interaction.expired'],
  artifact: ['svc.artifact.created', 'svc.artifact.omitted'],
  publication: [
    'svc.publication.created',
    'svc.publication.failed',
    'svc.publication.merge_succeeded',
    'svc.publication.merge_failed',
    'svc.verification.started',
    'svc.verification.completed',
    'svc.followup.started',
    'svc.followup.attempted',
    'svc.followup.ended',
  ],
  revision: ['svc.revision.created'],
} as const

/** A family of Events that an endpoint can subscribe to. */
export type WebhookFamily = keyof typeof webhookTypes
