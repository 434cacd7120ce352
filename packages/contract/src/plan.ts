import { type Static, Type } from 'typebox'
import { planLimits } from './limits.ts'
import { open, openString, text } from './scalar.ts'

export const planStatuses = ['pending', 'in_progress', 'completed'] as const
export const planPriorities = ['high', 'medium', 'low'] as const

const entries = Type.Array(
  Type.Object(
    {
      content: text(planLimits.entryCharacters),
      status: openString(planStatuses),
      priority: Type.Optional(openString(planPriorities)),
    },
    open,
  ),
  { maxItems: planLimits.entries },
)
const truncated = Type.Optional(Type.Boolean({ description: 'True if entries, or parts of them, were left out.' }))

/** The to-do list of an agent, as its Session has it. */
export const Plan = Type.Object(
  { entries, truncated },
  {
    description:
      "The agent's to-do list, in its order, as it was last told. Null if there is none, and absent in lists.",
    ...open,
  },
)

/** `svc.plan.updated`: the whole list each time. */
export const PlanUpdated = Type.Object(
  { entries, truncated },
  {
    title: 'PlanUpdatedData',
    description: "The agent's to-do list, whole, as it is now. Empty if there is none any more.",
    ...open,
  },
)

export type Plan = Static<typeof Plan>
