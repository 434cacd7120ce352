import type { FollowUp, FollowUpRequest } from '@berth/contract'

/** The bounds of a follow-up as a form holds them. */
export interface BoundsForm {
  readonly attempts: string
  /** Empty for no budget. */
  readonly budget: string
  readonly days: string
  readonly merges: boolean
  readonly on: readonly FollowUpRequest['on'][number][]
}

export const defaultBounds: BoundsForm = {
  attempts: '5',
  budget: '',
  days: '7',
  merges: false,
  on: ['checks', 'reviews', 'conflicts', 'base'],
}

/** Returns the bounds that a follow-up has, for somebody who changes them. */
export function boundsOf({ maxAttempts, budgetUsd, merge, on }: FollowUp): BoundsForm {
  return {
    ...defaultBounds,
    attempts: String(maxAttempts),
    budget: budgetUsd === null ? '' : String(budgetUsd),
    merges: merge === 'when_ready',
    on: defaultBounds.on.filter(cause => on.includes(cause)),
  }
}

/** The faults of a form, by field. */
export type BoundsFaults = Partial<Readonly<Record<'attempts' | 'budget' | 'days' | 'on', string>>>

const wholeWithin = (text: string, most: number): boolean => {
  const value = Number(text)
  return text.trim() !== '' && Number.isInteger(value) && value >= 1 && value <= most
}

export function boundsFaults({ attempts, budget, days, on }: BoundsForm): BoundsFaults {
  const amount = Number(budget)
  return {
    ...(!wholeWithin(attempts, 20) && { attempts: 'Needs a whole number from 1 to 20.' }),
    ...(!wholeWithin(days, 30) && { days: 'Needs a whole number from 1 to 30.' }),
    ...(budget.trim() !== '' && !(amount >= 0.01 && amount <= 1e9) && { budget: 'Needs an amount of at least 0.01.' }),
    ...(on.length === 0 && { on: 'Choose at least one.' }),
  }
}

/** Returns the bounds as the service takes them; the form has no faults. */
export function requestOf({ attempts, budget, days, merges, on }: BoundsForm): FollowUpRequest {
  return {
    maxAttempts: Number(attempts),
    days: Number(days),
    merge: merges ? 'when_ready' : 'never',
    on: [...on],
    ...(budget.trim() !== '' && { budgetUsd: Number(budget) }),
  }
}
