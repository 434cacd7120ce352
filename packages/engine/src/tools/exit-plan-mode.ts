import type { RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import type { People } from './people.ts'
import { textResult } from './text-result.ts'

/** People see no more of a plan than this, and must not approve text that they cannot see. */
const MAX_PLAN_CHARACTERS = 65_536

const Parameters = Type.Object({ plan: Type.String({ description: 'The whole plan, in Markdown' }) })

const planApproved = 'The plan is approved, and plan mode is off: all tools are there. Carry the plan out.'

/** Returns a tool that shows people the plan. Approval ends plan mode; otherwise the model gets their feedback. */
export function exitPlanMode({ sessionId, callId, ask }: People, leave: () => void) {
  return defineTool({
    name: 'exit_plan_mode',
    label: 'exit_plan_mode',
    description: 'Show the user your plan and ask to leave plan mode. Call it when the plan is complete.',
    parameters: Parameters,
    executionMode: 'sequential',
    async execute(toolCallId, { plan }, signal) {
      const { length } = [...plan]
      if (length > MAX_PLAN_CHARACTERS) {
        throw new Error(
          `The plan has ${length} characters, and people can be shown ${MAX_PLAN_CHARACTERS}: nobody was asked. Call again with a shorter plan.`,
        )
      }
      const { outcome, _meta } = await ask<RequestPermissionResponse>(
        'session/request_permission',
        {
          sessionId,
          toolCall: {
            toolCallId: callId(toolCallId),
            kind: 'switch_mode',
            title: 'Carry out this plan?',
            rawInput: { plan },
            content: [{ type: 'content', content: { type: 'text', text: plan } }],
          },
          options: [
            { optionId: 'approve', name: 'Approve', kind: 'allow_once' },
            { optionId: 'keep_planning', name: 'Keep planning', kind: 'reject_once' },
          ],
        },
        signal,
      )
      signal?.throwIfAborted()
      if (outcome.outcome === 'selected' && outcome.optionId === 'approve') {
        leave()
        return textResult(planApproved)
      }
      const berth = _meta?.['berth']
      const feedback = typeof berth === 'object' && berth !== null && 'feedback' in berth ? berth.feedback : undefined
      const reply = typeof feedback === 'string' ? `The user says:\n${feedback}` : 'The user gave no reason.'
      return textResult(`The plan is not approved; plan mode stays on. ${reply}`)
    },
  })
}
