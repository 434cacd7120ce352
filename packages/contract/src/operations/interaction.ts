import { Type } from 'typebox'
import { DecideInteraction, DecisionEnvelope, InteractionList } from '../interaction.ts'
import { limits } from '../limits.ts'
import { operation } from '../operation.ts'
import { someText, Uuid } from '../scalar.ts'
import { SessionPath } from './parameters.ts'

const InteractionPath = Type.Object({ sessionId: Uuid, interactionId: someText(limits.interactionIdCharacters) })

/** People in the loop (interface 4.6). */
export const interactionOperations = {
  listInteractions: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/interactions',
    summary: 'List open Interactions',
    description: 'Only what is open, oldest first. Closed ones are in the log.',
    tag: 'Interactions',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'Everything open.', schema: InteractionList } },
    errors: ['cloud_session_not_found'],
  }),
  decideInteraction: operation({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/interactions/{interactionId}/decision',
    summary: 'Decide an approval',
    description:
      'The first decision wins; the same key and choice again answer with it. Questions and plans are answered by a Turn with `replyTo`.',
    tag: 'Interactions',
    access: 'bearer',
    capability: 'svc.cloud.approvals:respond',
    params: InteractionPath,
    body: DecideInteraction,
    responses: { 200: { description: 'Decided, now or by the same decision before.', schema: DecisionEnvelope } },
    errors: ['cloud_session_not_found', 'cloud_interaction_conflict'],
  }),
} as const
