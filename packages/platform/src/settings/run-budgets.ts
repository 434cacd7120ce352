import type { Environment } from './environment.ts'

/** Limits of one Run. An absent member sets no limit. */
export interface RunBudgets {
  /** US dollars spent on models through the gateway. */
  readonly costUsd?: number
  /** Turns of the agent's own loop: calls of its model. */
  readonly turns?: number
  /** Seconds that the Run works; time in which it waits for people does not count. */
  readonly seconds?: number
}

/** Reads the deployment's limits for every Run. */
export function readBudgets(env: Environment): RunBudgets {
  const bound = (name: string, meaning: string, pattern: RegExp, expected: string) =>
    env.parsed(
      name,
      meaning,
      'no bound',
      text => (pattern.test(text) && Number(text) > 0 ? Number(text) : undefined),
      expected,
    )
  const whole = /^\d{1,9}$/
  const costUsd = bound(
    'BERTH_RUN_BUDGET_USD',
    'US dollars that a Run may spend on models; it then ends with `cost_budget`. Set it before others use the service.',
    /^\d{1,9}(\.\d{1,6})?$/,
    'a number of dollars above 0',
  )
  const turns = bound(
    'BERTH_RUN_BUDGET_TURNS',
    "Calls of its model that a Run's agent may make; it then ends with `turn_budget`. Set it against agents that go round in circles.",
    whole,
    'a whole number above 0',
  )
  const budgetSeconds = bound(
    'BERTH_RUN_BUDGET_SECONDS',
    'Time that a Run may work, without waiting for people; it then ends with `time_budget`. Set it to bound the work of a Run below `BERTH_RUN_SECONDS`.',
    whole,
    'a whole number above 0',
  )
  return {
    ...(costUsd !== undefined && { costUsd }),
    ...(turns !== undefined && { turns }),
    ...(budgetSeconds !== undefined && { seconds: budgetSeconds }),
  }
}
