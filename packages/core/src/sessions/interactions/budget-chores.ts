import type { Context } from '../../context.ts'
import type { Chore } from '../../housekeeping/chore.ts'
import { resumeWithinBudgets } from './budget-question.ts'

/** Returns the chore that looks for Runs which wait although their budget's next period has begun, or an operator raised it. */
export const budgetChores = (context: Pick<Context, 'db' | 'clock' | 'wakeups' | 'log'>): readonly Chore[] => [
  { name: 'resume-within-budgets', intervalMs: 30_000, work: signal => resumeWithinBudgets(context, signal) },
]
