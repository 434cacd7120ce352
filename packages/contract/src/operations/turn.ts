import { Type } from 'typebox'
import { defaultPageSize } from '../limits.ts'
import { guarded } from '../operation.ts'
import { FenceEnvelope, RunEnvelope } from '../run.ts'
import { closed, Uuid } from '../scalar.ts'
import { SubmitTurn, TurnAdmission, TurnPage } from '../turn.ts'
import { pageLimit, SessionPath } from './parameters.ts'

const read = guarded('Turns and Runs', 'svc.cloud.sessions:read')
const submit = guarded('Turns and Runs', 'svc.cloud.turns:submit')

const TurnPath = Type.Object({ sessionId: Uuid, turnId: Uuid })
const RunPath = Type.Object({ sessionId: Uuid, runId: Uuid })

/** Turns, their Runs, and the worker that executes them. */
export const turnOperations = {
  listTurns: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/turns',
    summary: 'List Turns',
    description: 'Lists the Turns of a Session in the order of their admission.',
    params: SessionPath,
    query: Type.Object(
      {
        limit: pageLimit(defaultPageSize.turns),
        after: Type.Integer({ minimum: -1, default: -1, description: 'Returns only Turns with a greater sequence.' }),
      },
      closed,
    ),
    responses: { 200: { description: 'A page of Turns.', schema: TurnPage } },
    errors: ['cloud_session_not_found'],
  }),
  submitTurn: submit({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/turns/{turnId}',
    summary: 'Submit a Turn',
    description:
      'Admits a Turn, which starts a Run; with `replyTo` it answers an Interaction and resumes the Run that asked, and with `mode` `steer` it joins the active Run. The caller chooses the id. Repeating the request with the same body returns the same Turn and Run.',
    params: TurnPath,
    body: SubmitTurn,
    responses: {
      202: {
        description: 'The Turn was admitted, now or by an earlier request with the same body.',
        schema: TurnAdmission,
      },
    },
    errors: [
      'cloud_session_not_found',
      'cloud_turn_conflict',
      'cloud_resume_unavailable',
      'cloud_interaction_conflict',
      'cloud_run_in_progress',
      'cloud_steering_unsupported',
      'cloud_turn_limit_reached',
      'cloud_compute_not_configured',
      'cloud_compute_outdated',
    ],
  }),
  getRun: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/runs/{runId}',
    summary: 'Read a Run',
    description: 'Returns a Run as it is now. To wait for its end, follow the Event log.',
    params: RunPath,
    responses: { 200: { description: 'The Run.', schema: RunEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  cancelRun: submit({
    method: 'POST',
    path: '/v1/sessions/{sessionId}/runs/{runId}/cancel',
    summary: 'Cancel a Run',
    description:
      'Asks the agent to stop. A running Run ends, with a terminal Event in the log, once its agent has stopped; a queued or awaiting one ends at once.',
    params: RunPath,
    responses: { 200: { description: 'The Run.', schema: RunEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  getFence: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/fence',
    summary: 'Inspect the execution fence',
    description: 'Returns which worker executes the Session now, for operators and for debugging.',
    params: SessionPath,
    responses: { 200: { description: 'The worker that executes the Session, or null.', schema: FenceEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
} as const
