import type { Interaction } from '@berth/client'
import { Type } from 'typebox'
import { ToolMisuse } from '../refusals.ts'
import { type ToolCall, tool } from '../tool.ts'

const interactionId = Type.Optional(
  Type.String({ description: 'Which one, as follow_session has it; not needed if only one is open.' }),
)

export const answerQuestion = tool({
  name: 'answer_question',
  title: 'Answer a question or a plan',
  description:
    'Answers a question with one of its options or other words, and a form with a JSON object of values by field. A plan is accepted with the word approve; anything else asks for another plan.',
  input: Type.Object({ sessionId: Type.String(), answer: Type.String({ minLength: 1 }), interactionId }),
  output: Type.Object({
    sessionId: Type.String(),
    interactionId: Type.String(),
    runId: Type.String(),
    status: Type.String(),
  }),
  async run({ sessionId, answer, interactionId: named }, call) {
    const open = await theOne(call, sessionId, named, each => each.kind !== 'approval')
    const body = { message: answer, replyTo: { interactionId: open.id } }
    const { run } = await call.client.call(
      'submitTurn',
      { sessionId, turnId: crypto.randomUUID(), body },
      { signal: call.signal },
    )
    return {
      text: `The agent has the answer, and run ${run.id} is ${run.status}.`,
      data: { sessionId, interactionId: open.id, runId: run.id, status: run.status },
    }
  },
})

export const decideApproval = tool({
  name: 'decide_approval',
  title: 'Allow or refuse an action',
  description:
    'Decides an approval: whether the agent may take the action that it asks for. Ask your own user first. The first decision wins, whoever makes it.',
  input: Type.Object({
    sessionId: Type.String(),
    decision: Type.Enum(['allow_once', 'allow_turn', 'allow_chat', 'allow_project', 'deny'], {
      type: 'string',
      description:
        'For this action, for this turn, or for the whole session. allow_project, only for a host that the network asks about: for all sessions of the environment.',
    }),
    interactionId,
  }),
  output: Type.Object({ sessionId: Type.String(), interactionId: Type.String(), outcome: Type.String() }),
  async run({ sessionId, decision, interactionId: named }, call) {
    const open = await theOne(call, sessionId, named, each => each.kind === 'approval')
    const requestId = open.request.approval?.requestId ?? ''
    const body = { requestId, choice: decision, idempotencyKey: crypto.randomUUID() }
    const { outcome } = await call.client.call(
      'decideInteraction',
      { sessionId, interactionId: open.id, body },
      { signal: call.signal },
    )
    const became = outcome.resolution ?? outcome.status
    return { text: `The approval is ${became}.`, data: { sessionId, interactionId: open.id, outcome: became } }
  },
})

async function theOne(
  { client, signal }: ToolCall,
  sessionId: string,
  named: string | undefined,
  fits: (interaction: Interaction) => boolean,
): Promise<Interaction> {
  const { interactions } = await client.call('listInteractions', { sessionId }, { signal })
  const [found, another] = interactions.filter(each => fits(each) && (named === undefined || each.id === named))
  if (found === undefined) throw new ToolMisuse('Nothing like it is open in this session; follow_session says what is.')
  if (another !== undefined) throw new ToolMisuse('Several are open: name one with `interactionId`.')
  return found
}
