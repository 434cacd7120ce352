import { asObject } from '../json.ts'
import { type Effort, isEffort } from './effort.ts'
import type { Budgets } from './limits.ts'
import { type QuickCheck, readChecks } from './quick-checks.ts'

/** The platform's instructions with a prompt, in `_meta.berth`. */
export interface Orders {
  /** Id in the gateway's catalog; if absent, the last model stays. */
  readonly model?: string
  /** How hard the model may think; absent for its default. */
  readonly effort?: Effort
  readonly budgets: Budgets
  /** Run before the end of a prompt that has changed files. */
  readonly checks: readonly QuickCheck[]
  /** The conversation has no title yet. */
  readonly title: boolean
  /** The worker searches the web. */
  readonly search: boolean
  /** The prompt goes on with the one before: what that used counts towards the budgets. */
  readonly continues: boolean
  /** Set if the prompt answers a question of a process that is gone; says whether the plan, if any, is approved. */
  readonly answer?: { readonly approvesPlan: boolean }
}

/** Reads the instructions and ignores invalid ones. The gateway, not the engine, watches costs. */
export function readOrders(meta: Readonly<Record<string, unknown>> | null | undefined): Orders {
  const berth = asObject(meta?.['berth'])
  const { turns, responseTokens, seconds } = asObject(berth['budgets'])
  const { model, effort, answers, checks, continues, search, title } = berth
  return {
    ...(typeof model === 'string' && model !== '' && { model }),
    ...(isEffort(effort) && { effort }),
    ...(Array.isArray(answers) && { answer: { approvesPlan: answers.some(approvesPlan) } }),
    checks: readChecks(checks),
    continues: continues === true,
    search: search === true,
    title: title === true,
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

const isPositive = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value > 0
