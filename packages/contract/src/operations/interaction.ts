import { Type } from 'typebox'
import { DecideInteraction, DecisionEnvelope, InteractionList } from '../interaction.ts'
import { limits } from '../limits.ts'
import { operation } from '../operation.ts'
import { someText, Uuid } from '../scalar.ts'
import { SessionPath } from './parameters.ts'

const InteractionPath = Type.Object({ sessionId: Uuid, interactionId: someText(limits.interactionIdCharacters) })

/** Questions, plans and approvals for people. */
export const interactionOperations = {
  listInteractions: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/interactions',
    summary: 'List open Interactions',
    description: 'Lists the open Interactions of a Session, oldest first. Closed ones are in the log.',
    tag: 'Interactions',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'The open Interactions.', schema: InteractionList } },
    errors: ['cloud_session_not_found'],
  }),
  decideInteraction: operation({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/interactions/{interactionId}/decision',
    summary: 'Decide an approval',
    description:
      'Decides an approval; the first decision wins. Repeating the request with the same key and choice returns that decision. To answer a question or a plan, submit a Turn with `replyTo`.',
    tag: 'Interactions',
    access: 'bearer',
    capability: 'svc.cloud.approvals:respond',
    params: InteractionPath,
    body: DecideInteraction,
    responses: {
      200: { description: 'The decision, made now or by an earlier identical request.', schema: DecisionEnvelope },
    },
    errors: ['cloud_session_not_found', 'cloud_interaction_conflict'],
  }),
} as const
