import { InvalidArgumentError } from 'commander'

/** Parses an option that takes an amount above 0. */
export function amount(text: string): number {
  const value = Number(text)
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text) || value <= 0) throw new InvalidArgumentError('Not a number above 0.')
  return value
}

/** An amount of US dollars, or none. Commander would make an empty text of null. */
export type Dollars = number | 'none'

/** Parses an option that takes an amount of US dollars, or `none`. */
export const dollars = (text: string): Dollars => (text === 'none' ? text : amount(text))

/** Returns an amount as the service takes it. */
export const amountOf = (value: Dollars): number | null => (value === 'none' ? null : value)

/** Returns a Session's budget as the service takes it. */
export const budgetOf = (value: Dollars): { costUsd: number } | null => (value === 'none' ? null : { costUsd: value })

/** Parses an option that takes a whole number. */
export function count(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('Not a whole number.')
  return value
}

/** Collects the values of an option that may be repeated. */
export const collect = (value: string, all: readonly string[] = []): readonly string[] => [...all, value]
