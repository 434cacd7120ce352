import { Type } from 'typebox'
import { CreateInstallationIntent, InstallationIntentEnvelope, ReadInstallationIntent } from '../installation-intent.ts'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'

const shared = { tag: 'Apps', access: 'assertion', origin: 'account', method: 'POST' } as const

/** How an app asks people to install it. */
export const installationIntentOperations = {
  createInstallationIntent: operation({
    ...shared,
    path: '/api/apps/installation-intents',
    summary: 'Ask for an installation',
    description:
      'Hand `authorizeUrl` to a person of the organization that is to install the app. The intent waits 15 minutes for their decision. An app may have 100 that wait.',
    body: CreateInstallationIntent,
    responses: { 201: { description: 'The intent.', schema: InstallationIntentEnvelope } },
    errors: ['cloud_rate_limit_exceeded'],
  }),
  readInstallationIntent: operation({
    ...shared,
    path: '/api/apps/installation-intents/{intentId}/status',
    summary: 'Read an intent',
    description:
      'Reading changes nothing, so it is safe to repeat. An authorized intent stays readable for an hour after the decision.',
    params: Type.Object({ intentId: Uuid }),
    body: ReadInstallationIntent,
    responses: { 200: { description: 'The intent.', schema: InstallationIntentEnvelope } },
    errors: ['installation_intent_not_found'],
  }),
} as const
