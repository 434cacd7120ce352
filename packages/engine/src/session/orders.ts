import type { Budgets } from './limits.ts'

/** What the platform says with a prompt, in `_meta.berth`. */
export interface Orders {
  /** Id in the gateway's catalog; absent where the last one stays. */
  readonly model?: string
  readonly budgets: Budgets
  /** The prompt is people's answer to what a process asked that is gone: whether it approves the plan, if one was shown. */
  readonly answer?: { readonly approvesPlan: boolean }
}

/** Reads them; what makes no sense is not there. Costs are the gateway's to watch. */
export function readOrders(meta: Readonly<Record<string, unknown>> | null | undefined): Orders {
  const berth = asObject(meta?.['berth'])
  const { turns, responseTokens, seconds } = asObject(berth['budgets'])
  const { model, answers } = berth
  return {
    ...(typeof model === 'string' && model !== '' && { model }),
    ...(Array.isArray(answers) && { answer: { approvesPlan: answers.some(approvesPlan) } }),
    budgets: {
      ...(isPositive(turns) && { turns }),
      ...(isPositive(responseTokens) && { responseTokens }),
      ...(isPositive(seconds) && { seconds }),
    },
  }
}

function approvesPlan(answer: unknown): boolean {
  const { kind, approved } = asObject(answer)
  return kind === 'exit_plan_mode' && approved === true
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const isPositive = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value > 0
